"""A framework's agent as an `Agent`: one session a run, its failures told apart, its silence never an answer."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from pytest_agentbench.agents.failure import guard, guard_sync
from pytest_agentbench.agents.frameworks.context import lacking
from pytest_agentbench.agents.replies import Returned, settle, typed
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentError, ProviderError
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, asking
from pytest_agentbench.messages.content import shown


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What a framework did in one turn, and how many tokens it says that this took (None: it does not say).

    `reason` is why the framework ended the turn, where it says so and there is no answer. `output` is the typed answer
    of the turn, None where the framework gave a text alone. Where the framework waits for its user to decide, the last
    message asks it. `hides_calls` says that an agent with tools worked behind a tool, of whose calls nothing is told.
    """

    messages: Sequence[Message]
    input_tokens: int | None = None
    output_tokens: int | None = None
    reason: str = ""
    output: object = None
    hides_calls: bool = False


class Session(Protocol):
    """The conversation of one run. `answer` may be sync, and is then called in the run's own thread.

    An attribute `shows` names what the framework would tell if it were there: *handoffs*, *output*. An attribute
    `begun` holds the messages of a turn that the framework did not bring to its end.
    """

    def answer(self, message: str) -> Answered | Awaitable[Answered]:
        """Answer the user; whatever it raises ends the run."""


def answered_only(messages: Sequence[Message]) -> list[Message]:
    """Give what was done in a turn that broke off, without calls that nothing answered: they may not have been made."""
    answers = {message.tool_call_id for message in messages if message.role == "tool"}
    kept: list[Message] = []
    for message in messages:
        calls = tuple(call for call in message.tool_calls if call.id in answers)
        if message.role != "user" and (calls or message.role == "tool" or message.text.strip()):
            kept.append(message.model_copy(update={"tool_calls": calls}))
    return kept


@runtime_checkable
class Deciding(Protocol):
    """A session whose framework waits for its user to decide about calls."""

    def decide(self, decisions: Sequence[Decision], message: str) -> Answered | Awaitable[Answered]:
        """Go on with what the user decided, and said with it."""


@runtime_checkable
class Choosy(Protocol):
    """A session that finds out, before the first turn, how it is to ask its framework."""

    async def fit(self, run_sync: RunSync) -> None:
        """Find it out; what is sync may be asked in the run's thread."""


class Marked:
    """Collects the messages of one turn; what happens is held by the message that follows, else by the last one."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._events: list[Event] = []

    def happened(self, event: Event) -> None:
        """Note an event."""
        self._events.append(event)

    def handed_over(self, source: str, to: str) -> None:
        """Note that an agent gave the conversation, or a task of it, to another."""
        self.happened(Event(kind="handoff", **{"from": source, "to": to}))

    def add(self, message: Message, by: str | None) -> None:
        """Append a message of the agent `by`, or what a call of it gave."""
        if message.role == "assistant":
            calls = tuple(call.model_copy(update={"by": by}) for call in message.tool_calls)
            events = (*self._events, *message.events)
            message = message.model_copy(update={"by": by, "tool_calls": calls, "events": events})
            self._events = []
        self._messages.append(message)

    @property
    def messages(self) -> list[Message]:
        """All messages so far, with every event."""
        places = [at for at, message in enumerate(self._messages) if message.role == "assistant"]
        if self._events and places:
            last = self._messages[places[-1]]
            events = (*last.events, *self._events)
            self._messages[places[-1]] = last.model_copy(update={"events": events})
            self._events = []
        return list(self._messages)


class Waiting:
    """The calls of one conversation that wait. A call that the user refused was never made, so it is not shown."""

    def __init__(self) -> None:
        self.requests: tuple[ApprovalRequest, ...] = ()
        self._calls: dict[str, ToolCall] = {}

    def hold(self, messages: Iterable[Message], requests: Sequence[ApprovalRequest]) -> list[Message]:
        """Give the messages without the calls that are asked about, and what stands in the place of their results.

        Where something is asked, the last message asks it; what came with the calls comes with it.
        """
        self.requests = tuple(requests)
        ids = {request.id for request in requests}
        self._calls = {}
        kept: list[Message] = []
        held: list[Message] = []
        by = None
        for message in messages:
            self._calls |= {call.id: call for call in message.tool_calls if call.id in ids}
            left = _without(message, ids)
            kept += left
            if message.role == "assistant":
                by = message.by
                held += [] if left else [message]
        if not requests:
            return kept
        events = tuple(event for message in held for event in message.events)
        thoughts = "\n".join(message.thoughts for message in held if message.thoughts)
        asked = {"by": by, "events": events, "thoughts": thoughts or None}
        return [*kept, asking(requests).model_copy(update=asked)]

    def decided(self, messages: Iterable[Message], decisions: Iterable[Decision]) -> list[Message]:
        """Give the messages that followed the decisions: calls as they were made, none that was refused."""
        by_id = {decision.id: decision for decision in decisions}
        refused = {id_ for id_, decision in by_id.items() if not decision.runs}
        kept: list[Message] = []
        shown: set[str] = set()
        for message in messages:
            shown |= {call.id for call in message.tool_calls}
            for one in _without(message, refused):
                calls = tuple(_as_made(call, by_id) for call in one.tool_calls)
                kept.append(one.model_copy(update={"tool_calls": calls}) if calls else one)
        made = tuple(
            _as_made(call, by_id) for id_, call in self._calls.items() if id_ not in shown | refused and id_ in by_id
        )
        self.requests, self._calls = (), {}
        return [*([Message(role="assistant", tool_calls=made, by=made[0].by)] if made else []), *kept]


def _as_made(call: ToolCall, by_id: dict[str, Decision]) -> ToolCall:
    decision = by_id.get(call.id)
    return call.model_copy(update={"arguments": decision.arguments}) if decision and decision.kind == "edit" else call


def _without(message: Message, ids: set[str]) -> list[Message]:
    """Give the message without calls of these ids; nothing of it where nothing else is in it."""
    if message.role == "tool":
        return [] if message.tool_call_id in ids else [message]
    calls = tuple(call for call in message.tool_calls if call.id not in ids)
    if len(calls) == len(message.tool_calls):
        return [message]
    return [message.model_copy(update={"tool_calls": calls})] if calls or message.text.strip() else []


class FrameworkAgent:
    """The agent of one run, on a session of a framework's; `reply` raises only `AgentBenchError`s and cancellation.

    Its calls are visible: frameworks tell what their agents called. Those of an agent behind a tool they do not tell
    (`hides_calls`), unless it `has_tools` of the environment, which do. `framework` is the framework's name.
    """

    def __init__(
        self,
        session: Session,
        *,
        framework: str,
        context: Any = None,
        takes_tools: bool = False,
        run_sync: RunSync,
        root: Path | None = None,
    ) -> None:
        self.framework = framework
        self.hides_calls = False
        self.has_tools = takes_tools
        self._session = session
        self._context = context
        self._run_sync = run_sync
        self._root = root
        self._metrics: dict[str, float] = {}
        self._number = 0

    @property
    def calls_visible(self) -> bool:
        """Whether all calls so far can be seen."""
        return not self.hides_calls

    @property
    def shows(self) -> frozenset[str]:
        """What the framework would tell if it were there: *handoffs*, *output*."""
        return getattr(self._session, "shows", frozenset())

    @property
    def unfinished(self) -> Sequence[Message]:
        """What was done in a turn that broke off, as far as the framework tells."""
        return answered_only(getattr(self._session, "begun", ()))

    async def reply(self, turn: Turn) -> Reply:
        """Answer the user.

        Raise `AgentError` where the framework raises or ends its run without an answer, `ProviderError` where the
        server of its model failed, `SuiteFaultError` where the agent needs a context that the suite does not give.
        """
        self._number += 1
        if self._number == 1 and isinstance(self._session, Choosy):
            await guard(self._session.fit(self._run_sync), root=self._root)
        answered = await self._answered(turn)
        used = {"input_tokens": answered.input_tokens, "output_tokens": answered.output_tokens}
        if self._metrics or any(number is not None for number in used.values()):
            self._metrics = {name: self._metrics.get(name, 0.0) + (number or 0) for name, number in used.items()}
        self.hides_calls |= answered.hides_calls and not self.has_tools
        messages = tuple(answered.messages)
        if not messages or messages[-1].role != "assistant" or not messages[-1].text.strip():
            raise AgentError(f"the {self.framework} run ended without an answer: {_silence(messages, answered.reason)}")
        returned = Returned(messages=messages, listed=True, metrics=self._metrics, output=typed(answered.output))
        return settle(returned, turn, earlier=(), number=self._number)

    async def _answered(self, turn: Turn) -> Answered:
        session = self._session
        work: Callable[[], Answered | Awaitable[Answered]] = partial(session.answer, turn.message)
        if turn.decisions and isinstance(session, Deciding):
            work = partial(session.decide, turn.decisions, turn.message)
        try:
            if inspect.iscoroutinefunction(work):
                return await guard(cast("Awaitable[Answered]", work()), root=self._root)
            return await guard_sync(cast("Callable[[], Answered]", work), self._run_sync, root=self._root)
        except (AgentError, ProviderError) as error:
            if error.__cause__ is not None and (failed := lacking(error.__cause__, self._context)):
                raise failed from error.__cause__
            raise


def _silence(messages: tuple[Message, ...], reason: str) -> str:
    """Say why there is no answer, as far as the messages or the framework tell."""
    if reason:
        return reason
    last = messages[-1] if messages else None
    if last is None:
        return "it gave no message"
    if last.role == "tool":
        return f"its last message is the tool result {shown(last.text)}"
    broken = next((call for call in last.tool_calls if call.raw is not None), None)
    if broken is not None:
        return f"its model called {broken.name} with arguments that are no JSON object: {shown(broken.raw)}"
    if last.tool_calls:
        return f"the call of {last.tool_calls[-1].name} was not executed"
    return "its last message is empty"
