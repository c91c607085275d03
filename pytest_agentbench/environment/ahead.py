"""Processes that are started before anybody asks for one, and that end beside: both take seconds.

For work that opens one environment after the other, such as generating and validating.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.environment.shared import Closable

T = TypeVar("T", bound=Closable)

_SPARE = 2
"""Processes that are started ahead: about as many as there is room for beside the work."""


class Ahead(Generic[T]):
    """Starts what `make` makes ahead, on one event loop."""

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
