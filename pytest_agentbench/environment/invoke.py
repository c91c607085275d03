"""One call of a Python tool: seeing whether it changed state, ending its transaction, giving its result as text."""

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.environment.faults import Raised, caught, fault, is_exit, is_refusal
from pytest_agentbench.environment.python_tools import PythonTool
from pytest_agentbench.environment.rendering import render_error, render_result
from pytest_agentbench.environment.signatures import NOW
from pytest_agentbench.environment.state_access import OpenState


@dataclass(eq=False)
class Watch:
    """A call of `tool` under way: the state's mark before it, and whether another call ran at the same time."""

    tool: str
    before: object
    overlapped: bool = False


@dataclass(frozen=True)
class Done:
    """A finished call: the text for the caller, and what the function itself returned or raised."""

    result: ToolResult
    value: Any


class Invoker:
    """Makes the calls of one run, from whatever thread; refuses all of them once sealed."""

    def __init__(
        self,
        state: OpenState | None,
        context: Any,
        is_over: Callable[[], bool] = lambda: False,
        *,
        now: datetime | None = None,
    ) -> None:
        """`is_over` tells whether the run's time is up: a call cancelled then counts as still running.

        `now` is what tools get that declare it.
        """
        self._state = state
        self._injected: dict[str, Any] = {"context": context, NOW: now, **({"state": state.handle} if state else {})}
        self._lock = threading.Lock()
        self._active: dict[Watch, None] = {}  # in the order begun
        self._is_over = is_over
        self.keeps_states = False
        self.states: list[State] = []
        self._cut_off: str | None = None
        self._limit: int | None = None
        self._left = 0
        self.sealed = False
        self.late_calls = 0
        self.refused_calls = 0
        self.log: list[str] = []
        self.fault: EnvironmentFaultError | None = None
        self.raised: BaseException | None = None
        self._broken: dict[str, str | None] = {}

    @property
    def broken(self) -> dict[str, str]:
        """The tools that broke, and did not refuse, at every call so far, and what the last one raised."""
        with self._lock:
            return {tool: why for tool, why in self._broken.items() if why is not None}

    @property
    def running(self) -> str | None:
        """The tool whose call, of those under way or cut off by the end of the run's time, began first."""
        with self._lock:
            return next((watch.tool for watch in self._active), self._cut_off)

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

    def perform(self, tool: PythonTool, arguments: Mapping[str, Any]) -> Done | tuple[Any, Watch]:
        """Call the function in this thread. What it gives to be awaited comes back with the watch, for `finish`."""
        watch = self.begin(tool.name)
        value = caught(self.bound(tool, arguments))
        if inspect.isawaitable(value):
            return value, watch
        return self.finish(tool, value, watch)

    def bound(self, tool: PythonTool, arguments: Mapping[str, Any]) -> Callable[[], Any]:
        """Give the call of the function; arguments are checked when it is made."""

        def call() -> Any:
            made = tool.bind(arguments, self._injected)
            return made()

        return call

    def begin(self, tool: str) -> Watch:
        """Note that a call of `tool` starts."""
        watch = Watch(tool=tool, before=self._mark())
        with self._lock:
            if self._active:
                watch.overlapped = True
                for other in self._active:
                    other.overlapped = True
            self._active[watch] = None
        return watch

    def abandon(self, watch: Watch) -> None:
        """Forget a call that was cancelled."""
        with self._lock:
            if self._is_over():
                self._cut_off = self._cut_off or watch.tool
            self._active.pop(watch, None)

    def finish(self, tool: PythonTool, value: Any, watch: Watch) -> Done:
        """End the call; raise `EnvironmentFaultError` where the function tried to exit, or says that state broke."""
        raised = value.error if isinstance(value, Raised) else None
        content = caught(lambda: render_result(value)) if raised is None else render_error(raised)
        if isinstance(content, Raised):  # endless or too deep to write down
            raised = content.error
            content, value = render_error(raised), content
        self.raised = raised
        self._note(tool.name, None if is_refusal(raised) else content.removeprefix("Error: "))
        wrote = self._end(watch, failed=raised is not None)
        if raised is not None and (is_exit(raised) or isinstance(raised, EnvironmentFaultError)):
            self.fault = fault(raised, f"tool {tool.name!r}")
            raise self.fault from raised
        return Done(ToolResult(content=content, error=raised is not None, wrote=wrote), value)

    def settle(self, watch: Watch, *, failed: bool) -> bool | None:
        """End a call that no function of Python's made; tell whether it changed state, None where nobody can."""
        self.raised = None
        return self._end(watch, failed=failed)

    def _note(self, tool: str, broke: str | None) -> None:
        """Note how a call ended; one that did not break shows that the tool works."""
        with self._lock:
            self._broken[tool] = None if broke is None or self._broken.get(tool, "") is None else broke

    def _end(self, watch: Watch, *, failed: bool) -> bool | None:
        with self._lock:
            self._active.pop(watch, None)
            alone = not self._active
        taken_back = False
        state = self._state
        if alone and state is not None:
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
