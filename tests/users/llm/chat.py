"""A model that says what a test tells it to, at the seam where roles talk to models."""

from collections.abc import Sequence
from typing import Any

from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.llm.reply import ChatReply, RequestedCall


class PlayedChat:
    """Plays replies in order (implements `llm.seams.Chat`) and remembers what it was asked."""

    spec = ModelSpec(model="played")

    def __init__(self, *replies: ChatReply | str) -> None:
        self._replies = [ChatReply(content=reply) if isinstance(reply, str) else reply for reply in replies]
        self.asked: list[list[dict[str, Any]]] = []
        self.tools: list[list[dict[str, Any]]] = []

    @property
    def usage(self) -> Usage:
        """What was asked, as calls."""
        return Usage(calls=len(self.asked))

    async def complete(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: Sequence[dict[str, Any]] = (),
        tool_choice: str | dict[str, Any] | None = None,
        response_format: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ChatReply:
        """Give the next reply."""
        del tool_choice, response_format, temperature, max_tokens
        self.asked.append([dict(message) for message in messages])
        self.tools.append([dict(tool) for tool in tools])
        return self._replies.pop(0)


def calling(name: str, arguments: str = "{}", *, content: str | None = None) -> ChatReply:
    """Give a reply that calls one tool."""
    return ChatReply(content=content, calls=(RequestedCall(id="call_1", name=name, arguments=arguments),))
