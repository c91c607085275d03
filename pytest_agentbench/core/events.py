"""What happened in a conversation beside what was said and called: handoffs, guardrails, refusals of a provider."""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from pytest_agentbench.core.base import Model

EventKind = Literal["handoff", "guardrail", "refused_by_provider"]


class Event(Model):
    """Something that happened just before the message that holds it.

    handoff: one agent (`from`) gave the conversation, or a task of it, to another (`to`). guardrail: one that is called
    `name` stopped the agent. refused_by_provider: the provider of the agent's model did; `name` is what it calls that.
    """

    kind: EventKind
    source: str = Field(default="", alias="from")
    to: str = ""
    name: str = ""

    @model_serializer(mode="wrap")
    def _named(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = serialize(self)
        data = {"from" if key == "source" else key: value for key, value in data.items()}
        return {key: value for key, value in data.items() if value}

    def __str__(self) -> str:
        if self.kind == "handoff":
            return handoff_text(self.source, self.to)
        return f"{self.kind.replace('_', ' ')}{f' ({self.name})' if self.name else ''}"


class ExpectedHandoff(Model):
    """A handoff that a scenario expects or forbids; an agent that is not named may be any.

    `place` is the number of expected calls that stand before it.
    """

    source: str = Field(default="", alias="from")
    to: str = ""
    place: int = 0

    def fits(self, event: Event) -> bool:
        """Whether an event is such a handoff."""
        return (
            event.kind == "handoff"
            and (not self.source or self.source == event.source)
            and (not self.to or self.to == event.to)
        )

    def form(self) -> dict[str, str]:
        """Give the handoff as a file writes it."""
        return {key: value for key, value in (("from", self.source), ("to", self.to)) if value}

    def __str__(self) -> str:
        return handoff_text(self.source, self.to)


def handoff_text(source: str, to: str) -> str:
    """Word a handoff."""
    words = [*(("from", source) if source else ()), *(("to", to) if to else ())]
    return " ".join(["a handoff", *words])
