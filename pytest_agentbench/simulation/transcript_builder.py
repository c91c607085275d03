"""The transcript while it grows: messages from the loop and calls that an agent makes through wrapped tools."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_agentbench.core.events import Event
from pytest_agentbench.core.json_values import decoded, likeness, to_json
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
            places = self._places(pairs)
            seen = [[places[id(call)] for call in part.speech.tool_calls if id(call) in pairs] for part in parts]
            following = [len(self._messages)]  # where what is told of next was observed, for each part
            for several in reversed(seen):
                following.append(min(several, default=following[-1]))
            fresh: list[tuple[int, list[Message]]] = []
            behind = 0  # what the agent told of so far
            for part, several, place in zip(parts, seen, following[:0:-1], strict=True):
                kept = self._left(part, pairs, rejecting)
                behind = len(self._messages) if _waits(kept) else max(behind, place)
                fresh.append((behind, kept))
                behind = max([behind, *(one + 2 for one in several)])
            for part in parts:
                self._know(part.speech, pairs, places)
            self._insert(fresh)
        return tuple(message for _, kept in fresh for message in kept)

    def _left(self, part: "_Part", pairs: dict[int, ToolCall], rejecting: frozenset[str]) -> list[Message]:
        """Give what was not observed of a message and its results."""
        speech = part.speech
        left = tuple(call for call in speech.tool_calls if id(call) not in pairs)
        seen = {call.id for call in speech.tool_calls if id(call) in pairs}
        if seen:
            speech = speech.model_copy(update={"tool_calls": left, "events": ()})  # what is observed holds the events
        failing = {call.id for call in left if call.name in rejecting}
        answers = [
            # whether it was rejected is seen here: what the agent says of it excuses nothing
            one.model_copy(update={"rejected": one.tool_call_id in failing and result_of(one).failed})
            for one in part.results
            if one.tool_call_id not in seen
        ]
        return [*([speech] if left or speech.text or not seen else []), *answers]

    def _insert(self, fresh: Sequence[tuple[int, Sequence[Message]]]) -> None:
        """Put messages before their places, which come in order."""
        if self._closed:
            return
        put: list[Message] = []
        done = 0
        for place, messages in fresh:
            put += [*self._messages[done:place], *map(self._now, messages)]
            done = place
            self._calls += sum(len(message.tool_calls) for message in messages)
        self._messages = [*put, *self._messages[done:]]

    def _places(self, pairs: dict[int, ToolCall]) -> dict[int, int]:
        """Give the places of the observed calls, by the `id` of the call that tells of each."""
        stands = {id(call): at for at, message in enumerate(self._messages) for call in message.tool_calls}
        return {told: stands[id(seen)] for told, seen in pairs.items()}

    def _know(self, speech: Message, pairs: dict[int, ToolCall], places: dict[int, int]) -> None:
        """Let the messages of observed calls hold who made them, and the first what had happened before."""
        events: tuple[Event, ...] = speech.events
        for call in speech.tool_calls:
            if (seen := pairs.get(id(call))) is None or not (call.by or events):
                continue
            at = places[id(call)]
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
    results: list[Message]

    @cached_property
    def answers(self) -> dict[str, Message]:
        """The results by the id of their call."""
        return {one.tool_call_id: one for one in self.results if one.tool_call_id}


def _waits(messages: Sequence[Message]) -> bool:
    """Whether calls wait for their results."""
    answered = {message.tool_call_id for message in messages if message.role == "tool"}
    return any(call.id not in answered for message in messages for call in message.tool_calls)


def _parts(messages: Sequence[Message]) -> list[_Part]:
    parts: list[_Part] = []
    for message in messages:
        if message.role == "tool" and parts:
            parts[-1].results.append(message)
        else:
            parts.append(_Part(message, []))
    return parts


Made = tuple[ToolCall, Message | None]
Observed = tuple[ToolCall, ToolResult]
Kind = tuple[frozenset[str], bool]
"""The names of a call's arguments, and whether it failed."""


def _paired(made: Sequence[Made], observed: Sequence[Observed]) -> dict[int, ToolCall]:
    """Give the observed call of each one that the agent tells of (its `id`): of the same name, one for one.

    Frameworks convert arguments, and code of the agent's own around a tool may fill in some or leave some out: what
    equal arguments do not pair is paired by those that agree, by the names of the arguments and the answer, and at
    last in order. One that the agent was told to have failed is no call that succeeded, unless its arguments are equal.
    """
    left = _Left([_Call(*one) for one in observed])
    told = [_Call(call, None if answer is None else result_of(answer)) for call, answer in made]
    pairs: dict[int, ToolCall] = {}
    for fit in _FITS:
        for one in told:
            if id(one.call) not in pairs and (seen := left.take(one, fit)) is not None:
                pairs[id(one.call)] = seen
    return pairs


@dataclass(frozen=True)
class _Call:
    """A call with what it gave, as observed or as told of."""

    call: ToolCall
    result: ToolResult | None

    @cached_property
    def kind(self) -> Kind:
        return frozenset(self.call.arguments), self.result is not None and self.result.failed

    def key(self, by: frozenset[str] | None) -> str | None:
        """Give the values of some arguments, or (None) the answer, in a form that can be looked up."""
        if by is None:
            return self._answer
        return likeness(to_json({name: self.call.arguments[name] for name in by}))

    @cached_property
    def _answer(self) -> str | None:
        return None if self.result is None else likeness(decoded(self.result.content))


@dataclass(frozen=True)
class _Fit:
    """What two calls have in common: the names of their arguments, and the values `by` which they are found."""

    names: Literal["equal", "agree", "any"]
    by: Literal["arguments", "answer", "order"]
    is_sure: bool = False
    """Whether a call that is told as failed may have succeeded."""

    def shared(self, told: Kind, seen: Kind) -> frozenset[str] | Literal[False] | None:
        """Give what the keys of two calls are made of; False where they do not fit."""
        one, other = told[0], seen[0]
        agree = {"equal": one == other, "agree": one <= other or other <= one, "any": True}[self.names]
        if not agree or (told[1] and not seen[1] and not self.is_sure):
            return False
        return {"arguments": one & other, "answer": None, "order": frozenset[str]()}[self.by]


_FITS = (
    _Fit("equal", "arguments"),
    _Fit("agree", "arguments"),
    _Fit("agree", "answer"),
    _Fit("agree", "order"),
    _Fit("equal", "arguments", is_sure=True),
    _Fit("agree", "arguments", is_sure=True),
    _Fit("any", "order"),
)
"""What pairs two calls, the surest first."""


class _Left:
    """The observed calls that are paired with none yet, found by what they have in common with one that is told of."""

    def __init__(self, observed: Sequence[_Call]) -> None:
        self._observed = dict(enumerate(observed))
        self._places: dict[str, dict[Kind, list[int]]] = {}
        self._found: dict[tuple[str, Kind, frozenset[str] | None], dict[str | None, deque[int]]] = {}
        for at, one in self._observed.items():
            self._places.setdefault(one.call.name, {}).setdefault(one.kind, []).append(at)

    def take(self, told: _Call, fit: _Fit) -> ToolCall | None:
        """Take the first that fits, if any."""
        first: int | None = None
        for kind in self._places.get(told.call.name, ()) if self._observed else ():
            by = fit.shared(told.kind, kind)
            if by is False:
                continue
            places = self._by_key(told.call.name, kind, by).get(told.key(by), deque())
            while places and places[0] not in self._observed:
                places.popleft()
            if places and (first is None or places[0] < first):
                first = places[0]
        return None if first is None else self._observed.pop(first).call

    def _by_key(self, name: str, kind: Kind, by: frozenset[str] | None) -> dict[str | None, deque[int]]:
        found = self._found.get((name, kind, by))
        if found is None:
            found = self._found[name, kind, by] = {}
            for at in self._places[name][kind]:
                if at in self._observed:
                    found.setdefault(self._observed[at].key(by), deque()).append(at)
        return found
