"""What a scripted server was asked, read alike whichever API asked it."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

ApiName = Literal["chat", "responses", "messages", "gemini"]
"""Chat completions and Responses of OpenAI, Messages of Anthropic, generateContent of Google."""


@dataclass(frozen=True)
class ModelRequest:
    """One request: its number in order of arrival, from 1; its decoded body; its headers under lower-case names.

    `api` is the API that was asked, and `body` what was posted to it; all else reads the request in the form of a chat
    completion, which is `chat_form` where the body has another one.
    """

    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    api: ApiName = "chat"
    chat_form: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def model(self) -> str:
        """The model asked for, or the empty string."""
        return str(self._asked.get("model") or "")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, as chat completions write it."""
        return list(self._asked.get("messages") or [])

    @property
    def tools(self) -> list[str]:
        """The names of the tools offered."""
        return [tool.get("function", {}).get("name", "") for tool in self._asked.get("tools") or []]

    @property
    def stream(self) -> bool:
        """Whether the answer is wanted as a stream."""
        return bool(self._asked.get("stream"))

    @property
    def last(self) -> str:
        """The text of the last message."""
        return _text(self.messages[-1].get("content")) if self.messages else ""

    @property
    def system(self) -> str:
        """The texts of the system (or developer) messages, joined by blank lines."""
        said = [_text(m.get("content")) for m in self.messages if m.get("role") in {"system", "developer"}]
        return "\n\n".join(said)

    @cached_property
    def characters(self) -> int:
        """The number of characters in all texts of messages and tools, from which tokens are estimated."""
        return _characters(self._asked.get("messages")) + _characters(self._asked.get("tools"))

    @property
    def _asked(self) -> dict[str, Any]:
        return self.body if self.chat_form is None else self.chat_form


def _text(content: object) -> str:
    """Give the text of a message's content, which is a string or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _characters(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_characters, value.values()))
    if isinstance(value, list):
        return sum(map(_characters, value))
    return 0
