"""The environment of one run in this process: fresh tools on a fresh state."""

import copy
import inspect
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.protocols import RunSync, StateProvider
from pytest_agentbench.core.remote import McpSpec, OpenApiSpec
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import EnvironmentSpec, StateSpec
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import Requestor, ToolCall, ToolResult, Toolset
from pytest_agentbench.environment.context import make_context, split_context
from pytest_agentbench.environment.injection import InjectionWorld, Schedule, Striker
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.python_calls import Done, Invoker, OnCall
from pytest_agentbench.environment.python_tools import NOW, PythonTool
from pytest_agentbench.environment.remote_tools import RemoteCalls, RemoteTool, RemoteTools, RunWorld
from pytest_agentbench.environment.state_access import OpenState, caught_async, guarded
from pytest_agentbench.environment.state_provider import Plugged, ToldState, build_provider, state_key
from pytest_agentbench.environment.toolset import load_tools, open_remote, opening_of, refuse_namesakes, remote_parts
from pytest_agentbench.environment.turns import Turn, within


class LocalEnvironment:
    """Tools and state of one run; an async context manager (`core.protocols.Environment`).

    `scenario_state` is the scenario's own part of the state, `context` what tools get as `context`, unless it names a
    function that makes it of the rest (`environment.context`), `run_name` a name unique to the run, `session_id` what
    servers of tools get as `$session_id`. Sync user code is executed by `runner`, in the run's own thread; async user
    code on the loop. `gate` makes runs wait that must not overlap; do not open a second environment on the same
    exclusive state inside. `known` are the tools as collected, which saves describing them again. Loading the tools,
    making the context, and each method of the state may take `patience` seconds. `is_over` tells whether
    the run's time is up, `plugged` gives states that plugins offer. `calls` makes the calls and knows how they went,
    `world` is what the run has of services.
    """

    def __init__(
        self,
        spec: EnvironmentSpec,
        *,
        root: Path,
        scenario_state: dict[str, Any],
        context: dict[str, Any],
        run_name: str,
        session_id: str = "",
        runner: RunSync,
        gate: IsolationGate,
        known: Toolset | None = None,
        patience: float | None = None,
        is_over: Callable[[], bool] = lambda: False,
        plugged: Plugged = lambda _name, _options: None,
    ) -> None:
        self._spec = spec
        self._plugged = plugged
        self._root = root
        self._scenario_state = copy.deepcopy(scenario_state)
        self._make, values = split_context(copy.deepcopy(context))
        self._values = values
        self.context: Any = values
        self._run_name = run_name
        self._session_id = session_id or run_name
        self._runner = runner
        self._gate = gate
        self._known = known
        self._patience = patience
        self._stack = AsyncExitStack()
        self._state: OpenState | None = None
        self._functions: dict[tuple[Requestor, str], PythonTool] = {}
        self._remote = RemoteCalls()
        self.world = RunWorld()
        self.calls = Invoker(is_over)
        self.tools: Toolset = Toolset()

    @property
    def handle(self) -> Any:
        """What tools get as `state`; None where the suite has no state, or it is not open."""
        return self._state.handle if self._state else None

    @property
    def opens_whole(self) -> bool:
        """Whether `scenario_state` is a task's whole initial state, whose calls the state makes when it is opened."""
        return self._spec.offered is not None

    @property
    def states(self) -> tuple[State, ...]:
        """What each call that was seen to change the state left behind, in order, since `calls.keeps_states`."""
        return tuple(self.calls.states)

    async def __aenter__(self) -> Self:
        """Load the tools, wait for the state to be free, open it; raise `EnvironmentFaultError` where that fails."""
        try:
            await self._enter()
        except BaseException:
            # what hangs in the run's thread keeps the state from being closed, too, and is what to tell
            with suppress(EnvironmentFaultError):
                await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Seal and tear down; a fault in it is raised unless something else is on its way already."""
        self.calls.seal()
        try:
            await self._stack.aclose()
        except EnvironmentFaultError as late:
            self.calls.log.append(str(late))
            if error is None:
                raise

    def turn_clock(self, later: timedelta) -> None:
        """Let the suite's clock, where it has one, stand this much later than at the start."""
        if self._spec.now is not None:
            self.calls.turn_clock(self._spec.now + later)

    async def call(self, call: ToolCall) -> ToolResult:
        """Run a tool. Unknown tools, wrong arguments and tools that raise give a result with `error`.

        Raise `EnvironmentFaultError` where the tool tried to exit (`sys.exit()`, Ctrl-C, …) or is only described.
        """
        refusal = self.calls.refuse(call) or self._refused(call)
        if refusal is not None:
            return refusal
        self.calls.called = call.name
        result = await self._performed(call)
        self.calls.called = None  # not where the call was cut off: it is what the run ended in
        return result

    def can_call(self, name: str, requestor: Requestor) -> bool:
        """Whether something is behind a tool that executes it; some are only described, some are the agent's own."""
        return (requestor, name) in self._functions or self._remote.tool(name, requestor) is not None

    def is_remote(self, name: str) -> bool:
        """Whether another process executes a tool of the agent's."""
        return self._remote.tool(name, "assistant") is not None

    async def snapshot(self, like: State | None = None) -> State | None:
        """Read the whole state, or None where the suite has none; raise `EnvironmentFaultError` where it breaks.

        What is as in the earlier state `like` is that state's own, so that two of them take little more than one.
        """
        return await self._state.snapshot(like) if self._state else None

    def wrapped_tools(self, on_call: OnCall) -> list[Callable[..., Any]]:
        """Give the agent's tools as plain functions without `state` and `context`; see `wrapped.Wrapper`."""
        wrapper = self._remote.wrapper(self.calls, on_call)
        wrapped = [wrapper.wrap(tool) for tool in self._functions.values() if tool.requestor == "assistant"]
        remote = (self._remote.tool(spec.name, "assistant") for spec in self.tools.of("assistant"))
        return [*wrapped, *(wrapper.wrap_remote(tool) for tool in remote if tool is not None)]

    async def strike(self, schedule: Schedule) -> None:
        """Let faults strike the agent's tools from now on; raise `SuiteFaultError` where the state cannot do them."""
        striker = await guarded(
            lambda: Striker(schedule, InjectionWorld(self._state)), self._runner, "the state provider", self._patience
        )
        self._functions = {
            (party, name): striker.around(tool) if party == "assistant" else tool
            for (party, name), tool in self._functions.items()
        }
        self._remote.strike(striker)

    async def _enter(self) -> None:
        load = partial(load_tools, self._spec, self._root, self._run_name, self._known)
        loaded = await guarded(load, self._runner, "the tools' module", self._patience)
        self._stack.callback(loaded.forget)
        self.tools, self._functions = loaded.toolset, loaded.functions
        await self._open_remote()
        spec = self._spec.state
        if spec is None:
            if self._scenario_state and (self._functions or self._remote):
                raise EnvironmentFaultError("the scenario gives initial state, but the suite has no environment.state")
            await self._make_context()
            return
        provider = await self._provider(spec)
        await self._stack.enter_async_context(self._gate.hold(provider.isolation, state_key(spec)))
        state = OpenState(provider, self._runner, self._patience)
        await state.open(self._scenario_state, self._run_name)
        self._stack.push_async_callback(state.close)
        self._state = state
        await self._make_context()

    async def _provider(self, spec: StateSpec) -> StateProvider:
        """Build the state provider; only what others wrote may take long, and needs the run's thread."""
        if spec.kind == "tools":
            return cast("StateProvider", ToldState(self._remote, spec.options["tools"]))  # methods may be async
        build = partial(build_provider, spec, self._root, self._plugged)
        if spec.kind in ("json", "sqlite"):
            return build()
        return await guarded(build, self._runner, "the state provider", self._patience)

    async def _make_context(self) -> None:
        taken: frozenset[str] = frozenset()
        if self._make:
            offered = {"state": self.handle, "session_id": self._session_id}
            offered |= {} if self._spec.now is None else {NOW: self._spec.now}
            self.context, taken = await make_context(
                self._make,
                self._values,
                root=self._root,
                offered=offered,
                runner=self._runner,
                patience=self._patience,
            )
        self.calls.work_on(self._state, self.context, now=self._spec.now, context_holds_state="state" in taken)

    async def _open_remote(self) -> None:
        parts = remote_parts(self._spec)
        opened: list[RemoteTools] = []
        for part, requestor in parts:
            opening = opening_of(
                self._spec,
                requestor,
                self._root,
                part,
                session_id=self._session_id,
                gate=self._gate,
                context=self._values,
                world=self.world,
            )
            opened.append(await open_remote(cast("OpenApiSpec | McpSpec", part.remote), opening))
            self._stack.push_async_callback(opened[-1].aclose)
        await self.world.reset(self._gate, self._stack)
        for source, (part, requestor) in zip(opened, parts, strict=True):
            specs = (*self.tools, *self._remote.add(source, requestor, part.prefix))
            refuse_namesakes(specs)
            self.tools = self.tools.model_copy(update={"specs": specs})
        self._stack.callback(self._remote.cancel)

    async def _performed(self, call: ToolCall) -> ToolResult:
        remote = self._remote.tool(call.name, call.requestor)
        if remote is not None:
            return await self._call_remote(remote, call)
        tool = self._functions[call.requestor, call.name]
        arguments = copy.deepcopy(call.arguments)  # the tool may keep and change them; the transcript must not
        turn = await self.calls.wait_turn(tool)
        try:
            return await self._call_in_turn(tool, arguments, turn)
        finally:
            self.calls.give_back(turn)

    async def _call_in_turn(self, tool: PythonTool, arguments: dict[str, Any], turn: Turn | None) -> ToolResult:
        who = f"tool {tool.name!r}"
        if tool.is_async:
            watch = await guarded(lambda: self.calls.begin(tool.name, arguments, turn), self._runner, who)
            value: Any = _made(self.calls.bound(tool, arguments))
        else:
            done = await guarded(lambda: self.calls.perform(tool, arguments, turn), self._runner, who)
            if isinstance(done, Done):
                return done.result
            value, watch = done
        try:
            with within(turn):
                given = await caught_async(value)
        except BaseException:
            self.calls.cancelled(watch)
            raise
        finished = await guarded(lambda: self.calls.finish(tool, given, watch), self._runner, who)
        return finished.result

    async def _call_remote(self, tool: RemoteTool, call: ToolCall) -> ToolResult:
        who = f"tool {call.name!r}"
        watch = await guarded(lambda: self.calls.begin(call.name, call.arguments), self._runner, who)
        try:
            result = await tool.call(copy.deepcopy(call.arguments))
        except BaseException as error:
            self.calls.abandon(watch)
            if isinstance(error, EnvironmentFaultError):
                self.calls.fault = error
            raise
        wrote = await guarded(lambda: self.calls.settle(watch, failed=result.error), self._runner, who)
        return result if wrote is None else result.model_copy(update={"wrote": wrote})

    def _refused(self, call: ToolCall) -> ToolResult | None:
        """Give the error of a call that reaches no function; raise where the tool is only described."""
        if self.tools.get(call.name, call.requestor) is None:
            names = ", ".join(spec.name for spec in self.tools.of(call.requestor)) or "none"
            return _error(f"unknown tool {shorten(call.name, 100)!r}. The tools are: {names}")
        if not self.can_call(call.name, call.requestor):
            raise EnvironmentFaultError(f"tool {call.name!r} is only described by a file; it cannot be called")
        if call.raw is not None:
            return _error(f"the arguments of {call.name!r} are not a JSON object: {shorten(call.raw, 200)}")
        return None


async def _made(call: Callable[[], Any]) -> Any:
    """Make a call and await what it gives."""
    value = call()
    return await value if inspect.isawaitable(value) else value


def _error(message: str) -> ToolResult:
    return ToolResult(content=f"Error: {message}", error=True, wrote=False, rejected=True)
