"""The remote tools of one run: which source each comes from, and the calls of them that are in flight."""

import asyncio
from concurrent.futures import Future
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.tool import Requestor, ToolResult, ToolSpec
from pytest_agentbench.environment.injection.striking import Striker
from pytest_agentbench.environment.invoke import Invoker
from pytest_agentbench.environment.remote import RemoteTools, ToolFailedError
from pytest_agentbench.environment.rendering import render_error, render_result
from pytest_agentbench.environment.wrapped import OnCall
from pytest_agentbench.environment.wrapped_remote import RemoteWrapper, decoded


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


class StruckSource:
    """A source of tools whose calls may be struck (`environment.remote.RemoteTools`)."""

    def __init__(self, source: RemoteTools, striker: Striker) -> None:
        self._source = source
        self._striker = striker

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools of the source."""
        return self._source.specs

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool, struck or not; an answer that no fault touches is given letter for letter."""
        answers: list[tuple[Any, ToolResult]] = []

        async def made(given: dict[str, Any]) -> Any:
            result = await self._source.call(name, given)
            if result.error:
                raise ToolFailedError(result.content)
            answers.append((decoded(result.content), result))
            return answers[-1][0]

        try:
            value = await self._striker.call_async(name, arguments, made)
        except EnvironmentFaultError:
            raise
        except ToolFailedError as error:
            return ToolResult(content=str(error), error=True)
        except Exception as error:  # noqa: BLE001 - a fault raises what a tool would
            return ToolResult(content=render_error(error), error=True)
        untouched = next((result for given, result in answers if given is value), None)
        return untouched or ToolResult(content=render_result(value))

    async def aclose(self) -> None:
        """Close the source."""
        await self._source.aclose()
