"""The one daemon thread in which all synchronous user code of a run is executed."""

import asyncio
import contextlib
import contextvars
import os
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from pytest_agentbench.core.errors import AgentError

T = TypeVar("T")

_Job = tuple[Callable[[], object], asyncio.Future[object], asyncio.AbstractEventLoop, contextvars.Context]


class RunThread:
    """Executes synchronous code one job at a time in a daemon thread of its own, so that a hung one stops nobody else.

    A thread pool would be shared: on two cores it has six threads, and six hung agents would starve every other run.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_busy = False

    async def run(self, job: Callable[[], T]) -> T:
        """Execute `job` in the thread; an exit raised in it (`sys.exit()`, Ctrl-C, …) arrives as `AgentError`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()
        self._jobs.put((job, future, loop, contextvars.copy_context()))
        return await future  # type: ignore[return-value]  # the queue carries jobs of every type

    def close(self) -> None:
        """Let the thread end after its current job; never waits for it."""
        self._jobs.put(None)

    def abandon(self) -> None:
        """Let the thread end, with an exit raised in whatever still runs in it: a loop would take time from all others.

        What waits in C code (`time.sleep`) hears of it when it comes back; what swallows every exception never does.
        """
        self.close()
        thread = self._thread
        if thread is not None and self._is_busy and thread.ident is not None:
            _raise_exit(thread.ident)

    def _work(self) -> None:
        process = os.getpid()
        while (entry := self._jobs.get()) is not None:
            job, future, loop, context = entry
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
                if os.getpid() != process:  # the job forked and came back twice: the run goes on in the parent alone
                    os._exit(0)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, future, result, error)
            del entry, job, future, result, error


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
