"""Many runs at once: started ahead, waited for in order, cancelled together."""

import asyncio
import concurrent.futures
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from pytest_agentbench.core.run import RunKey
from pytest_agentbench.runs.loop_thread import LoopThread
from pytest_agentbench.simulation.conversation import UNBLOCK

T = TypeVar("T")

Work = Callable[[], Awaitable[T]]
"""Begins a run."""

_POLL = 0.5
"""Seconds between two looks while the main thread waits; a signal is handled at each."""

BLOCKED = 5.0
"""Seconds beyond a run's own limit after which a loop that does not come round counts as blocked."""


class LoopBlockedError(Exception):
    """Asynchronous code of an agent blocks the event loop, so that no run can go on; `task` names the run's task."""

    def __init__(self, seconds: float, task: str) -> None:
        super().__init__(f"asynchronous code has blocked the event loop for {seconds:.0f} s; {UNBLOCK}")
        self.task = task


class Slots(AbstractAsyncContextManager[None]):
    """Bounds how many agent turns are in flight at a time; whoever has waited longest is next.

    A slot is handed over to the next one that waits, where `asyncio.Semaphore` looks through all of them at each turn.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __call__(self) -> AbstractAsyncContextManager[None]:
        """Wait for a slot and hold it."""
        return self

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # handed over just as the run was cancelled
                self._hand_over()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._hand_over()

    def _hand_over(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Pool(Generic[T]):
    """Starts runs on the loop and hands their outcomes over, each once.

    Runs that are known to be wanted later wait in a queue and start in its order, as many as `slots` at a time. With
    `eager_tail` a quarter more, since none needs a slot while it is set up, uses a tool or is judged; and all of them
    once fewer than twice as many remain, so that the last slots do not idle.
    """

    def __init__(self, loop: LoopThread, *, slots: int, eager_tail: bool = True) -> None:
        self._loop = loop
        self._slots = slots
        self._eager_tail = eager_tail
        self._lock = threading.RLock()
        self._running: dict[RunKey, concurrent.futures.Future[T]] = {}
        self._ahead: dict[RunKey, Work[T]] = {}  # in order
        self._in_flight = 0

    def __contains__(self, key: RunKey) -> bool:
        return key in self._running

    @property
    def in_flight(self) -> int:
        """The number of runs started and not yet done."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """The number of runs that may start ahead of their turn and have not."""
        return len(self._ahead)

    def start(self, key: RunKey, work: Work[T]) -> None:
        """Start a run now unless it has been started."""
        with self._lock:
            self._ahead.pop(key, None)
            if key in self._running:
                return
            future = self._loop.submit(_as_coroutine(work))
            self._running[key] = future
            self._in_flight += 1
        future.add_done_callback(self._landed)

    def queue(self, ahead: Sequence[tuple[RunKey, Work[T]]]) -> None:
        """Replace the runs that may start ahead of their turn."""
        with self._lock:
            self._ahead = {key: work for key, work in ahead if key not in self._running}
        self._refill()

    def _landed(self, _: object) -> None:
        with self._lock:
            self._in_flight -= 1
        self._refill()

    def _refill(self) -> None:
        with self._lock:
            while self._ahead and self._may_start():
                self.start(*next(iter(self._ahead.items())))

    def _may_start(self) -> bool:
        if not self._eager_tail:
            return len(self._running) < self._slots
        in_flight = self.in_flight
        return in_flight < self._slots + self._slots // 4 or in_flight + len(self._ahead) < 2 * self._slots

    def take(self, key: RunKey, *, limit: float) -> T:
        """Wait for a started run and hand its outcome over; a later `start` begins anew.

        Raises `LoopBlockedError` when the loop has not come round for `limit` + 5 seconds.
        """
        future = self._running[key]
        while not future.done():
            concurrent.futures.wait([future], timeout=_POLL)
            if not future.done() and self._loop.blocked_seconds > limit + BLOCKED:
                blocked = self._loop.blocked
                culprit = max(blocked, key=lambda name: blocked[name], default="")
                raise LoopBlockedError(self._loop.blocked_seconds, culprit)
        self._running.pop(key, None)
        return future.result()

    def drain(self, *, limit: float) -> None:
        """Wait until nothing is in flight, `limit` seconds at most; outcomes stay to be taken."""
        with self._lock:
            self._ahead = {}
            futures = [future for future in self._running.values() if not future.done()]
        end = time.monotonic() + limit
        while futures and time.monotonic() < end:
            done, _ = concurrent.futures.wait(futures, timeout=_POLL)
            futures = [future for future in futures if future not in done]

    def cancel_all(self) -> int:
        """Cancel what is in flight and forget it; give the number of runs that were cancelled."""
        with self._lock:
            self._ahead = {}
            count = sum(not future.done() for future in self._running.values())
            for future in self._running.values():
                future.cancel()
            self._running.clear()
        return count


async def _as_coroutine(work: Work[T]) -> T:
    return await work()
