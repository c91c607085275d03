"""The transcript while it grows: messages from the loop and calls that an agent makes through wrapped tools."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_agentbench.core.events import Event
from pytest_agentbench.core.json_values import decoded, same, to_json
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.transcript import Message, Transcript, result_of


class Recording:
    """Collects messages in the order in which things happened; calls may arrive from another thread.

    The first `begun` messages were exchanged before the run. `reported` are the agent's own numbers, last values,
    `turn_seconds` how long each of its turns took. The messages of the present `session` begin at `start`. `wrapped`
    names the tools that report the calls which they get.
    """

    def __init__(self, history: tuple[Message, ...] = ()) -> None:
        self._lock = threading.Lock()
        self.begun = len(history)
        self.session = 1
        self.start = 0
        self.reported: dict[str, float] = {}
        self.turn_seconds: list[float] = []
        self._messages: list[Message] = list(history)
        self.wrapped: frozenset[str] = frozenset()
        self._observed: list[Observed] = []
        self._calls = sum(len(message.tool_calls) for message in history)
        self._count = 0
        self._closed = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """What has been recorded so far."""
        with self._lock:
            return tuple(self._messages)

    @property
    def calls(self) -> int:
        """The number of tool calls recorded so far, of both parties."""
        return self._calls

    @property
    def earlier_turns(self) -> int:
        """The number of the agent's turns in the sessions before the present one."""
        return Transcript(messages=self.messages[self.begun : self.start]).agent_turns

    def next_session(self) -> None:
        """Let what comes from now on belong to another session."""
        with self._lock:
            self.session, self.start = self.session + 1, len(self._messages)
            self._observed = []

    def add(self, message: Message) -> None:
        """Append a message; refused once the recording is closed."""
        with self._lock:
            if not self._closed:
                self._messages.append(self._now(message))
                self._calls += len(message.tool_calls)

    def observe(self, call: ToolCall, result: ToolResult) -> None:
        """Append a call made through a wrapped tool, together with its result."""
        with self._lock:
            if self._closed:
                return
            self._count += 1
            named = call.model_copy(update={"id": call.id or f"observed_{self._count}"})
            self._observed.append((named, result))
            self._calls += 1
            self._messages.append(self._now(Message(role="assistant", tool_calls=(named,))))
            self._messages.append(self._now(result_message(named, result)))

    def _now(self, message: Message) -> Message:
        return message if self.session == 1 else message.model_copy(update={"session": self.session})

    def report(self, messages: tuple[Message, ...], *, takes_tools: bool = False) -> tuple[Message, ...]:
        """Add what the agent tells of its turn where it took place; give what is new in it, and start a new turn.

        A call that was observed stands already, with the arguments that its tool got; who made it, and what had
        happened before, is added. One that failed and that its `wrapped` tool never got, though the agent `takes_tools`
        or called some, was rejected on the way.
        """
        with self._lock:
            observed, self._observed = self._observed, []
            rejecting = self.wrapped if takes_tools or self._count else frozenset()
            parts = _parts(messages)
            made = [(call, part.answers.get(call.id)) for part in parts for call in part.speech.tool_calls]
            pairs = _paired(made, observed)
            seen = [[pairs[id(call)] for call in part.speech.tool_calls if id(call) in pairs] for part in parts]
            fresh: list[Message] = []
            behind = 0  # what the agent told of so far
            for at, part in enumerate(parts):
                kept = self._left(part, pairs, rejecting)
                following = next((min(map(self._place, calls)) for calls in seen[at:] if calls), len(self._messages))
                behind = self._insert(kept, max(behind, following))
                fresh += kept
                behind = max([behind, *(self._place(call) + 2 for call in seen[at])])
            for part in parts:
                self._know(part.speech, pairs)
        return tuple(fresh)

    def _left(self, part: "_Part", pairs: dict[int, ToolCall], rejecting: frozenset[str]) -> list[Message]:
        """Give what was not observed of a message and its results."""
        speech = part.speech
        left = tuple(call for call in speech.tool_calls if id(call) not in pairs)
        seen = {call.id for call in speech.tool_calls if id(call) in pairs}
        if seen:
            speech = speech.model_copy(update={"tool_calls": left, "events": ()})  # what is observed holds the events
        failing = {call.id for call in left if call.name in rejecting}
        answers = [
            one.model_copy(update={"rejected": True}) if one.tool_call_id in failing and result_of(one).failed else one
            for one in part.results
            if one.tool_call_id not in seen
        ]
        return [*([speech] if left or speech.text or not seen else []), *answers]

    def _insert(self, messages: Sequence[Message], place: int) -> int:
        """Put messages before a place, calls that wait for their results at the end; give the place behind them."""
        answered = {message.tool_call_id for message in messages if message.role == "tool"}
        if any(call.id not in answered for message in messages for call in message.tool_calls):
            place = len(self._messages)
        if not self._closed:
            self._messages[place:place] = [self._now(message) for message in messages]
            self._calls += sum(len(message.tool_calls) for message in messages)
            place += len(messages)
        return place

    def _place(self, observed: ToolCall) -> int:
        calls = (message.tool_calls for message in self._messages)
        return next(at for at, listed in enumerate(calls) if any(one is observed for one in listed))

    def _know(self, speech: Message, pairs: dict[int, ToolCall]) -> None:
        """Let the messages of observed calls hold who made them, and the first what had happened before."""
        events: tuple[Event, ...] = speech.events
        for call in speech.tool_calls:
            if (seen := pairs.get(id(call))) is None or not (call.by or events):
                continue
            at = self._place(seen)
            update = {"tool_calls": (seen.model_copy(update={"by": call.by}),), "by": call.by, "events": events}
            self._messages[at] = self._messages[at].model_copy(update=update)
            events = ()

    def close(self) -> Transcript:
        """Refuse whatever comes later and give the transcript."""
        with self._lock:
            self._closed = True
            return Transcript(messages=tuple(message for message in self._messages if message.role != "system"))


def result_message(call: ToolCall, result: ToolResult) -> Message:
    """Give the tool message that answers `call`."""
    return Message(
        role="tool",
        content=result.content,
        tool_call_id=call.id,
        requestor=call.requestor,
        error=result.error,
        wrote=result.wrote,
        rejected=result.rejected,
    )


@dataclass(frozen=True)
class _Part:
    """A message of the agent's turn with the results that follow it."""

    speech: Message
    results: tuple[Message, ...]

    @property
    def answers(self) -> dict[str, Message]:
        """The results by the id of their call."""
        return {one.tool_call_id: one for one in self.results if one.tool_call_id}


def _parts(messages: Sequence[Message]) -> list[_Part]:
    parts: list[_Part] = []
    for message in messages:
        if message.role == "tool" and parts:
            parts[-1] = replace(parts[-1], results=(*parts[-1].results, message))
        else:
            parts.append(_Part(message, ()))
    return parts


Made = tuple[ToolCall, Message | None]
Observed = tuple[ToolCall, ToolResult]


def _paired(made: Sequence[Made], observed: Sequence[Observed]) -> dict[int, ToolCall]:
    """Give the observed call of each one that the agent tells of (its `id`): of the same name, one for one.

    Frameworks convert arguments, and code of the agent's own around a tool may fill in some or leave some out: what
    equal arguments do not pair is paired by those that agree, by the names of the arguments and the answer, and at
    last in order. One that the agent was told to have failed is no call that succeeded, unless its arguments are equal.
    """
    left = list(observed)
    pairs: dict[int, ToolCall] = {}
    for fits in _FITS:
        for call, answer in (one for one in made if id(one[0]) not in pairs):
            told = None if answer is None else result_of(answer)
            at = next((at for at, (seen, gave) in enumerate(left) if fits((call, told), (seen, gave))), None)
            if at is not None:
                pairs[id(call)] = left.pop(at)[0]
    return pairs


Told = tuple[ToolCall, ToolResult | None]


def _same(told: Told, seen: Observed) -> bool:
    return told[0].name == seen[0].name and same(to_json(told[0].arguments), to_json(seen[0].arguments))


def _within(told: Told, seen: Observed) -> bool:
    one, other = told[0].arguments, seen[0].arguments
    both = one.keys() & other.keys()
    return _names_agree(told, seen) and all(same(to_json(one[name]), to_json(other[name])) for name in both)


def _names_agree(told: Told, seen: Observed) -> bool:
    one, other = told[0].arguments.keys(), seen[0].arguments.keys()
    return told[0].name == seen[0].name and (one <= other or other <= one)


def _may_be(told: Told, seen: Observed) -> bool:
    return told[0].name == seen[0].name and not (told[1] and told[1].failed and not seen[1].failed)


def _answers_agree(told: Told, seen: Observed) -> bool:
    return told[1] is not None and same(decoded(told[1].content), decoded(seen[1].content))


_FITS: tuple[Callable[[Told, Observed], bool], ...] = (
    lambda told, seen: _same(told, seen) and _may_be(told, seen),
    lambda told, seen: _within(told, seen) and _may_be(told, seen),
    lambda told, seen: _names_agree(told, seen) and _may_be(told, seen) and _answers_agree(told, seen),
    lambda told, seen: _names_agree(told, seen) and _may_be(told, seen),
    _same,
    _within,
    _may_be,
)
"""What pairs two calls, the surest first."""
