"""Handoffs that nobody marked, told by the senders' names: another name than that of the agent's message before."""

from collections.abc import Sequence

from pytest_agentbench.core.events import Event
from pytest_agentbench.core.transcript import Message


def with_handoffs(messages: Sequence[Message], last: str | None = None) -> list[Message]:
    """Let a message of another agent than the agent's message before hold the handoff between the two.

    `last` is who sent the agent's message before these. Where one of two neighbours has no name, nobody knows.
    """
    found: list[Message] = []
    for message in messages:
        if message.role != "assistant":
            found.append(message)
            continue
        found.append(_handed(message, last))
        last = message.by
    return found


def last_sender(messages: Sequence[Message], last: str | None = None) -> str | None:
    """Give who sent the agent's last message, as far as it says so; `last` where there is none."""
    return next((message.by for message in reversed(messages) if message.role == "assistant"), last)


def _handed(message: Message, last: str | None) -> Message:
    is_marked = any(event.kind == "handoff" for event in message.events)
    if is_marked or not last or not message.by or message.by == last:
        return message
    event = Event.model_validate({"kind": "handoff", "from": last, "to": message.by})
    return message.model_copy(update={"events": (event, *message.events)})
