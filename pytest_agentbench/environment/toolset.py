"""Loads and opens the tools that a suite names or a plugin offers, without any state, and tells how lists differ."""

import inspect
import keyword
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError
from pytest_agentbench.core.extensions import environments
from pytest_agentbench.core.protocols import OfferedEnvironment
from pytest_agentbench.core.remote import McpSpec, OpenApiSpec, is_web_address
from pytest_agentbench.core.suite import EnvironmentSpec, OfferedSpec, ToolsSpec
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.core.tool import Requestor, ToolCall, Toolset, ToolSpec
from pytest_agentbench.environment.import_path import forget_module, load_fresh_module
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.kinds import KindLists, own_tools
from pytest_agentbench.environment.python_tools import (
    INJECTED,
    NOW,
    LoadedTools,
    Parameter,
    PythonTool,
    ToolSignature,
    tools_of,
)
from pytest_agentbench.environment.remote_tools import (
    Opening,
    RemoteTools,
    RunWorld,
    listed_tools,
    prefixed,
)
from pytest_agentbench.environment.schema_tools import read_schema_tools


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
    unknown = {tool.name for tool in environment.toolset if tool.kind == "unknown"}.intersection(spec.seen)
    specs = tuple(
        lists.settled(tool, tool.kind, "name" if tool.name in unknown else tool.kind_from)
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
    defaults = {name: Parameter.empty if name in required else _default(properties[name]) for name in properties}
    return tuple(
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=defaults[name], annotation=Any)
        for name in (*required, *others)
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
    shown = [item.replace(annotation=Parameter.empty) for item in parameters]
    if not all(map(_is_name, spec.parameters.get("properties", {}))):
        shown.append(Parameter("others", Parameter.VAR_KEYWORD))
    function.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # the way to state a signature
    return function


def load_toolset(spec: EnvironmentSpec, root: Path, *, recorded: bool = False) -> Toolset:
    """Give the tools of an environment; Python modules are imported, nothing of them is called.

    Nothing is given where only a process or the network could tell some of the tools: runs find out; nor for
    `recorded` runs where what a plugin offers cannot be opened. Raise `ImportPathError` or `EnvironmentFaultError`
    where a module, a file or a function is not usable.
    """
    try:
        loaded = load_tools(spec, root, "collected")
    except EnvironmentFaultError:
        if spec.offered is None or not recorded:
            raise
        return Toolset()  # recordings are judged without a world, as far as that goes
    loaded.forget()
    specs = list(loaded.toolset)
    are_known = True
    for part, requestor in remote_parts(spec):
        found = declared_tools(part.remote, opening_of(spec, requestor, root, part)) if part.remote else None
        are_known = are_known and found is not None
        specs += found or ()
    refuse_namesakes(specs)
    return loaded.toolset.model_copy(update={"specs": tuple(specs)}) if are_known else Toolset()


def tools_without_state(spec: EnvironmentSpec, root: Path) -> frozenset[str]:
    """Name the agent's functions that do not take the state, so that what they reach is something else."""
    if not any(part.kind == "python" for part in spec.tools):
        return frozenset()
    loaded = load_tools(spec, root, "looked-at")
    loaded.forget()
    return frozenset(
        name
        for (party, name), tool in loaded.functions.items()
        if party == "assistant" and "state" not in tool.signature.needs
    )


def remote_parts(spec: EnvironmentSpec) -> list[tuple[ToolsSpec, Requestor]]:
    """Give the parts of an environment whose tools another process executes, and whose tools they are."""
    return [(part, requestor) for part, requestor in _parts(spec) if part.remote is not None]


def opening_of(
    spec: EnvironmentSpec,
    requestor: Requestor,
    root: Path,
    part: ToolsSpec,
    *,
    session_id: str = "collected",
    gate: IsolationGate | None = None,
    context: Mapping[str, Any] | None = None,
    world: RunWorld | None = None,
) -> Opening:
    """Give what opening the remote tools of one part needs to know."""
    key, parts = ("tools", spec.tools) if requestor == "assistant" else ("user_tools", spec.user_tools)
    return Opening(
        root=root,
        session_id=session_id,
        gate=gate or IsolationGate(root),
        context=context or {},
        now=spec.now.isoformat() if spec.now else None,
        requestor=requestor,
        lists=KindLists(spec.reads, spec.writes, spec.seen),
        prefix=part.prefix,
        world=world or RunWorld(),
        at=("environment", key, next((place for place, one in enumerate(parts) if one is part), 0)),
    )


def load_tools(spec: EnvironmentSpec, root: Path, unique: str, known: Toolset | None = None) -> LoadedTools:
    """Load fresh tools, but for remote ones, for the run named `unique`; `known` saves describing them again."""
    if spec.offered is not None:
        return offered_tools(opened(spec.offered), spec)
    lists = KindLists(spec.reads, spec.writes, spec.seen)
    filled = INJECTED if spec.now is None else (*INJECTED, NOW)
    specs: list[ToolSpec] = []
    functions: dict[tuple[Requestor, str], PythonTool] = {}
    modules: list[ModuleType] = []
    try:
        for source, requestor in _parts(spec):
            if source.remote is not None:
                continue
            if source.kind == "schema":
                party = None if requestor == "assistant" else requestor
                specs += read_schema_tools(root / source.target, requestor=party, prefix=source.prefix, lists=lists)
                continue
            module = load_fresh_module(source.target, root, unique)
            modules.append(module)
            for tool in tools_of(module, requestor=requestor, prefix=source.prefix, filled=filled, lists=lists):
                _refuse_missing_state(tool, spec, module)
                described = known.get(tool.name, requestor) if known else None
                specs.append(described or tool.spec)
                functions[requestor, tool.name] = tool
        refuse_namesakes(specs)
    except BaseException:
        for module in modules:
            forget_module(module)
        raise
    toolset = Toolset(specs=tuple(specs), own=own_tools(spec))
    return LoadedTools(toolset=toolset, functions=functions, modules=tuple(modules))


def _refuse_missing_state(tool: PythonTool, spec: EnvironmentSpec, module: ModuleType) -> None:
    if "state" in tool.signature.needs and spec.state is None:
        raise EnvironmentFaultError(
            f"{module.__file__}: tool {tool.name!r} takes state, but the suite has no environment.state"
        )


def refuse_namesakes(specs: Iterable[ToolSpec]) -> None:
    """Raise `EnvironmentFaultError` where two tools of a party have one name: nobody could say which is called."""
    seen: set[tuple[str, str]] = set()
    for tool in specs:
        if (tool.requestor, tool.name) in seen:
            raise EnvironmentFaultError(
                f"two tools of the {tool.requestor} are named {tool.name!r}; put `prefix:` beside one of their "
                f"providers, such as `tools: [{{mcp: …, prefix: other_}}, …]`: its tool is 'other_{tool.name}' then"
            )
        seen.add((tool.requestor, tool.name))


def _parts(spec: EnvironmentSpec) -> list[tuple[ToolsSpec, Requestor]]:
    agents: list[tuple[ToolsSpec, Requestor]] = [(part, "assistant") for part in spec.tools]
    return [*agents, *((part, "user") for part in spec.user_tools)]


async def open_remote(spec: OpenApiSpec | McpSpec, opening: Opening) -> RemoteTools:
    """Open a source of tools; raise `EnvironmentFaultError` where it is not there."""
    if isinstance(spec, OpenApiSpec):
        from pytest_agentbench.environment.openapi.provider import open_service  # noqa: PLC0415 - httpx2 is heavy

        return await open_service(spec, opening)
    from pytest_agentbench.environment.mcp_server import open_server  # noqa: PLC0415 - the extra may be missing

    return await open_server(spec, opening)


def declared_tools(spec: OpenApiSpec | McpSpec, opening: Opening) -> tuple[ToolSpec, ...] | None:
    """Give the tools as far as files tell them, without a process or the network; None where no file does.

    Raise `EnvironmentFaultError` where a file is not usable.
    """
    if spec.tools is not None:
        return prefixed(listed_tools(spec.tools, opening), opening.prefix)
    if isinstance(spec, OpenApiSpec) and not is_web_address(spec.document):
        from pytest_agentbench.environment.openapi.provider import read_tools  # noqa: PLC0415 - httpx2 is heavy

        return prefixed(read_tools(spec, opening), opening.prefix)
    return None


async def real_toolset(spec: EnvironmentSpec, root: Path, gate: IsolationGate) -> Toolset:
    """Start or reach what executes the tools and give them all, committed lists being left aside.

    Raise `EnvironmentFaultError` where a service or a server is not there.
    """
    loaded = load_tools(spec, root, "listed")
    loaded.forget()
    specs = list(loaded.toolset)
    async with AsyncExitStack() as stack:
        for part, requestor in remote_parts(spec):
            if part.remote is None:
                continue
            without = part.remote.model_copy(update={"tools": None})
            source = await open_remote(without, opening_of(spec, requestor, root, part, session_id="listed", gate=gate))
            stack.push_async_callback(source.aclose)
            specs += prefixed(source.specs, part.prefix)
    return Toolset(specs=tuple(specs))


def as_list(toolset: Toolset) -> dict[str, Any]:
    """Give tools as a file that describes them holds them: by party, and what each does."""
    return {
        "agent": [spec.openai() for spec in toolset.of("assistant")],
        **({"user": [spec.openai() for spec in toolset.of("user")]} if toolset.of("user") else {}),
        "kinds": {spec.name: spec.kind for spec in toolset},
    }


def drift(listed: Toolset, real: Toolset) -> Iterator[str]:
    """Say where a committed list no longer describes the tools; tools that it leaves out are not offered, and fine."""
    for spec in listed:
        found = real.get(spec.name, spec.requestor)
        if found is None:
            yield f"{spec.name!r} is not there any more"
        elif found.parameters != spec.parameters:
            yield f"{spec.name!r} takes other arguments{_differences(spec, found)}"


def _differences(spec: ToolSpec, found: ToolSpec) -> str:
    before, after = (set(one.parameters.get("properties", {})) for one in (spec, found))
    parts = [f"no more {name!r}" for name in sorted(before - after)] + [
        f"now {name!r}" for name in sorted(after - before)
    ]
    return f": {', '.join(parts)}" if parts else " (their schema differs)"
