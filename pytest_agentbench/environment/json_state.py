"""State in one nested JSON object, copied for each run; the handle is the mutable dict itself."""

from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.seams import Isolation
from pytest_agentbench.core.state import State
from pytest_agentbench.core.values import to_json
from pytest_agentbench.environment.rows import parse, read_text


class JsonState:
    """Opens the object in `file` (JSON, or YAML by its suffix); without a file it starts empty."""

    isolation: Isolation = "per_run"

    def __init__(self, *, file: Path | None = None) -> None:
        self._file = file

    def open(self, initial: dict[str, Any], run: str) -> dict[str, Any]:
        """Give a fresh dict with the scenario's values merged in: objects key by key, anything else replaced."""
        state = deepcopy(_parsed(self._file, read_text(self._file))) if self._file else {}
        return merged(state, deepcopy(initial))

    def snapshot(self, handle: dict[str, Any]) -> State:
        """Give a copy as plain JSON."""
        state: State = to_json(handle)
        return state

    def close(self, handle: dict[str, Any]) -> None:
        """Nothing is held."""

    def save(self, handle: dict[str, Any]) -> dict[str, Any]:
        """Give a copy to put back."""
        return deepcopy(handle)

    def restore(self, handle: dict[str, Any], saved: dict[str, Any]) -> None:
        """Put a copy back."""
        handle.clear()
        handle.update(deepcopy(saved))

    def version(self, handle: dict[str, Any]) -> str:
        """Give a digest of the content."""
        return digest(handle)


def merged(state: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `changes` into `state` in place, objects key by key at any depth, and give it back."""
    for key, value in changes.items():
        inner = state.get(key)
        state[key] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return state


@lru_cache(maxsize=64)
def _parsed(file: Path, text: str) -> dict[str, Any]:
    content = parse(text, file)
    if not isinstance(content, dict):
        raise EnvironmentFaultError(f"{file}: must hold an object, found {type(content).__name__}")
    return content
