"""State as read-only tools tell it: what they answer, by the name of the call."""

from collections.abc import Sequence
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.seams import Isolation
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.environment.remote_calls import RemoteCalls
from pytest_agentbench.environment.wrapped_remote import decoded


class ToldState:
    """A state provider that asks remote tools (`core.seams.StateProvider`); `calls` are names, or {name: arguments}."""

    isolation: Isolation = "per_run"

    def __init__(self, remote: RemoteCalls, calls: Sequence[str | dict[str, Any]]) -> None:
        """Raise `EnvironmentFaultError` where a call is of no remote tool of the agent's."""
        asked = [next(iter(call.items())) if isinstance(call, dict) else (call, {}) for call in calls]
        self._calls = []
        for name, arguments in asked:
            source = remote.source(name, "assistant")
            if source is None:
                names = remote.names("assistant")
                hint = suggestion(name, names) or f"there are {listing(names) or 'none'}"
                raise EnvironmentFaultError(f"environment.state.tools: {name!r} is no tool of another process ({hint})")
            self._calls.append((source, name, dict(arguments or {})))

    def open(self, initial: dict[str, Any], run: str) -> None:
        """Refuse initial state: nobody knows how to make it."""
        if initial:
            raise EnvironmentFaultError("the scenario gives initial state, which `state: {tools: …}` can only read")

    async def snapshot(self, handle: Any) -> State:
        """Give the answers, decoded where they are JSON; raise `EnvironmentFaultError` where a tool refuses."""
        state: State = {}
        for source, name, arguments in self._calls:
            result = await source.call(name, dict(arguments))
            if result.error:
                said = shorten(printable(result.content), 200)
                raise EnvironmentFaultError(f"environment.state.tools: {name!r} did not tell the state: {said}")
            shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            state[f"{name}({shown})" if shown else name] = decoded(result.content)
        return state

    def close(self, handle: Any) -> None:
        """Leave the tools open: they are the environment's."""
