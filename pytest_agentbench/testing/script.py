"""Scripts: which answer a request gets, from a list, a function, a mapping; and requests, read alike from any API."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import isawaitable
from typing import Any, Literal

from pytest_agentbench.testing.answers import Answer, text
from pytest_agentbench.testing.fault import ErrorText, Fault

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


Given = Answer | Fault | str
"""One answer; a string is its text."""

Reaction = Callable[[ModelRequest], Given | Awaitable[Given]]
"""Answers that follow from the request; called on the server's thread, which it must not block."""

Script = Sequence[Given] | Reaction | Mapping[str, Sequence[Given] | Reaction]
"""Answers in order, or a function, or either for each model name."""


class ScriptError(Exception):
    """A script has no answer to a request; `status` is the HTTP status that says so. No client tries these again."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "script_error", code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.error = ErrorText(message, kind, code=code)


class Player:
    """Plays a script. Not thread-safe: the server's loop alone asks it."""

    def __init__(self, script: Script) -> None:
        self._parts: dict[str, Reaction] | None = None
        self._left: list[_Playlist] = []
        if isinstance(script, Mapping):
            self._parts = {model: self._reaction(part) for model, part in script.items()}
        else:
            self._any = self._reaction(script)

    @property
    def models(self) -> list[str]:
        """The model names that have a script of their own; none where one script serves every name."""
        return list(self._parts or ())

    @property
    def left(self) -> int:
        """How many answers of lists were not asked for yet."""
        return sum(playlist.left for playlist in self._left)

    async def answer(self, request: ModelRequest) -> Answer | Fault:
        """Give the next answer; raise `ScriptError` where there is none."""
        try:
            given: object = self._reaction_to(request)(request)
            if isawaitable(given):
                given = await given
        except (ScriptError, asyncio.CancelledError):
            raise
        except BaseException as error:  # a failed assertion or `pytest.fail` of the test's own function, for instance
            raise ScriptError(f"the script raised {type(error).__name__}: {error}") from error
        if isinstance(given, str):
            return text(given)
        if not isinstance(given, Answer | Fault):
            allowed = "a string, or what text(), call(), … or fault.status(), … give"
            raise ScriptError(f"the script gave {given!r}, which is no answer: give {allowed}")
        return given

    def _reaction_to(self, request: ModelRequest) -> Reaction:
        if self._parts is None:
            return self._any
        if request.model not in self._parts:
            known = ", ".join(map(repr, self._parts)) or "none"
            message = f"no script for model {request.model!r}; there are scripts for: {known}"
            raise ScriptError(message, status=404, kind="model_not_found")
        return self._parts[request.model]

    def _reaction(self, part: Sequence[Given] | Reaction) -> Reaction:
        if callable(part):
            return part
        if isinstance(part, str) or not isinstance(part, Sequence):
            raise TypeError(f"a script is a list of answers, a function, or a mapping from model names, not {part!r}")
        playlist = _Playlist(part)
        self._left.append(playlist)
        return playlist


class _Playlist:
    """Answers in the order in which requests arrive."""

    def __init__(self, answers: Sequence[Given]) -> None:
        self._answers = tuple(answers)
        self._played = 0

    @property
    def left(self) -> int:
        return max(0, len(self._answers) - self._played)

    def __call__(self, request: ModelRequest) -> Given:
        self._played += 1
        if self._played > len(self._answers):
            scripted = f"{len(self._answers)} answer{'' if len(self._answers) == 1 else 's'}"
            message = f"request {self._played} has no answer: the script holds {scripted}, all given"
            raise ScriptError(message, kind="script_exhausted")
        return self._answers[self._played - 1]
