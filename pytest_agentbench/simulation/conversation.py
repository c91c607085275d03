"""The conversation loop: user and agent in turn, calls and approvals in between, until something closes it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind, Standing
from pytest_agentbench.core.conversation import Reply, Stop, UserTurn
from pytest_agentbench.core.errors import (
    AgentBenchError,
    AgentError,
    BudgetSpentError,
    EnvironmentFaultError,
    NotRunError,
    PatternBoundError,
    ProviderError,
    SuiteFaultError,
)
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.names import count, listing
from pytest_agentbench.core.protocols import Agent, Environment, User
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.termination import Limits, Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript, awaiting
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.simulation.clock import Stopwatch
from pytest_agentbench.simulation.stall import Progress
from pytest_agentbench.simulation.transcript_builder import Recording, result_message
from pytest_agentbench.simulation.views import agent_turn, user_view

Blocked = Callable[[], tuple[float, float]]
"""Seconds for which this run, and for which all others, blocked the event loop since this one began."""

Objection = Callable[[Transcript, str], Awaitable[str | None]]
"""Tells, from a transcript that its user closed and the reason given, why it is not over; None where it is."""

UNBLOCK = "make it a plain function, which gets a thread of its own, or await what takes long"
"""What to do about asynchronous code that blocks."""

_NOTICEABLE = 0.5
"""Seconds of blocking, and the share of a limit lost to others, from which they are held responsible."""

_BLAMED: dict[type[BaseException], Blame] = {
    EnvironmentFaultError: Blame.ENVIRONMENT,
    ProviderError: Blame.PROVIDER,
    PatternBoundError: Blame.SCENARIO,
    SuiteFaultError: Blame.SCENARIO,
}
"""Who is to blame for what is raised while a party acts; for anything else that party."""


@dataclass(kw_only=True)
class Conversation:
    """One conversation between a simulated user and the agent under test, in an environment of its own.

    Of several sessions it is the one that the recording is at; `agent_turns` were taken in those before. `objection` is
    asked whenever the user closes; a closing line that does not stand is never sent.
    """

    scenario: Scenario
    agent: Agent
    user: User
    environment: Environment
    recording: Recording
    stopwatch: Stopwatch
    limits: Limits
    session_id: str
    context: Any = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    blocked: Blocked = lambda: (0.0, 0.0)
    objection: Objection | None = None
    agent_turns: int = 0
    _acting: Blame = Blame.AGENT
    _seen: int = 0

    async def run(self) -> Stop:
        """Converse until a party closes, nothing moves any more, something breaks or a limit is hit.

        Raise `NotRunError` where the run cannot go on for a reason outside of it.
        """
        try:
            async with asyncio.timeout(None) as deadline:
                self.stopwatch.limit(deadline, self.limits.seconds)
                return await self._converse()
        except TimeoutError:
            if not deadline.expired():
                raise
            return out_of_time(self.limits.seconds, self._acting, self.blocked())
        finally:
            self.stopwatch.unlimit()

    async def _converse(self) -> Stop:
        history = self.recording.messages[self.recording.start :]
        if history and history[-1].role == "user" and (closed := await self._guarded(self._agent_speaks, Blame.AGENT)):
            return closed
        while True:
            if closed := await self._guarded(self._user_speaks, Blame.USER):
                return closed
            if closed := self._spent() or await self._guarded(self._agent_speaks, Blame.AGENT):
                return closed
            if closed := self._stalled():
                return closed

    async def _guarded(self, act: Callable[[], Any], actor: Blame) -> Stop | None:
        """Let a party act; whatever it raises, exits included, closes the run as CRASHED.

        What it raises after a call of its own was refused as one too many is what became of that.
        """
        self._acting = actor
        try:
            closed: Stop | None = await act()
        except BaseException as error:  # noqa: BLE001 - an exit inside an agent must not end the session
            closed = self._closed_by(error, actor)
        self._acting = actor
        if closed is not None and closed.termination is Termination.CRASHED and closed.blame is actor:
            return self._spent_calls() or closed
        return closed

    def _closed_by(self, error: BaseException, actor: Blame) -> Stop:
        """Close the run for what was raised while a party acted; raise it again where it is about more than the run."""
        if isinstance(error, BudgetSpentError) and error.scope == "run":
            return _spent(str(error), actor)
        task, deadline = asyncio.current_task(), self.stopwatch.deadline
        is_cancelled = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling()
        is_late = isinstance(error, TimeoutError) and deadline is not None and deadline.expired()
        if is_cancelled or is_late or isinstance(error, NotRunError):
            raise error
        return crashed(error, next((blame for kind, blame in _BLAMED.items() if isinstance(error, kind)), actor))

    async def _user_speaks(self) -> Stop | None:
        feedback = ""
        while True:
            messages, begun, start = self.recording.messages, self.recording.begun, self.recording.start
            view = user_view(
                self.scenario,
                messages,
                begun=begun,
                tools=self.environment.tools,
                feedback=feedback,
                start=start,
                sees_calls=bool(getattr(self.agent, "calls_visible", True)),
            )
            said = decided(await self.user.reply(view), awaiting(messages[start:]), self.scenario.approvals)
            if feedback := await self._not_over(said):
                continue
            if (message := said.message) is not None:
                self.recording.add(message)
            for call in said.tool_calls:
                await self._execute(call)
            self._acting = Blame.USER
            if said.tool_calls and (closed := self._spent_calls()):
                return closed
            if stop := said.stop:
                return stop
            if not said.tool_calls:
                return None

    async def _not_over(self, said: UserTurn) -> str:
        """Say why a conversation that its user closed is not over, "" where it is."""
        stop = said.stop
        if self.objection is None or stop is None or stop.blame or stop.termination is not Termination.FINISHED:
            return ""
        closing = (said.message,) if said.message else ()
        transcript = Transcript(messages=(*self.recording.messages[self.recording.start :], *closing))
        return await self.objection(transcript, stop.reason) or ""

    async def _agent_speaks(self) -> Stop | None:
        self.agent_turns += 1
        begun = self.stopwatch.seconds
        try:
            return await self._agent_takes_its_turn()
        finally:
            self.recording.turn_seconds.append(self.stopwatch.seconds - begun)

    async def _agent_takes_its_turn(self) -> Stop | None:
        results: tuple[Message, ...] = ()
        while True:
            reply = await self._agent_replies(results)
            if self.stopwatch.seconds > self.limits.seconds:  # what blocks the loop is not interrupted by a deadline
                return out_of_time(self.limits.seconds, self._acting, self.blocked())
            self.recording.reported |= reply.metrics
            fresh = self._told(reply.messages)
            pending = unanswered(fresh)
            results = tuple([await self._execute(call) for call in pending])
            self._acting = Blame.AGENT
            if closed := self._spent_calls():
                return closed
            if reply.stop:
                return Stop(termination=Termination.FINISHED, reason="the agent closed the conversation")
            if pending:
                continue
            if not any(message.role == "assistant" and message.text for message in fresh):
                raise AgentError("unusable reply: neither text for the user nor a tool call to execute")
            return None

    async def _agent_replies(self, results: tuple[Message, ...]) -> Reply:
        turn = agent_turn(
            self.recording.messages[self.recording.start :],
            results,
            session_id=self.session_id,
            context=self.context,
            tools=self.environment.tools,
        )
        if getattr(self.agent, "works_by_chat", False):
            return await self.agent.reply(turn)
        try:
            async with self.stopwatch.working():
                return await abandonable(self.agent.reply(turn))
        except BaseException:
            # what was done before the turn broke off stands, whatever became of the turn
            with suppress(Exception):  # why it broke off is what counts, not that this cannot be told
                self._told(tuple(getattr(self.agent, "unfinished", ())))
            raise

    def _told(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return self.recording.report(messages, takes_tools=bool(getattr(self.agent, "has_tools", False)))

    async def _execute(self, call: ToolCall) -> Message:
        self._acting = Blame.ENVIRONMENT
        answer = result_message(call, await self.environment.call(call))
        self.recording.add(answer)
        return answer

    def _stalled(self) -> Stop | None:
        messages = self.recording.messages
        for message in messages[max(self._seen, self.recording.start) :]:
            self.progress.see(message)
        self._seen = len(messages)
        if self.progress.is_farewell:
            return Stop(reason="the user closed, and the agent had nothing to add")
        if reason := self.progress.stalled():
            return Stop(termination=Termination.STALLED, reason=reason, blame=self.progress.blame)
        return None

    def _spent(self) -> Stop | None:
        if self.agent_turns < self.limits.turns:
            return None
        return _spent(f"limits.turns = {count(self.limits.turns, 'agent turn')} spent", Blame.AGENT)

    def _spent_calls(self) -> Stop | None:
        if self.recording.calls <= self.limits.tool_calls:
            return None
        return _spent(
            f"limits.tool_calls = {self.limits.tool_calls} spent ({count(self.recording.calls, 'call')})", self._acting
        )


async def abandonable(work: Coroutine[Any, Any, Reply]) -> Reply:
    """Await an agent's reply in a task of its own, which is left behind where it swallows its cancellation."""
    outer = asyncio.current_task()
    task = asyncio.create_task(work, name=outer.get_name() if outer else None)
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task.add_done_callback(lambda _: None if ended.done() else ended.set_result(None))
    try:
        await ended
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.cancelled():
        raise AgentError("CancelledError was raised: the agent cancelled its own task")
    return task.result()


def out_of_time(limit: float, acting: Blame, blocked: tuple[float, float]) -> Stop:
    """Close a run whose seconds are spent, naming whoever blocked the event loop meanwhile."""
    own, others = blocked
    reason, blame = f"limits.seconds = {limit:g} spent while the {acting} was acting", acting
    if own >= _NOTICEABLE:
        reason += f"; its asynchronous code blocked the event loop for {own:.1f} s: {UNBLOCK}"
    elif others >= _NOTICEABLE * limit:
        reason = f"another run's asynchronous code blocked the event loop for {others:.1f} s: {UNBLOCK}"
        blame = Blame.ENVIRONMENT
    return _spent(reason, blame)


def _spent(reason: str, blame: Blame) -> Stop:
    return Stop(termination=Termination.SAFETY_TIMEOUT, reason=reason, blame=blame)


def unanswered(messages: Sequence[Message]) -> list[ToolCall]:
    """Give the calls of `messages` that no tool message among them answers, in order."""
    answers = [message.tool_call_id for message in messages if message.role == "tool"]
    return [call for message in messages for call in message.tool_calls if call.id not in answers]


def crashed(error: BaseException, blame: Blame) -> Stop:
    """Close a run that cannot go on, with what was raised as the reason."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception of the user's may fail to print itself
        text = "(its message could not be read)"
    message = text if isinstance(error, AgentBenchError) else f"{type(error).__name__}: {text}"
    first = shorten(printable(message.strip().split("\n")[0]), 200)
    return Stop(termination=Termination.CRASHED, reason=first, blame=blame, error=printable(message, newlines=True))


def decided(said: UserTurn, requests: Iterable[ApprovalRequest], standing: Standing | None) -> UserTurn:
    """Give the turn with a decision for each request: its own, else by its acts, else the `standing` one.

    A yes approves and a no rejects where the turn decides nothing itself; a question is answered by what was said. What
    nobody decides, and what the agent cannot take, closes the conversation, blame *scenario*. A turn that closes, or
    calls the user's tools, stays.
    """
    if said.stop is not None or said.tool_calls:
        return said
    taken = list(said.decisions)
    found: list[Decision] = []
    for request in requests:
        own = next((one for one in taken if (one.id, one.tool) == (request.id, request.tool)), None)
        if own is not None:
            taken.remove(own)
        decision = own or _by_acts(said, request, standing)
        if decision is None:
            return UserTurn(stop=_cannot_go_on(undecided(request)))
        if decision.kind not in request.allowed:
            offered = listing(request.allowed)
            why = f"the user is to {decision.kind} {request.call}, and the agent takes only {offered}: change the line"
            return UserTurn(stop=_cannot_go_on(why))
        found.append(decision)
    return said.model_copy(update={"decisions": tuple(found)})


def undecided(request: ApprovalRequest) -> str:
    """Say that nothing decides a request, and which line would."""
    given = json.dumps(to_json(request.arguments), ensure_ascii=False)
    about = f"{{{request.tool}: {given}}}" if request.arguments else request.tool
    if "approve" in request.allowed:
        cure = f"add `{{approve: {about}}}` or `{{reject: {request.tool}}}` to `says`, or the key `approvals: approve`"
    else:
        cure = f'add `{{respond: {request.tool}, say: "…"}}` to `says`'
    return f"the agent asks for approval of {request.call}, and nothing says what the user decides: {cure}"


def _by_acts(said: UserTurn, request: ApprovalRequest, standing: Standing | None) -> Decision | None:
    if request.is_question and said.text.strip():
        return _decision("respond", request, said)
    kinds = set() if said.decisions else {act.kind for act in said.acts or ()}
    if "confirm" in kinds and kinds.isdisjoint(("decline", "condition", "withdraw")):
        return _decision("approve", request, said)
    if not kinds.isdisjoint(("decline", "withdraw")) and "confirm" not in kinds:
        return _decision("reject", request, said)
    return None if standing is None or request.is_question else _decision(standing, request, said)


def _decision(kind: DecisionKind, request: ApprovalRequest, said: UserTurn) -> Decision:
    return Decision(kind=kind, id=request.id, tool=request.tool, arguments=request.arguments, text=said.text)


def _cannot_go_on(reason: str) -> Stop:
    return Stop(reason=reason, blame=Blame.SCENARIO, termination=Termination.STALLED)
