"""Whose turn it is among the calls of one run that work on one database connection."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

PATIENCE = 20.0
"""Seconds that a call waits for another one before it goes on beside it: that one hangs, or waits for this one."""


@dataclass(eq=False)
class Turn:
    """The turn of one call; `wake` tells whoever waits for it that it has come."""

    wake: Callable[[], object]


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
        self._lock = threading.Lock()
        self._holder: Turn | None = None
        self._waiting: deque[Turn] = deque()
        self._closed = False

    def take(self) -> Turn | None:
        """Wait in this thread for a turn; None where the call goes on without one of its own."""
        if self._is_within():
            return None
        come = threading.Event()
        turn = self._ask(come.set)
        if turn is None or come.is_set():
            return turn
        if _is_in_a_loop():  # who has the turn may need this very thread
            self.give_back(turn)
            return None
        if not come.wait(self._patience):
            self._take_over(turn)
        return turn

    async def wait(self) -> Turn | None:
        """Wait for a turn in async code; None where the call goes on without one of its own."""
        if self._is_within():
            return None
        loop, come = asyncio.get_running_loop(), asyncio.Event()
        turn = self._ask(lambda: loop.call_soon_threadsafe(come.set))
        if turn is None or self.is_free_for(turn):
            return turn
        try:
            async with asyncio.timeout(self._patience):
                await come.wait()
        except TimeoutError:
            self._take_over(turn)
        except BaseException:
            self.give_back(turn)
            raise
        return turn

    def give_back(self, turn: Turn | None) -> None:
        """End a turn, or the waiting for it; the next one is woken."""
        with self._lock:
            if turn is not None and turn in self._waiting:
                self._waiting.remove(turn)
            if turn is None or self._holder is not turn:
                return
            self._holder = None
            while self._waiting and self._holder is None:
                self._holder = self._woken(self._waiting.popleft())

    def is_free_for(self, turn: Turn | None) -> bool:
        """Whether nobody else has the turn."""
        with self._lock:
            return self._holder is None or self._holder is turn

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._lock:
            self._closed = True
            while self._waiting:
                self._woken(self._waiting.popleft())

    def _is_within(self) -> bool:
        inside = _WITHIN.get()
        with self._lock:
            return inside is not None and self._holder is inside

    def _ask(self, wake: Callable[[], object]) -> Turn | None:
        turn = Turn(wake)
        with self._lock:
            if self._closed:
                return None
            if self._holder is None:
                self._holder = self._woken(turn)
            else:
                self._waiting.append(turn)
        return turn

    def _take_over(self, turn: Turn) -> None:
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                self._holder = turn

    @staticmethod
    def _woken(turn: Turn) -> Turn | None:
        """Wake who waits; None where its loop is closed, so that nobody waits any more."""
        try:
            turn.wake()
        except RuntimeError:
            return None
        return turn


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
