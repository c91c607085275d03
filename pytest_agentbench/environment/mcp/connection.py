"""A connection to an MCP server: opened, owned and closed by one task, since its streams may not change hands."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.remote import McpSpec
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.environment.mcp import sdk
from pytest_agentbench.environment.service import filled, inherited, placeholders, quoted_lines, shown, start_text

T = TypeVar("T")

_TAIL = 4_000
"""Characters at the end of what a server wrote to its standard error that are looked at."""

_GOODBYE = 5.0
"""Seconds that closing a connection may take; what is left of it then is cancelled."""


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
            self.tools = await self._in_time(sdk.all_tools(session), "has not listed its tools")
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
            code = sdk.error_code(error)
            if code is None or code == sdk.CLOSED or not self.is_open:
                self._spoilt = True
                raise self._fault(error, f"broke off the call of {name!r}") from error
            text = f"MCP error {code}: {error}"
            return {"isError": True, "content": [{"type": "text", "text": text}]}
        return sdk.wire(answer)

    async def aclose(self) -> None:
        """Close the connection, end the process, and remove its folder; closing twice is fine."""
        self._closing.set()
        owner = self._owner
        if owner is not None and not owner.done():
            if self._open_succeeded():
                await asyncio.wait([owner], timeout=_GOODBYE)
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
                read, write = await stack.enter_async_context(self._transport())
                session = await stack.enter_async_context(sdk.session(read, write))
                await session.initialize()
                self._open.set_result(session)
                await self._closing.wait()
        except BaseException as error:
            if not self._open.done():
                self._open.set_exception(error if isinstance(error, Exception) else ConnectionError(str(error)))
            if not isinstance(error, Exception):
                raise

    def _transport(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        if self._spec.url:
            return sdk.over_http(self._spec.url, self._headers)
        return sdk.over_streams(self._command, self._env, self._root, self._errors)

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
