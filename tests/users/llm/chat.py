"""A model that says what a test tells it to, at the seam where roles talk to models."""

import json
from collections.abc import Sequence
from typing import Any

from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.llm.reply import ChatReply, RequestedCall

LAMP: dict[str, Any] = {
    "persona": "You are an impatient office worker.",
    "goal": "You want to return the desk lamp of your order W1001 and get the money back.",
    "known_info": "You are Ada Roy in zip code 75001. Your email is ada.roy@example.com.",
    "unknown": ("You do not remember your user id",),
    "task_instructions": (
        "If the agent tells you that the return is not possible, ask for a repair instead. You do not want to pay for "
        "the shipping, and you only agree when the agent confirms that it is free. You are polite but brief."
    ),
}
"""What a user knows who returns a lamp."""


class PlayedChat:
    """Plays replies in order (implements `llm.protocols.Chat`) and remembers what it was asked."""

    spec = ModelSpec(model="played")

    def __init__(self, *replies: ChatReply | str) -> None:
        self._replies = [ChatReply(content=reply) if isinstance(reply, str) else reply for reply in replies]
        self.asked: list[list[dict[str, Any]]] = []
        self.tools: list[list[dict[str, Any]]] = []
        self.forms: list[dict[str, Any] | None] = []

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
        del tool_choice, temperature, max_tokens
        self.asked.append([dict(message) for message in messages])
        self.tools.append([dict(tool) for tool in tools])
        self.forms.append(response_format)
        return self._replies.pop(0)


def calling(name: str, arguments: str = "{}", *, content: str | None = None) -> ChatReply:
    """Give a reply that calls one tool."""
    return ChatReply(content=content, calls=(RequestedCall(id="call_1", name=name, arguments=arguments),))


def turn(text: str = "", *acts: str | dict[str, Any], **fields: Any) -> str:
    """Write a typed turn as a model answers with it; an act is its kind, or all of it."""
    given = [act if isinstance(act, dict) else {"kind": act, "facts": []} for act in acts]
    return json.dumps({"text": text, "acts": given, "goal": [], "shows": [], "stop": None, "decision": None, **fields})


def saying(text: str = "", *acts: str | dict[str, Any], **fields: Any) -> ChatReply:
    """Give a reply that says a typed turn by the tool `say`."""
    return calling("say", turn(text, *acts, **fields))
