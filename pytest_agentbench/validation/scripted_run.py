"""Scripted runs: conversations whose every step is fixed, played in the real loop or on tools alone, and judged."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from pytest_agentbench.checks.handling import settled
from pytest_agentbench.core.acts import Act, ActKind
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import Reply, Stop, Turn, UserTurn, View
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.seams import User
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import Requestor, ToolCall, ToolResult, Toolset
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.environment.faults import HungError
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import prepare
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.cast import Cast
from pytest_agentbench.runs.conduct import Stage
from pytest_agentbench.runs.judging import judge_in_time
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.simulation.recording import result_message
from pytest_agentbench.simulation.views import history_of

T = TypeVar("T")

Part = Literal["line", "filler", "question", "consent", "call", "needed", "told"]
"""What a step is for: the user's line, words without content, a question for permission and the yes to it, an expected
call, a call that a rule needs, or what has to be communicated."""

GO_ON = "Please go on."
FAILED = "I am sorry, one of these did not work: the system reported an error."
"""What a right run says where a fault strikes every call that it fits."""

_MEANT: dict[Part, ActKind] = {"line": "request", "consent": "confirm"}
"""What the user means with a step; with any other, nothing that decides about a call."""


class Step(Model):
    """One text or one call of a party; `position` is that of the expected call the step belongs to.

    `about` are the values that a user's text concerns, `act` what it means (None: what its part does), `approvals` what
    an agent's text asks to approve.
    """

    party: Requestor
    part: Part
    text: str = ""
    call: ToolCall | None = None
    position: int | None = None
    about: tuple[Any, ...] = ()
    act: ActKind | None = None
    approvals: tuple[ApprovalRequest, ...] = ()


ScriptedRun = tuple[Step, ...]


class ToolBox(Protocol):
    """What tools can be called on: an environment, or what stands in for one."""

    async def call(self, call: ToolCall) -> ToolResult:
        """Run a tool."""
        ...


class _Parties:
    """The agent and the user of one scripted run in the real loop: each makes its steps, and nothing else."""

    def __init__(self, script: ScriptedRun) -> None:
        self._left = list(script)
        self.agent = ScriptedAgent(self)
        self.user = _ScriptedUser(self)

    def take(self, party: Requestor) -> Step | None:
        """Give the next step where it is this party's."""
        return self._left.pop(0) if self._left and self._left[0].party == party else None

    @property
    def is_over(self) -> bool:
        """Whether every step was made."""
        return not self._left


class ScriptedAgent:
    """An agent that makes its steps (`core.seams.Agent`)."""

    calls_visible = True

    def __init__(self, parties: _Parties) -> None:
        self._parties = parties

    async def reply(self, turn: Turn) -> Reply:
        """Give the agent's next step; words without content where the next step is the user's."""
        step = self._parties.take("assistant")
        message = _message(step) if step is not None else Message(role="assistant", content=GO_ON)
        return Reply(messages=(message,))


class _ScriptedUser:
    """A user that makes its steps and closes at the end (`core.seams.User`)."""

    def __init__(self, parties: _Parties) -> None:
        self._parties = parties

    async def reply(self, view: View) -> UserTurn:
        """Give the user's next step."""
        step = self._parties.take("user")
        if step is not None:
            message = _message(step)
            return UserTurn(text=message.text, acts=message.acts, tool_calls=message.tool_calls)
        if self._parties.is_over:
            return UserTurn(stop=Stop(reason="done"))
        return UserTurn(text=GO_ON, acts=(Act(kind="other"),))


async def perform(script: ScriptedRun, world: ToolBox, history: Sequence[Message] = ()) -> Transcript:
    """Perform a script on `world` without the loop: no limits, no stalls; give what the loop would record."""
    messages = list(history)
    for step in script:
        message = _message(step)
        messages.append(message)
        messages.extend([result_message(call, await world.call(call)) for call in message.tool_calls])
    return Transcript(messages=tuple(messages))


def numbered(steps: Sequence[Step]) -> ScriptedRun:
    """Give every call an id of its own."""
    return tuple(
        step.model_copy(update={"call": step.call.model_copy(update={"id": f"call_{place}"})}) if step.call else step
        for place, step in enumerate(steps)
    )


def _message(step: Step) -> Message:
    role: Literal["user", "assistant"] = "user" if step.party == "user" else "assistant"
    if step.call is not None:
        return Message(role=role, tool_calls=(step.call,))
    kind = step.act or _MEANT.get(step.part, "other")
    acts = (Act(kind=kind, about=step.about),) if role == "user" else None
    return Message(role=role, content=step.text, acts=acts, approvals=step.approvals)


class WithUser(Cast):
    """The parties of a run with a user of ours; the agent has the suite's model where there are `models`."""

    def __init__(self, plan: RunPlan, user: User, models: SessionModels | None = None) -> None:
        super().__init__(plan, models, seed=0, paused=nullcontext)
        self._own_user = user

    def user(self, state: State | None, tools: Toolset) -> User:
        """Give the user."""
        return self._own_user


@dataclass(kw_only=True)
class ScriptPlayer(Stage):
    """The stage of one scenario: performs scripted runs through the real loop or directly, and judges them as runs are.

    `is_played` False means that the tools cannot be called: calls then succeed without doing anything, and the verdict
    is the one on calls alone.
    """

    is_played: bool = True
    _performances: int = 0
    _initial: State | None = None
    _known: dict[str, "_Outcome"] = field(default_factory=dict)

    async def play_through(self, script: ScriptedRun) -> Run:
        """Perform a script in the real loop, on a fresh environment."""
        parties = _Parties(script)
        self.cast = WithUser(self.plan, parties.user)

        async def build(_: Stage) -> ScriptedAgent:
            return parties.agent

        run = await self.play(build)
        self._initial = run.initial_state
        answers = [record.result for record in run.transcript.trajectory]
        if run.finished and None not in answers:
            results = [one for one in answers if one is not None]
            self._known[_mark(script)] = _Outcome(results, run.final_state, run.states)
        return await self.only_here(run) if run.broken_tools else run

    async def judge_as(self, base: Run, done: "Performance") -> Judgement:
        """Judge another transcript and what it led to in place of those of `base`, by the same checks."""
        update = {"transcript": done.transcript, "final_state": done.final, "states": done.states}
        run = base.model_copy(update=update)
        if self.is_played:
            run = await self.expecting(self.plan, run.model_copy(update={"played": (self._began, self.wall())}))
        if not (self.plan.scenario.checks or self.plan.keeps_states):
            run = _without_what_is_equal(run)
        return _heard(await judge_in_time(run, self.plan, self.runner, self.grace), run)

    async def judge(self, run: Run) -> Judgement:
        """Judge a run; whether it told of a failure is known here."""
        return _heard(await super().judge(run), run)

    async def performed(self, script: ScriptedRun) -> "Performance":
        """Perform a script directly on a fresh environment; give the transcript and what it leads to.

        Equal calls in the same order are made once: in the same world they give the same results. Raise `HungError`
        where they do not end.
        """
        mark = _mark(script)
        if mark not in self._known:
            self._known[mark] = await self.bounded(self._outcome(script))
        known = self._known[mark]
        transcript = await perform(script, _Repeating(known.results), history_of(self.plan.scenario))
        return Performance(transcript, known.final, known.states)

    async def bounded(self, work: Awaitable[T]) -> T:
        """Await what makes calls; raise `HungError` where it does not end."""
        try:
            async with asyncio.timeout(self.grace):
                return await work
        except TimeoutError:
            raise HungError(f"calls have not ended within {self.grace:g} s") from None

    async def _outcome(self, script: ScriptedRun) -> "_Outcome":
        async with self.world() as world:
            listening = _Listening(world)
            await perform(script, listening)
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


def _heard(judgement: Judgement, run: Run) -> Judgement:
    """Decide what waits for word whether the user was told of a failure: a script knows what it says."""
    return settled(judgement, told=any(FAILED in text for _, text in run.transcript.texts("assistant")))


def _without_what_is_equal(run: Run) -> Run:
    """Empty the tables that are equal in both states: the built-in checks ask for differences, which takes long."""
    expected, final = run.expected_state, run.final_state
    if expected is None or final is None:
        return run
    equal = [name for name in expected.keys() & final.keys() if expected[name] == final[name]]
    emptied: State = {name: {} for name in equal}
    return run.model_copy(update={"expected_state": {**expected, **emptied}, "final_state": {**final, **emptied}})


def _mark(script: ScriptedRun) -> str:
    """Give what is equal for scripted runs that make equal calls in the same order."""
    calls = [step.call for step in script if step.call is not None]
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
