"""An MCP server as a source of tools: one process for each run, or one connection for all runs of a session."""

import asyncio
import contextlib
import importlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO, TypeVar

from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.json_values import decoded
from pytest_agentbench.core.per_loop import PerLoop
from pytest_agentbench.core.placeholders import fill_text
from pytest_agentbench.core.remote import McpSpec
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolKind, ToolResult, ToolSpec
from pytest_agentbench.environment.remote_tools import Opening, listed_tools, offered
from pytest_agentbench.environment.service import (
    filled,
    inherited,
    on_clock,
    placeholders,
    quoted_lines,
    shown,
    start_text,
)

CLOSED = -32000
"""The code by which the SDK says that the connection ended under a request; timeouts have codes of their own."""

_INSTALL = "install the extra: pip install 'pytest-agentbench[mcp]'"


def _sdk(name: str) -> ModuleType:
    """Import a module of the SDK; raise `EnvironmentFaultError` where it is not installed, or not whole."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EnvironmentFaultError(
            f"MCP servers need the package 'mcp', 1.24 or later: {error} ({_INSTALL})"
        ) from error


def lenient_session(read: Any, write: Any) -> Any:
    """Give a session on two streams, which takes structured content as it comes, also where its schema is wrong."""
    base: type[Any] = _sdk("mcp").ClientSession

    async def accept(*_: Any) -> None:
        """Refuse nothing."""

    lenient = type("Session", (base,), {"validate_tool_result": accept, "_validate_tool_result": accept})
    return lenient(read, write)


async def all_tools(opened: Any) -> list[dict[str, Any]]:
    """Give what a server lists, page by page, as on the wire."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    seen: set[str] = set()
    while cursor not in seen:
        page = _sdk("mcp.types").PaginatedRequestParams(cursor=cursor) if cursor else None
        seen.add(cursor or "")
        answer = wire(await opened.list_tools(params=page))
        found += answer.get("tools") or []
        cursor = answer.get("nextCursor") or ""
    return found


def wire(answer: Any) -> dict[str, Any]:
    """Give an answer as it was on the wire."""
    dumped: dict[str, Any] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


def error_code(error: BaseException) -> int | None:
    """Give the code of a protocol error, None for any other exception."""
    code = getattr(getattr(error, "error", None), "code", None)
    return code if isinstance(code, int) else None


T = TypeVar("T")

_TAIL = 4_000
"""Characters at the end of what a server wrote to its standard error that are looked at."""

_GOODBYE = 10.0
"""Seconds that closing a connection may take, more than the SDK gives a process to end before it kills it; what is left
of it then is cancelled.
"""


class Connection:
    """An open connection; `tools` are what the server lists, as on the wire."""

    def __init__(self, spec: McpSpec, root: Path, headers: Mapping[str, str]) -> None:
        self._spec = spec
        self._root = root
        self._headers = headers
        self._folder = Path(tempfile.mkdtemp(prefix="agentbench-"))
        values = placeholders(self._folder)
        self._command = [filled(part, values) for part in spec.command]
        self._env = {**inherited(spec.inherit), **{name: filled(text, values) for name, text in spec.env.items()}}
        self._errors: TextIO = tempfile.TemporaryFile(  # noqa: SIM115 - open as long as the connection
            "w+", encoding="utf-8", errors="backslashreplace"
        )
        self._closing = asyncio.Event()
        self._open: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._owner: asyncio.Task[None] | None = None
        self._spoilt = False
        self.tools: list[dict[str, Any]] = []

    @property
    def name(self) -> str:
        """What the server is called in messages."""
        return f"the MCP server at {self._spec.url}" if self._spec.url else f"the MCP server {shown(self._command)}"

    @property
    def is_open(self) -> bool:
        """Whether calls can be made: a server that broke off or left a call without answer is not asked again."""
        return self._owner is not None and not self._owner.done() and not self._spoilt

    async def open(self) -> None:
        """Start the server, shake hands, list its tools; raise `EnvironmentFaultError` where that fails or hangs."""
        self._owner = asyncio.get_running_loop().create_task(self._own(), name="agentbench-mcp")
        try:
            session = await self._in_time(asyncio.shield(self._open), "has not answered to the first words")
            self.tools = await self._in_time(all_tools(session), "has not listed its tools")
        except BaseException as error:
            fault = self._fault(error, "cannot be used")
            await self.aclose()
            if isinstance(error, EnvironmentFaultError) or not isinstance(error, Exception):
                raise
            raise fault from error

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; give the result as on the wire, a protocol error as a result that is one.

        Raise `EnvironmentFaultError` where the server is gone or does not answer in time.
        """
        if not self.is_open:
            raise EnvironmentFaultError(f"{self.name} is gone{self._last_lines()}")
        session = self._open.result()
        try:
            answer = await self._in_time(session.call_tool(name, arguments), f"has not answered the call of {name!r}")
        except EnvironmentFaultError:
            self._spoilt = True
            raise
        except Exception as error:
            code = error_code(error)
            if code is None or code == CLOSED or not self.is_open:
                self._spoilt = True
                raise self._fault(error, f"broke off the call of {name!r}") from error
            text = f"MCP error {code}: {error}"
            return {"isError": True, "content": [{"type": "text", "text": text}]}
        return wire(answer)

    async def aclose(self) -> None:
        """Close the connection, end the process, and remove its folder; closing twice is fine."""
        self._closing.set()
        owner = self._owner
        if owner is not None and not owner.done():
            if self._open_succeeded():
                await asyncio.wait([owner], timeout=_GOODBYE)
            if not owner.cancelling():  # where the loop ends it: a second time would break off its ending, for good
                owner.cancel()
            await asyncio.wait([owner], timeout=_GOODBYE)
        if self._open.done() and not self._open.cancelled():
            self._open.exception()  # seen
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _own(self) -> None:
        """Keep the connection open until it is to be closed."""
        try:
            async with AsyncExitStack() as stack:
                read, write = await stack.enter_async_context(self._streams())
                session = await stack.enter_async_context(lenient_session(read, write))
                await session.initialize()
                self._open.set_result(session)
                await self._closing.wait()
        except BaseException as error:
            if not self._open.done():
                self._open.set_exception(error if isinstance(error, Exception) else ConnectionError(str(error)))
            if not isinstance(error, Exception):
                raise

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """Open the streams to and from the server: over HTTP, or those of a process that is started."""
        if self._spec.url:
            module = _sdk("mcp.client.streamable_http")
            async with (
                module.create_mcp_http_client(headers=dict(self._headers)) as client,
                module.streamable_http_client(self._spec.url, http_client=client) as (read, write, *_),
            ):
                yield read, write
            return
        command, *args = self._command
        parameters = _sdk("mcp").StdioServerParameters(command=command, args=args, env=self._env, cwd=str(self._root))
        async with _sdk("mcp.client.stdio").stdio_client(parameters, errlog=self._errors) as (read, write):
            yield read, write

    async def _in_time(self, work: Awaitable[T], what: str) -> T:
        """Await work of the server's; raise `EnvironmentFaultError` where it takes too long or the connection ends."""
        task = asyncio.ensure_future(work)
        watched = [task] if self._owner is None else [task, self._owner]
        try:
            await asyncio.wait(watched, timeout=self._spec.seconds, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and not self.is_open:
                await asyncio.wait([task], timeout=0.1)  # the error of the request is better than that of the owner
            if task.done():
                return task.result()
            if not self.is_open:
                raise EnvironmentFaultError(f"{self.name} ended{self._last_lines()}")
            raise EnvironmentFaultError(
                f"{self.name} {what} within {self._spec.seconds:g} s (environment.tools.seconds bounds it)"
                f"{self._last_lines()}"
            )
        finally:
            if not task.done():
                task.cancel()

    def _fault(self, error: BaseException, what: str) -> EnvironmentFaultError:
        if isinstance(error, EnvironmentFaultError):
            return error
        inner = _innermost(error)
        if isinstance(inner, OSError) and self._command and inner.errno is not None and not self._open_succeeded():
            return EnvironmentFaultError(start_text(self._command, inner.strerror or str(inner)))
        said = shorten(printable(f"{type(inner).__name__}: {inner}"), 300)
        return EnvironmentFaultError(f"{self.name} {what}: {said}{self._last_lines()}")

    def _open_succeeded(self) -> bool:
        return self._open.done() and not self._open.cancelled() and self._open.exception() is None

    def _last_lines(self) -> str:
        if self._spec.url:
            return " (is it running?)"
        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(0)
            return quoted_lines(self._errors.read()[-_TAIL:].splitlines())
        return ""


def _innermost(error: BaseException) -> BaseException:
    """Give the first exception of nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


_SPARE = 2
"""Processes that are started ahead: about as many as there is room for beside the work."""


class Ahead:
    """Starts connections ahead, on one event loop: starting and ending take seconds, and go on beside.

    For work that opens one environment after the other, such as generating and validating.
    """

    def __init__(self, make: Callable[[], Coroutine[Any, Any, Connection]]) -> None:
        self._make = make
        self._spare: list[asyncio.Task[Connection]] = []
        self._unused: list[Connection] = []
        self._ending: list[tuple[Connection, asyncio.Task[None]]] = []
        self._times = 0

    async def take(self) -> Connection:
        """Give one in which nothing has been done, and start others: who needed two will need more."""
        if self._unused:
            return self._unused.pop()
        spare = self._spare.pop(0) if self._spare else None
        try:
            made = await (spare or self._make())
        except EnvironmentFaultError:
            if spare is None:
                raise
            made = await self._make()  # it may start now
        self._times += 1
        while self._times > 1 and len(self._spare) < _SPARE:
            self._spare.append(asyncio.create_task(self._make(), name="agentbench-ahead"))
        return made

    def give_back(self, made: Connection) -> None:
        """Keep one of which nothing was asked that leaves a trace."""
        self._unused.append(made)

    def leave(self, made: Connection) -> None:
        """Let one end beside."""
        self._ending = [(one, task) for one, task in self._ending if not task.done() or task.cancelled()]
        self._ending.append((made, asyncio.create_task(made.aclose(), name="agentbench-ending")))

    async def aclose(self) -> None:
        """End all that was started, and wait for it, also where the loop has cut off what was ending."""
        spare, self._spare = self._spare, []
        while self._unused:
            self.leave(self._unused.pop())
        for one in await asyncio.gather(*spare, return_exceptions=True):
            if not isinstance(one, BaseException):
                self.leave(one)
        await asyncio.gather(*(task for _, task in self._ending), return_exceptions=True)
        await asyncio.gather(*(one.aclose() for one, _ in self._ending), return_exceptions=True)


_AHEAD = PerLoop(Ahead.aclose)
"""Servers that are started ahead: they outlive the gate of the run that asked for the first one."""


async def end_servers_after(work: Coroutine[Any, Any, T]) -> T:
    """Await the work of a loop, then end what was started ahead, before the loop cuts off what is still starting."""
    done = await work  # what breaks off is told at once, and the loop ends the rest
    await _AHEAD.close()
    return done


class McpTools:
    """The tools of a server, for one run (`environment.wrapped_remote.RemoteTools`)."""

    def __init__(
        self, connection: Connection, specs: tuple[ToolSpec, ...], *, own: bool, ahead: Ahead | None = None
    ) -> None:
        """`own` says that the connection is this run's, and closed with it; `ahead` is where it was started."""
        self.specs = specs
        self._connection = connection
        self._own = own
        self._ahead = ahead
        self._reads = {spec.name for spec in specs if spec.kind == "read"}
        self._is_as_before = True

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool; raise `EnvironmentFaultError` where the server is gone or does not answer in time."""
        # a read that is told something may remember it: who signs in is signed in from then on
        self._is_as_before &= name in self._reads and not arguments
        try:
            return result_of(await self._connection.call(name, arguments))
        except BaseException:
            self._is_as_before = False  # a call that is given up may still keep the server busy
            raise

    async def aclose(self) -> None:
        """Close the connection where it is this run's own."""
        if self._ahead is not None and self._is_as_before and self._connection.is_open:
            self._ahead.give_back(self._connection)
        elif self._ahead is not None:
            self._ahead.leave(self._connection)
        elif self._own:
            await self._connection.aclose()


async def open_server(spec: McpSpec, opening: Opening) -> McpTools:
    """Connect to a server for one run; raise `EnvironmentFaultError` where it does not start or answer."""
    spec = on_clock(spec, opening.now)
    told = {"context": dict(opening.context), "session_id": opening.session_id}
    headers = {name: fill_text(text, told) for name, text in spec.headers.items()}

    async def connect() -> Connection:
        connection = Connection(spec, opening.root, headers)
        await connection.open()
        return connection

    key = f"mcp {opening.root} {digest([spec.model_dump(mode='json'), headers])}"
    ahead: Ahead | None = None
    if spec.share == "run" and spec.command and opening.gate.starts_ahead:
        ahead = await _AHEAD.get(lambda: _ahead(connect), key)
        connection = await ahead.take()
    elif spec.share == "run":
        connection = await connect()
    else:
        connection = await opening.gate.shared.get(connect, key, lambda held: held.is_open)
    try:
        listed = listed_tools(spec.tools, opening) if spec.tools else None
        specs = [_spec(tool, opening) for tool in connection.tools]
        chosen = offered(specs, spec.only, listed, connection.name)
    except BaseException:
        if spec.share == "run":
            await connection.aclose()
        raise
    return McpTools(connection, chosen, own=spec.share == "run", ahead=ahead)


async def _ahead(connect: Callable[[], Coroutine[Any, Any, Connection]]) -> Ahead:
    return Ahead(connect)


def _spec(tool: Mapping[str, Any], opening: Opening) -> ToolSpec:
    """Give a tool as listed; what its annotations tell settles its kind where the suite's lists do not."""
    name = str(tool.get("name", ""))
    schema = tool.get("inputSchema")
    parameters = dict(schema) if isinstance(schema, Mapping) else {"type": "object"}
    parameters.setdefault("properties", {})
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    returns = tool.get("outputSchema")
    destructive = hints.get("destructiveHint")
    description = str(tool.get("description") or tool.get("title") or "")
    spec = ToolSpec(
        name=name,
        description=description,
        parameters=parameters,
        requestor=opening.requestor,
        returns=dict(returns) if isinstance(returns, Mapping) else None,
        destructive=destructive if isinstance(destructive, bool) and hints.get("readOnlyHint") is not True else None,
    )
    return opening.settled(spec, _hinted(hints), "annotation")


def _hinted(hints: Mapping[str, Any]) -> ToolKind | None:
    """Give the kind that annotations tell: they are hints, and `destructiveHint` means nothing for reads."""
    if hints.get("readOnlyHint") is True:
        return "read"
    if hints.get("readOnlyHint") is False or hints.get("destructiveHint") is True:
        return "write"
    return None


def result_of(answer: Mapping[str, Any]) -> ToolResult:
    """Give the result of a call: a list with its elements where that is what the texts are, one for each.

    Structured content follows where the text does not say the same.
    """
    blocks = [part for part in answer.get("content") or () if isinstance(part, Mapping)]
    parts = [_text(part) for part in blocks]
    structured = answer.get("structuredContent")
    error = answer.get("isError") is True
    if all(part.get("type") == "text" for part in blocks):
        listed = _listed(parts, structured)
        if listed is not None and not error:
            return ToolResult(content=dumps(listed))
    text = "\n".join(parts)
    if structured is not None and not _says(text, parts, structured):
        text = f"{text}\n{dumps(structured)}" if text else dumps(structured)
    return ToolResult(content=text, error=error)


def _listed(parts: Sequence[str], structured: Any) -> list[Any] | None:
    """Give the list that a server spread over its texts, None where it did not.

    Structured content tells it, bare or as the one value of an object. Without that, several objects or lists are one.
    """
    values = [decoded(part) for part in parts]
    if structured is None:
        return values if len(values) > 1 and all(isinstance(value, dict | list) for value in values) else None
    inner = _inner(structured)
    return inner if isinstance(inner, list) and inner in (values, list(parts)) else None


def _inner(structured: Any) -> Any:
    """Give what was put into an object with one key, since structured content must be an object."""
    return next(iter(structured.values())) if isinstance(structured, Mapping) and len(structured) == 1 else structured


def _says(text: str, parts: Sequence[str], structured: Any) -> bool:
    """Whether a text says what structured content does: as JSON, or as the one text that was put into an object."""
    return any(said in (structured, _inner(structured)) for said in (text, decoded(text), *parts))


def _text(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind in ("image", "audio"):
        size = len(str(part.get("data", ""))) * 3 // 4
        return f"[{kind}, {part.get('mimeType', 'of unknown type')}, about {size} bytes]"
    if kind == "resource_link":
        return f"[resource {part.get('name', '')}: {part.get('uri', '')}]"
    if kind == "resource":
        resource = part.get("resource")
        inner = resource if isinstance(resource, Mapping) else {}
        if "text" in inner:
            return str(inner["text"])
        size = len(str(inner.get("blob", ""))) * 3 // 4
        return f"[resource {inner.get('uri', '')}, {inner.get('mimeType', 'of unknown type')}, about {size} bytes]"
    return f"[{kind}]"
