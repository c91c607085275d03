"""Keeps runs from overlapping further than their state allows."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import EnvironmentFaultError, NotRunError
from pytest_agentbench.core.files import ProcessLock
from pytest_agentbench.core.lines import Line, place_in
from pytest_agentbench.core.per_loop import PerLoop
from pytest_agentbench.core.protocols import Isolation

MOST_BYTES = 1_000_000_000
"""Bytes that the states of runs which overlap may take together, in all processes of a session."""

_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Seconds between two looks at a lock that another process holds; the last one repeats."""


class IsolationGate:
    """Admits runs to a state: per_run at once, per_worker one at a time in this process, exclusive one at a time
    among all processes that use the same `directory`.

    Waiting never blocks the event loop and may be cancelled; runs may come from several loops. What a process that
    died held is free again. `shared` holds what runs share on purpose, such as a service that all of them use.
    """

    def __init__(
        self,
        directory: Path,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        reaches_all: bool = True,
        room: int = MOST_BYTES,
        starts_ahead: bool = False,
    ) -> None:
        """Lock files in `directory`; say by `reaches_all` False that some of the processes do not see it.

        States of runs that overlap take `room` bytes at most. `starts_ahead` has servers of a run's own started before
        the run that needs them.
        """
        self.starts_ahead = starts_ahead
        self._room = Line(room)
        self._reaches_all = reaches_all
        self._directory = directory
        self._pause = pause
        self.shared: PerLoop[Any] = PerLoop(lambda made: made.aclose())
        self._guard = threading.Lock()
        self._turns: dict[str, Line] = {}
        self._locks: dict[ProcessLock, asyncio.AbstractEventLoop] = {}

    @asynccontextmanager
    async def hold(self, isolation: Isolation, key: str = "") -> AsyncIterator[None]:
        """Wait until the state named `key` is free as far as `isolation` asks, and keep it for the block.

        Raise `NotRunError` where it should be exclusive and no lock reaches all processes.
        """
        if isolation == "per_run":
            yield
            return
        if isolation == "exclusive" and not self._reaches_all:
            raise NotRunError(
                "its state is exclusive (one run at a time in all processes), and no lock reaches the workers of "
                "other hosts, of which this is one; run the suite on one host, or give each run a state of its own"
            )
        with self._guard:
            turn = self._turns.setdefault(key, Line())
        async with _held(turn):
            if isolation == "per_worker":
                yield
                return
            lock = ProcessLock(self._directory / f"exclusive-{digest(key)}.lock")
            await self._acquire(lock)
            with self._guard:
                self._locks[lock] = asyncio.get_running_loop()
            try:
                yield
            finally:
                self._release(lock)

    def room_for(self, size: int) -> AbstractAsyncContextManager[None]:
        """Wait until there is room for a state of `size` bytes, and keep it for the block; one that is too large for
        any room runs alone."""
        return _held(self._room, size)

    def release_all(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Free what tasks of `loop` hold and wait for, or all tasks where it is None: for a loop that is given up.

        A task that comes back to life later takes nothing from those who came after it. Callable from any thread.
        """
        with self._guard:
            turns = [*self._turns.values(), self._room]
            locks = [lock for lock, owner in self._locks.items() if loop in (None, owner)]
        for lock in locks:
            self._release(lock)
        for turn in turns:
            turn.drop(lambda place: loop in (None, place.loop))

    def _release(self, lock: ProcessLock) -> None:
        with self._guard:
            self._locks.pop(lock, None)
            lock.release()

    async def _acquire(self, lock: ProcessLock) -> None:
        tries = 0
        while not _taken(lock):
            await self._pause(_PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1


@asynccontextmanager
async def _held(line: Line, amount: int = 1) -> AsyncIterator[None]:
    place = await place_in(line, amount)
    try:
        yield
    finally:
        if place is not None:
            line.leave(place)


def _taken(lock: ProcessLock) -> bool:
    try:
        return lock.try_acquire()
    except OSError as error:
        raise EnvironmentFaultError(f"{lock.file}: cannot be locked: {error.strerror or error}") from error
