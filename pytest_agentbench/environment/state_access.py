"""Code of the user run so that nothing it raises ends a run, and a run's state behind one async face."""

import asyncio
import contextlib
import inspect
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.protocols import RunSync, StateProvider
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.environment.structural_sharing import plain

T = TypeVar("T")

_REFUSALS = (ValueError, LookupError, TypeError, PermissionError, sqlite3.IntegrityError)
"""Python's own exceptions by which a tool answers that it will not do what it was asked to."""


class HungError(EnvironmentFaultError):
    """Code of the user has not ended in its time and may hang in the run's thread."""


@dataclass(frozen=True)
class Raised:
    """What user code raised, carried as a value: futures refuse some exceptions and let others end their loop."""

    error: BaseException


def caught(work: Callable[[], T]) -> T | Raised:
    """Run sync user code; give what it returns or what it raises."""
    try:
        return work()
    except BaseException as error:  # noqa: BLE001 - an exit must end the run, never the thread or the loop
        return Raised(error)


async def caught_async(work: Awaitable[T]) -> T | Raised:
    """Await user code; give what it returns or raises. A cancellation from outside passes, and so does closing."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    try:
        return await work
    except asyncio.CancelledError as error:
        if task is None or task.cancelling() > before:
            raise
        return Raised(error)
    except GeneratorExit as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is None:
            raise  # nobody inside raised it: this coroutine is being closed
        return Raised(error)
    except BaseException as error:  # noqa: BLE001 - an exit must end the run, never the loop
        return Raised(error)


def is_exit(error: BaseException) -> bool:
    """Whether an exception asks for an end rather than telling of a failure: SystemExit, Ctrl-C, pytest's `exit`, …"""
    module = type(error).__module__  # pytest's is an ordinary Exception, and only the plugin imports pytest
    return not isinstance(error, Exception) or (module == "_pytest.outcomes" and type(error).__name__ == "Exit")


def is_refusal(error: BaseException | None) -> bool:
    """Whether what a tool raised is its answer to the arguments, rather than a sign that it does not work.

    A tool refuses by a ValueError, LookupError, TypeError, PermissionError or sqlite3.IntegrityError, and by any
    exception that the project or a library defines. It is broken where anything else of Python's own comes out of it
    (RuntimeError, OSError, AttributeError, a bare Exception, …).
    """
    if error is None or isinstance(error, _REFUSALS):
        return True
    return type(error).__module__.partition(".")[0] not in {"builtins", *sys.stdlib_module_names}


async def guarded(work: Callable[[], T], runner: RunSync, who: str, patience: float | None = None) -> T:
    """Run sync user code in the run's thread; raise `EnvironmentFaultError` for whatever it raises.

    Raise `HungError` where it takes more than `patience` seconds; it goes on in the thread then.
    """
    return unwrapped(await within(patience, runner(lambda: caught(work)), who), who)


async def within(seconds: float | None, work: Awaitable[T], who: str) -> T:
    """Await work; raise `HungError` that names `who` where it takes more than `seconds`."""
    if seconds is None:
        return await work
    try:
        async with asyncio.timeout(seconds) as deadline:
            return await work
    except TimeoutError:
        if not deadline.expired():
            raise
        raise HungError(f"{who} has not ended within {seconds:g} s") from None


def unwrapped(value: T | Raised, who: str) -> T:
    """Give the value, or raise what was raised as an `EnvironmentFaultError` that names `who`."""
    if not isinstance(value, Raised):
        return value
    if isinstance(value.error, EnvironmentFaultError):
        raise value.error
    raise fault(value.error, who) from value.error


def fault(error: BaseException, who: str) -> EnvironmentFaultError:
    """Describe what user code raised; our own errors keep their text."""
    if isinstance(error, AgentBenchError):
        return EnvironmentFaultError(str(error))
    return EnvironmentFaultError(f"{who} raised {raised_text(error)}")


SMALL_STATE = 200_000
"""Characters of JSON up to which a state without a version is compared as a whole around each call."""


class OpenState:
    """A state opened for one run. Changes are told by `version` where the provider has it, else by snapshots of small
    states, else not at all."""

    def __init__(self, provider: StateProvider, runner: RunSync, patience: float | None = None) -> None:
        """Each of the provider's methods may take `patience` seconds."""
        self.provider = provider
        self.handle: Any = None
        self._runner = runner
        self._patience = patience
        self._is_small: bool | None = None

    @property
    def takes_turns(self) -> bool:
        """Whether calls that work on the state do so one after the other, each in a transaction of its own."""
        return bool(getattr(self.provider, "takes_turns", False))

    async def open(self, initial: dict[str, Any], run: str) -> None:
        """Open the state; when the wait is cancelled or too long, what is or will be open is closed again."""
        abandoned = False
        opened: list[Any] = []

        def work() -> Any:
            handle = self.provider.open(initial, run)
            if inspect.isawaitable(handle):
                return handle
            if abandoned:
                self.provider.close(handle)
            opened.append(handle)
            return handle

        try:
            self.handle = await self._finish(work, "open", at_once=self._takes_no_time("opens_at_once", initial))
        except (asyncio.CancelledError, EnvironmentFaultError):
            abandoned = True
            for handle in opened:  # the thread was done, only the answer was still on its way
                caught(partial(self.provider.close, handle))
            raise

    async def snapshot(self, like: State | None = None) -> State:
        """Read the whole state as plain JSON; what is as in the earlier state `like` is that state's own."""

        def read() -> Any:
            state = self.provider.snapshot(self.handle)
            return state if inspect.isawaitable(state) else self._plain(state, like)

        state = await self._finish(read, "snapshot", at_once=self._takes_no_time("is_read_at_once", self.handle))
        if inspect.iscoroutinefunction(self.provider.snapshot):
            state = self._plain(state, like)
        if not isinstance(state, dict):
            raise EnvironmentFaultError(f"{self._name}.snapshot() gave {type(state).__name__}; it must give a dict")
        return state

    def read(self, like: State | None = None) -> State | None:
        """Read the whole state in the thread of a tool, as `snapshot` does; None where only async code could."""
        if inspect.iscoroutinefunction(self.provider.snapshot):
            return None
        found = self._plain(self.provider.snapshot(self.handle), like)
        return found if isinstance(found, dict) else None

    async def close(self) -> None:
        """Release the state."""
        if getattr(self.provider, "holds_nothing", False):
            return
        await self._finish(lambda: self.provider.close(self.handle), "close")

    def mark(self) -> object:
        """Give a value that differs once the state has changed, None where nobody can tell cheaply.

        Called in the thread of the tool, between its statements so to say; so only sync methods are asked.
        """
        version = getattr(self.provider, "version", None)
        if callable(version):
            return None if inspect.iscoroutinefunction(version) else version(self.handle)
        if self._is_small is False or inspect.iscoroutinefunction(self.provider.snapshot):
            return None
        text = dumps(self.provider.snapshot(self.handle))
        self._is_small = len(text) <= SMALL_STATE
        return text if self._is_small else None

    def settle(self, failed: bool) -> bool:
        """End a transaction that a call left open; say whether its changes were taken back."""
        settle = getattr(self.provider, "settle", None)
        return bool(settle(self.handle, failed)) if callable(settle) else False

    def _takes_no_time(self, question: str, value: dict[str, Any]) -> bool:
        """Whether a method of the provider need not be handed to the run's thread, which has nothing to do."""
        asked = getattr(self.provider, question, None)
        if asked is None or not getattr(self._runner, "is_idle", False):
            return False
        with contextlib.suppress(Exception):  # a thread of the tools' own may still write to it
            return bool(asked(value))
        return False

    async def _finish(self, work: Callable[[], Any], method: str, *, at_once: bool = False) -> Any:
        """Run a method in the run's thread, await what it gives if need be, and name the provider in its faults.

        What is done `at_once` is done here: it takes less time than to hand it over.
        """
        who = f"{self._name}.{method}()"
        if at_once:
            return unwrapped(caught(work), who)
        value = await guarded(work, self._runner, who, self._patience)
        if not inspect.isawaitable(value):
            return value
        return unwrapped(await within(self._patience, caught_async(value), who), who)

    def _plain(self, state: Any, like: State | None) -> Any:
        if not getattr(self.provider, "snapshots_are_json", False):
            state = to_json(state)
        return state if like is None else plain(state, like)

    @property
    def _name(self) -> str:
        return type(self.provider).__name__
