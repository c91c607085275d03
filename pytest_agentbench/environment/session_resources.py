"""What runs of a session share on their event loop: opened by the first that asks, closed when the loop ends."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol, TypeVar


class Closable(Protocol):
    """Something that is closed once."""

    async def aclose(self) -> None:
        """Close it."""


T = TypeVar("T", bound=Closable)


class SharedByLoop:
    """Holds what the runs of each event loop share, by key."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[Any]] = {}
        self._keepers: dict[tuple[asyncio.AbstractEventLoop, str], AsyncGenerator[None, None]] = {}

    async def get(
        self, key: str, make: Callable[[], Awaitable[T]], is_usable: Callable[[T], bool] = lambda _: True
    ) -> T:
        """Give what `key` names on the running loop, made by the first that asks; where making fails, all are told.

        It is made anew where it is not usable any more, or where who was making it was cancelled. What was made is
        closed when its loop closes its asynchronous generators, which is the notice that a loop gives.
        """
        loop = asyncio.get_running_loop()
        place = loop, key
        while True:
            with self._guard:
                found = self._open.get(place)
                if found is None or (found.done() and not is_usable(found.result())):
                    future = self._open[place] = loop.create_future()
                    self._keepers.pop(place, None)  # nobody holds what is of no use: it closes
                    break
            await asyncio.wait([found])
            if not found.cancelled():
                made: T = found.result()
                return made
        try:
            made = await make()
        except BaseException as error:
            self._forget(place, future)
            if isinstance(error, Exception):
                future.set_exception(error)
                future.exception()  # seen, also where nobody else waits
            else:
                future.cancel()
            raise
        future.set_result(made)
        keeper = self._keep(place, future, made)
        with self._guard:
            self._keepers[place] = keeper
        await anext(keeper)
        return made

    def _forget(self, place: tuple[asyncio.AbstractEventLoop, str], future: "asyncio.Future[Any]") -> None:
        """Let the next that asks make it anew, unless somebody has already."""
        with self._guard:
            if self._open.get(place) is future:
                del self._open[place]
                self._keepers.pop(place, None)

    async def _keep(
        self, place: tuple[asyncio.AbstractEventLoop, str], future: "asyncio.Future[Any]", made: Closable
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._forget(place, future)
            await made.aclose()
