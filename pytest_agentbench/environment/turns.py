"""Whose turn it is among the calls of one run that work on one database connection."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pytest_agentbench.core.lines import Line, Place

PATIENCE = 20.0
"""Seconds that a call waits for another one before it goes on beside it: that one hangs, or waits for this one."""


Turn = Place
"""The turn of one call."""

_WITHIN: ContextVar[Turn | None] = ContextVar("agentbench_turn", default=None)
"""The turn in which code runs, in threads too that get the context of whoever starts them."""


@contextmanager
def within(turn: Turn | None) -> Iterator[None]:
    """Let what is called from here be a part of the turn."""
    before = _WITHIN.get()
    _WITHIN.set(turn or before)
    try:
        yield
    finally:
        _WITHIN.set(before)


class Turns:
    """Gives turns one after the other, in the order asked, to threads and to async code.

    What a call calls itself is a part of its turn. Nobody waits where waiting could never end: sync code never waits in
    the thread of an event loop, nobody waits longer than `patience` seconds, and nobody after `close`.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._line = Line()
        self._closed = False

    def take(self) -> Turn | None:
        """Wait in this thread for a turn; None where the call goes on without one of its own."""
        if self._goes_on():
            return None
        come = threading.Event()
        turn = Turn(lambda _: come.set())
        if self._line.take(turn):
            return turn
        if self._closed or _is_in_a_loop():  # nobody wakes who came while it closed; a loop's thread may be needed
            self._line.leave(turn)
            return None
        if not come.wait(self._patience):
            self._line.take_over(turn)
        return turn

    async def wait(self) -> Turn | None:
        """Wait for a turn in async code; None where the call goes on without one of its own."""
        if self._goes_on():
            return None
        loop, come = asyncio.get_running_loop(), asyncio.Event()
        turn = Turn(lambda _: loop.call_soon_threadsafe(come.set))
        if self._line.take(turn):
            return turn
        if self._closed:  # nobody wakes who came while it closed
            self._line.leave(turn)
            return None
        try:
            async with asyncio.timeout(self._patience):
                await come.wait()
        except TimeoutError:
            self._line.take_over(turn)
        except BaseException:
            self._line.leave(turn)
            raise
        return turn

    def give_back(self, turn: Turn | None) -> None:
        """End a turn, or the waiting for it; the next one is woken."""
        if turn is not None:
            self._line.leave(turn)

    def is_free_for(self, turn: Turn | None) -> bool:
        """Whether nobody else has the turn."""
        return self._line.is_free_for(turn)

    def close(self) -> None:
        """Let nobody wait any more."""
        self._closed = True
        self._line.open()

    def _goes_on(self) -> bool:
        return self._closed or self._line.holds(_WITHIN.get())


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
