"""Runs user code so that nothing it raises, exits included, ends the loop or a thread."""

import asyncio
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.environment.runner import Runner

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


async def guarded(work: Callable[[], T], runner: Runner, who: str, patience: float | None = None) -> T:
    """Run sync user code in the run's thread; raise `EnvironmentFaultError` for whatever it raises.

    Raise `HungError` where it takes more than `patience` seconds; it goes on in the thread then.
    """
    return unwrapped(await within(patience, runner(lambda: caught(work)), who), who)


async def guarded_async(work: Awaitable[T], who: str, patience: float | None = None) -> T:
    """Await user code; raise `EnvironmentFaultError` for whatever it raises, `HungError` after `patience` seconds."""
    return unwrapped(await within(patience, caught_async(work), who), who)


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
