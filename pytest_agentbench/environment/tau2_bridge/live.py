"""A τ² domain as tools and state of a run, for suites that say `environment: {tau2: DOMAIN}`."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pytest_agentbench.core.scenario import InitialState
from pytest_agentbench.core.seams import Isolation
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.environment.loaded import LoadedTools
from pytest_agentbench.environment.python_tools import PythonTool
from pytest_agentbench.environment.signatures import Parameter, ToolSignature
from pytest_agentbench.environment.tau2_bridge.lazy_records import fingerprint
from pytest_agentbench.environment.tau2_bridge.replay import calls_of_history
from pytest_agentbench.environment.tau2_bridge.world import Source, World


class ToolRefusedError(Exception):
    """What a τ² tool raised, as its answer to the caller: the message alone, as τ² shows it."""


class Tau2State:
    """State of a τ² domain: each run has a world of its own (`core.seams.StateProvider`)."""

    isolation: Isolation = "per_run"

    def __init__(self, source: Source) -> None:
        self._source = source

    def open(self, initial: dict[str, Any], run: str) -> World:
        """Give a fresh world. `initial` is a task's whole `initial_state`, its initial calls and history included.

        Those may be of methods that are no tools, so they cannot be made as calls. Raise `EnvironmentFaultError` where
        the initial state cannot be set up.
        """
        given = InitialState.model_validate(initial)
        world = self._source.world()
        world.begin(given)
        for call in calls_of_history(given.message_history):
            if self._source.knows(call.name) and self._source.mutates(call.name):
                world.respond(call.name, call.requestor, call.arguments)
        return world

    def snapshot(self, handle: World) -> State:
        """Give the database as {table: {key: record}}; with two parties, `agent` and `user` stand above."""
        return handle.dumped()

    def version(self, handle: World) -> str:
        """Give a text that changes whenever the state does, by tools that the domain says may change it."""
        if handle.version is None or handle.version[0] != handle.writes:
            user = handle.user.db if handle.user is not None else None
            handle.version = (handle.writes, f"{fingerprint(handle.agent.db)}\n\n{fingerprint(user)}")
        return handle.version[1]

    def close(self, handle: World) -> None:
        """Nothing is held."""


def bridge_tools(source: Source) -> LoadedTools:
    """Give the tools of a domain for a `LocalEnvironment` whose state is a `Tau2State` of the same source."""
    toolset = source.toolset
    functions = {(spec.requestor, spec.name): BridgedTool(spec, mutates=source.mutates(spec.name)) for spec in toolset}
    return LoadedTools(toolset=toolset, functions=dict(functions), modules=())


class BridgedTool(PythonTool):
    """A τ² tool: arguments go to it as they are, since τ² checks none, and one may be called `state`."""

    def __init__(self, spec: ToolSpec, *, mutates: bool) -> None:
        self._described = spec
        self._mutates = mutates
        self.name = spec.name
        self.requestor = spec.requestor
        self.kind = spec.kind
        self.is_async = False
        parameters = _parameters(spec)
        self.function = _shown(spec, parameters)
        self.signature = ToolSignature(
            parameters=parameters, injected=(), needs=(), open_ended=True, returns=inspect.Signature.empty
        )

    @property
    def spec(self) -> ToolSpec:
        """The tool as τ² describes it."""
        return self._described

    def bind(self, arguments: Mapping[str, Any], injected: Mapping[str, Any]) -> Callable[[], Any]:
        """Give the call to be made in the run's world; what the tool raises becomes `ToolRefusedError`."""
        world: World = injected["state"]

        def call() -> str:
            world.writes += self._mutates
            try:
                value = world.call(self.name, self.requestor, arguments)
                world.sync()
            except Exception as error:
                raise ToolRefusedError(str(error)) from error
            return world.render(value)

        return call


def _parameters(spec: ToolSpec) -> tuple[Parameter, ...]:
    """Give the parameters of a described tool, required ones first, as Python wants them."""
    properties = spec.parameters.get("properties", {})
    required = [name for name in properties if name in spec.parameters.get("required", ())]
    others = [name for name in properties if name not in required]
    empty = inspect.Parameter.empty
    return tuple(Parameter(name=name, annotation=Any, default=empty) for name in required) + tuple(
        Parameter(name=name, annotation=Any, default=properties[name].get("default")) for name in others
    )


def _shown(spec: ToolSpec, parameters: tuple[Parameter, ...]) -> Callable[..., Any]:
    """Give a function that has the tool's name, text and signature, for agents that want functions."""

    def function(**arguments: Any) -> Any:
        raise NotImplementedError(f"{spec.name} is called in a run's world")

    function.__name__ = function.__qualname__ = spec.name
    function.__doc__ = spec.description
    shown = [
        inspect.Parameter(item.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=item.default)
        for item in parameters
    ]
    function.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # the way to state a signature
    return function
