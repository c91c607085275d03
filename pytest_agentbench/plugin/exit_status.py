"""The exit status of a session: which failed runs do not count in it, and what fails it beside its runs."""

from __future__ import annotations

from collections.abc import Sized

import pytest

from pytest_agentbench.core.run import PlannedRun
from pytest_agentbench.report.sections import IN_QUARANTINE, PENDING

MISSED = "missed"
"""The status of a failed run whose suite's gates decide, or whose scenario is set aside."""


def aside_text(run: PlannedRun) -> str:
    """Say why a run decides nothing, "" where it counts."""
    return PENDING if run.pending else IN_QUARANTINE if run.quarantine else ""


def mark_missed(report: pytest.TestReport, why: str, *, aside: str) -> None:
    """Turn a failed report into one of a run that does not fail the session; `aside` says why it counts nowhere."""
    report.outcome = "skipped"
    report.__dict__["wasxfail"] = f"{MISSED}{f' ({aside})' if aside else ''}: {why}"
    report.__dict__["agentbench_missed"] = True
    report.__dict__["agentbench_aside"] = aside


def count_failures(session: pytest.Session, *beside: Sized) -> None:
    """Fail the session by each thing that is no failed test: a gate, a missed run that no gate decides, a lost run."""
    session.testsfailed += sum(map(len, beside))
