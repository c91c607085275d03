"""Keeps runs from overlapping further than their state allows."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.seams import Isolation
from pytest_agentbench.environment.file_lock import FileLock

_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Seconds between two looks at a lock that another process holds; the last one repeats."""


class IsolationGate:
    """Admits runs to a state: per_run at once, per_worker one at a time in this process, exclusive one at a time
    among all processes that use the same `directory`.

    Waiting never blocks the event loop and may be cancelled; runs may come from several loops. What a process that
    died held is free again.
    """

    def __init__(self, directory: Path, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._directory = directory
        self._pause = pause
        self._guard = threading.Lock()
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def hold(self, isolation: Isolation, key: str = "") -> AsyncIterator[None]:
        """Wait until the state named `key` is free as far as `isolation` asks, and keep it for the block."""
        if isolation == "per_run":
            yield
            return
        with self._guard:
            turn = self._turns.setdefault(key, _Turn())
        await turn.acquire()
        try:
            if isolation == "per_worker":
                yield
                return
            lock = FileLock(self._directory / f"exclusive-{digest(key)}.lock")
            await self._acquire(lock)
            try:
                yield
            finally:
                lock.release()
        finally:
            turn.release()

    async def _acquire(self, lock: FileLock) -> None:
        tries = 0
        while not lock.try_acquire():
            await self._pause(_PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1


class _Turn:
    """A first-come lock whose waiters may live on different event loops."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._given: set[asyncio.Future[None]] = set()

    async def acquire(self) -> None:
        """Wait for the turn."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._guard:
            if not self._held:
                self._held = True
                return
            self._waiting.append((loop, future))
        try:
            await future
        except BaseException:
            with self._guard:
                given = future in self._given
                self._given.discard(future)
                if not given:
                    self._waiting.remove((loop, future))
            if given:  # the turn arrived together with the cancellation
                self.release()
            raise
        with self._guard:
            self._given.discard(future)

    def release(self) -> None:
        """Give the turn to whoever has waited longest."""
        with self._guard:
            while self._waiting:
                loop, future = self._waiting.popleft()
                self._given.add(future)
                try:
                    loop.call_soon_threadsafe(_wake, future)
                except RuntimeError:  # its loop is closed
                    self._given.discard(future)
                    continue
                return
            self._held = False


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
