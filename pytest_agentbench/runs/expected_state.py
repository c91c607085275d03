"""The states that expected calls lead to: computed once per scenario, or once per value of what they leave open."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from pytest_agentbench.checks.effects import expects_write, tool_writes, wrote
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import Matching, left_open, match_calls, may_leave_open
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.json_values import JsonValue, same, to_json
from pytest_agentbench.core.remote import OpenApiSpec
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.state import State
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.call_replay import Followed, Replay, Wanted, replay
from pytest_agentbench.environment.correspondence import Correspondence, names_in_run, renamed
from pytest_agentbench.environment.diff import describe, diff
from pytest_agentbench.environment.fresh_values import (
    TOKEN,
    Clock,
    kind_of_pair,
    may_be_made_up,
    names_an_id,
    read_time,
    rekeyed,
)
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.state_access import HungError
from pytest_agentbench.environment.structural_sharing import apart, differing, is_large
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.run_thread import GRACE, RunnerInThread

T = TypeVar("T")

Path = tuple[str, ...]

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
            left_over = await _in_time(world, lambda: _began_otherwise(plan, run, found))
            return run.model_copy(update={"expected_state": found.state, "left_over": left_over})
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
        left_over = await _in_time(world, lambda: _began_otherwise(plan, run, found))
        run = run.model_copy(update={"left_over": left_over})
        state = plan.suite.environment.state
        ignore = state.ignore if state else ()
        return await _in_time(world, lambda: _expecting(run, found, matching, known, ignore))

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


def _tells_of_shared_world(plan: RunPlan) -> bool:
    """Whether tools tell the state, and some of them work on what runs share, so that one may meet what another did."""
    state, remotes = plan.suite.environment.state, [part.remote for part in plan.suite.environment.tools]
    is_told = state is not None and state.kind == "tools" and plan.scenario.task.initial_state is None
    started = [remote.service if isinstance(remote, OpenApiSpec) else remote for remote in remotes if remote]
    return is_told and any(one is None or one.share == "session" or getattr(one, "url", "") for one in started)


def _began_otherwise(plan: RunPlan, run: Run, found: Replay) -> str:
    """Say where a shared world was not at the run's start as where its expected calls were made, "" where nowhere.

    Then no difference of the two ends need be the agent's. Times that the clock explains are no difference.
    """
    start, state = run.initial_state, plan.suite.environment.state
    if not _tells_of_shared_world(plan) or start is None or found.start is None or found.start == start:
        return ""
    began, _ = aligned(found.start, start, Correspondence((), start, found.start, _clock(run, found)), same_writes=True)
    first = next(iter(diff(began, start, state.ignore if state else ())), None)
    shown = describe(first) if first else ""
    why = "the world that runs share was not put back (does `reset` do it? for counters: `environment.state.ignore`)"
    return f"{why}: {shown}" if shown else ""


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
    return found.follow(Followed(run.made, run.initial_state), wanted, _clock(run, found))


def _clock(run: Run, found: Replay) -> Clock | None:
    return Clock(run=run.played, replay=(found.began, found.ended)) if run.played is not None else None


def _expecting(run: Run, found: Replay, matching: Matching, known: Correspondence, ignore: Sequence[str]) -> Run:
    """Give the run with what a replay showed, in the run's words; `matching` is by the ids of the run."""
    scenario, calls = run.scenario, matching.expected
    failed = {} if scenario.states_whole_calls else found.failed
    told: dict[str, Any] = {
        "unreplayed": failed,
        "untold": found.unmapped,
        "unmade": found.unmade,
        "down": {**found.down, **run.down},
    }
    if calls != scenario.expected_calls and (criteria := scenario.task.evaluation_criteria) is not None:
        named = criteria.model_copy(update={"actions": list(calls)})
        task = scenario.task.model_copy(update={"evaluation_criteria": named})
        told["scenario"] = scenario.model_copy(update={"task": task})
    fails = any(expects_write(calls[at], matching.records, run.toolset) is not False for at in failed)
    if found.state is not None and run.final_state is not None and not fails:
        same_writes = _made_all(run, matching) and _made_no_other(run, matching)
        counted = _Counted.of(run, found, known) if same_writes else None
        if not same_writes and _made_all(run, matching) and _made_no_other(run, matching, told=False):
            likely, _ = aligned(found.state, run.final_state, deepcopy(known), same_writes=True)
            same_writes = not diff(likely, run.final_state, ignore)
        state, unknown = aligned(found.state, run.final_state, known, same_writes=same_writes, counted=counted)
        told |= {"expected_state": state, "unknown_rows": unknown}
    return run.model_copy(update=told)


def _made_all(run: Run, matching: Matching) -> bool:
    """Whether the run made every expected write."""
    return all(
        position in matching.succeeded or expects_write(want, matching.records, run.toolset) is False
        for position, want in enumerate(matching.expected)
    )


def _made_no_other(run: Run, matching: Matching, *, told: bool = True) -> bool:
    """Whether the run made no write but expected ones; with all of those only the worlds can be what differs.

    A call that a server alone calls a write counts where it is `told`: a POST may only look something up.
    """
    paired = set(matching.succeeded.values())

    def may_read(record: CallRecord) -> bool:
        spec = run.toolset.get(record.call.name, record.call.requestor)
        is_seen = record.result is not None and record.result.wrote is not None
        return not (told or is_seen) and spec is not None and spec.kind_from in ("annotation", "listed")

    return all(
        place in paired or wrote(record, run.toolset) is False or may_read(record)
        for place, record in enumerate(matching.records)
    )


@dataclass(frozen=True)
class _Counted:
    """By what rows are known whose keys two worlds counted up: what both began with, and the ids that were `given`."""

    starts: tuple[State | None, State | None]
    given: frozenset[str]

    @classmethod
    def of(cls, run: Run, found: Replay, known: Correspondence) -> "_Counted | None":
        """Give it where calls may be made in any order, so that the numbers tell nothing."""
        if run.scenario.match.order != "any_order":
            return None
        named = {word for record in run.made for word in _identifiers(to_json(record.call.arguments), by_name=True)}
        given = frozenset(word for word in named if not known.run.at_start(word))
        return cls((run.initial_state, found.start), given)


def aligned(
    expected: State, actual: State, known: Correspondence, *, same_writes: bool, counted: _Counted | None = None
) -> tuple[State, tuple[Path, ...]]:
    """Give the expected state in the words of the run that ended in `actual`, and the places that cannot be told.

    Both are plain JSON. Parts that are one object in both are as the worlds began, and stay.

    Ids and times of the replay become those of the run where they correspond (see `correspondence`), be it that
    answers showed it or that rows do. What two worlds made up and nobody can tell which is which is not measured.

    Where run and replay made the same writes, whatever has the form of an id and was given by nobody is the world's.
    Where they did not, a value may differ because of what the agent did: then only keys of rows are taken for the
    world's, and times that the clock explains.
    """
    if names := _names(*apart(expected, actual), known, same_writes=same_writes):
        expected = _renamed(expected, actual, names)
    if counted is not None:
        expected = rekeyed(expected, actual, counted.starts, counted.given)
    if expected == actual:
        return expected, ()
    count = -1
    while len(known.kinds) > count:  # what one row shows may tell another one apart
        count = len(known.kinds)
        walk = _Walk(known, same_writes)
        found = walk.through(expected, actual, "", ())
    return found, tuple(walk.unknown)


def _renamed(expected: JsonValue, actual: JsonValue, names: Mapping[str, str], key: str = "") -> Any:
    """Give `expected` with words replaced, but for the parts that are one object: neither world touched those."""
    if expected is actual and isinstance(expected, dict | list):
        return expected
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {renamed(name, names): _renamed(item, actual.get(name), names, name) for name, item in expected.items()}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [_renamed(one, other, names, key) for one, other in zip(expected, actual, strict=True)]
    return renamed(expected, names, key)


def _names(expected: State, actual: State, known: Correspondence, *, same_writes: bool) -> dict[str, str]:
    """Give replay's word → run's, of those that may stand in a state.

    A counter is an identifier where rows are known by it or name it; elsewhere (`version: v3`) it is data.
    """
    pairs = {pair: kind for pair, kind in known.kinds.items() if pair[0] != pair[1]}
    free = {"random", "time"} if same_writes else {"time"}
    bound = any(kind not in free for kind in pairs.values())
    ours = frozenset(_identifiers(actual, by_name=same_writes)) if bound else frozenset()
    theirs = frozenset(_identifiers(expected, by_name=same_writes)) if bound else frozenset()
    kept = {pair: kind for pair, kind in pairs.items() if kind in free or (pair[0] in ours and pair[1] in theirs)}
    return names_in_run({**kept, **{pair: kind for pair, kind in known.kinds.items() if pair[0] == pair[1]}})


def _identifiers(value: JsonValue, key: str = "", *, by_name: bool) -> Iterator[str]:
    """Give the keys of all rows, and with `by_name` what stands where a name says that an id does."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _identifiers(item, str(name), by_name=by_name)
    elif isinstance(value, list):
        for item in value:
            yield from _identifiers(item, key, by_name=by_name)
    elif by_name and names_an_id(key) and isinstance(value, str | int) and not isinstance(value, bool):
        yield str(value)


@dataclass
class _Walk:
    """One way through both states side by side."""

    known: Correspondence
    same_writes: bool
    unknown: list[Path] = field(default_factory=list)

    def through(self, expected: JsonValue, actual: JsonValue, key: str, path: Path) -> Any:
        """Give `expected` with what the replay's world made up in the run's words."""
        if expected == actual:
            return expected
        if isinstance(expected, dict) and isinstance(actual, dict):
            return self._mapping(expected, actual, path)
        if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            pairs = enumerate(zip(expected, actual, strict=True))
            return [self.through(one, other, key, (*path, str(index))) for index, (one, other) in pairs]
        if isinstance(expected, str) and isinstance(actual, str):
            return self._text(expected, actual, key, path)
        return actual if self._is_same_number(expected, actual, key) else expected

    def _mapping(self, expected: dict[str, Any], actual: dict[str, Any], path: Path) -> dict[str, Any]:
        missing = [key for key in expected if key not in actual] if not expected.keys() <= actual.keys() else []
        extra = [key for key in actual if key not in expected] if not actual.keys() <= expected.keys() else []
        pairs = self._rows(expected, actual, missing, extra) if missing and extra else {}
        if not pairs:
            own = [key for key in differing(expected, actual) if key in actual]
            return {**expected, **{key: self.through(expected[key], actual[key], key, (*path, key)) for key in own}}
        found = {}
        for key, item in expected.items():
            name = pairs.get(key, key)
            found[name] = self.through(item, actual[name], name, (*path, name)) if name in actual else item
        return found

    def _rows(
        self, expected: dict[str, Any], actual: dict[str, Any], missing: list[str], extra: list[str]
    ) -> dict[str, str]:
        """Pair rows whose keys both worlds made up, those that differ in the fewest values first."""
        candidates = sorted(
            (_distance(expected[one], actual[other], one, other), at, one, other)
            for at, one in enumerate(missing)
            for other in extra
            if self._may_be_one(one, other, is_id=True, is_key=True)
        )
        if not self.same_writes:
            candidates = [one for one in candidates if one[0] == 0]
        pairs: dict[str, str] = {}
        taken: set[str] = set()
        for _, _, one, other in candidates:
            if one not in pairs and other not in taken and self._learn(one, other, is_id=True):
                pairs[one] = other
                taken.add(other)
        return pairs

    def _text(self, expected: str, actual: str, key: str, path: Path) -> str:
        theirs, ours = TOKEN.findall(expected), TOKEN.findall(actual)
        if len(theirs) != len(ours) or TOKEN.sub("\0", expected) != TOKEN.sub("\0", actual):
            return expected
        is_id = names_an_id(key) and len(ours) == 1
        pairs = [(one, other) for one, other in zip(theirs, ours, strict=True) if one != other]
        if not all(self._may_be_one(one, other, is_id=is_id) for one, other in pairs):
            if self.same_writes and all(self._both_made_up(one, other) for one, other in pairs):
                self.unknown.append(path)
            return expected
        if all(self._learn(one, other, is_id=is_id) for one, other in pairs):
            return actual
        if self.same_writes:
            self.unknown.append(path)
        return expected

    def _may_be_one(self, expected: str, actual: str, *, is_id: bool, is_key: bool = False) -> bool:
        kind = kind_of_pair(actual, expected, is_id=is_id)
        if kind == "time":
            return self.known.same_clock(actual, expected)
        if not (self.same_writes or is_key):
            return False
        drawn = kind == "random" or (kind == "sequence" and is_id)
        return drawn and self.known.run.made_by_world(actual) and self.known.replay.made_by_world(expected)

    def _both_made_up(self, expected: str, actual: str) -> bool:
        """Whether both words are ids that two worlds made up, of different forms, so that nobody can tell."""
        if read_time(expected) is not None or read_time(actual) is not None:
            return False  # times that the clock does not explain are a real difference
        known = self.known
        return (
            may_be_made_up(expected)
            and may_be_made_up(actual)
            and kind_of_pair(actual, expected, is_id=True) != "sequence"
            and known.run.made_by_world(actual)
            and known.replay.made_by_world(expected)
        )

    def _learn(self, expected: str, actual: str, *, is_id: bool) -> bool:
        kind = kind_of_pair(actual, expected, is_id=is_id)
        return kind is not None and (
            self.known.run_name(expected) == actual or self.known.learn(actual, expected, kind)
        )

    def _is_same_number(self, expected: JsonValue, actual: JsonValue, key: str) -> bool:
        numbers = [one for one in (expected, actual) if isinstance(one, int | float) and not isinstance(one, bool)]
        if len(numbers) < 2 or same(expected, actual):
            return False
        if read_time(expected) is not None and read_time(actual) is not None:
            return self.known.same_clock(str(actual), str(expected))
        whole = isinstance(expected, int) and isinstance(actual, int) and names_an_id(key)
        return (
            whole
            and self._may_be_one(str(expected), str(actual), is_id=True)
            and self._learn(str(expected), str(actual), is_id=True)
        )


def _distance(expected: JsonValue, actual: JsonValue, key: str, other: str) -> int:
    """Count the values in which two rows differ, their own keys aside."""
    return sum(1 for _ in _apart(renamed(expected, {key: other}), actual))


def _apart(one: JsonValue, other: JsonValue) -> Iterator[None]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from _apart(one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for left, right in zip(one, other, strict=True):
            yield from _apart(left, right)
    elif not same(one, other):
        yield None
