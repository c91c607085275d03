"""One environment after the other: where each is a process of its own, the next one starts while the last is used.

Starting a server, and waiting for it to end, takes seconds in which nothing can be probed; there, both go on beside.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.generation.tools.world import Opened, World


@dataclass(frozen=True)
class _Held:
    """An open environment, and what closes it."""

    opened: Opened
    stack: AsyncExitStack


class Succession:
    """Opens fresh environments of a world, one at a time for whoever asks."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._held: _Held | None = None
        self._ahead: asyncio.Task[_Held] | None = None
        self._behind: asyncio.Task[None] | None = None
        self._times = 0

    async def next(self) -> Opened:
        """Leave the environment that is open and give a fresh one; raise `EnvironmentFaultError` where none opens.

        From the second on, the one after it is opened ahead: who needed two will need more.
        """
        await self._leave()
        ahead, self._ahead = self._ahead, None
        self._held = await self._opened(ahead)
        self._times += 1
        if self._world.stands_alone and self._times > 1:
            self._ahead = asyncio.create_task(self._open(), name="agentbench-ahead")
        return self._held.opened

    async def aclose(self) -> None:
        """Close what is open, and what was opened ahead; closing twice is fine."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.cancel()
            await asyncio.wait([ahead])
            if not ahead.cancelled() and ahead.exception() is None:
                await ahead.result().stack.aclose()
        await self._leave()
        if self._behind is not None:
            await self._behind

    async def _opened(self, ahead: asyncio.Task[_Held] | None) -> _Held:
        if ahead is not None:
            try:
                return await ahead
            except EnvironmentFaultError:
                pass  # it may open now
        return await self._open()

    async def _open(self) -> _Held:
        stack = AsyncExitStack()
        return _Held(await stack.enter_async_context(self._world.open()), stack)

    async def _leave(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        if not self._world.stands_alone:
            await held.stack.aclose()
            return
        if self._behind is not None:  # one ends at a time
            await self._behind
        self._behind = asyncio.create_task(held.stack.aclose(), name="agentbench-behind")
