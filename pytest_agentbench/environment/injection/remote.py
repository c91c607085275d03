"""Faults around remote tools: what a source answers passes through the same steps as what a function returns."""

from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.tool import ToolResult, ToolSpec
from pytest_agentbench.environment.injection.striking import Striker
from pytest_agentbench.environment.remote import RemoteTools, ToolFailedError
from pytest_agentbench.environment.rendering import render_error, render_result
from pytest_agentbench.environment.wrapped_remote import decoded


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
