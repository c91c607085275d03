"""What a server can do with a model: learnt from its own answers, once, and remembered for the session.

A request is made as its role asks for it. What the server is known not to take is dropped or renamed on the way out,
so that a recording is found under the request as asked, whatever the server could do when it was made.

A refusal is learnt only from the field that an error names (`param`, or the place in a list of validation errors),
never from its prose. Only what the suite did not set itself is dropped; a new name keeps the value and is always taken.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, Protocol, runtime_checkable

from pytest_agentbench.core.errors import SendError

Form = Literal["json_schema", "tool", "json"]

ALL_FORMS: tuple[Form, ...] = ("json_schema", "tool", "json")
"""How an answer of a given type is asked for, from what binds the model most to what every server takes."""

_RENAMED = {"max_tokens": "max_completion_tokens"}
"""Parameters that some models take under another name only."""

_SPARED = frozenset({"temperature", "seed", "max_tokens", "max_completion_tokens", "parallel_tool_calls"})
"""Parameters without which a request still asks the same."""

_REFUSING = frozenset({400, 422})
_SIZES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "array_above_max_length"}
)
"""Codes that name a parameter for its size: a shorter request may be taken."""


class Capabilities:
    """What one server takes for one model."""

    def __init__(self) -> None:
        self._renamed: dict[str, str] = {}
        self._dropped: set[str] = set()
        self._form: Form | None = None
        self._is_known = False
        self._waiting: list[asyncio.Future[None]] | None = None

    @property
    def facts(self) -> tuple[str, ...]:
        """What was learnt of parameters, one clause each, sorted."""
        renamed = [f"{old} sent as {new}" for old, new in self._renamed.items() if new not in self._dropped]
        return tuple(sorted([*renamed, *(f"{name} left out" for name in self._dropped)]))

    def fit(self, body: dict[str, Any]) -> dict[str, Any]:
        """Give a body as the server takes it; the same object where nothing is known against it."""
        if not self._renamed and not self._dropped:
            return body
        renamed = {self._renamed.get(name, name): value for name, value in body.items()}
        return {name: value for name, value in renamed.items() if name not in self._dropped}

    def learn(self, error: SendError, sent: dict[str, Any], *, own: Collection[str]) -> bool:
        """Take a refusal of `sent` to heart; tell whether the request, fitted anew, may be taken now.

        `own` names the parameters that the suite set itself. Raise `SendError` naming the key where one of them cannot
        be sent.
        """
        name = error.param
        if error.status not in _REFUSING or error.code in _SIZES or name not in sent:
            return False
        if name in _RENAMED and name not in self._renamed:
            self._renamed[name] = _RENAMED[name]
            return True
        key = next((old for old, new in self._renamed.items() if new == name), name)
        if key in own:
            raise SendError(
                f"{error} (the suite sets `{key}` for this model: take it out, or name another model)",
                status=error.status,
            )
        if name not in _SPARED:
            return False
        self._dropped.add(name)
        return True

    def forms(self, wanted: Literal["auto"] | Form) -> tuple[Form, ...]:
        """Give the forms to try in order: the wanted one alone, else what worked before first."""
        if wanted != "auto":
            return (wanted,)
        if self._form is None:
            return ALL_FORMS
        return (self._form, *(form for form in ALL_FORMS if form != self._form))

    @property
    def knows_form(self) -> bool:
        """Whether some form worked before: another one is then asked for only where a recording holds no answer."""
        return self._form is not None

    def understood(self, form: Form) -> None:
        """Remember that this form brought an answer."""
        self._form = form

    @asynccontextmanager
    async def turn(self, paused: Callable[[], AbstractAsyncContextManager[None]]) -> AsyncIterator[None]:
        """Let the first request to a server go alone, so that each fact is learnt at the price of one request.

        Others wait for its answer, good or bad, with the clock of their run `paused`.
        """
        if self._is_known:
            yield
            return
        if self._waiting is not None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            async with paused():
                await waiter
            yield
            return
        self._waiting = []
        try:
            yield
        finally:
            self._is_known = True
            waiters, self._waiting = self._waiting, None
            for one in waiters:
                one.get_loop().call_soon_threadsafe(_wake, one)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


@runtime_checkable
class KnowsCapabilities(Protocol):
    """A chat that remembers what its server takes."""

    capabilities: Capabilities
