"""The thread of a run, and how long it may take over what is not the agent's."""

from collections.abc import Callable
from typing import TypeVar

from pytest_agentbench.simulation.thread import RunThread

T = TypeVar("T")

GRACE = 30.0
"""Seconds that each step before and after a conversation may take: opening and reading state, checks, tearing down."""


class RunnerInThread:
    """Executes a run's synchronous code in its own thread, and in a new one once the first hangs."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread = RunThread(name)

    async def __call__(self, job: Callable[[], T]) -> T:
        """Execute `job`."""
        return await self._thread.run(job)

    def abandon(self) -> None:
        """Leave the thread to what hangs in it, which is told to end, and go on in a new one."""
        self._thread.abandon()
        self._thread = RunThread(self._name)

    def close(self) -> None:
        """Let the thread end."""
        self._thread.close()
