"""The time a run has for itself: waits for a slot, a limiter or a retry do not count."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

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

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Wait for a slot with the clock stopped, then hold the slot."""
        if self._slot is None:
            yield
            return
        async with AsyncExitStack() as stack:
            async with self.paused():
                await stack.enter_async_context(self._slot())
            yield

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Stop the clock and its deadline meanwhile; pauses within pauses count once."""
        self._pauses += 1
        if self._pauses == 1:
            self._paused_at = self._now()
            self._due = self.deadline.when() if self.deadline else None
            self._reschedule(None)
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                waited = self._now() - self._paused_at
                self._waited += waited
                self._reschedule(None if self._due is None else self._due + waited)

    def _reschedule(self, when: float | None) -> None:
        if self.deadline is not None and not self.deadline.expired():
            self.deadline.reschedule(when)
