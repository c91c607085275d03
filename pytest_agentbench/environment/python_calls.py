"""Calls of Python tools, by us and by agents through wrapped functions: state, transaction, result as text."""

import functools
import inspect
import itertools
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import CallsSpentError, EnvironmentFaultError
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.environment.outages import outage_in, place, slip, slipped_by_itself
from pytest_agentbench.environment.python_tools import NOW, ArgumentsError, PythonTool, render_error, render_result
from pytest_agentbench.environment.state_access import (
    OpenState,
    Raised,
    caught,
    caught_async,
    fault,
    is_exit,
    is_refusal,
)
from pytest_agentbench.environment.turns import Turn, Turns, within


@dataclass(eq=False)
class Watch:
    """A call of `tool` under way: the state's mark before it, and whether another call ran at the same time.

    `handled` is what its caller was just handling, `turn` the turn that the call took itself.
    """

    tool: str
    before: object
    arguments: Mapping[str, Any] = field(default_factory=dict)
    handled: BaseException | None = None
    turn: Turn | None = None
    overlapped: bool = False


@dataclass(frozen=True)
class Done:
    """A finished call: the text for the caller, and what the function itself returned or raised."""

    result: ToolResult
    value: Any


class Invoker:
    """Makes the calls of one run, from whatever thread; refuses all of them once sealed.

    `is_over` tells whether the run's time is up: a call cancelled then counts as still running. `called` is the tool of
    a call that was cut off, `raised` what the tool that ended last raised, `fault` that of a tool that tried to exit,
    kept since an agent that called it may have swallowed it. `log` holds what happened that no result tells: late
    calls, changes that could not be observed. `states` is what calls that were seen to change the state left behind,
    read where `keeps_states` is set.
    """

    def __init__(self, is_over: Callable[[], bool] = lambda: False) -> None:
        self._lock = threading.Lock()
        self._turns = Turns()
        self._active: dict[Watch, None] = {}  # in the order begun
        self._is_over = is_over
        self.keeps_states = False
        self.states: list[State] = []
        self.called: str | None = None
        self._cut_off: str | None = None
        self._limit: int | None = None
        self._left = 0
        self.sealed = False
        self.late_calls = self.refused_calls = 0
        self.log: list[str] = []
        self.fault: EnvironmentFaultError | None = None
        self.raised: BaseException | None = None
        self._broken: dict[str, str | None] = {}
        self._slipped: dict[str, str | None] = {}
        self._down: dict[tuple[str, str], str] = {}
        self.work_on(None, {})

    def work_on(
        self, state: OpenState | None, context: Any, *, now: datetime | None = None, context_holds_state: bool = False
    ) -> None:
        """Give tools a state, a context, and the time where they declare it; the context may be made of the state."""
        self._state = state
        self._injected: dict[str, Any] = {"context": context, NOW: now, **({"state": state.handle} if state else {})}
        self._works_on_state = frozenset({"state", "context"} if context_holds_state else {"state"})

    @property
    def down(self) -> dict[str, str]:
        """The tools of which some call, when it was made last, broke in a way that no arguments cause, and how."""
        with self._lock:
            return {tool: why for (tool, _), why in reversed(self._down.items())}

    @property
    def slipped(self) -> dict[str, str]:
        """The tools whose own code failed at every call so far without meaning to, what the last one raised and where.

        A lookup that finds nothing may be meant as a refusal; nobody can tell as long as it says no more.
        """
        with self._lock:
            return {tool: why for tool, why in self._slipped.items() if why is not None}

    @property
    def broken(self) -> dict[str, str]:
        """The tools that broke, and did not refuse, at every call so far, and what the last one raised."""
        with self._lock:
            return {tool: why for tool, why in self._broken.items() if why is not None}

    @property
    def running(self) -> str | None:
        """The tool whose call, of those under way or cut off by the end of the run's time, began first."""
        with self._lock:
            return self.called or next((watch.tool for watch in self._active), self._cut_off)

    @property
    def busy(self) -> str:
        """What is running, as the end of a sentence: ` while the tool 'x' was running`, or nothing."""
        return f" while the tool {self.running!r} was running" if self.running else ""

    def turn_clock(self, now: datetime) -> None:
        """Give tools another time from now on."""
        self._injected[NOW] = now

    def limit(self, most: int, *, made: int = 0) -> None:
        """Refuse every call from now on that exceeds `most`, of which `made` were made before."""
        with self._lock:
            self._limit, self._left = most, most - made

    def refuse(self, call: ToolCall) -> ToolResult | None:
        """Give the refusal of a call after the end of the run, or over the limit, and note it; None where it may go on.

        A call that may go on counts as made.
        """
        with self._lock:
            if self.sealed:
                self.late_calls += 1
                self.log.append(f"late call refused: {call.name}")
                why = "the run is over"
            elif self._limit is not None and self._left <= 0:
                self.refused_calls += 1
                why = f"limits.tool_calls = {self._limit} spent"
            else:
                self._left -= 1
                return None
        return ToolResult(content=f"Error: {why}; this call was not made", error=True, wrote=False)

    def perform(
        self, tool: PythonTool, arguments: Mapping[str, Any], turn: Turn | None = None
    ) -> Done | tuple[Any, Watch]:
        """Call the function in this thread, in its turn, or in one that was waited for already, `turn`.

        What it gives to be awaited comes back with the watch, for `resume` and `finish`.
        """
        waits = turn is None and self._takes_turn(tool)
        if waits and not tool.is_async:
            turn = self._turns.take()
            self._go_on(turn)
        watch = Watch(tool.name, self._mark(), arguments=to_json(arguments), handled=sys.exception(), turn=turn)
        if not (waits and tool.is_async):  # which begins when its turn comes
            self._activate(watch)
        with within(turn):
            value = caught(self.bound(tool, arguments))
        if not inspect.isawaitable(value):
            return self.finish(tool, value, watch)
        if waits:
            self.abandon(watch)
        return value, watch

    async def resume(self, tool: PythonTool, value: Awaitable[Any], watch: Watch) -> Any:
        """Await what a function gave, in a turn of the call's own; give what came, or was raised, for `finish`."""
        try:
            if self._takes_turn(tool):
                watch.turn = await self.wait_turn(tool)
                before = self._mark()
                watch.overlapped = not tool.is_async and before != watch.before
                watch.before = before if tool.is_async else watch.before
                self._activate(watch)
            with within(watch.turn):
                return await caught_async(value)
        except BaseException:
            self.cancelled(watch)
            if inspect.iscoroutine(value):
                value.close()
            raise

    async def wait_turn(self, tool: PythonTool) -> Turn | None:
        """Wait until no other call works on a state that takes calls in turn; None where this one need not."""
        if not self._takes_turn(tool):
            return None
        turn = await self._turns.wait()
        self._go_on(turn)
        return turn

    def give_back(self, turn: Turn | None) -> None:
        """Give back a turn that no call of this object ended."""
        self._turns.give_back(turn)

    def seal(self) -> None:
        """Refuse every call from now on, those that wait for their turn too."""
        self.sealed = True
        self._turns.close()

    def _takes_turn(self, tool: PythonTool) -> bool:
        """Whether a call works on a state that takes calls in turn, be it by a context that was made of it."""
        taken = self._works_on_state.intersection(tool.signature.injected)
        return bool(taken) and self._state is not None and self._state.takes_turns

    def _go_on(self, turn: Turn | None) -> None:
        """Raise where the run ended while a call waited for its turn."""
        if self.sealed:
            self._turns.give_back(turn)
            raise EnvironmentFaultError("the run is over; this call was not made")

    def bound(self, tool: PythonTool, arguments: Mapping[str, Any]) -> Callable[[], Any]:
        """Give the call of the function; arguments are checked when it is made."""

        def made() -> Any:
            return tool.bind(arguments, self._injected)()

        return made

    def begin(self, tool: str, arguments: Mapping[str, Any], turn: Turn | None = None) -> Watch:
        """Note that a call of `tool` starts, in the turn that it took if it did."""
        watch = Watch(tool, self._mark(), arguments=to_json(arguments), handled=sys.exception(), turn=turn)
        self._activate(watch)
        return watch

    def _activate(self, watch: Watch) -> None:
        with self._lock:
            if self._active:
                watch.overlapped = True
                for other in self._active:
                    other.overlapped = True
            self._active[watch] = None

    def cancelled(self, watch: Watch) -> None:
        """Forget a call that ended without an answer; what it changed in a turn of its own is taken back."""
        state = self._state
        if state is not None and watch.turn is not None and self._turns.is_free_for(watch.turn):
            caught(lambda: state.settle(failed=True))
        self.abandon(watch)

    def abandon(self, watch: Watch) -> None:
        """Forget a call that nobody waits for any more."""
        with self._lock:
            if self._is_over():
                self._cut_off = self._cut_off or watch.tool
            self._active.pop(watch, None)
        self._turns.give_back(watch.turn)

    def finish(self, tool: PythonTool, value: Any, watch: Watch) -> Done:
        """End the call; raise `EnvironmentFaultError` where the function tried to exit, or says that state broke."""
        raised = value.error if isinstance(value, Raised) else None
        content = caught(lambda: render_result(value)) if raised is None else render_error(raised)
        if isinstance(content, Raised):  # endless or too deep to write down
            raised = content.error
            content, value = render_error(raised), content
        self.raised = raised
        self._note(self._broken, tool.name, None if is_refusal(raised) else content.removeprefix("Error: "))
        self._note(self._slipped, tool.name, None if raised is None else slip(raised))
        self._note_outage(tool, raised, watch)
        wrote = self._end(watch, failed=raised is not None)
        if raised is not None and (is_exit(raised) or isinstance(raised, EnvironmentFaultError)):
            self.fault = fault(raised, f"tool {tool.name!r}")
            raise self.fault from raised
        rejected = isinstance(raised, ArgumentsError)
        return Done(ToolResult(content=content, error=raised is not None, wrote=wrote, rejected=rejected), value)

    def settle(self, watch: Watch, *, failed: bool) -> bool | None:
        """End a call that no function of Python's made; tell whether it changed state, None where nobody can."""
        self.raised = None
        return self._end(watch, failed=failed)

    def _note(self, kept: dict[str, str | None], tool: str, broke: str | None) -> None:
        """Note how a call ended; one that did not break shows that the tool works."""
        with self._lock:
            kept[tool] = None if broke is None or kept.get(tool, "") is None else broke

    def _note_outage(self, tool: PythonTool, raised: BaseException | None, watch: Watch) -> None:
        """Note that a call broke in a way that no arguments cause; an equal one that did not shows that it may work."""
        if raised is None and not self._down:
            return
        found = None if raised is None else outage_in(raised, watch.arguments, watch.handled)
        if found is None and raised is not None and slipped_by_itself(raised, tool, watch.arguments):
            found = raised
        made = tool.name, digest(watch.arguments)
        with self._lock:
            self._down.pop(made, None)
            if raised is not None and found is not None:
                led = "" if found is raised else f", led to by {raised_text(found)}"
                self._down[made] = f"{raised_text(raised)}{led}{place(raised)}"

    def _end(self, watch: Watch, *, failed: bool) -> bool | None:
        try:
            return self._ended(watch, failed=failed)
        finally:
            self._turns.give_back(watch.turn)

    def _ended(self, watch: Watch, *, failed: bool) -> bool | None:
        with self._lock:
            self._active.pop(watch, None)
            alone = not self._active
        taken_back, state = False, self._state
        if state is not None and (self._turns.is_free_for(watch.turn) if state.takes_turns else alone):
            settled = caught(lambda: state.settle(failed))
            if isinstance(settled, Raised):
                self.log.append(f"the transaction of a call could not be ended: {settled.error}")
            else:
                taken_back = settled
        after = self._mark()
        if watch.before is None or after is None:
            return None
        if after == watch.before:
            return False
        if watch.overlapped or taken_back:
            return None
        self._keep(state)
        return True

    def _keep(self, state: OpenState | None) -> None:
        """Keep what a call left behind; where it cannot be read there is one too few, so that nobody relies on them."""
        if not self.keeps_states or state is None:
            return
        found = caught(lambda: state.read(like=self.states[-1] if self.states else None))
        if isinstance(found, Raised):
            self.log.append(f"the state after a call could not be read: {type(found.error).__name__}: {found.error}")
        elif found is not None:
            self.states.append(found)

    def _mark(self) -> object:
        """Give the state's mark, None where there is no state or it cannot tell."""
        if self._state is None:
            return None
        mark = caught(self._state.mark)
        if isinstance(mark, Raised):
            self.log.append(f"changes could not be observed: {type(mark.error).__name__}: {mark.error}")
            return None
        return mark


OnCall = Callable[[ToolCall, ToolResult], None]

_WRAPPERS = frozenset({__file__, str(Path(__file__).with_name("remote_tools.py"))})


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
            given = await self._invoker.resume(tool, value, watch)
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
            self._report(made, ToolResult(content=render_error(error), error=True, wrote=False, rejected=True))
            raise
        made = ToolCall(name=tool.name, arguments=to_json(arguments), id=f"call_{number}")
        self._refuse(made)
        return arguments, made

    def _given(self, made: ToolCall, done: Done) -> Any:
        self._report(made, done.result)
        if isinstance(done.value, Raised):
            raise done.value.error
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
