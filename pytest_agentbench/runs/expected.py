"""The states that expected calls lead to: computed once per scenario, or once per value of what they leave open."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pytest_agentbench.checks.effects import expects_write, tool_writes, wrote
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import Matching, left_open, match_calls, may_leave_open
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.environment.alignment import aligned
from pytest_agentbench.environment.correspondence import Correspondence
from pytest_agentbench.environment.faults import HungError
from pytest_agentbench.environment.fresh_values import Clock
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import Followed, Replay, Wanted, replay
from pytest_agentbench.environment.shared_parts import is_large
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.run_thread import GRACE, RunnerInThread

T = TypeVar("T")

_MOST_KEPT = 32
"""Expected states kept of scenarios whose calls leave something open; each has the size of the state."""

_MOST_LARGE = 4
"""Large expected states kept: the trials of a scenario follow one another, and its calls are soon made again."""

_ROUNDS = 3
"""How often expected calls are matched anew after ids in them were found to be others in the run."""


@dataclass(frozen=True, kw_only=True)
class World:
    """What an expected state is computed with: fresh environments, the run's thread, and the seconds it may take.

    `resolve` gives the predicates that matchers name, `wall` the time, in seconds since 1970.
    """

    environment: Callable[[str], LocalEnvironment]
    runner: RunnerInThread
    resolve: Resolver | None = None
    seconds: float = GRACE
    wall: Callable[[], float] = time.time


class ExpectedStates:
    """Replays a scenario's expected calls on a fresh environment, the first time somebody asks."""

    def __init__(self) -> None:
        self._replays: dict[str, asyncio.Future[Replay]] = {}
        self._kept: dict[int, list[str]] = {_MOST_KEPT: [], _MOST_LARGE: []}

    async def expect(self, plan: RunPlan, run: Run, world: World) -> Run:
        """Give the run with the state that a right run ends in, in the run's own words.

        The scenario of `plan` is what the run is judged by. What its calls leave open is taken from the calls of the
        run that they match. Nothing is expected where calls are not stated or the final state is not known. Raise
        `EnvironmentFaultError` where the environment breaks or hangs.
        """
        scenario = plan.scenario
        run = run.model_copy(update={"scenario": scenario})
        if run.final_state is None or not scenario.states_calls:
            return run
        stated = scenario.expected_calls
        leaves_open = not scenario.states_whole_calls and any(
            may_leave_open(want, run.toolset) and tool_writes(want.name, want.requestor, run.toolset) is not False
            for want in stated
        )
        wanted = [Wanted(call) for call in stated]
        if leaves_open:
            wanted, _ = await _in_time(world, lambda: _matched(run, stated, stated, world.resolve))
        found = await self._replayed(plan, run, wanted, world, leaves_open=leaves_open)
        if found.state is not None and found.state == run.final_state and not found.failed:
            return run.model_copy(update={"expected_state": found.state})
        calls: Sequence[ExpectedCall] = stated
        for _ in range(_ROUNDS):  # the ids in expected calls may be others in the run: match again with those
            wanted, matching = await _in_time(world, partial(_matched, run, calls, stated, world.resolve))
            if leaves_open:
                found = await self._replayed(plan, run, wanted, world, leaves_open=True)
            known = await _in_time(world, partial(_followed, run, found, wanted))
            # with the ids that the run's world gave
            named = tuple(one.model_copy(update={"arguments": known.values_in_run(one.arguments)}) for one in stated)
            if named == calls:
                break
            calls = named
        return await _in_time(world, lambda: _expecting(run, calls, found, matching, known))

    async def _replayed(
        self, plan: RunPlan, run: Run, wanted: Sequence[Wanted], world: World, *, leaves_open: bool
    ) -> Replay:
        """Give the replay of these calls, the one that was made before if there is one."""
        followed = Followed(run.made, run.initial_state)
        key = f"{plan.suite_key}::{plan.scenario.id}" + (f"::{plan.way}" if plan.way else "")

        def made(name: str) -> Awaitable[Replay]:
            environment, abandon = partial(world.environment, name), world.runner.abandon
            return replay(
                environment, wanted, plan.scenario, run=followed, seconds=world.seconds, abandon=abandon, now=world.wall
            )

        if leaves_open:
            taken = [dict(one.taken) for one in wanted]
            known = Correspondence(followed.records, followed.start)
            if any(known.unmapped(arguments) for arguments in taken):
                return await made(digest([key, str(run.key), taken]))
            key = f"{key}::{digest(taken)}"
        while (begun := self._replays.get(key)) is not None:
            try:
                return await asyncio.shield(begun)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not begun.cancelled() or (task is not None and task.cancelling()):
                    raise  # otherwise the run that replayed the calls was cancelled, and this one replays them
        future = self._replays[key] = asyncio.get_running_loop().create_future()
        # an error that nobody else waits for is taken note of
        future.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        try:
            found = await made(digest(f"{key} expected"))
        except BaseException as error:
            del self._replays[key]
            if isinstance(error, AgentBenchError):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        future.set_result(found)
        if leaves_open or is_large(found.state):
            most = _MOST_KEPT if leaves_open else _MOST_LARGE
            self._kept[most].append(key)
            if len(self._kept[most]) > most:
                self._replays.pop(self._kept[most].pop(0), None)
        return found


async def _in_time(world: World, work: Callable[[], T]) -> T:
    """Do what predicates of the suite take part in, in the run's thread; raise `HungError` where it does not end."""
    try:
        async with asyncio.timeout(world.seconds):
            return await world.runner(work)
    except TimeoutError:
        world.runner.abandon()
        raise HungError(f"matching the calls with the expected ones has not ended within {world.seconds:g} s") from None


def _matched(
    run: Run, calls: Sequence[ExpectedCall], stated: Sequence[ExpectedCall], resolve: Resolver | None
) -> tuple[list[Wanted], Matching]:
    """Match `calls`, which are the `stated` ones in the run's words; give what is to be made in a fresh world."""
    records = run.made
    matching = match_calls(calls, records, run.toolset, resolve)
    whole = run.scenario.states_whole_calls
    wanted = []
    for position, want in enumerate(stated):
        place = matching.succeeded.get(position)
        taken = {} if place is None or whole else left_open(want, records[place].call)
        wanted.append(Wanted(want, place, taken))
    return wanted, matching


def _followed(run: Run, found: Replay, wanted: Sequence[Wanted]) -> Correspondence:
    clock = Clock(run=run.played, replay=(found.began, found.ended)) if run.played is not None else None
    return found.follow(Followed(run.made, run.initial_state), wanted, clock)


def _expecting(
    run: Run, calls: Sequence[ExpectedCall], found: Replay, matching: Matching, known: Correspondence
) -> Run:
    """Give the run with what a replay showed, in the run's words."""
    scenario = run.scenario
    failed = {} if scenario.states_whole_calls else found.failed
    told: dict[str, Any] = {"unreplayed": failed, "untold": found.unmapped}
    if calls != scenario.expected_calls and (criteria := scenario.task.evaluation_criteria) is not None:
        named = criteria.model_copy(update={"actions": list(calls)})
        task = scenario.task.model_copy(update={"evaluation_criteria": named})
        told["scenario"] = scenario.model_copy(update={"task": task})
    fails = any(expects_write(calls[at], matching.records, run.toolset) is not False for at in failed)
    if found.state is not None and run.final_state is not None and not fails:
        state, unknown = aligned(found.state, run.final_state, known, same_writes=_same_writes(run, matching))
        told |= {"expected_state": state, "unknown_rows": unknown}
    return run.model_copy(update=told)


def _same_writes(run: Run, matching: Matching) -> bool:
    """Whether the run made every expected write and no other, so that only the worlds can be what differs."""
    done = matching.succeeded
    paired = set(done.values())
    return all(
        position in done or expects_write(want, matching.records, run.toolset) is False
        for position, want in enumerate(matching.expected)
    ) and all(place in paired or wrote(record, run.toolset) is False for place, record in enumerate(matching.records))
