"""The messages of a turn, each with the agent that sent it and with what had happened before it."""

from pytest_agentbench.core.events import Event
from pytest_agentbench.core.transcript import Message


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
