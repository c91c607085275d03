"""Rules on recorded conversations: two foreign policies."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

from pytest_agentbench.checks.policies import PolicyReport, check_policies
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.spec.loading import read_document
from pytest_agentbench.suites.rule_check import rule_faults, rule_misfits
from tests.checks.tau2 import recordings
from tests.shared_data import SHARED, needs_shared
from tests.tables import each

pytestmark = needs_shared
DATA = Path(__file__).parent / "data"


def policies(domain: str) -> tuple[Policy, ...]:
    """The rules written for a domain."""
    document = read_document(DATA / f"{domain}_policies.yaml")
    return tuple(Policy.model_validate(form) for form in document.value)


@cache
def reports(domain: str) -> tuple[tuple[Run, PolicyReport], ...]:
    """What the rules of a domain say of each of its recordings."""
    runs = (found.run for found in recordings(domain, policies(domain)))
    return tuple((run, check_policies(run)) for run in runs)


@each("domain", ["airline", "retail"])
def test_rules_for_a_foreign_policy_are_well_formed(domain: str) -> None:
    """Twenty and more, about tools and arguments that there are."""
    given = json.loads((SHARED / "data" / "tau2" / "domains" / domain / "tools.json").read_text())
    specs = (ToolSpec(name=one["function"]["name"], parameters=one["function"]["parameters"]) for one in given["agent"])
    toolset = Toolset(specs=tuple(specs))
    written = policies(domain)

    assert len(written) >= 20
    for policy in written:
        assert not list(rule_misfits(policy.rule))
        assert not list(rule_faults(policy, toolset))


@each(("domain", "half", "least"), [("airline", "development", 0.9), ("retail", "held out", 0.7)])
def test_violations_found_are_violations(domain: str, half: str, least: float) -> None:
    """Of a sample that a person read, those found are printed with how many break the policy's text."""
    found = {
        (finding.policy, run.scenario.id[:8], finding.turn, finding.message[:40])
        for run, report in reports(domain)
        for finding in report.findings
        if finding.passed is False
    }
    sample = json.loads((DATA / f"{domain}_violations.json").read_text())["violations"]
    known = [one for one in sample if (one["policy"], one["simulation"], one["turn"], one["call"][:40]) in found]
    right = sum(one["right"] for one in known)
    before = sum(one["right"] for one in sample)
    exercised = Counter(one.policy for _, report in reports(domain) for one in report.outcomes if one.exercised)
    print(f"{domain} ({half}): {len(found)} violations, {len(exercised)} rules exercised; of the sample {before}/")
    print(f"{len(sample)} were right, and of the {len(known)} that are found now {right}")
    assert right / len(known) >= least
