"""The one place that knows the MCP SDK, whose two live majors (from 1.24, and 2) differ in names but not on the wire.

Both have `ClientSession`, and `model_dump(by_alias=True)` gives what was on the wire: that is all that is used of them.
"""

import importlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from pytest_agentbench.core.errors import EnvironmentFaultError

CLOSED = -32000
"""The code by which the SDK says that the connection ended under a request; timeouts have codes of their own."""

_INSTALL = "install the extra: pip install 'pytest-agentbench[mcp]'"


def sdk(name: str) -> ModuleType:
    """Import a module of the SDK; raise `EnvironmentFaultError` where it is not installed, or not whole."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EnvironmentFaultError(
            f"MCP servers need the package 'mcp', 1.24 or later: {error} ({_INSTALL})"
        ) from error


@asynccontextmanager
async def over_streams(
    command: list[str], env: Mapping[str, str], folder: Path, errors: TextIO
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a server and give the streams to and from it; what it writes to its standard error goes to `errors`."""
    parameters = sdk("mcp").StdioServerParameters(command=command[0], args=command[1:], env=dict(env), cwd=str(folder))
    async with sdk("mcp.client.stdio").stdio_client(parameters, errlog=errors) as (read, write):
        yield read, write


@asynccontextmanager
async def over_http(url: str, headers: Mapping[str, str]) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams to and from the server at an address (streamable HTTP)."""
    module = sdk("mcp.client.streamable_http")
    async with (
        module.create_mcp_http_client(headers=dict(headers)) as client,
        module.streamable_http_client(url, http_client=client) as (read, write, *_),
    ):
        yield read, write


def session(read: Any, write: Any) -> Any:
    """Give a session on two streams, which takes structured content as it comes, also where its schema is wrong."""
    base: type[Any] = sdk("mcp").ClientSession

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
        page = sdk("mcp.types").PaginatedRequestParams(cursor=cursor) if cursor else None
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
