"""The time a run has for itself: waits for a slot, a limiter or a retry do not count."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType

Slot = Callable[[], AbstractAsyncContextManager[None]]
"""Gives a context manager that waits for its turn to work."""


class Stopwatch:
    """Measures active seconds and pauses, with its deadline, while the run waits for its turn.

    A pause touches no timer, since each call to a model brings several: the deadline's timer is set to the earliest
    time at which it can be due, and set anew when it turns out that the run has waited meanwhile.
    """

    def __init__(self, now: Callable[[], float], slot: Slot | None = None) -> None:
        self._now = now
        self._slot = slot
        self._start = now()
        self._waited = 0.0
        self._pauses = 0
        self._paused_at = 0.0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.deadline: asyncio.Timeout | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the start, waits left out."""
        now = self._paused_at if self._pauses else self._now()
        return now - self._start - self._waited

    def working(self) -> AbstractAsyncContextManager[None]:
        """Wait for a slot with the clock stopped, then hold the slot."""
        return nullcontext() if self._slot is None else _Held(self, self._slot())

    def paused(self) -> AbstractAsyncContextManager[None]:
        """Stop the clock and its deadline meanwhile; pauses within pauses count once."""
        return _Held(self)

    def limit(self, deadline: asyncio.Timeout, seconds: float) -> None:
        """Let `deadline` expire when the run has been active for `seconds` from now on."""
        self.deadline = deadline
        self._due = asyncio.get_running_loop().time() + seconds - self._waited
        self._look()

    def unlimit(self) -> None:
        """Let no deadline expire any more."""
        self.deadline = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Let the deadline expire if it is due, else look again when it can be."""
        self._timer = None
        if self.deadline is None or self._pauses:  # the end of the pause looks again
            return
        loop = asyncio.get_running_loop()
        due = self._due + self._waited
        if loop.time() < due:
            self._timer = loop.call_at(due, self._look)
        elif not self.deadline.expired():
            self.deadline.reschedule(loop.time())

    def _pause(self) -> None:
        self._pauses += 1
        if self._pauses == 1:
            self._paused_at = self._now()

    def _resume(self) -> None:
        self._pauses -= 1
        if self._pauses == 0:
            self._waited += self._now() - self._paused_at
            if self.deadline is not None and self._timer is None:
                self._look()


class _Held(AbstractAsyncContextManager[None]):
    """Stops a clock while it waits for a slot, which it then holds; without a slot the clock stands until the end.

    A class, since each call to a model goes through it, and generators take several times as long.
    """

    def __init__(self, stopwatch: Stopwatch, slot: AbstractAsyncContextManager[None] | None = None) -> None:
        self._stopwatch = stopwatch
        self._slot = slot

    async def __aenter__(self) -> None:
        self._stopwatch._pause()
        if self._slot is not None:
            try:
                await self._slot.__aenter__()
            finally:
                self._stopwatch._resume()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._slot is not None:
            return await self._slot.__aexit__(kind, error, trace)
        self._stopwatch._resume()
        return None
