"""Strikes calls: runs a fault's steps around a tool, in the tool's thread or on the loop."""

import asyncio
import copy
import inspect
import time
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.values import to_json
from pytest_agentbench.environment.injection.effects import (
    NEED_A_STATE_TO_PUT_BACK,
    Steps,
    Struck,
    Untouched,
    Wait,
    steps,
)
from pytest_agentbench.environment.injection.schedule import Schedule
from pytest_agentbench.environment.injection.world import InjectionWorld
from pytest_agentbench.environment.offered import OfferedTool
from pytest_agentbench.environment.python_tools import PythonTool

Made = Callable[[dict[str, Any]], Any]
"""Makes the call with arguments by name."""


class Striker:
    """Puts the faults of one run around its tools. `sleep` waits in the tool's thread."""

    def __init__(self, schedule: Schedule, world: InjectionWorld, sleep: Callable[[float], None] = time.sleep) -> None:
        """Begin with the state as it is; raise `SuiteFaultError` where a fault needs what the state cannot do."""
        self._schedule = schedule
        self._world = world
        self._sleep = sleep
        needy = next((fault for fault in schedule.faults if fault.kind in NEED_A_STATE_TO_PUT_BACK), None)
        if needy is not None and not world.can_be_put_back:
            raise SuiteFaultError(
                f"the fault {shorten(needy.name, 100)!r} puts the state back, which takes `state: {{sqlite: …}}`, "
                "`{json: …}`, or a provider with save(handle) and restore(handle, saved)"
            )
        world.begin()

    def around(self, tool: PythonTool) -> PythonTool:
        """Give the tool with the faults that may strike it."""
        if isinstance(tool, OfferedTool):
            return tool.struck_by(self.call)
        names = set(tool.signature.names)
        signature = inspect.signature(tool.function)
        injected = frozenset(tool.signature.injected)

        def split(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
            given = signature.bind(*args, **kwargs).arguments
            given = {**{k: v for k, v in given.items() if k in names or k in injected}, **kwargs}
            return (
                {name: value for name, value in given.items() if name not in injected},
                {name: value for name, value in given.items() if name in injected},
            )

        @wraps(tool.function)
        def struck(*args: Any, **kwargs: Any) -> Any:
            arguments, rest = split(args, kwargs)
            return self.call(tool.name, arguments, lambda given: _called(tool.function, signature, {**given, **rest}))

        @wraps(tool.function)
        async def struck_async(*args: Any, **kwargs: Any) -> Any:
            arguments, rest = split(args, kwargs)

            async def made(given: dict[str, Any]) -> Any:
                return await _called(tool.function, signature, {**given, **rest})

            return await self.call_async(tool.name, arguments, made)

        spoilt = copy.copy(tool)
        spoilt.function = struck_async if tool.is_async else struck
        return spoilt

    def call(self, name: str, arguments: dict[str, Any], made: Made) -> Any:
        """Make a call in this thread, struck or not."""
        strike = self._begin(name, arguments)
        while (step := strike.step) is not None:
            if isinstance(step, Wait):
                self._sleep(step.seconds)
                strike.answered(None)
                continue
            try:
                answer = made(step)
            except Exception as error:  # noqa: BLE001 - the fault decides what becomes of what the tool raised
                strike.raised(error)
            else:
                strike.answered(answer)
        return strike.answer

    async def call_async(
        self, name: str, arguments: dict[str, Any], made: Callable[[dict[str, Any]], Awaitable[Any]]
    ) -> Any:
        """Make a call on the loop, struck or not."""
        strike = self._begin(name, arguments)
        while (step := strike.step) is not None:
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
                strike.answered(None)
                continue
            try:
                answer = await made(step)
            except Exception as error:  # noqa: BLE001 - same
                strike.raised(error)
            else:
                strike.answered(answer)
        return strike.answer

    def _begin(self, name: str, arguments: dict[str, Any]) -> "_Strike":
        number, fault = self._schedule.next(ToolCall(name=name, arguments=to_json(arguments)))
        missed = partial(self._schedule.missed, number)
        if fault is None:
            return _Strike(_as_it_is(arguments), missed)
        random = self._schedule.random(number)
        return _Strike(steps(Struck(fault=fault, arguments=arguments, random=random, world=self._world)), missed)


class _Strike:
    """One call on its way through its fault's steps: `step` is what to do next, None once there is an `answer`."""

    def __init__(self, work: Steps, missed: Callable[[], None]) -> None:
        self._work = work
        self._missed = missed
        self.step: dict[str, Any] | Wait | None = None
        self.answer: Any = None
        self._go(lambda: next(work))

    def answered(self, answer: Any) -> None:
        """Go on with what the tool gave."""
        self._go(lambda: self._work.send(answer))

    def raised(self, error: Exception) -> None:
        """Go on with what the tool raised; it is raised again where the fault makes nothing of it."""
        try:
            self._go(lambda: self._work.throw(error))
        except Exception as left:
            if left is error:
                self._missed()
            raise

    def _go(self, on: Callable[[], dict[str, Any] | Wait]) -> None:
        self.step = None
        try:
            self.step = on()
        except StopIteration as stop:
            self.answer = stop.value
        except Untouched as untouched:
            self._missed()
            self.answer = untouched.answer


def _as_it_is(arguments: dict[str, Any]) -> Steps:
    return (yield arguments)


def _called(function: Callable[..., Any], signature: inspect.Signature, arguments: dict[str, Any]) -> Any:
    """Call by name, but for parameters that only take a position."""
    positional = [
        arguments[name]
        for name, parameter in signature.parameters.items()
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and name in arguments
    ]
    only = {
        name for name, parameter in signature.parameters.items() if parameter.kind is inspect.Parameter.POSITIONAL_ONLY
    }
    return function(*positional, **{name: value for name, value in arguments.items() if name not in only})
