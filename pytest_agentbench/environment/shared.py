"""What runs of a session share on their event loop: opened by the first that asks, closed when the loop ends."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol, TypeVar


class Closable(Protocol):
    """Something that is closed once."""

    async def aclose(self) -> None:
        """Close it."""
        ...


T = TypeVar("T", bound=Closable)


class SharedByLoop:
    """Holds what the runs of each event loop share, by key."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[Any]] = {}
        self._keepers: dict[tuple[asyncio.AbstractEventLoop, str], AsyncGenerator[None, None]] = {}

    async def get(self, key: str, make: Callable[[], Awaitable[T]]) -> T:
        """Give what `key` names on the running loop, made by the first that asks; where making fails, all are told.

        What was made is closed when its loop closes its asynchronous generators, which is the notice that a loop gives.
        """
        loop = asyncio.get_running_loop()
        with self._guard:
            found = self._open.get((loop, key))
            if found is None:
                future: asyncio.Future[Any] = loop.create_future()
                self._open[loop, key] = future
        if found is not None:
            made: T = await asyncio.shield(found)
            return made
        try:
            made = await make()
        except BaseException as error:
            self.drop(key)
            if isinstance(error, Exception):
                future.set_exception(error)
                future.exception()  # seen, also where nobody else waits
            else:
                future.cancel()
            raise
        future.set_result(made)
        keeper = self._keep(key, made)
        with self._guard:
            self._keepers[loop, key] = keeper
        await anext(keeper)
        return made

    def drop(self, key: str) -> None:
        """Let the next that asks on the running loop make `key` anew."""
        place = asyncio.get_running_loop(), key
        with self._guard:
            self._open.pop(place, None)
            self._keepers.pop(place, None)

    async def _keep(self, key: str, made: T) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.drop(key)
            await made.aclose()
