"""Whatever the user's agent raises, exits included, becomes an `AgentError` that names the user's own line.

What its own client raised about a server becomes a `ProviderError`.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from pytest_agentbench.core.errors import AgentBenchError, AgentError, ProviderError, causes
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.text import printable, raised_text
from pytest_agentbench.environment.outages import is_misuse, is_own, servers_fault
from pytest_agentbench.environment.python_calls import came_out_of_a_tool
from pytest_agentbench.environment.state_access import Raised, caught, caught_async

T = TypeVar("T")

_OURS = Path(__file__).resolve().parents[1]


async def guard(work: Awaitable[T], *, who: str = "the agent", root: Path | None = None) -> T:
    """Await the user's `work` in the current task; raise `AgentError` or `ProviderError` for whatever it raises.

    SystemExit, KeyboardInterrupt, GeneratorExit, pytest's exits and a CancelledError that nobody asked for count as
    raised by the agent. A cancellation of the current task passes, also where the agent swallows it; so do our own
    errors, which the agent met in a tool of the environment. `who` starts the message; paths are shown from `root`.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    value = await caught_async(work)
    if task is not None and task.cancelling() > before:
        error = value.error if isinstance(value, Raised) else None
        raise error if isinstance(error, KeyboardInterrupt) else asyncio.CancelledError from error
    return _unraised(value, who, root)


async def guard_sync(
    work: Callable[[], T], run_sync: RunSync, *, who: str = "the agent", root: Path | None = None
) -> T:
    """Run the user's sync `work` in the run's thread; raise `AgentError` or `ProviderError` for whatever it raises."""
    return _unraised(await run_sync(lambda: caught(work)), who, root)


def _unraised(value: T | Raised, who: str, root: Path | None) -> T:
    """Give what the user's code returned, or raise what it raised in our words."""
    if not isinstance(value, Raised):
        return value
    if isinstance(value.error, AgentBenchError):
        raise value.error
    raise failure(value.error, who=who, root=root) from value.error


def failure(error: BaseException, *, who: str = "the agent", root: Path | None = None) -> AgentError | ProviderError:
    """Describe `error`: its type, its text and the innermost line of the user's own code.

    It is a `ProviderError` where a server failed that the agent's own client asked, else an `AgentError`.
    """
    if (failed := client_failure(error)) is not None:
        return failed
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return AgentError(f"{who} raised {raised_text(error)}{_place(error, root)}")


def _place(error: BaseException, root: Path | None) -> str:
    """Give ` (file:line in function)` of the innermost frame that no library owns, else of the innermost frame."""
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not Path(frame.f_code.co_filename).is_relative_to(_OURS)
    ]
    own = [frame for frame in frames if is_own(frame[0])] or frames
    if not own:
        return ""
    file, line, name = own[-1]
    return f" ({printable(_shown(file, root))}:{line} in {printable(name)})"


def _shown(file: str, root: Path | None) -> str:
    path = Path(file)
    return str(path.relative_to(root)) if root is not None and path.is_relative_to(root) else file


def client_failure(error: BaseException) -> ProviderError | None:
    """Give what to raise where `error`, or what it was raised from, says that a server failed or was not reached.

    A status from 400 on counts, save those that are about the request itself (400, 404, 413, 422 and their like).
    What came out of a tool of the environment does not count: it is the tool's answer.

    Told by the modules, class names and status attributes of what was raised; no client library is imported for it.
    """
    if is_misuse(error):
        return None
    for cause in causes(error):
        if came_out_of_a_tool(cause):
            return None
        if (failed := servers_fault(cause)) is not None:
            return ProviderError(f"the agent's client: {raised_text(cause)}") if failed else None
    return None
