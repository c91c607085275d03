"""Whatever the user's agent raises, exits included, becomes an `AgentError` that names the user's own line.

What its own client raised about a server becomes a `ProviderError`.
"""

import asyncio
import sysconfig
import traceback
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from pytest_agentbench.core.errors import AgentBenchError, AgentError, ProviderError, causes
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.text import printable, raised_text
from pytest_agentbench.environment.python_calls import came_out_of_a_tool

T = TypeVar("T")

_OURS = Path(__file__).resolve().parents[1]
_STDLIB = Path(sysconfig.get_path("stdlib")).resolve()
_PACKAGES = frozenset({"site-packages", "dist-packages"})


async def guard(work: Awaitable[T], *, who: str = "the agent", root: Path | None = None) -> T:
    """Await the user's `work` in the current task; raise `AgentError` or `ProviderError` for whatever it raises.

    SystemExit, KeyboardInterrupt, GeneratorExit, pytest's exits and a CancelledError that nobody asked for count as
    raised by the agent. A cancellation of the current task passes, also where the agent swallows it; so do our own
    errors, which the agent met in a tool of the environment. `who` starts the message; paths are shown from `root`.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    try:
        result = await work
    except BaseException as error:
        if isinstance(error, GeneratorExit) and not _is_running(task):
            raise  # the coroutine is being closed from outside
        if _cancelled(task, before):
            if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
                raise
            raise asyncio.CancelledError from error
        if isinstance(error, AgentBenchError):
            raise
        raise failure(error, who=who, root=root) from error
    if _cancelled(task, before):
        raise asyncio.CancelledError
    return result


async def guard_sync(
    work: Callable[[], T], run_sync: RunSync, *, who: str = "the agent", root: Path | None = None
) -> T:
    """Run the user's sync `work` in the run's thread; raise `AgentError` or `ProviderError` for whatever it raises."""

    def caught() -> T | _Raised:
        try:
            return work()
        except BaseException as error:  # noqa: BLE001 - an exit must end the run, never its thread
            return _Raised(error)

    value = await run_sync(caught)
    if not isinstance(value, _Raised):
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


class _Raised:
    """An exception on its way between threads, as a value: futures refuse some and let others end their loop."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _cancelled(task: asyncio.Task[Any] | None, before: int) -> bool:
    return task is not None and task.cancelling() > before


def _is_running(task: asyncio.Task[Any] | None) -> bool:
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:  # no loop is running
        return False


def _place(error: BaseException, root: Path | None) -> str:
    """Give ` (file:line in function)` of the innermost frame that no library owns, else of the innermost frame."""
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not Path(frame.f_code.co_filename).is_relative_to(_OURS)
    ]
    own = [frame for frame in frames if _is_users(frame[0])] or frames
    if not own:
        return ""
    file, line, name = own[-1]
    return f" ({printable(_shown(file, root))}:{line} in {printable(name)})"


def _is_users(file: str) -> bool:
    path = Path(file)
    return path.is_absolute() and not _PACKAGES & set(path.parts) and not path.is_relative_to(_STDLIB)


def _shown(file: str, root: Path | None) -> str:
    path = Path(file)
    return str(path.relative_to(root)) if root is not None and path.is_relative_to(root) else file


_CLIENTS = (
    "aiohttp",
    "anthropic",
    "botocore",
    "cohere",
    "google.api_core",
    "google.auth",
    "google.genai",
    "groq",
    "http.client",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "langchain_anthropic",
    "langchain_core.exceptions",
    "langchain_google_genai",
    "langchain_openai",
    "litellm",
    "mistralai",
    "ollama",
    "openai",
    "pydantic_ai.exceptions",
    "requests",
    "urllib.error",
    "urllib3",
)
"""Modules, or packages, whose exceptions tell how a server answered, or that it did not."""

_REQUESTS = frozenset({400, 404, 405, 406, 410, 411, 413, 414, 415, 416, 422, 431})
"""Statuses that are about what was asked, which is the agent's own doing."""

_UNREACHED_WORDS = ("Connection", "Connect", "Timeout")
_UNREACHED = frozenset(
    {
        "APIConnectionError", "BadStatusLine", "ChunkedEncodingError", "ClientPayloadError", "HTTPClientError",
        "IncompleteRead", "MaxRetryError", "ModelAPIError", "NetworkError", "ProtocolError", "ProxyError",
        "ResponseParserError", "RetryError", "SSLError", "TransportError",
    }
)  # fmt: skip
"""Classes, and words in names of classes, for a server that was not reached or did not answer to the end."""

_MISUSED = frozenset({"LocalProtocolError", "UnsupportedProtocol"})
"""Classes below those for what the caller did wrong."""

_THROTTLED = frozenset(
    {
        "LimitExceededException", "ModelNotReadyException", "ModelTimeoutException", "RequestLimitExceeded",
        "ServiceUnavailableException", "SlowDown", "ThrottledException", "Throttling", "ThrottlingException",
        "TooManyRequestsException",
    }
)  # fmt: skip
"""Codes by which AWS refuses for a while, under whatever status."""


def client_failure(error: BaseException) -> ProviderError | None:
    """Give what to raise where `error`, or what it was raised from, says that a server failed or was not reached.

    A status from 400 on counts, save those that are about the request itself (400, 404, 413, 422 and their like).
    What came out of a tool of the environment does not count: it is the tool's answer.

    Told by the modules, class names and status attributes of what was raised; no client library is imported for it.
    """
    if any(_names(cause) & _MISUSED for cause in causes(error)):
        return None
    for cause in causes(error):
        if came_out_of_a_tool(cause):
            return None
        if (failed := _is_servers(cause)) is not None:
            return ProviderError(f"the agent's client: {raised_text(cause)}") if failed else None
    return None


def _is_servers(error: BaseException) -> bool | None:
    """Whether a server failed (False: the request was at fault); None where the exception tells nothing of it."""
    names = _names(error)
    if not names:
        # aiohttp lets Python's own TimeoutError out where the whole request took too long
        return True if isinstance(error, TimeoutError | ConnectionError) and _is_raised_by_client(error) else None
    response = _attribute(error, "response")
    if isinstance(response, Mapping) and _at(response, "Error", "Code") in _THROTTLED:
        return True
    if (status := _status(error, response)) >= 400:
        return status not in _REQUESTS
    if "URLError" in names:  # its reason is a text where the address cannot be asked at all
        reason = _attribute(error, "reason")
        return True if isinstance(reason, OSError) and not isinstance(reason, FileNotFoundError) else None
    unreached = names & _UNREACHED or any(word in name for name in names for word in _UNREACHED_WORDS)
    return True if unreached else None


def _names(error: BaseException) -> set[str]:
    """Give the names of the client libraries' classes that an exception is of."""
    return {kind.__name__ for kind in type(error).__mro__ if _is_client(kind.__module__)}


def _status(error: BaseException, response: Any) -> int:
    """Give the HTTP status that an exception or its response bears, 0 where there is none."""
    found = [_attribute(error, "status_code"), _attribute(error, "status")]
    if isinstance(response, Mapping):
        found.append(_at(response, "ResponseMetadata", "HTTPStatusCode"))
    else:
        found += [_attribute(response, "status_code"), _attribute(response, "status")]
    status = next((value for value in found if isinstance(value, int)), None)
    if status is None:  # last, because aiohttp warns of `code`
        status = _attribute(error, "code")
    return status if isinstance(status, int) else 0


def _attribute(thing: object, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - properties of a library's exceptions may raise
        return None


def _at(mapping: Mapping[Any, Any], *keys: str) -> Any:
    found: Any = mapping
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _is_client(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _CLIENTS)


def _is_raised_by_client(error: BaseException) -> bool:
    """Whether the innermost frames that are not Python's own belong to a client library."""
    trace: TracebackType | None = error.__traceback__
    modules: list[str] = []
    while trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__", "")))
        trace = trace.tb_next
    while modules and modules[-1].partition(".")[0] in ("asyncio", "selectors", "socket", "ssl"):
        modules.pop()
    return bool(modules) and _is_client(modules[-1])
