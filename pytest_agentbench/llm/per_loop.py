"""One resource per event loop: clients hold connections that live and die with a loop."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes a resource for each loop that asks and closes it when `close` is called or its loop is shut down."""

    def __init__(self, make: Callable[[], T], shut: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._shut = shut
        self._lock = threading.Lock()
        self._open: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T, None]]] = {}

    async def get(self) -> T:
        """Give the resource of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._open.get(loop)
        if found is not None:
            return found[0]
        made = self._make()
        keeper = self._keep(loop, made)
        with self._lock:
            self._open[loop] = (made, keeper)
        await anext(keeper)
        return made

    async def close(self) -> None:
        """Close what every loop has open, each on its own loop; closing twice is fine."""
        with self._lock:
            opened, self._open = self._open, {}
        here = asyncio.get_running_loop()
        for loop, (_, keeper) in opened.items():
            if loop is here:
                await keeper.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_aclose(keeper), loop))

    async def _keep(self, loop: asyncio.AbstractEventLoop, made: T) -> AsyncGenerator[T, None]:
        # a loop closes its asynchronous generators before it ends, which is the one notice of that it gives
        try:
            yield made
        finally:
            with self._lock:
                self._open.pop(loop, None)
            await self._shut(made)


async def _aclose(keeper: AsyncGenerator[T, None]) -> None:
    await keeper.aclose()
