"""Tools that another process executes: their source, the calls under way, and plain functions that make them."""

import asyncio
import concurrent.futures
import fnmatch
import inspect
import keyword
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pytest_agentbench.core import json_values
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.names import count, listing, suggestion
from pytest_agentbench.core.protocols import Isolation
from pytest_agentbench.core.remote import ServiceSpec, server_of
from pytest_agentbench.core.tool import KindSource, Requestor, ToolCall, ToolKind, ToolResult, ToolSpec
from pytest_agentbench.environment.injection import Striker
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.kinds import NO_LISTS, KindLists
from pytest_agentbench.environment.python_calls import Invoker, OnCall, Watch, Wrapper
from pytest_agentbench.environment.python_tools import render_error, render_result
from pytest_agentbench.environment.schema_tools import read_schema_tools
from pytest_agentbench.environment.state_access import fault


class RemoteTools(Protocol):
    """A source of tools, opened for one run on one event loop."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools, in the order in which the source lists them."""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool; what the tool refuses is a result, what the world breaks is an `EnvironmentFaultError`."""

    async def aclose(self) -> None:
        """End what belongs to this run; closing twice is fine."""


class ToolFailedError(Exception):
    """A remote tool did not do what it was asked, as agents that call tools themselves are told, in its own words."""


@dataclass
class RunWorld:
    """What a run has started, by what is started and where, the `turns` that it takes, and what it resets then.

    The agent's endpoint and providers of tools may be one service.
    """

    started: dict[str, Any] = field(default_factory=dict)
    turns: set["ServerTurn"] = field(default_factory=set)
    resets: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    async def reset(self, gate: IsolationGate, stack: AsyncExitStack) -> None:
        """Wait until no other run has what is reset for each, keep that until `stack` ends, and reset it.

        All runs take all that they share in one order, and before their states: none waits for another in a circle.
        """
        for turn in sorted(self.turns):
            await stack.enter_async_context(gate.hold(turn.isolation, turn.server))
        for reset in self.resets:
            await reset()


@dataclass(frozen=True, order=True)
class ServerTurn:
    """A server that runs have one at a time: in this process alone where each process starts it for itself."""

    server: str
    isolation: Isolation = "exclusive"


def turn_at(address: str, service: ServiceSpec | None, port: int | None = None) -> ServerTurn:
    """Give the turn at an address; `{port}`, or the `port` that stands for it, is where the suite's service listens."""
    if service is not None and ("{port}" in address or server_of(address).endswith(f":{port}")):
        return ServerTurn(f"reset {digest(service.model_dump(mode='json'))}", "per_worker")
    return ServerTurn(f"reset {server_of(address)}")


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What opening a source needs to know of its run: folder of the suite, session, context, and what runs share.

    `prefix` is put before the names that the source has. `world` is what the run has of services so far, `at` the way
    to the source in a suite file that lists all.
    """

    root: Path
    session_id: str
    gate: IsolationGate
    context: Mapping[str, Any] = field(default_factory=dict)
    now: str | None = None
    requestor: Requestor = "assistant"
    lists: KindLists = NO_LISTS
    prefix: str = ""
    world: RunWorld = field(default_factory=RunWorld)
    at: Keys = ("environment", "tools", 0)

    def settled(self, spec: ToolSpec, told: ToolKind | None, source: KindSource) -> ToolSpec:
        """Settle what a tool does, of which its `source` tells something, or nothing."""
        return self.lists.settled(spec, told, source, prefix=self.prefix)


def listed_tools(file: Path, opening: Opening) -> tuple[ToolSpec, ...]:
    """Give the tools of a committed list; the suite's `reads` and `writes` settle more than the list does."""
    specs = read_schema_tools(file, requestor=opening.requestor)
    told = ((spec, "listed" if spec.kind_from == "declared" else spec.kind_from) for spec in specs)
    return tuple(opening.settled(spec, spec.kind, source) for spec, source in told)


def offered(
    specs: Sequence[ToolSpec], only: Sequence[str], listed: Sequence[ToolSpec] | None, source: str
) -> tuple[ToolSpec, ...]:
    """Give the tools that are offered: those that `only` names, and of a committed list what it lists.

    Raise `EnvironmentFaultError` where something is asked for that the source does not have, and where two tools have
    one name.
    """
    names = [spec.name for spec in specs]
    if doubled := sorted(name for name, count in Counter(names).items() if count > 1):
        raise EnvironmentFaultError(f"{source}: two tools are named {doubled[0]!r}; nobody could say which is called")
    for wanted in [*only, *(spec.name for spec in listed or ())]:
        if not fnmatch.filter(names, wanted):
            there = f"it has {listing(names)}" if names else "it has no tools"
            hint = suggestion(wanted, names)
            raise EnvironmentFaultError(f"{source} has no tool {wanted!r}; {there}{f' ({hint})' if hint else ''}")
    chosen = [spec for spec in specs if not only or any(fnmatch.fnmatchcase(spec.name, one) for one in only)]
    if listed is None:
        return tuple(chosen)
    kept = {spec.name: spec for spec in listed}
    return tuple(
        spec.model_copy(update={"kind": kept[spec.name].kind, "kind_from": kept[spec.name].kind_from})
        for spec in chosen
        if spec.name in kept
    )


def prefixed(specs: Sequence[ToolSpec], prefix: str) -> tuple[ToolSpec, ...]:
    """Give tools with a prefix before their names."""
    return tuple(spec.model_copy(update={"name": f"{prefix}{spec.name}"}) for spec in specs) if prefix else tuple(specs)


@dataclass(frozen=True)
class RemoteTool:
    """A tool of a `source`, by the name that the source has for it; faults of a `striker` may strike its calls."""

    source: RemoteTools
    own_name: str
    spec: ToolSpec
    striker: Striker | None = None

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Call the tool as its source does; an answer that no fault touches is given letter for letter."""
        if self.striker is None:
            return await self.source.call(self.own_name, arguments)
        answers: list[tuple[Any, ToolResult]] = []

        async def made(given: dict[str, Any]) -> Any:
            result = await self.source.call(self.own_name, given)
            if result.error:
                raise ToolFailedError(result.content)
            answers.append((decoded(result.content), result))
            return answers[-1][0]

        try:
            value = await self.striker.call_async(self.spec.name, arguments, made)
        except EnvironmentFaultError:
            raise
        except ToolFailedError as error:
            return ToolResult(content=str(error), error=True)
        except Exception as error:  # noqa: BLE001 - a fault raises what a tool would
            return ToolResult(content=render_error(error), error=True)
        untouched = next((result for given, result in answers if given is value), None)
        return untouched or ToolResult(content=render_result(value))


Now = Callable[[], float]
"""A clock, in seconds."""


_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class RemoteWrapper(Wrapper):
    """Wraps remote tools besides: a wrapped one blocks where it is called, and inside an event loop gives an awaitable.

    It returns the tool's text, decoded where that is a JSON object or list, and raises `ToolFailedError` with the text
    of an error. Arguments that are None and that the tool does not admit to be are left out.
    """

    def __init__(
        self, invoker: Invoker, on_call: OnCall, loop: asyncio.AbstractEventLoop | None, flying: set[Any]
    ) -> None:
        super().__init__(invoker, on_call)
        self._loop = loop
        self._flying = flying

    def wrap_remote(self, tool: RemoteTool) -> Callable[..., Any]:
        """Give the function of a remote tool."""
        spec = tool.spec
        signature = signature_of(spec)

        def call(*args: Any, **kwargs: Any) -> Any:
            arguments = _named(spec, signature, args, kwargs)
            made = ToolCall(name=spec.name, arguments=to_json(arguments), id=f"call_{next(self._numbers)}")
            self._refuse(made)
            try:
                inside = asyncio.get_running_loop()
            except RuntimeError:
                return self._blocking(tool, made)
            future = self._started(self._reported(tool, made))
            return asyncio.wrap_future(future, loop=inside)

        call.__name__ = call.__qualname__ = spec.name
        call.__doc__ = _docstring(spec)
        call.__module__ = __name__
        call.__signature__ = signature  # type: ignore[attr-defined]  # the way to state a signature
        call.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
        return call

    def _blocking(self, tool: RemoteTool, made: ToolCall) -> Any:
        """Make the call on the loop and wait for it in this thread, which watches state meanwhile."""
        watch = self._invoker.begin(made.name, made.arguments)
        future = self._started(tool.call(dict(made.arguments)))
        try:
            with self._under_way(watch, made):
                result = future.result()
        except concurrent.futures.CancelledError:
            raise fault(EnvironmentFaultError(f"the run is over; {made.name} was not waited for"), made.name) from None
        return self._value(watch, made, result)

    async def _reported(self, tool: RemoteTool, made: ToolCall) -> Any:
        watch = self._invoker.begin(made.name, made.arguments)
        with self._under_way(watch, made):
            result = await tool.call(dict(made.arguments))
        return self._value(watch, made, result)

    def _started(self, work: Any) -> "concurrent.futures.Future[Any]":
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise EnvironmentFaultError("the environment is not open")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._flying.add(future)
        future.add_done_callback(self._flying.discard)
        return future

    @contextmanager
    def _under_way(self, watch: Watch, made: ToolCall) -> Iterator[None]:
        """Abandon the call where it comes to no result; report and note a fault, which the agent may swallow."""
        try:
            yield
        except BaseException as error:
            self._invoker.abandon(watch)
            if isinstance(error, EnvironmentFaultError):
                self._invoker.fault = error
                self._report_fault(made, error)
            raise

    def _value(self, watch: Watch, made: ToolCall, result: ToolResult) -> Any:
        """End the call, report it, and give its value or raise its error."""
        wrote = self._invoker.settle(watch, failed=result.error)
        self._report(made, result if wrote is None else result.model_copy(update={"wrote": wrote}))
        if result.error:
            raise ToolFailedError(result.content)
        return decoded(result.content)


def decoded(text: str) -> Any:
    """Give the value of a text that is a JSON object or list, any other text as it is."""
    value = json_values.decoded(text)
    return value if isinstance(value, dict | list) else text


def signature_of(spec: ToolSpec) -> inspect.Signature:
    """Give the arguments of a tool as a signature: required ones first, the others None unless given."""
    required = set(spec.parameters.get("required") or ())
    properties = {**spec.parameters.get("properties", {})}
    fit = {name: schema for name, schema in properties.items() if name.isidentifier() and not keyword.iskeyword(name)}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if name in required else None,
            annotation=_annotation(fit[name], optional=name not in required),
        )
        for name in sorted(fit, key=lambda name: name not in required)
    ]
    if len(fit) < len(properties) or spec.arguments is None:
        parameters.append(inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD, annotation=Any))
    return inspect.Signature(parameters)


def _annotation(schema: Any, *, optional: bool) -> Any:
    told = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(told, str) or told not in _TYPES:
        return Any
    return _TYPES[told] | None if optional else _TYPES[told]


def _named(spec: ToolSpec, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Give the arguments by name; what is unknown or missing is the tool's to refuse."""
    names = [one.name for one in signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    if len(args) > len(names):
        raise TypeError(f"{spec.name!r} takes {count(len(names), 'argument')}, not {len(args)}")
    properties = spec.parameters.get("properties", {})
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    return {name: value for name, value in given.items() if value is not None or _admits_null(properties.get(name))}


def _admits_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    told = schema.get("type")
    kinds = told if isinstance(told, list) else [told]
    return "null" in kinds or any(_admits_null(one) for key in ("anyOf", "oneOf") for one in schema.get(key) or ())


def _docstring(spec: ToolSpec) -> str:
    told = [
        f"    {name}: {' '.join(str(schema.get('description')).split())}"
        for name, schema in spec.parameters.get("properties", {}).items()
        if isinstance(schema, Mapping) and schema.get("description")
    ]
    return "\n".join([spec.description, *(["", "Args:", *told] if told else [])])


class RemoteCalls:
    """Finds remote tools, and lets go of calls that nobody waits for any more."""

    def __init__(self) -> None:
        self._tools: dict[tuple[Requestor, str], RemoteTool] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flying: set[Future[Any]] = set()

    def __bool__(self) -> bool:
        return bool(self._tools)

    def add(self, source: RemoteTools, requestor: Requestor, prefix: str = "") -> tuple[ToolSpec, ...]:
        """Take in and give the tools of a source, which is open on the running loop."""
        self._loop = asyncio.get_running_loop()
        specs = prefixed(source.specs, prefix)
        for own, spec in zip(source.specs, specs, strict=True):
            self._tools[requestor, spec.name] = RemoteTool(source, own.name, spec)
        return specs

    def tool(self, name: str, requestor: Requestor) -> RemoteTool | None:
        """Give a tool, None where it is not remote."""
        return self._tools.get((requestor, name))

    def names(self, requestor: Requestor) -> list[str]:
        """Give the names of one party's remote tools."""
        return [name for party, name in self._tools if party == requestor]

    def wrapper(self, invoker: Invoker, on_call: OnCall) -> RemoteWrapper:
        """Give what makes functions of tools."""
        return RemoteWrapper(invoker, on_call, self._loop, self._flying)

    def strike(self, striker: Striker) -> None:
        """Let faults strike the agent's tools from now on."""
        for (party, name), tool in self._tools.items():
            if party == "assistant":
                self._tools[party, name] = replace(tool, striker=striker)

    def cancel(self) -> None:
        """Cancel the calls of an agent that is left behind: its thread would wait for ever."""
        for future in list(self._flying):
            future.cancel()
