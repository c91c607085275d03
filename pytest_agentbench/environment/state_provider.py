"""From a suite's `state` to a state provider: SQLite, JSON, one that the user wrote, or what remote tools tell."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.protocols import Isolation, StateProvider
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import OfferedSpec, StateSpec
from pytest_agentbench.core.text import printable, raised_text, shorten
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.json_state import JsonState, is_shareable
from pytest_agentbench.environment.remote_tools import RemoteCalls, decoded
from pytest_agentbench.environment.sqlite_state import SqliteState
from pytest_agentbench.environment.toolset import opened

_TIMES = {"json": 2.5, "sqlite": 2.5}
"""What a run takes while it is played and judged, as multiples of its file (`benchmarks/large_state.py`)."""

_TIMES_COPIED = 20
"""The same of a file that every run copies whole, several times: YAML, and small ones, of which it matters little."""

Plugged = Callable[[str, dict[str, Any]], StateProvider | None]
"""Gives the provider of a name that some plugin offers."""


def build_provider(spec: StateSpec, root: Path, plugged: Plugged = lambda _name, _options: None) -> StateProvider:
    """Build the state provider that a suite names; raise `EnvironmentFaultError` where it cannot be.

    Options: sqlite `{schema, rows}`; json `{file}`; own `{own: "pkg:Provider", …}`,
    whose other entries are the keywords that the provider is called with. Files are relative to `root`.
    A provider of one's own may have sync or async methods, and `version(handle)`, which gives a value that changes
    whenever the state does.
    """
    options = dict(spec.options)
    if spec.kind == "sqlite":
        return SqliteState(schema=_file(options, root, "schema"), rows=_file(options, root, "rows"))
    if spec.kind == "json":
        return JsonState(file=_file(options, root, "file"))
    if spec.kind == "offered":
        return opened(OfferedSpec.model_validate(options)).state
    if spec.kind == "plugin":
        return _plugged(options, plugged)
    target = _target(options)
    factory = load_object(target, root)
    if not callable(factory):
        raise EnvironmentFaultError(f"state provider {target!r} is {factory!r:.200}; it must be a class or a function")
    try:
        provider = factory(**options)
    except Exception as error:  # whatever a user's constructor raises means that there is no state
        raise EnvironmentFaultError(f"state provider {target!r} raised {type(error).__name__}: {error}") from error
    for method in ("open", "snapshot", "close"):
        if not callable(getattr(provider, method, None)):
            raise EnvironmentFaultError(f"state provider {target!r} has no {method}(); it needs open, snapshot, close")
    isolation_of(provider, target)
    return cast("StateProvider", provider)


def _plugged(options: dict[str, Any], plugged: Plugged) -> StateProvider:
    name = str(options.pop("plugin"))
    try:
        provider = plugged(name, options)
    except Exception as error:  # whatever a plugin raises means that there is no state
        raise EnvironmentFaultError(f"the plugin that offers the state {name!r} raised {raised_text(error)}") from error
    if provider is None:
        raise EnvironmentFaultError(
            f"no plugin offers a state named {name!r}; is it installed, and does its pytest_agentbench_state give one?"
        )
    isolation_of(provider, name)
    return provider


def isolation_of(provider: object, target: str) -> Isolation:
    """Give the isolation that a provider declares; raise `EnvironmentFaultError` where it declares none that exists."""
    isolation = getattr(provider, "isolation", None)
    allowed = get_args(Isolation)
    if isolation not in allowed:
        raise EnvironmentFaultError(
            f"state provider {target!r}: isolation is {isolation!r}; it must be one of {', '.join(allowed)}"
        )
    return cast("Isolation", isolation)


def declared_isolation(spec: StateSpec | None, root: Path) -> Isolation:
    """Give the isolation of a suite's state without building it; what only an instance tells counts as `exclusive`."""
    if spec is not None and spec.kind == "plugin":
        return "exclusive"
    if spec is None or spec.kind != "own":
        return "per_run"
    target = _target(dict(spec.options))
    factory = load_object(target, root)
    if getattr(factory, "isolation", None) is None or not inspect.isclass(factory):
        return "exclusive"
    return isolation_of(factory, target)


def bytes_per_run(spec: StateSpec | None, root: Path) -> int:
    """Give about how many bytes a run's state takes, told by the size of its file; 0 where no file tells it."""
    if spec is None or spec.kind not in _TIMES:
        return 0
    file = _file(dict(spec.options), root, "rows" if spec.kind == "sqlite" else "file")
    size = file.stat().st_size if file is not None and file.is_file() else 0
    is_shared = spec.kind == "sqlite" or (file is not None and is_shareable(file, size))
    return round(size * (_TIMES[spec.kind] if is_shared else _TIMES_COPIED))


def state_key(spec: StateSpec | None) -> str:
    """Give the name under which runs that share a state wait for each other."""
    if spec is not None and spec.kind == "plugin":
        return f"plugin {spec.options.get('plugin')}"
    if spec is None or spec.kind != "own":
        return ""
    return _target(dict(spec.options))


def _target(options: dict[str, Any]) -> str:
    target = options.pop("own", None)
    if not isinstance(target, str):
        raise EnvironmentFaultError(
            f"state: own is {target!r}; it must be an import path such as package.module:Provider"
        )
    return target


def _file(options: dict[str, Any], root: Path, name: str) -> Path | None:
    return root / str(options[name]) if options.get(name) is not None else None


class ToldState:
    """A state provider (`core.protocols.StateProvider`) asking remote tools; `calls`: names, or {name: arguments}."""

    isolation: Isolation = "per_run"

    def __init__(self, remote: RemoteCalls, calls: Sequence[str | dict[str, Any]]) -> None:
        """Raise `EnvironmentFaultError` where a call is of no remote tool of the agent's."""
        asked = [next(iter(call.items())) if isinstance(call, dict) else (call, {}) for call in calls]
        self._calls = []
        for name, arguments in asked:
            tool = remote.tool(name, "assistant")
            if tool is None:
                names = remote.names("assistant")
                hint = suggestion(name, names) or f"there are {listing(names) or 'none'}"
                raise EnvironmentFaultError(f"environment.state.tools: {name!r} is no tool of another process ({hint})")
            self._calls.append((tool, name, dict(arguments or {})))

    def open(self, initial: dict[str, Any], run: str) -> None:
        """Refuse initial state: nobody knows how to make it."""
        if initial:
            raise EnvironmentFaultError("the scenario gives initial state, which `state: {tools: …}` can only read")

    async def snapshot(self, handle: Any) -> State:
        """Give the answers, decoded where they are JSON; raise `EnvironmentFaultError` where a tool refuses."""
        state: State = {}
        for tool, name, arguments in self._calls:
            result = await tool.call(dict(arguments))
            if result.error:
                said = shorten(printable(result.content), 200)
                raise EnvironmentFaultError(f"environment.state.tools: {name!r} did not tell the state: {said}")
            shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            state[f"{name}({shown})" if shown else name] = decoded(result.content)
        return state

    def close(self, handle: Any) -> None:
        """Leave the tools open: they are the environment's."""
