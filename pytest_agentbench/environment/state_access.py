"""A run's state: the provider's sync and async methods behind one async face, with its faults named."""

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.seams import StateProvider
from pytest_agentbench.core.state import State
from pytest_agentbench.core.values import to_json
from pytest_agentbench.environment.faults import caught, guarded, guarded_async
from pytest_agentbench.environment.runner import Runner
from pytest_agentbench.environment.shared_parts import plain

SMALL_STATE = 200_000
"""Characters of JSON up to which a state without a version is compared as a whole around each call."""


class OpenState:
    """A state opened for one run. Changes are told by `version` where the provider has it, else by snapshots of small
    states, else not at all."""

    def __init__(self, provider: StateProvider, runner: Runner, patience: float | None = None) -> None:
        """Each of the provider's methods may take `patience` seconds."""
        self.provider = provider
        self.handle: Any = None
        self._runner = runner
        self._patience = patience
        self._is_small: bool | None = None

    async def open(self, initial: dict[str, Any], run: str) -> None:
        """Open the state; when the wait is cancelled or too long, what is or will be open is closed again."""
        abandoned = False
        opened: list[Any] = []

        def work() -> Any:
            handle = self.provider.open(initial, run)
            if inspect.isawaitable(handle):
                return handle
            if abandoned:
                self.provider.close(handle)
            opened.append(handle)
            return handle

        try:
            self.handle = await self._finish(work, "open")
        except (asyncio.CancelledError, EnvironmentFaultError):
            abandoned = True
            for handle in opened:  # the thread was done, only the answer was still on its way
                caught(partial(self.provider.close, handle))
            raise

    async def snapshot(self, like: State | None = None) -> State:
        """Read the whole state as plain JSON; what is as in the earlier state `like` is that state's own."""

        def read() -> Any:
            state = self.provider.snapshot(self.handle)
            return state if inspect.isawaitable(state) else self._plain(state, like)

        state = await self._finish(read, "snapshot")
        if inspect.iscoroutinefunction(self.provider.snapshot):
            state = self._plain(state, like)
        if not isinstance(state, dict):
            raise EnvironmentFaultError(f"{self._name}.snapshot() gave {type(state).__name__}; it must give a dict")
        return state

    def read(self, like: State | None = None) -> State | None:
        """Read the whole state in the thread of a tool, as `snapshot` does; None where only async code could."""
        if inspect.iscoroutinefunction(self.provider.snapshot):
            return None
        found = self._plain(self.provider.snapshot(self.handle), like)
        return found if isinstance(found, dict) else None

    async def close(self) -> None:
        """Release the state."""
        await self._finish(lambda: self.provider.close(self.handle), "close")

    def mark(self) -> object:
        """Give a value that differs once the state has changed, None where nobody can tell cheaply.

        Called in the thread of the tool, between its statements so to say; so only sync methods are asked.
        """
        version = getattr(self.provider, "version", None)
        if callable(version):
            return None if inspect.iscoroutinefunction(version) else version(self.handle)
        if self._is_small is False or inspect.iscoroutinefunction(self.provider.snapshot):
            return None
        text = dumps(self.provider.snapshot(self.handle))
        self._is_small = len(text) <= SMALL_STATE
        return text if self._is_small else None

    def settle(self, failed: bool) -> bool:
        """End a transaction that a call left open; say whether its changes were taken back."""
        settle = getattr(self.provider, "settle", None)
        return bool(settle(self.handle, failed)) if callable(settle) else False

    async def _finish(self, work: Callable[[], Any], method: str) -> Any:
        """Run a method in the run's thread, await what it gives if need be, and name the provider in its faults."""
        who = f"{self._name}.{method}()"
        value = await guarded(work, self._runner, who, self._patience)
        return await guarded_async(value, who, self._patience) if inspect.isawaitable(value) else value

    def _plain(self, state: Any, like: State | None) -> Any:
        if not getattr(self.provider, "snapshots_are_json", False):
            state = to_json(state)
        return state if like is None else plain(state, like)

    @property
    def _name(self) -> str:
        return type(self.provider).__name__
