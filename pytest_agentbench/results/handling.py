"""What became of faults over a session: per fault, how often it struck and what the agent did about it."""

from collections.abc import Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.grouping import grouped


class FaultRow(Model):
    """One fault: `runs` played under it, of which it struck in `met`. The others count among the runs it struck.

    `recovered`: a later call was answered. `given_up`: none was. `made_up`: the agent stated values that came from
    nowhere. `passed`: the run passed. `unseen` were not scored: the fault shows in no answer, or what it made
    impossible could not be measured.
    """

    fault: str
    runs: int = 0
    met: int = 0
    recovered: int = 0
    given_up: int = 0
    made_up: int = 0
    passed: int = 0
    unseen: int = 0
    shows: bool = True


def fault_rows(results: Sequence[Result]) -> tuple[FaultRow, ...]:
    """Give a row per fault, or per set of faults that strike together, in the order in which they first appear."""
    struck = [result for result in results if result.faults and result.not_run is None]
    groups = grouped(struck, lambda result: [" + ".join(result.faults)])
    return tuple(_row(fault, runs) for fault, runs in groups.items())


def _row(fault: str, runs: Sequence[Result]) -> FaultRow:
    met = [run for run in runs if run.metrics.get("faults_met")]
    shows = any(run.metrics.get("faults_recovered") is not None for run in met)
    return FaultRow(
        fault=fault,
        runs=len(runs),
        met=len(met),
        recovered=sum(run.metrics.get("faults_recovered") == 1 for run in met),
        given_up=sum(bool(run.metrics.get("faults_given_up")) for run in met),
        made_up=sum(bool(run.metrics.get("faults_made_up")) for run in met),
        passed=sum(run.passed for run in met),
        unseen=sum(not run.scored for run in met),
        shows=shows or not met,
    )
