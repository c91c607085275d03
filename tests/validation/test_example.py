"""The example project's suite, as a team would validate its own."""

from pathlib import Path

import pytest

from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.report import SuiteReport
from pytest_agentbench.validation.scenario import validate

SUITE = Path(__file__).resolve().parents[2] / "example_project" / "support.agentbench.yaml"


@pytest.fixture(scope="module", params=[5, pytest.param(1, marks=pytest.mark.slow)], ids=["part", "whole"])
def report(request: pytest.FixtureRequest) -> SuiteReport:
    """The example's suite, validated: every fifth scenario, and with the slow tests all of them."""
    ids = [one.id for one in load_suite(SUITE, environ={}).scenarios]
    assert len(ids) == 43
    return validate(SUITE, environ={}, only=ids[:: request.param])


def test_right_runs_pass_and_their_values_can_be_known(report: SuiteReport) -> None:
    """In none of the scenarios is there anything wrong but that a weak agent may pass it."""
    wrong = [(one.id, issue.message) for one in report.scenarios for issue in one.issues if issue.kind != "vacuous"]

    assert report.problems == ()
    assert len(report.scenarios) in (9, 43)
    assert wrong == []
    assert all(one.oracle for one in report.scenarios)
    assert [one.id for one in report.scenarios if one.warnings or one.undecided or one.skipped] == []


def test_weak_agents_pass_next_to_nothing(report: SuiteReport) -> None:
    """One scenario at most asks for nothing that doing nothing would not give."""
    assert len(report.vacuous) <= 1


def test_wrong_runs_are_caught(report: SuiteReport) -> None:
    """The mutation score is at least 0.95, over every operator."""
    operators = {name for one in report.scenarios for name in one.operators}

    assert report.mutants >= 7 * len(report.scenarios)
    assert report.mutation_score is not None
    assert report.mutation_score >= 0.95
    assert operators >= {"drop", "wrong argument", "invented value", "extra write", "wrong order", "false claim"}
