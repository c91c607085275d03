"""The one daemon thread in which all synchronous code of a run is executed, and how long steps in it may take."""

import asyncio
import contextlib
import contextvars
import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from pytest_agentbench.core.errors import AgentError

T = TypeVar("T")

_Job = tuple[Callable[[], object], asyncio.Future[object], "_Returns", contextvars.Context]


GRACE = 30.0
"""Seconds that each step before and after a conversation may take: opening and reading state, checks, tearing down."""


class RunnerInThread:
    """Executes a run's synchronous code, a job at a time, in a daemon thread of its own: a hung one stops nobody else.

    A thread pool would be shared: on two cores it has six threads, and six hung agents would starve every other run.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread = _Thread(name)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs in the thread, or waits for it; asked from where jobs are given."""
        return self._thread.is_idle

    async def __call__(self, job: Callable[[], T]) -> T:
        """Execute `job`; an exit raised in it (`sys.exit()`, Ctrl-C, …) arrives as `AgentError`."""
        return await self._thread.run(job)

    def abandon(self) -> None:
        """Leave the thread to what hangs in it, which is told to end, and go on in a new one.

        What waits in C code (`time.sleep`) hears of it when it comes back; what swallows every exception never does.
        """
        self._thread.close(end=True)
        self._thread = _Thread(self._name)

    def close(self) -> None:
        """Let the thread end after its current job; never waits for it."""
        self._thread.close()


class _Thread:
    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._is_busy = False
        self._given = self._done = 0  # each is counted by one thread alone

    @property
    def is_idle(self) -> bool:
        return self._given == self._done

    async def run(self, job: Callable[[], T]) -> T:
        if self._thread.ident is None:
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()
        if (returns := _RETURNS.get(loop)) is None:
            returns = _RETURNS.setdefault(loop, _Returns(loop))
        self._given += 1
        self._jobs.put((job, future, returns, contextvars.copy_context()))
        return await future  # type: ignore[return-value]  # the queue carries jobs of every type

    def close(self, *, end: bool = False) -> None:
        """Let the thread end; `end` raises an exit in what still runs in it: a loop would take time from all others."""
        self._jobs.put(None)
        if end and self._is_busy and self._thread.ident is not None:
            _raise_exit(self._thread.ident)

    def _work(self) -> None:
        process = os.getpid()
        while (entry := self._jobs.get()) is not None:
            job, future, returns, context = entry
            result: object = None
            error: Exception | None = None
            self._is_busy = True
            try:
                result = context.run(job)
            except Exception as raised:  # noqa: BLE001 - whatever user code raises belongs to the one who awaits it
                error = raised
            except BaseException as exit_:  # noqa: BLE001 - an exit inside an agent must not end this process
                error = AgentError(f"{type(exit_).__name__} was raised: {exit_}")
                error.__cause__ = exit_
            finally:
                self._is_busy = False
                self._done += 1
                if os.getpid() != process:  # the job forked and came back twice: the run goes on in the parent alone
                    os._exit(0)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                returns.put(future, result, error)
            del entry, job, future, result, error


class _Returns:
    """What threads hand back to a loop: one wake-up, which takes system calls, brings all that came in until then."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._waiting: deque[tuple[asyncio.Future[object], object, Exception | None]] = deque()
        self._is_due = False

    def put(self, future: "asyncio.Future[object]", result: object, error: Exception | None) -> None:
        """Settle a future in its loop; raise `RuntimeError` where that is closed."""
        self._waiting.append((future, result, error))
        if not self._is_due and (loop := self._loop()) is not None:
            self._is_due = True
            loop.call_soon_threadsafe(self._settle_all)

    def _settle_all(self) -> None:
        self._is_due = False  # before the first is taken: what comes in from here on is taken too, or calls again
        while self._waiting:
            _settle(*self._waiting.popleft())


_RETURNS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Returns] = weakref.WeakKeyDictionary()


def _raise_exit(thread: int) -> None:
    with contextlib.suppress(ImportError, AttributeError):  # only CPython has it
        import ctypes  # noqa: PLC0415 - hardly any session abandons a thread

        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))


def _settle(future: "asyncio.Future[object]", result: object, error: Exception | None) -> None:
    if future.done():
        return
    if isinstance(error, StopIteration):
        error = RuntimeError("StopIteration was raised")
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
