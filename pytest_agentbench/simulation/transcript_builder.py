"""The transcript while it grows: messages from the loop and calls that an agent makes through wrapped tools."""

import threading
from collections.abc import Sequence

from pytest_agentbench.core.events import Event
from pytest_agentbench.core.json_values import same, to_json
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.transcript import Message, Transcript


class Recording:
    """Collects messages in the order in which things happened; calls may arrive from another thread.

    The first `begun` messages were exchanged before the run. `reported` are the agent's own numbers, last values,
    `turn_seconds` how long each of its turns took. The messages of the present `session` begin at `start`.
    """

    def __init__(self, history: tuple[Message, ...] = ()) -> None:
        self._lock = threading.Lock()
        self.begun = len(history)
        self.session = 1
        self.start = 0
        self.reported: dict[str, float] = {}
        self.turn_seconds: list[float] = []
        self._messages: list[Message] = list(history)
        self._observed: list[ToolCall] = []
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
            self._observed.append(named)
            self._calls += 1
            self._messages.append(self._now(Message(role="assistant", tool_calls=(named,))))
            self._messages.append(self._now(result_message(named, result)))

    def _now(self, message: Message) -> Message:
        return message if self.session == 1 else message.model_copy(update={"session": self.session})

    def unobserved(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Drop the calls (and their results) that were observed in this turn already, and start a new turn.

        What a dropped call told of its agent, and of what had happened before, the observed one keeps.
        """
        with self._lock:
            observed, self._observed = self._observed, []
        pairs = _paired([call for message in messages for call in message.tool_calls], observed)
        kept: list[Message] = []
        dropped: set[str | None] = set()
        for message in messages:
            if message.role == "tool" and message.tool_call_id in dropped:
                continue
            fresh: list[ToolCall] = []
            for call in message.tool_calls:
                seen = pairs.get(id(call))
                if seen is None:
                    fresh.append(call)
                    continue
                dropped.add(call.id)
                self._know(seen, call.by, message.events)
                message = message.model_copy(update={"events": ()})  # noqa: PLW2901 - they are told
            if fresh or message.text or message.role == "tool":
                is_whole = len(fresh) == len(message.tool_calls)
                kept.append(message if is_whole else message.model_copy(update={"tool_calls": tuple(fresh)}))
        return tuple(kept)

    def _know(self, seen: ToolCall, by: str | None, events: tuple[Event, ...]) -> None:
        """Let the message of an observed call hold who made it, and what had happened before."""
        if by is None and not events:
            return
        with self._lock:
            at = next(at for at, message in enumerate(self._messages) if any(one is seen for one in message.tool_calls))
            call = seen.model_copy(update={"by": by})
            update = {"tool_calls": (call,), "by": by, "events": events}
            self._messages[at] = self._messages[at].model_copy(update=update)

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
    )


def _paired(reported: Sequence[ToolCall], observed: list[ToolCall]) -> dict[int, ToolCall]:
    """Give the observed call of each reported one (its `id`): of the same name with equal arguments, one for one.

    Code of the agent's own around a tool may fill in arguments or leave some out, so what is left is paired where those
    of the one are among those of the other.
    """
    pairs: dict[int, ToolCall] = {}
    for fits in (_same, _within):
        for call in (one for one in reported if id(one) not in pairs):
            at = next((at for at, seen in enumerate(observed) if seen.name == call.name and fits(call, seen)), None)
            if at is not None:
                pairs[id(call)] = observed.pop(at)
    return pairs


def _same(one: ToolCall, other: ToolCall) -> bool:
    return same(to_json(one.arguments), to_json(other.arguments))


def _within(one: ToolCall, other: ToolCall) -> bool:
    both = one.arguments.keys() & other.arguments.keys()
    is_part = len(both) == min(len(one.arguments), len(other.arguments))
    return is_part and all(same(to_json(one.arguments[name]), to_json(other.arguments[name])) for name in both)
