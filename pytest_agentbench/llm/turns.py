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
    """Lets requests that may teach something go one by one; safe from several loops and threads.

    A request that ended, well or badly, lets all go on that wait for it. One that was cancelled has taught nothing:
    the next one then goes alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._next: _Waiter | None = None
        self._waiters: deque[_Waiter] = deque()

    @asynccontextmanager
    async def one(self, paused: Paused) -> AsyncIterator[None]:
        """Go alone, or after somebody who did, with the clock of the run `paused` while it waits."""
        alone = await self._admitted(paused)
        try:
            yield
        except BaseException as error:
            if alone:
                self._leave(learnt=isinstance(error, Exception))
            raise
        if alone:
            self._leave(learnt=True)

    def open(self) -> None:
        """Let all go on that wait."""
        self._leave(learnt=True)

    async def _admitted(self, paused: Paused) -> bool:
        """Wait for the turn; tell whether it is to be gone alone."""
        with self._lock:
            if not self._is_taken:
                return self._take()
            waiter: _Waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
        try:
            async with paused():
                return await waiter
        except BaseException:
            self._give_up(waiter)
            raise
        finally:
            if self._next is waiter:
                self._next = None

    def _take(self) -> bool:
        self._is_taken = True
        return True

    def _give_up(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                return
            was_next = self._next is waiter
        if was_next:
            self._leave(learnt=False)

    def _leave(self, *, learnt: bool) -> None:
        with self._lock:
            if learnt:
                waiters = list(self._waiters)
                self._waiters.clear()
                self._is_taken, self._next = False, None
                for one in waiters:
                    _wake(one, alone=False)
                return
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
