"""Rules on recorded conversations: two foreign policies, and consent read by a person."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.consent import draw, is_development, score, to_fill_in, to_read
from pytest_agentbench.checks.policies import PolicyReport, check_policies
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.suites.files import read_document
from pytest_agentbench.suites.rule_check import rule_faults, rule_misfits
from tests.checks.tau2 import recordings
from tests.shared_data import SHARED, needs_shared

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


@pytest.mark.parametrize("domain", ["airline", "retail"])
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


@pytest.mark.parametrize(("domain", "half", "least"), [("airline", "development", 0.9), ("retail", "held out", 0.7)])
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


@cache
def labels() -> tuple[dict[str, Any], ...]:
    """The writes that a person labelled."""
    files = sorted(DATA.glob("confirm_labels*.json"))
    return tuple(one for file in files for one in json.loads(file.read_text())["labels"])


@pytest.mark.parametrize(
    ("half", "precision", "recall"),
    [("development", 1.0, 1.0), ("held out", 0.9, 0.8), ("held out 2", 0.8, 0.9)],
    ids=["development", "held-out", "held-out-2"],
)
def test_writes_without_a_yes_are_found(half: str, precision: float, recall: float) -> None:
    """Precision and recall of violations found among labelled writes; the second held-out part was scored once."""
    found = score(one for one in labels() if one["half"] == half)

    print(f"confirm_before, {half}: {found}")
    assert found.right / found.alarms >= precision, found.missed
    assert found.right / found.violations >= recall, found.missed


def test_writes_are_drawn_alike_and_from_what_nobody_read() -> None:
    """The same seed draws the same writes, of conversations that no label and no development used."""
    used = {one["simulation"] for one in labels()}

    drawn = draw(5, seed=3)

    assert [to_fill_in(drawn), to_read(drawn)] == [to_fill_in(draw(5, seed=3)), to_read(draw(5, seed=3))]
    assert len(drawn) == 5
    assert not any(write.simulation in used or is_development(write.simulation) for write in drawn)


def test_labels_share_no_conversation_between_halves() -> None:
    """At least sixty, and at least a quarter of them without permission."""
    conversations = {half: {one["simulation"] for one in labels() if one["half"] == half} for half in _halves()}

    assert len(labels()) >= 60
    assert not conversations["development"] & conversations["held out"]
    assert sum(not one["permitted"] for one in labels()) * 4 >= len(labels())


def _halves() -> set[str]:
    return {one["half"] for one in labels()}
