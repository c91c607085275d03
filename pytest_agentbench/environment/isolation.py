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
from pytest_agentbench.core.files import ProcessLock
from pytest_agentbench.core.protocols import Isolation
from pytest_agentbench.environment.session_resources import SharedByLoop

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
        self._room = _Turn(room)
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

    @asynccontextmanager
    async def room_for(self, size: int) -> AsyncIterator[None]:
        """Wait until there is room for a state of `size` bytes, and keep it for the block; one that is too large for
        any room runs alone."""
        ticket = await self._room.acquire(size)
        try:
            yield
        finally:
            self._room.release(ticket)

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
    """A task's claim to a turn: its loop, the future that wakes it, and how much of the room it takes."""

    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[None]"
    amount: int


class _Turn:
    """A first-come lock whose waiters may live on different event loops; with more `room` than one, several hold it."""

    def __init__(self, room: int = 1) -> None:
        self._guard = threading.Lock()
        self._room = room
        self._holders: set[_Ticket] = set()
        self._waiting: deque[_Ticket] = deque()

    async def acquire(self, amount: int = 1) -> _Ticket:
        """Wait for the turn; give what `release` asks for. What is larger than the room waits for all of it."""
        loop = asyncio.get_running_loop()
        ticket = _Ticket(loop, loop.create_future(), min(amount, self._room))
        with self._guard:
            if not self._waiting and self._fits(ticket):
                self._holders.add(ticket)
                return ticket
            self._waiting.append(ticket)
        try:
            await ticket.future
        except BaseException:
            with self._guard:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                    self._pass_on()
            self.release(ticket)  # the turn may have arrived together with the cancellation
            raise
        return ticket

    def release(self, ticket: _Ticket) -> None:
        """Give the turn to whoever has waited longest; nothing happens where `ticket` does not hold it any more."""
        with self._guard:
            if ticket in self._holders:
                self._holders.remove(ticket)
                self._pass_on()

    def give_up(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Take the turn, and the place in the queue, from tasks of `loop` (of all loops where it is None)."""
        with self._guard:
            self._waiting = deque(ticket for ticket in self._waiting if loop not in (None, ticket.loop))
            self._holders = {ticket for ticket in self._holders if loop not in (None, ticket.loop)}
            self._pass_on()

    def _fits(self, ticket: _Ticket) -> bool:
        return sum(holder.amount for holder in self._holders) + ticket.amount <= self._room

    def _pass_on(self) -> None:
        while self._waiting and self._fits(self._waiting[0]):
            ticket = self._waiting.popleft()
            with contextlib.suppress(RuntimeError):  # its loop is closed
                ticket.loop.call_soon_threadsafe(_wake, ticket.future)
                self._holders.add(ticket)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
