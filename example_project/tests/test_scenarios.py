"""Every scenario of the suite, played without the plugin: the agent leaves the database that is expected."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.agent import build

SCENARIOS = [
    scenario
    for file in sorted((Path(__file__).parents[1] / "bench" / "support" / "scenarios").glob("*.yaml"))
    for scenario in yaml.safe_load(file.read_text(encoding="utf-8"))
]
READS = ("find_", "get_", "list_")


def words_of(line: str | dict[str, Any]) -> str:
    """Give the words of a line of a script, which may stand under what is meant by it."""
    return line if isinstance(line, str) else next(text for key, text in line.items() if key != "about")


def play(scenario, tools):
    """Say the lines, give what is known when a question asks for it, agree to what is proposed; give the replies."""
    agent = build(tools)
    lines = [words_of(line) for line in scenario["says"]]
    known = [f"{key}: {value}" for key, value in scenario.get("knows", {}).items()]
    unknown = ["I do not know" for _ in scenario.get("unknown", [])]
    replies = [agent(lines.pop(0))]
    while lines or replies[-1].endswith(("?", "(yes/no)", "(oui/non)")):
        if replies[-1].endswith(("(yes/no)", "(oui/non)")):
            message = "oui" if "oui" in replies[-1] else "yes"
        elif replies[-1].endswith("?") and known:
            message, known = ", ".join(known), []
        elif replies[-1].endswith("?") and unknown:
            message = unknown.pop()
        elif lines:
            message = lines.pop(0)
        else:
            break
        replies.append(agent(message))
    return replies


def calls_of(scenario) -> list[tuple[str, dict[str, Any]]]:
    """Give the expected calls, short form and full form, as (name, arguments)."""
    return [
        (call["name"], call["arguments"]) if "name" in call else next(iter(call.items())) for call in scenario["expect"]
    ]


def state_of(shop) -> list[str]:
    """Give the database, but for the wording of what was handed over."""
    shop.state.execute("UPDATE escalations SET summary = ''")
    return shop.snapshot()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["id"] for scenario in SCENARIOS])
def test_leaves_the_expected_database_and_says_what_it_must(open_shop, scenario):
    """The final state is the one that the expected writes lead to, and all that must be said is said."""
    expected, actual = open_shop(), open_shop()
    for name, arguments in calls_of(scenario):
        if not name.startswith(READS):
            next(tool for tool in expected.tools if tool.__name__ == name)(**arguments)

    said = "\n".join(play(scenario, actual.tools))

    assert state_of(actual) == state_of(expected)
    assert [text for text in scenario.get("communicate", []) if text not in said] == []


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
