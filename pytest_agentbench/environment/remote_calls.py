"""The remote tools of one run: which source each comes from, and the calls of them that are in flight."""

import asyncio
from concurrent.futures import Future
from typing import Any

from pytest_agentbench.core.tool import Requestor
from pytest_agentbench.environment.injection.remote import StruckSource
from pytest_agentbench.environment.injection.striking import Striker
from pytest_agentbench.environment.invoke import Invoker
from pytest_agentbench.environment.remote import RemoteTools
from pytest_agentbench.environment.wrapped import OnCall
from pytest_agentbench.environment.wrapped_remote import RemoteWrapper


class RemoteCalls:
    """Finds the source of a remote tool, and lets go of calls that nobody waits for any more."""

    def __init__(self) -> None:
        self._sources: dict[tuple[Requestor, str], RemoteTools] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flying: set[Future[Any]] = set()

    def __bool__(self) -> bool:
        return bool(self._sources)

    def add(self, source: RemoteTools, requestor: Requestor) -> None:
        """Take in the tools of a source, which is open on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._sources |= {(requestor, spec.name): source for spec in source.specs}

    def source(self, name: str, requestor: Requestor) -> RemoteTools | None:
        """Give the source of a tool, None where the tool is not remote."""
        return self._sources.get((requestor, name))

    def names(self, requestor: Requestor) -> list[str]:
        """Give the names of one party's remote tools."""
        return [name for party, name in self._sources if party == requestor]

    def wrapper(self, invoker: Invoker, on_call: OnCall) -> RemoteWrapper:
        """Give what makes functions of tools."""
        return RemoteWrapper(invoker, on_call, self._loop, self._flying)

    def strike(self, striker: Striker) -> None:
        """Let faults strike the agent's tools from now on."""
        self._sources = {
            (party, name): StruckSource(source, striker) if party == "assistant" else source
            for (party, name), source in self._sources.items()
        }

    def cancel(self) -> None:
        """Cancel the calls of an agent that is left behind: its thread would wait for ever."""
        for future in list(self._flying):
            future.cancel()
