"""Remote tools as plain functions for agents that run their tools themselves, blocking or awaited."""

import asyncio
import concurrent.futures
import inspect
import json
import keyword
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.tool import ToolCall, ToolResult, ToolSpec
from pytest_agentbench.core.values import to_json
from pytest_agentbench.environment.faults import fault
from pytest_agentbench.environment.invoke import Invoker, Watch
from pytest_agentbench.environment.remote import RemoteTools, ToolFailedError
from pytest_agentbench.environment.wrapped import OnCall, Wrapper

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

    def wrap_remote(self, spec: ToolSpec, source: RemoteTools) -> Callable[..., Any]:
        """Give the function of a remote tool."""
        signature = signature_of(spec)

        def call(*args: Any, **kwargs: Any) -> Any:
            arguments = _named(spec, signature, args, kwargs)
            made = ToolCall(name=spec.name, arguments=to_json(arguments), id=f"call_{next(self._numbers)}")
            self._refuse(made)
            try:
                inside = asyncio.get_running_loop()
            except RuntimeError:
                return self._blocking(source, made)
            future = self._started(self._reported(source, made))
            return asyncio.wrap_future(future, loop=inside)

        call.__name__ = call.__qualname__ = spec.name
        call.__doc__ = _docstring(spec)
        call.__module__ = __name__
        call.__signature__ = signature  # type: ignore[attr-defined]  # the way to state a signature
        call.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
        return call

    def _blocking(self, source: RemoteTools, made: ToolCall) -> Any:
        """Make the call on the loop and wait for it in this thread, which watches state meanwhile."""
        watch = self._invoker.begin(made.name)
        future = self._started(source.call(made.name, dict(made.arguments)))
        try:
            with self._under_way(watch, made):
                result = future.result()
        except concurrent.futures.CancelledError:
            raise fault(EnvironmentFaultError(f"the run is over; {made.name} was not waited for"), made.name) from None
        return self._value(watch, made, result)

    async def _reported(self, source: RemoteTools, made: ToolCall) -> Any:
        watch = self._invoker.begin(made.name)
        with self._under_way(watch, made):
            result = await source.call(made.name, dict(made.arguments))
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
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


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
        raise TypeError(f"{spec.name!r} takes {len(names)} arguments, {len(args)} were given")
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
