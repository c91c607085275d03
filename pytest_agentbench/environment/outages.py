"""What an exception tells of a server, a service or a machine behind it, without importing the library it is of."""

import errno
import inspect
import os
import re
import sqlite3
import sysconfig
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from pytest_agentbench.core.errors import causes
from pytest_agentbench.core.json_values import leaves
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.environment.python_tools import PythonTool

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


def is_misuse(error: BaseException) -> bool:
    """Whether an exception, or what it was raised from, says that a client library was used wrongly."""
    return any(_names(cause) & _MISUSED for cause in causes(error))


def servers_fault(error: BaseException) -> bool | None:
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


_OF_THE_SERVICE = frozenset({408, 429, 502, 503, 504})
"""Statuses that tell of the service rather than of the request (RFC 9110 §15.5.9 and §15.6, RFC 6585 §4)."""

_OF_THE_MACHINE = frozenset(
    {
        errno.EAGAIN, errno.EDQUOT, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.EIO, errno.EMFILE, errno.ENETDOWN,
        errno.ENETUNREACH, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ENOSPC, errno.EROFS, errno.ESTALE,
    }
)  # fmt: skip
"""What an `OSError` says of the machine or the network, whatever path it was given."""

_NAMED = frozenset(
    {
        "ConnectError", "ConnectTimeout", "ConnectionError", "ConnectionFailure", "InterfaceError", "NetworkError",
        "OperationalError", "ReadTimeout", "Timeout", "TimeoutError", "TimeoutException", "TransportError",
    }
)  # fmt: skip
"""How client libraries call, in a base class, what no request causes; those of databases follow PEP 249."""

_OF_THE_DATABASE = frozenset(
    {
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_READONLY,
    }
)  # fmt: skip
_OF_A_STATEMENT = range(1000, 2000)
"""Numbers by which MySQL's servers object to a statement, in what its drivers raise as an `OperationalError`."""

_WORD = re.compile(r"\w+")
_HOST = re.compile(r"\w{2,10}://\S+|[\w.-]{1,253}:\d{2,5}(?:/\S*)?|localhost|(?:\d{1,3}\.){3}\d{1,3}|www\.\S+")
"""An argument that may name the server which was not reached; `ann@example.org`, `12.50`, `invoice.pdf` name none."""


def outage_in(
    error: BaseException, arguments: Mapping[str, Any], handled: BaseException | None = None
) -> BaseException | None:
    """Give what, of an exception of a tool and of what led to it, says that the environment does not work.

    No arguments cause that: it tells of a connection, a timeout, the machine, the database, or a name that the tool's
    own code does not know. An argument that has such a name (`price*2`) or a host in it may be at fault. `handled` is
    what the caller was just handling, which led to nothing in the tool.
    """
    if is_misuse(error):
        return None
    return next((one for one in _led_by(error, handled) if _is_down(one, arguments)), None)


def _led_by(error: BaseException, handled: BaseException | None) -> Iterator[BaseException]:
    """Give an exception and what led to it: what it was raised from, else what was being handled meanwhile."""
    seen: set[int] = set() if handled is None else {id(handled)}
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        if isinstance(following, BaseExceptionGroup) and len(following.exceptions) == 1:
            following = following.exceptions[0]
        else:
            unsaid = None if following.__suppress_context__ else following.__context__
            following = following.__cause__ or unsaid


def _is_down(error: BaseException, arguments: Mapping[str, Any]) -> bool:
    if isinstance(error, UnboundLocalError):  # arguments may lead past where the name is given
        return False
    if isinstance(error, NameError | ImportError):
        given = {word for leaf in leaves(dict(arguments)) for word in _WORD.findall(str(leaf))}
        return given.isdisjoint(_WORD.findall(error.name or ""))
    if isinstance(error, sqlite3.Error):
        return _is_of_database(error, arguments)
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        return True
    if any(_HOST.fullmatch(leaf) for leaf in leaves(dict(arguments)) if isinstance(leaf, str)):
        return False
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    if isinstance(_attribute(error, "orig"), BaseException):  # sqlalchemy: what the driver raised decides
        return False
    status = _status(error, _attribute(error, "response")) if isinstance(error, Exception) else 0
    if status >= 400:
        return status in _OF_THE_SERVICE
    if servers_fault(error):
        return True
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, OSError):
        if isinstance(error.filename, str | bytes):  # a file of the tool's own, where no argument is in its name
            name = _plain_words(os.fsdecode(error.filename))
            return not any(words and words <= name for words in map(_plain_words, leaves(dict(arguments))))
        return not names.isdisjoint(("gaierror", "SSLError")) or not names.isdisjoint(_NAMED)
    return not names.isdisjoint(_NAMED) and next(iter(error.args), None) not in _OF_A_STATEMENT


def _plain_words(value: object) -> set[str]:
    """Give the words of a value as names of files may have them: `REP-9` stands in `rep-0009.json`."""
    return {word.casefold().lstrip("0") or "0" for part in _WORD.findall(str(value)) for word in part.split("_")}


def _is_of_database(error: sqlite3.Error, arguments: Mapping[str, Any]) -> bool:
    """Whether it is the database, or a statement of the tool's own.

    A statement may be put together of arguments. None of these is to blame where each is one word, and the message
    holds no such word.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return isinstance(error, sqlite3.OperationalError)
    if code != sqlite3.SQLITE_ERROR:
        return code & 0xFF in _OF_THE_DATABASE
    given = [str(leaf) for leaf in leaves(dict(arguments))]
    told = {word.casefold() for word in _WORD.findall(str(error))}
    parts = [[word.casefold() for word in _WORD.findall(text)] for text in given]
    plain = all(re.fullmatch(r"[\w.-]*", text) for text in given)
    return plain and told.isdisjoint(word for words in parts for word in words)


def slip(error: BaseException) -> str | None:
    """Say what came out of a line of the project that raises nothing itself, and where; None where it was raised."""
    trace = traceback.extract_tb(error.__traceback__)
    if not trace or type(error).__module__ != "builtins":
        return None
    last = trace[-1]
    if not is_own(last.filename) or _RAISING.search(last.line or ""):
        return None
    return f"{raised_text(error)}{place(error)}"


def place(error: BaseException) -> str:
    """Give ` (file:line in function)` of the innermost line of the project, nothing where there is none."""
    frame = next((one for one in reversed(traceback.extract_tb(error.__traceback__)) if is_own(one.filename)), None)
    if frame is None:
        return ""
    file = Path(frame.filename)
    shown = file.relative_to(here) if file.is_relative_to(here := Path.cwd()) else file.name
    return f" ({shown}:{frame.lineno} in {frame.name})"


def is_own(name: str) -> bool:
    """Whether a file is of the project: of no library, and not ours."""
    file = Path(name)
    is_foreign = _PACKAGES & set(file.parts) or file.is_relative_to(_STDLIB) or file.is_relative_to(_OURS)
    return file.is_absolute() and not is_foreign


_RAISING = re.compile(r"\b(?:raise|assert)\b")
"""A line that fails on purpose, also in `if late: raise ValueError("too late")`."""
_STDLIB = Path(sysconfig.get_path("stdlib")).resolve()
_OURS = Path(__file__).resolve().parents[1]
_PACKAGES = frozenset({"site-packages", "dist-packages"})


def slipped_by_itself(error: BaseException, tool: PythonTool, arguments: Mapping[str, Any]) -> bool:
    """Whether the tool's module used a value of its own wrongly, at arguments of which each is what the schema says.

    None may stand for what was looked up and is not there. An argument that the schema leaves open, that names the
    attribute, or that is JSON may be at fault. What does not fit the schema never reaches the tool.
    """
    if type(error) not in (AttributeError, TypeError) or slip(error) is None or "NoneType" in str(error):
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    if frame.f_globals.get("__name__") != inspect.unwrap(tool.function).__module__:
        return False
    schemas = tool.spec.parameters
    told = [schemas["properties"].get(name, {}) for name in arguments] + [*schemas.get("$defs", {}).values()]
    texts = [leaf for leaf in leaves(dict(arguments)) if isinstance(leaf, str)]
    named = {word for text in texts for word in _WORD.findall(text)} & {_attribute(error, "name")}
    return not named and all(map(_tells_type, told)) and not any(text.lstrip()[:1] in ("[", "{") for text in texts)


def _tells_type(schema: Any) -> bool:
    """Whether a schema says of what type a value is, and all that is in it."""
    if not isinstance(schema, Mapping):
        return False
    if branches := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return all(map(_tells_type, branches))
    if schema.get("type") == "array":
        return all(map(_tells_type, schema.get("prefixItems") or [schema.get("items")]))
    if schema.get("type") == "object":
        others = schema.get("additionalProperties", not schema.get("properties"))
        return all(map(_tells_type, schema.get("properties", {}).values())) and (not others or _tells_type(others))
    return not schema.keys().isdisjoint(("type", "enum", "const", "$ref"))
