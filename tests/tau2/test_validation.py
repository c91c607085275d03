"""τ²-bench's own tasks validated: which are vacuous, and how often a reachable value is held for unreachable.

There is no τ² code here. Vacuous scenarios are found by calls alone; values are traced in a world that answers what was
recorded, so a value counts as a false alarm where the recordings hold the read that gives it.
"""

import os
from pathlib import Path

import pytest

from pytest_agentbench.validation.report import SuiteReport
from pytest_agentbench.validation.scenario import validate
from tests.shared_data import needs_shared
from tests.validation.recorded_world import write_described, write_recorded

pytestmark = needs_shared


def described(folder: Path, domain: str) -> SuiteReport:
    """Validate a domain whose tools are only described."""
    return validate(write_described(folder, domain), environ=os.environ, mutate=False)


def test_airline_tasks_that_nothing_passes_are_named(tmp_path: Path) -> None:
    """23 of the 24 tasks that doing nothing earns τ²'s reward on; the other needs the domain's database to be seen."""
    report = described(tmp_path, "airline")

    nothing = [one.id for one in report.scenarios if "does nothing" in one.vacuous]
    assert len(report.scenarios) == 50
    assert len(nothing) == 23
    assert all(one.oracle for one in report.scenarios)
    assert all(one.mode == "calls" for one in report.scenarios)
    assert "only described" in report.skipped[0].why


def test_retail_tasks_that_nothing_passes_are_named(tmp_path: Path) -> None:
    """6 of the 11 that τ² rewards: of the others 4 must say something, and 1 expects a write, which fails there."""
    report = described(tmp_path, "retail")

    assert [one.id for one in report.scenarios if "does nothing" in one.vacuous] == ["10", "12", "25", "50", "57", "65"]
    assert all(one.oracle for one in report.scenarios)


@pytest.mark.slow
def test_calls_of_the_user_are_made_by_the_user(tmp_path: Path) -> None:
    """Where both parties have tools, the oracle asks for what is the user's to do, and passes."""
    report = described(tmp_path, "telecom")

    assert len(report.scenarios) == 114
    assert all(one.oracle for one in report.scenarios)


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "most"), [("airline", 19)])
def test_values_that_the_recordings_lead_to_are_reached(domain: str, most: int, tmp_path: Path) -> None:
    """Values are named as unreachable only where no recorded read gives them: recordings are not the whole world."""
    report = validate(write_recorded(tmp_path, domain), environ=os.environ, mutate=False)

    unreachable = sum(issue.kind == "unreachable" for one in report.scenarios for issue in one.issues)
    assert unreachable <= most
    assert sum(one.values for one in report.scenarios) > 500
