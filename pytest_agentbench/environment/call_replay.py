"""The state that the expected calls lead to, found by making them on a fresh environment."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.json_values import JsonValue, leaves, to_json
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.secret_keys import MASK
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Requestor, ToolCall, ToolResult, Toolset
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.correspondence import Correspondence
from pytest_agentbench.environment.fresh_values import Clock, words
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.state_access import HungError, is_refusal


@dataclass(frozen=True)
class Wanted:
    """An expected call; `place` is that of the run's call that it was matched with.

    `taken` are the arguments that it leaves open, as that call gave them: in the words of the run.
    """

    call: ExpectedCall
    place: int | None = None
    taken: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Followed:
    """The run that an expected state is computed for: its calls, and the state that it began with."""

    records: Sequence[CallRecord] = ()
    start: State | None = None


@dataclass(frozen=True)
class Answer:
    """A call that was made again: the expected call at `position`, or a lookup that the run made at `place`."""

    call: ToolCall
    result: ToolResult
    position: int | None = None
    place: int | None = None


@dataclass
class Replay:
    """What making the expected calls showed. `began` and `ended` are in seconds since 1970.

    The `state` is None where it cannot be read, or where not all that may write could be made: because the agent brings
    the tool, or because nothing tells what the call leaves open. `failed` says which calls (by position) fail although
    all that they state is the scenario's, `down` which of their tools broke in a way that no arguments cause, and how.
    `unmapped` says why calls could not be made again as the run made them.
    `answers` are the calls made, in order.
    """

    start: State | None = None
    state: State | None = None
    failed: dict[int, str] = field(default_factory=dict)
    down: dict[str, str] = field(default_factory=dict)
    unmapped: str = ""
    unmade: bool = False
    answers: list[Answer] = field(default_factory=list)
    began: float = 0.0
    ended: float = 0.0

    def follow(self, run: Followed, wanted: Sequence[Wanted], clock: Clock | None = None) -> Correspondence:
        """Hold the answers against those of the run's calls that `wanted` names; give what corresponds."""
        known = Correspondence(run.records, run.start, self.start, clock)
        for answer in self.answers:
            place = answer.place if answer.position is None else wanted[answer.position].place
            known.hear(answer.call, answer.result) if place is None else known.follow(place, answer.call, answer.result)
        return known


async def prepare(environment: LocalEnvironment, scenario: Scenario) -> None:
    """Make a scenario's `initialization_actions`; raise `EnvironmentFaultError` where one fails or is no tool.

    What a plugin offers makes them when its state is opened, since they may be of methods that are no tools.
    """
    if environment.opens_whole:
        return
    initial = scenario.task.initial_state
    for action in (initial.initialization_actions or ()) if initial else ():
        name = str(action.get("func_name"))
        requestor: Requestor = "user" if action.get("env_type") == "user" else "assistant"
        if not environment.can_call(name, requestor):
            raise EnvironmentFaultError(f"initialization action {name!r}: the environment has no such tool")
        result = await environment.call(
            ToolCall(name=name, arguments=action.get("arguments") or {}, requestor=requestor)
        )
        if result.failed:
            raise EnvironmentFaultError(f"initialization action {name!r} failed: {result.content}")


async def replay(
    env_factory: Callable[[], LocalEnvironment],
    wanted: Sequence[Wanted],
    scenario: Scenario | None = None,
    *,
    run: Followed = Followed(),
    seconds: float | None = None,
    abandon: Callable[[], None] = lambda: None,
    now: Callable[[], float] = time.time,
) -> Replay:
    """Make the calls of both parties in order on a fresh environment, prepared as `scenario` asks.

    What fails is told in the tool's words, and the others are made all the same. What is taken from the run is made in
    the replay's words: where the run's world made an id up that no answer of the replay has named yet, the lookups are
    made again from which the run knew it. Reads that leave open what nothing tells are left out. Raise
    `EnvironmentFaultError` where the environment breaks, where a tool that may write breaks (see `is_refusal`) at
    every expected call of it, or where preparing and calling take more than `seconds`; `abandon` then leaves the
    thread to what hangs in it.
    """
    found = Replay(began=now())
    async with env_factory() as environment:
        found.start = await environment.snapshot(like=run.start)  # one of them is enough to keep
        if found.start is None:
            return found
        try:
            async with asyncio.timeout(seconds):
                if scenario is not None:
                    await prepare(environment, scenario)
                can_be_told = await _Replaying(environment, wanted, run, found, scenario).make()
        except TimeoutError:
            abandon()
            raise HungError(
                f"the replay of the expected calls has not ended within {seconds:g} s{environment.calls.busy}"
            ) from None
        found.state = await environment.snapshot(like=found.start) if can_be_told else None
    found.ended = now()
    return found


async def works(
    env_factory: Callable[[], LocalEnvironment], call: ToolCall, scenario: Scenario, seconds: float
) -> bool:
    """Whether a tool that broke in a run does not break in a fresh world at the same call."""
    try:
        async with asyncio.timeout(seconds), env_factory() as environment:
            await prepare(environment, scenario)
            await environment.call(call)
            return call.name not in environment.calls.broken
    except (EnvironmentFaultError, TimeoutError):
        return False


def failure_text(call: ExpectedCall, problem: str) -> str:
    """Say that an expected call fails in the scenario's own world, and with what."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    made = printable(f"{call.name}({shorten(arguments, 200)})")
    is_masked = MASK in leaves(to_json(call.arguments))  # copied from where a secret in it was not shown
    masked = f"; {MASK!r} stands for a secret that was not shown, so write the value itself" if is_masked else ""
    return f"the expected call {made} fails on a fresh environment too: {problem}{masked}"


class _Replaying:
    """Makes the calls of one replay."""

    def __init__(
        self,
        environment: LocalEnvironment,
        wanted: Sequence[Wanted],
        run: Followed,
        found: Replay,
        scenario: Scenario | None = None,
    ) -> None:
        self._environment = environment
        self._scenario = scenario
        self._wanted = wanted
        self._run = run
        self._found = found
        self._known = Correspondence(run.records, run.start, found.start) if any(one.taken for one in wanted) else None
        self._repeated = {one.place for one in wanted if one.place is not None}

    async def make(self) -> bool:
        """Make all calls; False where one cannot be made and may write."""
        broken: dict[int, str] = {}
        for position in self._positions():
            one = self._wanted[position]
            call = one.call
            if not self._environment.can_call(call.name, call.requestor):
                self._found.unmade = True
                return False
            spec = self._environment.tools.get(call.name, call.requestor)
            stated = {name: value for name, value in call.arguments.items() if name not in one.taken}
            required = spec.parameters.get("required", ()) if spec else ()
            if holds_matcher(stated) or any(name not in call.arguments and name not in one.taken for name in required):
                if spec is not None and spec.kind == "read":
                    continue
                return False
            if self._scenario is not None and self._scenario.sessions:
                self._environment.turn_clock(self._scenario.later(self._session(one)))
            result = await self._call(position, one, stated)
            if result.failed:
                self._failed(position, one, result, broken)
        _refuse_broken(self._environment.tools, [one.call for one in self._wanted], broken)
        return not self._found.unmapped

    def _session(self, one: Wanted) -> int:
        """Give the session that a call is made in: where it stands, else that of the run's call, else the last one."""
        made = None if one.place is None else self._run.records[one.place].session
        return one.call.session or made or (len(self._scenario.sessions) if self._scenario else 1)

    def _positions(self) -> Iterator[int]:
        """Give the positions in order; a call waits that takes an id which only a later one makes."""
        waiting = list(range(len(self._wanted)))
        while waiting:
            ready = next((at for at in waiting if not self._waits(at, waiting)), waiting[0])
            waiting.remove(ready)
            yield ready

    def _waits(self, position: int, waiting: Sequence[int]) -> bool:
        """Whether a call takes what an earlier call of the run made which is still to be made again."""
        one = self._wanted[position]
        missing = self._known.unmapped(one.taken) if self._known is not None and one.taken else ()
        makers = {self._known.maker(word) for word in missing} if self._known is not None else set()
        return any(self._wanted[at].place in makers for at in waiting if at != position)

    def _failed(self, position: int, one: Wanted, result: ToolResult, broken: dict[int, str]) -> None:
        problem = printable(shorten(result.content.removeprefix("Error: "), 300))
        if one.taken:
            made = ", ".join(f"{name}={value!r}" for name, value in one.taken.items())
            self._found.unmapped = self._found.unmapped or (
                f"{one.call.name} with {printable(shorten(made, 120))}, which worked in the run, fails when made again "
                f"in a fresh world: {problem}"
            )
            return
        self._found.failed[position] = problem
        if one.call.name in self._environment.calls.down:
            self._found.down[one.call.name] = self._environment.calls.down[one.call.name]
        elif not is_refusal(self._environment.calls.raised):
            broken[position] = problem

    async def _call(self, position: int, one: Wanted, stated: Mapping[str, JsonValue]) -> ToolResult:
        if self._known is not None and one.place is not None and self._known.unmapped(one.taken):
            await self._look_up(one.place, self._known.unmapped(one.taken), self._known)
        taken = self._known.in_replay(dict(one.taken)) if self._known is not None else one.taken
        call = ToolCall(name=one.call.name, arguments={**stated, **taken}, requestor=one.call.requestor)
        return await self._made(call, one.place, position=position)

    async def _look_up(self, before: int, missing: Sequence[str], known: Correspondence) -> None:
        """Make the run's lookups again whose answers named what is missing."""
        for place, record in enumerate(self._run.records[:before]):
            spec = self._environment.tools.get(record.call.name, record.call.requestor)
            if place in self._repeated or record.failed or record.result is None or spec is None:
                continue
            if spec.kind == "read" and not set(missing).isdisjoint(words(known.answer(place))):
                self._repeated.add(place)
                arguments = known.in_replay(record.call.arguments)
                call = ToolCall(name=spec.name, arguments=arguments, requestor=spec.requestor)
                await self._made(call, place)

    async def _made(self, call: ToolCall, place: int | None, position: int | None = None) -> ToolResult:
        result = await self._environment.call(call)
        self._found.answers.append(Answer(call, result, position, place if position is None else None))
        if self._known is not None:
            self._known.hear(call, result) if place is None else self._known.follow(place, call, result)
        return result


def _refuse_broken(tools: Toolset, calls: Sequence[ExpectedCall], broken: Mapping[int, str]) -> None:
    """Raise `EnvironmentFaultError` for a tool that may write and breaks at every expected call of it."""
    for position, problem in broken.items():
        call = calls[position]
        spec = tools.get(call.name, call.requestor)
        others = [n for n, other in enumerate(calls) if (other.name, other.requestor) == (call.name, call.requestor)]
        if spec is not None and spec.kind not in ("read", "generic") and all(other in broken for other in others):
            raise EnvironmentFaultError(failure_text(call, problem))
