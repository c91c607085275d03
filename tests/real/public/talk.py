"""What a scripted model reads off a request: who spoke, which tools are offered, what was called and what came back."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_agentbench.testing import ModelRequest


@dataclass(frozen=True)
class Talk:
    """A conversation as the model is shown it."""

    request: ModelRequest

    def offers(self, tool: str) -> bool:
        """Whether the model may call this tool."""
        return tool in self.request.tools

    @property
    def system(self) -> str:
        """What the model is instructed to do."""
        return self.request.system

    @cached_property
    def users(self) -> list[str]:
        """What the user said, message by message."""
        return [_text(one["content"]) for one in self.request.messages if one["role"] == "user"]

    @property
    def said(self) -> str:
        """What the user said last."""
        return self.users[-1]

    def value(self, pattern: str) -> str | None:
        """Give the first thing of this form that the user ever said."""
        found = re.search(pattern, "\n".join(self.users))
        return found[0] if found else None

    def told(self, words: str) -> bool:
        """Whether the agent said these words."""
        return any(one["role"] == "assistant" and words in _text(one["content"]) for one in self.request.messages)

    @cached_property
    def results(self) -> dict[str, str]:
        """What each tool that was called gave last, since the user's last message; an empty text where none came."""
        return self._results(self.request.messages[self._turn :])

    @cached_property
    def all_results(self) -> dict[str, str]:
        """The same since the conversation began."""
        return self._results(self.request.messages)

    @property
    def _turn(self) -> int:
        return max(at for at, one in enumerate(self.request.messages) if one["role"] == "user")

    def _results(self, messages: list[dict[str, Any]]) -> dict[str, str]:
        names = {call["id"]: call["function"]["name"] for one in messages for call in one.get("tool_calls") or []}
        given = {one["tool_call_id"]: _text(one["content"]) for one in messages if one["role"] == "tool"}
        return {name: given.get(key, "") for key, name in names.items()}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content if isinstance(content, str) else json.dumps(content)
