"""One request at a time while nobody knows what a server takes, all of them from then on."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

Paused = Callable[[], AbstractAsyncContextManager[None]]
"""Gives a context manager within which the clock of a run stands still."""

_Waiter = asyncio.Future[bool]


class Turns:
    """Lets those that still have something to find out go one by one; safe from several loops and threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._next: _Waiter | None = None
        self._waiters: deque[_Waiter] = deque()

    @asynccontextmanager
    async def one(self, paused: Paused, *, needed: Callable[[], bool]) -> AsyncIterator[None]:
        """Go alone as long as that is `needed`, with the clock of the run `paused` while it waits.

        Whoever ends, well, badly or cancelled, lets the next one go, or all where nothing is left to find out.
        """
        alone = False
        while needed() and not alone:
            alone = await self._admitted(paused)
        if alone and not needed():
            self._pass_on()
            alone = False
        try:
            yield
        finally:
            if alone:
                if not needed():
                    self.open()
                self._pass_on()

    def open(self) -> None:
        """Let all look again that wait, whoever has the turn."""
        with self._lock:
            waiters = list(self._waiters)
            self._waiters.clear()
        for one in waiters:
            _wake(one, alone=False)

    async def _admitted(self, paused: Paused) -> bool:
        """Wait for the turn; tell whether it has come, or others were let go as well."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            waiter: _Waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
        try:
            async with paused():
                return await waiter
        except BaseException:
            self._give_up(waiter)
            raise

    def _give_up(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            is_next = self._next is waiter
        if is_next:
            self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            self._next = None
            while self._waiters:
                self._next = self._waiters.popleft()
                if _wake(self._next, alone=True):
                    return
                self._next = None
            self._is_taken = False


def _wake(waiter: _Waiter, *, alone: bool) -> bool:
    """Wake who waits, in its own loop; tell whether that loop still runs."""

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(alone)

    try:
        waiter.get_loop().call_soon_threadsafe(wake)
    except RuntimeError:  # its loop is closed, and with it the run that waited
        return False
    return True
