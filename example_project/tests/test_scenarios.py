"""The scenarios of the suite: what they span, and that no policy is left out."""

from pathlib import Path

import yaml

SCENARIOS = [
    scenario
    for file in sorted((Path(__file__).parents[1] / "bench" / "support" / "scenarios").glob("*.yaml"))
    for scenario in yaml.safe_load(file.read_text(encoding="utf-8"))
]


def test_scenarios_span_languages_and_complexities():
    """There are at least 24 scenarios, five of them French, and their complexities reach from 2 to 10."""
    policies = yaml.safe_load((Path(__file__).parents[1] / "bench" / "support" / "policies.yaml").read_text("utf-8"))
    challenge = {policy["id"]: policy["challenge"] for policy in policies}

    complexities = {sum(challenge[policy] for policy in scenario["policies"]) for scenario in SCENARIOS}

    assert len(SCENARIOS) >= 24
    assert sum(scenario["id"].startswith("fr-") for scenario in SCENARIOS) >= 5
    assert complexities == set(range(2, 11))


def test_every_policy_is_at_stake_somewhere():
    """Every policy of the report is named by a scenario, and stands in the policy document."""
    root = Path(__file__).parents[1]
    policies = yaml.safe_load((root / "bench" / "support" / "policies.yaml").read_text(encoding="utf-8"))
    document = (root / "support" / "policies.md").read_text(encoding="utf-8")
    at_stake = {policy for scenario in SCENARIOS for policy in scenario["policies"]}

    assert {policy["id"] for policy in policies} == at_stake
    assert [policy["id"] for policy in policies if f"({policy['id']})" not in document] == []
