"""Scripts: which answer a request gets, from a list, a function, or a mapping from model names to either."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable

from pytest_agentbench.testing.answers import Answer, text
from pytest_agentbench.testing.fault import ErrorText, Fault
from pytest_agentbench.testing.request import ModelRequest

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
