"""Environments that plugins offer: opened by name, their tools called in the world that a run has."""

import inspect
import keyword
from collections.abc import Callable, Mapping
from typing import Any

from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError
from pytest_agentbench.core.extensions import environments
from pytest_agentbench.core.protocols import OfferedEnvironment
from pytest_agentbench.core.suite import EnvironmentSpec, OfferedSpec
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.environment.kinds import KindLists
from pytest_agentbench.environment.python_tools import LoadedTools, Parameter, PythonTool, ToolSignature


def opened(spec: OfferedSpec) -> OfferedEnvironment:
    """Give the environment of a name; raise `EnvironmentFaultError` where nobody offers it or it cannot be opened."""
    offer = environments().get(spec.name)
    if offer is None:
        raise EnvironmentFaultError(f"no plugin offers an environment named {spec.name!r}; is it installed?")
    try:
        return offer.open(offer.form.model_validate(spec.options), spec.folder)
    except AgentBenchError:
        raise
    except Exception as error:
        what = f"the plugin that offers the environment {spec.name!r}"
        raise EnvironmentFaultError(f"{what} raised {raised_text(error)}") from error


def offered_tools(environment: OfferedEnvironment, spec: EnvironmentSpec) -> LoadedTools:
    """Give the tools of an environment for runs whose state is its own; what the suite says of their kinds holds."""
    lists = KindLists(spec.reads, spec.writes, spec.seen)
    specs = tuple(
        lists.settled(tool, tool.kind, "name" if tool.kind == "unknown" else tool.kind_from)
        for tool in environment.toolset
    )
    functions: dict[Any, PythonTool] = {(tool.requestor, tool.name): OfferedTool(tool, environment) for tool in specs}
    return LoadedTools(toolset=Toolset(specs=specs), functions=functions, modules=())


class ToolRefusedError(Exception):
    """What an offered tool raised, as its answer to the caller: the message alone."""


class OfferedTool(PythonTool):
    """A tool of an environment: arguments go to it as they are, since nobody here checks any, `state` included."""

    def __init__(self, spec: ToolSpec, environment: OfferedEnvironment) -> None:
        self._described = spec
        self._environment = environment
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
        """The tool as its environment describes it."""
        return self._described

    def validated(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments as they are."""
        return arguments

    def make(self, injected: Mapping[str, Any], arguments: dict[str, Any]) -> object:
        """Make the call in the run's world; what the tool raises becomes `ToolRefusedError`.

        `EnvironmentFaultError` stays what it is: nobody's refusal.
        """
        asked = ToolCall(name=self.name, arguments=arguments, requestor=self.requestor)
        try:
            return self._environment.call(injected["state"], asked)
        except EnvironmentFaultError:
            raise
        except Exception as error:
            raise ToolRefusedError(str(error)) from error


def _parameters(spec: ToolSpec) -> tuple[Parameter, ...]:
    """Give the parameters of a described tool that Python has names for, required ones first, as it wants them."""
    described = spec.parameters.get("properties", {})
    properties = {name: one for name, one in described.items() if _is_name(name)}
    required = [name for name in properties if name in spec.parameters.get("required", ())]
    others = [name for name in properties if name not in required]
    empty = inspect.Parameter.empty
    return tuple(Parameter(name=name, annotation=Any, default=empty) for name in required) + tuple(
        Parameter(name=name, annotation=Any, default=_default(properties[name])) for name in others
    )


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _default(schema: Any) -> Any:
    """Give the default of an argument; a schema may be a mere True."""
    return schema.get("default") if isinstance(schema, Mapping) else None


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
    if not all(map(_is_name, spec.parameters.get("properties", {}))):
        shown.append(inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD))
    function.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # the way to state a signature
    return function
