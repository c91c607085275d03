"""Whether what an agent raised is a failure of a server that its own client asked, which nobody can hold against it.

Told by the modules, class names and status attributes of what was raised; no client library is imported for it.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from pytest_agentbench.core.errors import ProviderError, causes
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.environment.wrapped import came_out_of_a_tool

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
