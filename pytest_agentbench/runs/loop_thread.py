"""The one long-lived event loop of a session, in a thread of its own.

One loop for all runs, because agents cache async clients and those die with the loop they were made on.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import sys
import threading
from collections import Counter
from collections.abc import Coroutine
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

_BEAT = 0.25
_LATE = 0.5
_GOODBYE = 2.0
_SWITCH = 0.1
"""Seconds that a thread may keep the interpreter, at most; Python's own setting is 0.005."""


class LoopThread:
    """An event loop in a daemon thread that survives exits raised inside its tasks.

    A second thread watches it: where code that should await blocks the loop instead, the task is remembered by name.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.time = monotonic  # type: ignore[method-assign]  # agents may stop the module's clock
        self._process = os.getpid()
        self._stopping = False
        self._stopped = threading.Event()
        self._beat = monotonic()
        self._blocked: Counter[str] = Counter()
        self._ended = threading.Event()
        self._left: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._work, name="agentbench-loop", daemon=True)
        self._thread.start()
        threading.Thread(target=self._watch, name="agentbench-loop-watch", daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the loop; the future may be waited for from any other thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def give(self, work: Coroutine[Any, Any, T], *, seconds: float) -> None:
        """Run a coroutine on the loop and wait for it, `seconds` at most; whatever it raises is lost."""
        self._loop.call_soon_threadsafe(self._loop.set_task_factory, None)  # an agent may have set one that raises
        future = self.submit(work)
        concurrent.futures.wait([future], timeout=seconds)

    @property
    def blocked_seconds(self) -> float:
        """How long the loop has not come round: more than a second means that some async code blocks it."""
        return max(0.0, monotonic() - self._beat - _BEAT)

    @property
    def blocked(self) -> Counter[str]:
        """Seconds for which tasks blocked the loop, by the name of the task."""
        return self._blocked.copy() if self._blocked else Counter()

    def stop(self) -> None:
        """Cancel what is still running, give it two seconds to end, and leave whatever goes on all the same behind.

        What was left behind stays in memory: a coroutine that is thrown away is closed, and one that swallows whatever
        it is told would never let go of the thread that closes it.
        """
        if self._stopping:
            return
        self._stopping = True
        self._stopped.set()
        with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError, RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.set_task_factory, None)  # an agent may have set one that raises
            asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result(_GOODBYE + 1)
        with contextlib.suppress(RuntimeError):  # the agent closed the loop
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._ended.wait(_GOODBYE)
        if self._ended.is_set() and not self._left:
            self._thread.join(_GOODBYE)
            self._loop.close()

    async def _cancel_all(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_GOODBYE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE / 2):
                await self._loop.shutdown_asyncgens()
        self._left = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(self._tick)
        while not self._stopping:
            with contextlib.suppress(BaseException):  # a task raised SystemExit: it has its own future, others go on
                self._loop.run_forever()
        self._ended.set()
        if self._left:
            threading.Event().wait()  # this frame holds what was left behind, also while the interpreter ends

    def _watch(self) -> None:
        while not self._stopped.wait(_BEAT):
            self._keep_time()
            if self.blocked_seconds > _LATE:
                task = asyncio.current_task(self._loop)
                self._blocked[task.get_name() if task else ""] += _BEAT  # type: ignore[assignment]  # seconds, not counts

    def _keep_time(self) -> None:
        """Undo what an agent did to the clocks that all runs live by."""
        if sys.getswitchinterval() > _SWITCH:  # with such a one a busy thread keeps all others waiting
            sys.setswitchinterval(_SWITCH)
        if self._loop.time is not monotonic and not self._loop.is_closed():
            self._loop.time = monotonic  # type: ignore[method-assign]  # an agent replaced it
            self._loop.call_soon_threadsafe(int)  # it may sleep until a time that never comes

    def _tick(self) -> None:
        if os.getpid() != self._process:  # a child that an agent forked runs the loop, too: all of it is the parent's
            os._exit(0)
        self._beat = monotonic()
        self._left = asyncio.all_tasks(self._loop)  # the loop itself holds tasks weakly
        self._loop.call_later(_BEAT, self._tick)
