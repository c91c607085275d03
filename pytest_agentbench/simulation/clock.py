"""The time a run has for itself: waits for a slot do not count."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

Slot = Callable[[], AbstractAsyncContextManager[None]]
"""Gives a context manager that waits for its turn to work."""


class Stopwatch:
    """Measures active seconds and pauses, with its deadline, while the run waits for a slot."""

    def __init__(self, now: Callable[[], float], slot: Slot | None = None) -> None:
        self._now = now
        self._slot = slot
        self._start = now()
        self._waited = 0.0
        self.deadline: asyncio.Timeout | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the start, waits left out."""
        return self._now() - self._start - self._waited

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Wait for a slot with the clock stopped, then hold the slot."""
        if self._slot is None:
            yield
            return
        began, due = self._now(), self.deadline.when() if self.deadline else None
        self._reschedule(None)
        async with self._slot():
            waited = self._now() - began
            self._waited += waited
            self._reschedule(None if due is None else due + waited)
            yield

    def _reschedule(self, when: float | None) -> None:
        if self.deadline is not None:
            self.deadline.reschedule(when)
