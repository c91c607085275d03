"""The time a run has for itself: waits for a slot, a limiter or a retry do not count."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType

Slot = Callable[[], AbstractAsyncContextManager[None]]
"""Gives a context manager that waits for its turn to work."""


class Stopwatch:
    """Measures active seconds and pauses, with its deadline, while the run waits for its turn."""

    def __init__(self, now: Callable[[], float], slot: Slot | None = None) -> None:
        self._now = now
        self._slot = slot
        self._start = now()
        self._waited = 0.0
        self._pauses = 0
        self._paused_at = 0.0
        self._due: float | None = None
        self.deadline: asyncio.Timeout | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the start, waits left out."""
        now = self._paused_at if self._pauses else self._now()
        return now - self._start - self._waited

    def working(self) -> AbstractAsyncContextManager[None]:
        """Wait for a slot with the clock stopped, then hold the slot."""
        return nullcontext() if self._slot is None else _Working(self, self._slot())

    def paused(self) -> AbstractAsyncContextManager[None]:
        """Stop the clock and its deadline meanwhile; pauses within pauses count once."""
        return _Paused(self)

    def _pause(self) -> None:
        self._pauses += 1
        if self._pauses == 1:
            self._paused_at = self._now()
            self._due = self.deadline.when() if self.deadline else None
            self._reschedule(None)

    def _resume(self) -> None:
        self._pauses -= 1
        if self._pauses == 0:
            waited = self._now() - self._paused_at
            self._waited += waited
            self._reschedule(None if self._due is None else self._due + waited)

    def _reschedule(self, when: float | None) -> None:
        if self.deadline is not None and not self.deadline.expired():
            self.deadline.reschedule(when)


# classes, since each call to a model goes through both, and generators take several times as long
class _Paused(AbstractAsyncContextManager[None]):
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch

    async def __aenter__(self) -> None:
        self._stopwatch._pause()

    async def __aexit__(self, *_: object) -> None:
        self._stopwatch._resume()


class _Working(AbstractAsyncContextManager[None]):
    def __init__(self, stopwatch: Stopwatch, slot: AbstractAsyncContextManager[None]) -> None:
        self._stopwatch = stopwatch
        self._slot = slot

    async def __aenter__(self) -> None:
        self._stopwatch._pause()
        try:
            await self._slot.__aenter__()
        finally:
            self._stopwatch._resume()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._slot.__aexit__(kind, error, trace)
