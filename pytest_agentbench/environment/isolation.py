"""Keeps runs from overlapping further than their state allows."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import EnvironmentFaultError, NotRunError
from pytest_agentbench.core.locks import ProcessLock
from pytest_agentbench.core.seams import Isolation
from pytest_agentbench.environment.shared import SharedByLoop

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
    ) -> None:
        """Lock files in `directory`; say by `reaches_all` False that some of the processes do not see it."""
        self._reaches_all = reaches_all
        self._directory = directory
        self._pause = pause
        self.shared = SharedByLoop()
        self._guard = threading.Lock()
        self._turns: dict[str, _Turn] = {}
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
            turn = self._turns.setdefault(key, _Turn())
        ticket = await turn.acquire()
        try:
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
        finally:
            turn.release(ticket)

    def release_all(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Free what tasks of `loop` hold and wait for, or all tasks where it is None: for a loop that is given up.

        A task that comes back to life later takes nothing from those who came after it. Callable from any thread.
        """
        with self._guard:
            turns = list(self._turns.values())
            locks = [lock for lock, owner in self._locks.items() if loop in (None, owner)]
        for lock in locks:
            self._release(lock)
        for turn in turns:
            turn.give_up(loop)

    def _release(self, lock: ProcessLock) -> None:
        with self._guard:
            self._locks.pop(lock, None)
            lock.release()

    async def _acquire(self, lock: ProcessLock) -> None:
        tries = 0
        while not _taken(lock):
            await self._pause(_PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1


def _taken(lock: ProcessLock) -> bool:
    try:
        return lock.try_acquire()
    except OSError as error:
        raise EnvironmentFaultError(f"{lock.file}: cannot be locked: {error.strerror or error}") from error


@dataclass(eq=False)
class _Ticket:
    """A task's claim to a turn: its loop, and the future that wakes it."""

    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[None]"


class _Turn:
    """A first-come lock whose waiters may live on different event loops."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holder: _Ticket | None = None
        self._waiting: deque[_Ticket] = deque()

    async def acquire(self) -> _Ticket:
        """Wait for the turn; give what `release` asks for."""
        loop = asyncio.get_running_loop()
        ticket = _Ticket(loop, loop.create_future())
        with self._guard:
            if self._holder is None:
                self._holder = ticket
                return ticket
            self._waiting.append(ticket)
        try:
            await ticket.future
        except BaseException:
            with self._guard:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
            self.release(ticket)  # the turn may have arrived together with the cancellation
            raise
        return ticket

    def release(self, ticket: _Ticket) -> None:
        """Give the turn to whoever has waited longest; nothing happens where `ticket` does not hold it any more."""
        with self._guard:
            if self._holder is ticket:
                self._pass_on()

    def give_up(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Take the turn, and the place in the queue, from tasks of `loop` (of all loops where it is None)."""
        with self._guard:
            self._waiting = deque(ticket for ticket in self._waiting if loop not in (None, ticket.loop))
            if self._holder is not None and loop in (None, self._holder.loop):
                self._pass_on()

    def _pass_on(self) -> None:
        self._holder = None
        while self._waiting and self._holder is None:
            ticket = self._waiting.popleft()
            with contextlib.suppress(RuntimeError):  # its loop is closed
                ticket.loop.call_soon_threadsafe(_wake, ticket.future)
                self._holder = ticket


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
