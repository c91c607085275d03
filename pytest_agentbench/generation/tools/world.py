"""Environments to probe: fresh ones of a suite, each opened for itself, whose calls always come back.

Built on the environment that runs use (`environment.local`), so that a tool answers a probe as it answers an agent.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.remote import McpSpec
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import EnvironmentSpec, Suite, ToolsSpec
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.toolset import load_toolset, tools_without_state
from pytest_agentbench.generation.tools.probing.safety import sign_of_destruction
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.runs.run_thread import RunnerInThread

PATIENCE = 10.0
"""Seconds that a call, and closing, may take."""

LATER = (1, 30, 366)
"""Days later on which a call, and a scenario, must still hold, where the environment takes a clock."""

OPENING = 60.0
"""Seconds that opening may take: servers are started for it."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a call gave: the text, redacted, its error flag, whether state changed (None: nobody can tell), seconds.

    `hung` says that it had not ended in time, `crashed` that the tool tried to end the process or cannot be called,
    `unreachable` that the service behind it is the matter: down, credentials, limits.
    """

    content: str
    error: bool = False
    wrote: bool | None = None
    seconds: float = 0.0
    hung: bool = False
    crashed: bool = False
    unreachable: bool = False


class Opened:
    """One open environment."""

    def __init__(self, environment: LocalEnvironment, runner: RunnerInThread, world: "World") -> None:
        self._environment = environment
        self._runner = runner
        self._world = world

    @property
    def tools(self) -> Toolset:
        """The tools."""
        return self._environment.tools

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool of the agent's; never raises for what a tool does and never takes longer than the patience."""
        world = self._world
        began = world.now()

        def answer(text: str, **more: Any) -> Answer:
            return Answer(content=world.redactor.text(text), **{"seconds": max(world.now() - began, 0.0), **more})

        try:
            async with asyncio.timeout(world.patience):
                result = await self._environment.call(ToolCall(name=tool, arguments=dict(arguments)))
        except TimeoutError:
            self._runner.abandon()
            text = f"no answer within {world.patience:g} s"
            return answer(text, error=True, hung=True, seconds=world.patience)
        except EnvironmentFaultError as error:
            is_remote = self._environment.is_remote(tool)
            return answer(str(error), error=True, crashed=not is_remote, unreachable=is_remote)
        return answer(result.content, error=result.error, wrote=result.wrote)

    async def snapshot(self) -> State | None:
        """Read the whole state, or None where it cannot be read."""
        try:
            return await self._environment.snapshot()
        except EnvironmentFaultError:
            return None


@dataclass(kw_only=True)
class World:
    """The environments of a suite: its tools, and `resettable`: whether each opened one starts from the same state.

    `without_state` names the functions that do not take the state: what they reach besides it is not reset with it.
    `hints` are values that the user gives for arguments, by `argument` or `tool.argument`, `rows` those of its state,
    whatever they are called, `samples` some whole rows. `now` is the clock that latency is measured with, in seconds.
    `opener` is a call, by tool and arguments, that opens a session in each environment.
    """

    spec: EnvironmentSpec
    root: Path
    toolset: Toolset
    resettable: bool
    context: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    rows: tuple[Any, ...] = ()
    samples: tuple[Mapping[str, Any], ...] = ()
    redactor: Redactor = field(default_factory=Redactor)
    gate: IsolationGate = field(default_factory=lambda: IsolationGate(Path(".agentbench")))
    patience: float = PATIENCE
    now: Callable[[], float] = time.monotonic
    without_state: frozenset[str] = frozenset()
    opener: tuple[str, Mapping[str, Any]] | None = None
    _opened: int = 0

    def resets(self, spec: ToolSpec) -> bool:
        """Whether what a tool does is undone in the next environment that is opened."""
        return self.resettable and not (spec.name in self.without_state and sign_of_destruction(spec))

    @property
    def stands_alone(self) -> bool:
        """Whether each opened environment is a process of its own, so that two at a time do not touch each other."""
        own = (isinstance(one.remote, McpSpec) or (one.remote and not one.remote.reset) for one in self.spec.tools)
        return self.spec.state is None and is_resettable(self.spec) and all(own)

    @property
    def opens_several(self) -> bool:
        """Whether several environments may be open at a time, each with a state of its own."""
        own = self.spec.state is not None and self.spec.state.kind in ("json", "sqlite")
        return self.stands_alone or (own and all(one.kind == "python" for one in self.spec.tools))

    def later(self, days: int) -> "World":
        """Give the same world with its clock, which it must have, so many days later."""
        now = self.spec.now + timedelta(days=days) if self.spec.now else None
        return replace(self, spec=self.spec.model_copy(update={"now": now}))

    async def described(self) -> Toolset:
        """Give the tools; a server that only tells them itself is asked, once."""
        if not self.toolset:
            async with self.open() as opened:
                self.toolset = opened.tools
        return self.toolset

    @asynccontextmanager
    async def open(self, state: Mapping[str, Any] | None = None) -> AsyncIterator[Opened]:
        """Open a fresh environment, with what a scenario's `state` adds; raise `EnvironmentFaultError` if it fails."""
        self._opened += 1
        runner = RunnerInThread(f"agentbench-probe{self._opened}")
        environment = LocalEnvironment(
            self.spec,
            root=self.root,
            scenario_state=dict(state or {}),
            context=self.context,
            run_name=f"probe{self._opened}",
            runner=runner,
            gate=self.gate,
            known=self.toolset or None,
            patience=self.patience,
        )
        try:
            async with asyncio.timeout(max(OPENING, self.patience)):
                await environment.__aenter__()
            opened = Opened(environment, runner, self)
            try:
                if self.opener is not None:
                    await opened.call(*self.opener)
                yield opened
            finally:
                try:
                    async with asyncio.timeout(self.patience):
                        await environment.__aexit__(None, None, None)
                except (TimeoutError, EnvironmentFaultError):
                    runner.abandon()
        except TimeoutError:
            message = f"the environment has not opened within {max(OPENING, self.patience):g} s"
            raise EnvironmentFaultError(message) from None
        finally:
            runner.close()


def world_of(
    suite: Suite,
    *,
    toolset: Toolset | None = None,
    resettable: bool | None = None,
    hints: Mapping[str, Any] | None = None,
    rows: Sequence[Any] = (),
    samples: Sequence[Mapping[str, Any]] = (),
    directory: Path | None = None,
    patience: float = PATIENCE,
    now: Callable[[], float] = time.monotonic,
) -> World:
    """Give the world of a suite; `toolset` saves loading the tools, `resettable` overrules what the suite shows.

    `directory` is where locks of states are that only one process may use. Raise `EnvironmentFaultError` where the
    tools cannot be loaded.
    """
    spec = suite.environment
    is_shown = resettable is None and spec.state is not None
    given = {name: tuple(value) if isinstance(value, list) else (value,) for name, value in (hints or {}).items()}
    asked = asked_for_state(spec)
    hints = {name: tuple(dict.fromkeys((*given.get(name, ()), *asked.get(name, ())))) for name in (*given, *asked)}
    return World(
        spec=spec,
        root=suite.root,
        toolset=toolset or load_toolset(spec, suite.root),
        resettable=is_resettable(spec) if resettable is None else resettable,
        context=suite.context,
        hints=hints,
        rows=tuple(rows),
        samples=tuple(samples),
        redactor=Redactor(suite.secrets),
        gate=gate_of(directory or suite.root / ".agentbench"),
        patience=patience,
        now=now,
        without_state=tools_without_state(spec, suite.root) if is_shown else frozenset(),
    )


def asked_for_state(spec: EnvironmentSpec) -> dict[str, tuple[Any, ...]]:
    """Give the plain values, by argument, that the suite has its tools asked with to read the state: they exist."""
    calls = spec.state.options["tools"] if spec.state is not None and spec.state.kind == "tools" else ()
    found: dict[str, list[Any]] = {}
    for arguments in (arguments or {} for call in calls if isinstance(call, dict) for arguments in call.values()):
        for name, value in arguments.items():
            if not isinstance(value, bool | dict | list) and value not in (None, *found.get(name, ())):
                found.setdefault(name, []).append(value)
    return {name: tuple(values) for name, values in found.items()}


@lru_cache(maxsize=8)
def gate_of(directory: Path) -> IsolationGate:
    """Give the gate of all worlds with locks in a folder: a service that runs share is started once for all of them."""
    return IsolationGate(directory, starts_ahead=True)


def is_resettable(spec: EnvironmentSpec) -> bool:
    """Whether every opened environment starts from the same state, as far as the suite shows.

    It does where Python tools work on a state of the suite, where a server is started for each run in a folder of its
    own (`{run_dir}`), and where a request resets a service. Otherwise, who knows what a tool reaches; one provider that
    is not reset is enough for that.
    """
    return bool(spec.tools) and not any(_missing(part, spec) for part in spec.tools)


def how_to_reset(spec: EnvironmentSpec) -> str:
    """Say what in a suite's `environment` would show that every opened environment starts from the same state."""
    part, advice = next(((one, why) for one in spec.tools if (why := _missing(one, spec))), (None, _GIVE_STATE))
    return f"for the tools of {part.target}, {advice}" if part and len(spec.tools) > 1 else advice


_GIVE_STATE = "give the suite a `state`, which each run has for itself"


def _missing(part: ToolsSpec, spec: EnvironmentSpec) -> str:
    """Say what would show that a provider starts from the same state, "" where something does."""
    remote = part.remote
    if remote is None:
        return "" if part.kind == "python" and spec.state is not None else _GIVE_STATE
    if isinstance(remote, McpSpec) and remote.url:
        return "give the `command` of a server, which is started for each run, instead of its `url`"
    started = remote if isinstance(remote, McpSpec) else remote.service
    if not isinstance(remote, McpSpec) and remote.reset:
        return ""
    if started is None:
        return "name a `reset` request, or a command under `serve` that starts the service for each run"
    if started.share != "run":
        return "leave out `share`, so that each run starts a process of its own, and keep its data in `{run_dir}`"
    if any("{run_dir}" in one for one in (*started.command, *started.env.values())):
        return ""
    kept = "keep its data in `{run_dir}`, a fresh folder for each run"
    return f"{kept}; what keeps all in memory says so with `{{run_dir}}` in any variable of `env`"
