"""What the users of an event loop share: opened by the first that asks, closed when the loop ends."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_Place = tuple[asyncio.AbstractEventLoop, str]


class PerLoop(Generic[T]):
    """Holds one thing for each event loop and key, which `shut` closes; safe from several threads."""

    def __init__(self, shut: Callable[[T], Awaitable[None]]) -> None:
        self._shut = shut
        self._guard = threading.Lock()
        self._open: dict[_Place, asyncio.Future[T]] = {}
        self._keepers: dict[_Place, AsyncGenerator[None, None]] = {}

    async def get(
        self, make: Callable[[], Awaitable[T]], key: str = "", is_usable: Callable[[T], bool] = lambda _: True
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
            if not found.done():
                await asyncio.wait([found])
            if not found.cancelled():
                return found.result()
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

    async def close(self) -> None:
        """Close what every loop has open, each on its own loop; closing twice is fine."""
        with self._guard:
            keepers, self._keepers = self._keepers, {}
        for (loop, _), keeper in keepers.items():
            if loop is asyncio.get_running_loop():
                await keeper.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_closed(keeper), loop))

    def _forget(self, place: _Place, future: "asyncio.Future[T]") -> None:
        """Let the next that asks make it anew, unless somebody has already."""
        with self._guard:
            if self._open.get(place) is future:
                del self._open[place]
                self._keepers.pop(place, None)

    async def _keep(self, place: _Place, future: "asyncio.Future[T]", made: T) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._forget(place, future)
            await self._shut(made)


async def _closed(keeper: AsyncGenerator[None, None]) -> None:
    await keeper.aclose()
