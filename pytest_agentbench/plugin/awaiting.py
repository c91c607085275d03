"""What an item does when it is called: await its run, and fail as a good assertion does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.core.text import printable
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.plugin.bench import Bench, Finished
from pytest_agentbench.plugin.failing import ScenarioFailed, failure_of
from pytest_agentbench.plugin.keys import BENCH, EARLIER, RESULT, STOPPED
from pytest_agentbench.runs.pool import LoopBlockedError
from pytest_agentbench.runs.result import crash_result

_LOOPS = 3
"""Event loops that a run may see lost to others before it is given up."""

if TYPE_CHECKING:
    from pytest_agentbench.plugin.items import ScenarioItem


def play(request: pytest.FixtureRequest) -> None:
    """Await the run of an item; skip it where it could not take place, raise `ScenarioFailed` unless it passed."""
    item: ScenarioItem = request.node
    bench = request.config.stash[BENCH]
    if reason := bench.early_stop.unneeded(item):
        item.stash[STOPPED] = True
        pytest.skip(reason)
    finished = await_run(bench, item)
    if item.plan.stops_early:
        bench.early_stop.note(item.plan.key, finished.result)
    item.stash[RESULT], item.stash[EARLIER] = finished.result, finished.earlier
    show_output(item, finished)
    if finished.result.not_run is not None:
        pytest.skip(f"not run: {printable(finished.result.not_run)}")
    if finished.result.verdict is not Verdict.PASSED:
        raise ScenarioFailed(failure_of(item.config, bench, finished, item.plan))


def show_output(item: pytest.Item, finished: Finished) -> None:
    """Give the item what the agent and its tools printed and logged; pytest shows it where the item fails."""
    if finished.output:
        item.add_report_section("call", "agentbench output", printable(finished.output, newlines=True))


def await_run(bench: Bench, item: ScenarioItem) -> Finished:
    """Give the stored result of a run, or wait for it to end, starting it unless it has been."""
    before = item.blank
    bench.look_for_crashes()
    if stored := bench.stored(item.plan, item.nodeid, before.scenario_hash):
        item.plan = item.plan.again()
        return Finished(result=stored)
    key, limit = item.plan.key, item.plan.limits.seconds
    task = item.plan.task_name
    if bench.is_suspect(key):
        bench.pool.drain(limit=limit)
    try:
        for loops_left in reversed(range(_LOOPS)):
            bench.pool.start(key, bench.work(item.plan, before))
            try:
                return bench.pool.take(key, limit=limit)
            except LoopBlockedError as error:
                blocked = error
                bench.close()  # the loop is lost to whatever blocks it; the next start makes a new one
            if blocked.task == task or not loops_left:
                break
        return Finished(result=bench.writer.append(crash_result(before, str(blocked))))
    finally:
        item.plan = item.plan.again()
