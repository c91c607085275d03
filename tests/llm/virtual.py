"""Time that passes only when somebody sleeps, and the small parts that model tests share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Time:
    """A clock whose sleeps take no time; `slept` lists how long each was to be."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        """Give the seconds on the clock."""
        return self.at

    async def sleep(self, seconds: float) -> None:
        """Let others run, then be later."""
        self.slept.append(seconds)
        due = self.at + seconds
        await asyncio.sleep(0)
        self.at = max(self.at, due)


class Pauses:
    """Counts how often a run's clock was stopped."""

    def __init__(self) -> None:
        self.count = 0
        self.open = 0

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[None]:
        """Stop the clock."""
        self.count += 1
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
