"""Environments that plugins offer: opened by name, their tools called in the world that a run has."""

import copy
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
    specs = tuple(_settled(tool, spec) for tool in environment.toolset)
    functions: dict[Any, PythonTool] = {(tool.requestor, tool.name): OfferedTool(tool, environment) for tool in specs}
    return LoadedTools(toolset=Toolset(specs=specs), functions=functions, modules=())


def _settled(tool: ToolSpec, spec: EnvironmentSpec) -> ToolSpec:
    if tool.name in spec.writes:
        return tool.model_copy(update={"kind": "write", "kind_from": "declared"})
    if tool.name in spec.reads:
        return tool.model_copy(update={"kind": "read", "kind_from": "declared"})
    if tool.name in spec.seen and (tool.kind == "unknown" or tool.kind_from == "name"):
        return tool.model_copy(update={"kind": "write", "kind_from": "seen"})
    return tool


Made = Callable[[dict[str, Any]], Any]
"""Makes a call with the arguments that it is given."""


def _as_it_is(_name: str, arguments: dict[str, Any], made: Made) -> Any:
    """Make a call that no fault strikes."""
    return made(arguments)


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
        self._through: Callable[[str, dict[str, Any], Made], Any] = _as_it_is
        parameters = _parameters(spec)
        self.function = _shown(spec, parameters)
        self.signature = ToolSignature(
            parameters=parameters, injected=(), needs=(), open_ended=True, returns=inspect.Signature.empty
        )

    @property
    def spec(self) -> ToolSpec:
        """The tool as its environment describes it."""
        return self._described

    def struck_by(self, strike: Callable[[str, dict[str, Any], Made], Any]) -> "OfferedTool":
        """Give the tool with `strike` around its calls."""
        struck = copy.copy(self)
        struck._through = strike
        return struck

    def bind(self, arguments: Mapping[str, Any], injected: Mapping[str, Any]) -> Callable[[], Any]:
        """Give the call to be made in the run's world; what the tool raises becomes `ToolRefusedError`.

        `EnvironmentFaultError` stays what it is: nobody's refusal.
        """

        def made(given: dict[str, Any]) -> object:
            asked = ToolCall(name=self.name, arguments=given, requestor=self.requestor)
            try:
                return self._environment.call(injected["state"], asked)
            except EnvironmentFaultError:
                raise
            except Exception as error:
                raise ToolRefusedError(str(error)) from error

        return lambda: self._through(self.name, dict(arguments), made)


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
