"""Where performances take place: a run's real stage with a user of ours, or no environment at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.seams import User
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.environment.faults import HungError
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import prepare
from pytest_agentbench.runs.cast import Cast
from pytest_agentbench.runs.conduct import Stage
from pytest_agentbench.runs.judging import judge_in_time
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.simulation.history import history_of
from pytest_agentbench.validation.screenplay import Cast as Players
from pytest_agentbench.validation.screenplay import Screenplay, ScriptedAgent, ToolBox, perform

T = TypeVar("T")


class _Given(Cast):
    """The parties of a run with a user that is given; no role has a model."""

    def __init__(self, plan: RunPlan, user: User) -> None:
        super().__init__(plan, None, seed=0, paused=nullcontext)
        self._given = user

    def user(self, state: State | None, tools: Toolset) -> User:
        """Give the user."""
        return self._given


@dataclass(kw_only=True)
class Theatre(Stage):
    """The stage of one scenario: performs screenplays through the real loop or directly, and judges them as runs are.

    `is_played` False means that the tools cannot be called: calls then succeed without doing anything, and the verdict
    is the one on calls alone.
    """

    is_played: bool = True
    _performances: int = 0
    _initial: State | None = None
    _known: dict[str, "_Outcome"] = field(default_factory=dict)

    async def play_through(self, screenplay: Screenplay) -> Run:
        """Perform a screenplay in the real loop, on a fresh environment."""
        players = Players(screenplay)
        self.cast = _Given(self.plan, players.user)

        async def build(_: Stage) -> ScriptedAgent:
            return players.agent

        run = await self.play(build)
        self._initial = run.initial_state
        answers = [record.result for record in run.transcript.trajectory]
        if run.finished and None not in answers:
            results = [one for one in answers if one is not None]
            self._known[_mark(screenplay)] = _Outcome(results, run.final_state, run.states)
        return await self.only_here(run) if run.broken_tools else run

    async def judge_as(self, base: Run, done: "Performance") -> Judgement:
        """Judge another transcript and what it led to in place of those of `base`, by the same checks."""
        update = {"transcript": done.transcript, "final_state": done.final, "states": done.states}
        run = base.model_copy(update=update)
        if self.is_played:
            run = await self.expecting(self.plan, run.model_copy(update={"played": (self._began, self.wall())}))
        if not (self.plan.scenario.checks or self.plan.keeps_states):
            run = _without_what_is_equal(run)
        return await judge_in_time(run, self.plan, self.runner, self.grace)

    async def performed(self, screenplay: Screenplay) -> "Performance":
        """Perform a screenplay directly on a fresh environment; give the transcript and what it leads to.

        Equal calls in the same order are made once: in the same world they give the same results. Raise `HungError`
        where they do not end.
        """
        mark = _mark(screenplay)
        if mark not in self._known:
            self._known[mark] = await self.bounded(self._outcome(screenplay))
        known = self._known[mark]
        transcript = await perform(screenplay, _Repeating(known.results), history_of(self.plan.scenario))
        return Performance(transcript, known.final, known.states)

    async def bounded(self, work: Awaitable[T]) -> T:
        """Await what makes calls; raise `HungError` where it does not end."""
        try:
            async with asyncio.timeout(self.grace):
                return await work
        except TimeoutError:
            raise HungError(f"calls have not ended within {self.grace:g} s") from None

    async def _outcome(self, screenplay: Screenplay) -> "_Outcome":
        async with self.world() as world:
            listening = _Listening(world)
            await perform(screenplay, listening)
            is_untouched = self._initial is not None and all(one.wrote is False for one in listening.results)
            final = self._initial if is_untouched else await world.snapshot()
            return _Outcome(listening.results, final, () if isinstance(world, Described) else world.states)

    @asynccontextmanager
    async def world(self) -> AsyncIterator["LocalEnvironment | Described"]:
        """Open a fresh environment in the scenario's initial state."""
        if not self.is_played:
            yield Described(self.plan.toolset)
            return
        self._performances += 1
        async with self.new_environment(f"{self.name}{self._performances}") as environment:
            await prepare(environment, self.plan.scenario)
            if self.plan.keeps_states:
                environment.keep_states()
            yield environment


@dataclass(frozen=True)
class Performance:
    """A transcript, the state that it led to, and those in between where a rule asks for them."""

    transcript: Transcript
    final: State | None
    states: tuple[State, ...] = ()


@dataclass(frozen=True)
class _Outcome:
    """What calls gave, one by one, and the states they led to."""

    results: list[ToolResult]
    final: State | None
    states: tuple[State, ...] = ()


class _Listening:
    """Notes the results of calls."""

    def __init__(self, tools: ToolBox) -> None:
        self._tools = tools
        self.results: list[ToolResult] = []

    async def call(self, call: ToolCall) -> ToolResult:
        """Make the call."""
        self.results.append(await self._tools.call(call))
        return self.results[-1]


class _Repeating:
    """Gives known results again, in order."""

    def __init__(self, results: Sequence[ToolResult]) -> None:
        self._left = iter(results)

    async def call(self, call: ToolCall) -> ToolResult:
        """Give the next result."""
        return next(self._left)


def _without_what_is_equal(run: Run) -> Run:
    """Empty the tables that are equal in both states: the built-in checks ask for differences, which takes long."""
    expected, final = run.expected_state, run.final_state
    if expected is None or final is None:
        return run
    equal = [name for name in expected.keys() & final.keys() if expected[name] == final[name]]
    emptied: State = {name: {} for name in equal}
    return run.model_copy(update={"expected_state": {**expected, **emptied}, "final_state": {**final, **emptied}})


def _mark(screenplay: Screenplay) -> str:
    """Give what is equal for screenplays that make equal calls in the same order."""
    calls = [step.call for step in screenplay if step.call is not None]
    return dumps([[call.requestor, call.name, call.arguments] for call in calls])


class Described:
    """Stands in for tools that cannot be called: every call of a known tool succeeds and says nothing."""

    def __init__(self, toolset: Toolset) -> None:
        self.tools = toolset

    async def call(self, call: ToolCall) -> ToolResult:
        """Accept a call; one of a tool that is not described is an error where tools of the party are known."""
        is_unknown = bool(self.tools.of(call.requestor)) and self.tools.get(call.name, call.requestor) is None
        return ToolResult(content="unknown tool" if is_unknown else "", error=is_unknown)

    async def snapshot(self) -> State | None:
        """Give None: there is no state."""
        return None
