"""The agent's tools as plain Python functions, for agents that run their tools themselves."""

import functools
import inspect
import itertools
import threading
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn

from pytest_agentbench.core.errors import CallsSpentError, EnvironmentFaultError
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.values import to_json
from pytest_agentbench.environment.faults import Raised, caught_async, fault
from pytest_agentbench.environment.invoke import Done, Invoker, Watch
from pytest_agentbench.environment.python_tools import PythonTool
from pytest_agentbench.environment.rendering import render_error

OnCall = Callable[[ToolCall, ToolResult], None]

_WRAPPERS = frozenset({__file__, str(Path(__file__).with_name("wrapped_remote.py"))})


def came_out_of_a_tool(error: BaseException) -> bool:
    """Whether an exception passed through the wrapper of a tool on its way to whoever caught it."""
    return any(frame.f_code.co_filename in _WRAPPERS for frame, _ in traceback.walk_tb(error.__traceback__))


class Wrapper:
    """Wraps tools so that each call is reported to `on_call` when it ends, one report at a time.

    A wrapped function has the tool's name, docstring and signature without `state` and `context`; sync stays sync and
    runs where it is called. It returns what the tool returns and raises what the tool raises, after reporting the
    error. Wrong arguments raise `TypeError`; exits and calls after the run's end raise `EnvironmentFaultError`, calls
    over the limit `CallsSpentError`.
    """

    def __init__(self, invoker: Invoker, on_call: OnCall) -> None:
        self._invoker = invoker
        self._on_call = on_call
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def wrap(self, tool: PythonTool) -> Callable[..., Any]:
        """Give the wrapped function of `tool`."""

        def call(*args: Any, **kwargs: Any) -> Any:
            arguments, made = self._made(tool, args, kwargs)
            try:
                done = self._invoker.perform(tool, arguments)
            except EnvironmentFaultError as error:
                self._report_fault(made, error)
                raise
            if isinstance(done, Done):
                return self._given(made, done)
            value, watch = done
            return self._finish_later(tool, made, value, watch)

        async def call_async(*args: Any, **kwargs: Any) -> Any:
            result = call(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result

        wrapped = call_async if tool.is_async else call
        return _dressed(wrapped, tool)

    async def _finish_later(self, tool: PythonTool, made: ToolCall, value: Awaitable[Any], watch: Watch) -> Any:
        try:
            given = await caught_async(value)
        except BaseException:
            self._invoker.abandon(watch)
            raise
        try:
            done = self._invoker.finish(tool, given, watch)
        except EnvironmentFaultError as error:
            self._report_fault(made, error)
            raise
        return self._given(made, done)

    def _made(self, tool: PythonTool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], ToolCall]:
        """Give the arguments by name and the call to report; raise where the run is over or there are too many."""
        number = next(self._numbers)
        try:
            arguments = tool.named(args, kwargs)
        except TypeError as error:
            made = ToolCall(name=tool.name, arguments=to_json({**kwargs}), id=f"call_{number}")
            self._refuse(made)
            self._report(made, ToolResult(content=render_error(error), error=True, wrote=False))
            raise
        made = ToolCall(name=tool.name, arguments=to_json(arguments), id=f"call_{number}")
        self._refuse(made)
        return arguments, made

    def _given(self, made: ToolCall, done: Done) -> Any:
        self._report(made, done.result)
        if isinstance(done.value, Raised):
            _raise(done.value.error)
        return done.value

    def _report_fault(self, made: ToolCall, error: EnvironmentFaultError) -> None:
        self._report(made, ToolResult(content=render_error(error), error=True))

    def _report(self, made: ToolCall, result: ToolResult) -> None:
        with self._lock:
            if self._invoker.sealed:
                self._invoker.log.append(f"call ended after the run: {made.name}")
                return
            self._on_call(made, result)

    def _refuse(self, made: ToolCall) -> None:
        """Raise where a call may not be made; of those over the limit the first is reported: an agent may try on."""
        refusal = self._invoker.refuse(made)
        if refusal is None:
            return
        why = refusal.content.removeprefix("Error: ")
        if self._invoker.sealed:
            raise fault(EnvironmentFaultError(why), made.name)
        if self._invoker.refused_calls == 1:
            self._report(made, refusal)
        raise CallsSpentError(why)


def _dressed(function: Callable[..., Any], tool: PythonTool) -> Callable[..., Any]:
    """Give `function` the tool's name, docstring and visible signature, with types evaluated."""
    functools.update_wrapper(function, tool.function)
    function.__name__ = tool.name
    del function.__wrapped__  # type: ignore[attr-defined]  # frameworks would unwrap it and find `state` again
    signature = inspect.signature(tool.function)
    types = {parameter.name: parameter.annotation for parameter in tool.signature.parameters}
    bare = {name for name, item in signature.parameters.items() if item.annotation is inspect.Parameter.empty}
    visible = [
        item if name in bare else item.replace(annotation=types.get(name, item.annotation))
        for name, item in signature.parameters.items()
        if name not in tool.signature.injected
    ]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]  # the way to state a signature
        parameters=visible, return_annotation=tool.signature.returns
    )
    function.__annotations__ = {item.name: item.annotation for item in visible if item.name not in bare}
    if tool.signature.returns is not inspect.Signature.empty:
        function.__annotations__["return"] = tool.signature.returns
    return function


def _raise(error: BaseException) -> NoReturn:
    raise error
