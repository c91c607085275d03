"""Where verified calls are made: reads in one environment, anything else in a fresh one, and never two open at once.

A service that all runs share is reset when an environment opens: two at once would wait for each other without end, or
take away under the hands of one what the other has made.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.world import Answer, Opened, World


class Bench:
    """Environments of a world, one at a time; an async context manager that closes what is still open."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._stack = AsyncExitStack()
        self._reads: Opened | None = None

    async def __aenter__(self) -> Self:
        """Open nothing yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the environment of the reads."""
        await self.put_away()

    async def read(self, tool: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """Make a call that changes nothing, where the reads before it were made."""
        if self._reads is None:
            self._reads = await self._stack.enter_async_context(self._world.open())
        return await self._reads.call(tool, arguments)

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Opened]:
        """Open an environment in which nothing has been done; the one of the reads is closed before."""
        await self.put_away()
        async with self._world.open() as opened:
            yield opened

    async def put_away(self) -> None:
        """Close the environment of the reads; the next read opens another one."""
        self._reads = None
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()
