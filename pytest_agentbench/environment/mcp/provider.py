"""An MCP server as a source of tools: one process for each run, or one connection for all runs of a session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.json_values import decoded
from pytest_agentbench.core.placeholders import fill_text
from pytest_agentbench.core.remote import McpSpec
from pytest_agentbench.core.tool import ToolKind, ToolResult, ToolSpec
from pytest_agentbench.environment.mcp.connection import Connection
from pytest_agentbench.environment.remote_tools import Opening, listed_tools, offered
from pytest_agentbench.environment.service import on_clock
from pytest_agentbench.environment.session_resources import Closable, SharedByLoop

T = TypeVar("T", bound=Closable)

_SPARE = 2
"""Processes that are started ahead: about as many as there is room for beside the work."""


class Ahead(Generic[T]):
    """Starts what `make` makes ahead, on one event loop: starting and ending take seconds, and go on beside.

    For work that opens one environment after the other, such as generating and validating.
    """

    def __init__(self, make: Callable[[], Awaitable[T]]) -> None:
        self._make = make
        self._spare: list[asyncio.Task[T]] = []
        self._unused: list[T] = []
        self._ending: list[tuple[T, asyncio.Task[None]]] = []
        self._times = 0

    async def take(self) -> T:
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
            self._spare.append(asyncio.create_task(self._started(), name="agentbench-ahead"))
        return made

    def give_back(self, made: T) -> None:
        """Keep one of which nothing was asked that leaves a trace."""
        self._unused.append(made)

    def leave(self, made: T) -> None:
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

    async def _started(self) -> T:
        return await self._make()


_AHEAD = SharedByLoop()
"""Servers that are started ahead: they outlive the gate of the run that asked for the first one."""


class McpTools:
    """The tools of a server, for one run (`environment.wrapped_remote.RemoteTools`)."""

    def __init__(
        self, connection: Connection, specs: tuple[ToolSpec, ...], *, own: bool, ahead: Ahead[Connection] | None = None
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
        self._is_as_before &= name in self._reads
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
    ahead: Ahead[Connection] | None = None
    if spec.share == "run" and spec.command and opening.gate.starts_ahead:
        ahead = await _AHEAD.get(key, lambda: _ahead(connect))
        connection = await ahead.take()
    elif spec.share == "run":
        connection = await connect()
    else:
        connection = await opening.gate.shared.get(key, connect, lambda held: held.is_open)
    try:
        listed = listed_tools(spec.tools, opening) if spec.tools else None
        specs = [_spec(tool, opening) for tool in connection.tools]
        chosen = offered(specs, spec.only, listed, connection.name)
    except BaseException:
        if spec.share == "run":
            await connection.aclose()
        raise
    return McpTools(connection, chosen, own=spec.share == "run", ahead=ahead)


async def _ahead(connect: Callable[[], Awaitable[Connection]]) -> Ahead[Connection]:
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
