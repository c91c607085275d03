"""JUnit: the properties of a run's test case, and a test case of its own for each failed gate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.plugin import compat
from pytest_agentbench.report.auditor import UNCALIBRATED
from pytest_agentbench.report.sections import outcome_text, parts_text
from pytest_agentbench.report.table import UNICODE
from pytest_agentbench.results.calibration import AuditorStanding
from pytest_agentbench.results.gates import GateVerdict


def _apart(result: Result) -> Iterable[tuple[str, str]]:
    """Give what tells a run from first attempts that count."""
    if result.key.attempt > 1:
        yield "agentbench.attempt", str(result.key.attempt)
    if result.pending:
        yield "agentbench.review", "pending"
    if result.quarantine:
        yield "agentbench.quarantine", f"{result.quarantine.owner}, until {result.quarantine.until.isoformat()}"


def junit_properties(result: Result, standing: AuditorStanding | None = None) -> Iterable[tuple[str, str]]:
    """Give the JUnit properties of a run, short strings all; `standing` is how its auditor did on labelled runs."""
    yield "agentbench.verdict", str(result.verdict)
    yield from _apart(result)
    if result.blame:
        yield "agentbench.blame", str(result.blame)
    if result.termination:
        yield "agentbench.termination", str(result.termination)
    if result.complexity is not None:
        yield "agentbench.complexity", str(result.complexity)
    for policy in result.listed_policies:
        yield "agentbench.policy", policy
    for fault in result.also:
        yield "agentbench.also", f"{fault.blame}: {fault.reason}"
    if left := parts_text(result, UNICODE):
        yield "agentbench.outcome", outcome_text(result, UNICODE)
        yield "agentbench.unmeasured", f"{left}: {', '.join(one.part for one in result.unmeasured)}"
    if result.rests_on_auditor:
        yield "agentbench.auditor", "decides" if standing and standing.is_calibrated else UNCALIBRATED
    if result.disputed:
        yield "agentbench.disputed", result.disputed
    for name in ("name_recall", "strict_recall", "measured"):
        if (value := result.metrics.get(name)) is not None:
            yield f"agentbench.{name}", f"{value:.3f}"


def report_failed_gates(config: pytest.Config, failed: Iterable[GateVerdict]) -> None:
    """Give each failed gate a test case of its own; the XML writer alone hears of it."""
    writer = compat.junit(config)
    if writer is None:
        return
    for verdict in failed:
        phases: tuple[tuple[Literal["call", "teardown"], Literal["failed", "passed"]], ...]
        phases = (("call", "failed"), ("teardown", "passed"))
        for when, outcome in phases:
            report = pytest.TestReport(
                nodeid=f"{verdict.suite}::gate {verdict.label}",
                location=(verdict.suite, 0, f"gate {verdict.label}"),
                keywords={},
                outcome=outcome,
                longrepr=f"gate {verdict.label}: {verdict.reason}" if outcome == "failed" else None,
                when=when,
            )
            writer.pytest_runtest_logreport(report)
