"""Documents: the value a YAML or JSON file holds, and the place of each part of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.misfit import Keys, dotted
from pytest_agentbench.core.values import JsonValue

MAX_DEPTH = 100
"""How deep mappings and lists may nest; deeper files are refused before anything recurses over them."""


@dataclass(frozen=True)
class Place:
    """Where a part of a file stands: line and column of its key (its own, where it has none) and of its value.

    `file` is the one that holds it, where that is another than the document's own, which extends it.
    """

    key_line: int
    key_column: int
    line: int
    column: int
    file: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file that was read; `locate` finds the place of a path."""

    file: Path
    value: JsonValue
    locate: Callable[[Keys], Place | None]

    def place(self, path: Keys) -> Place | None:
        """Give the place of `path`, or of the closest part around it that exists."""
        for length in range(len(path), -1, -1):
            place = self.locate(path[:length])
            if place is not None:
                return place
        return None

    def problem(self, path: Keys, message: str, hint: str = "", *, at_key: bool = False) -> Problem:
        """Describe what is wrong at `path`; `at_key` points at the key instead of its value."""
        place = self.place(path)
        line, column = 0, 0
        if place is not None:
            line, column = (place.key_line, place.key_column) if at_key else (place.line, place.column)
        return Problem(file=self.file_of(path), line=line, column=column, key=dotted(path), message=message, hint=hint)

    def file_of(self, path: Keys) -> Path:
        """Give the file that holds `path`: this one, or one that it extends."""
        place = self.place(path)
        return place.file if place is not None and place.file else self.file

    def line(self, path: Keys) -> int:
        """Give the 1-based line at which `path` begins, 0 when unknown."""
        place = self.place(path)
        return place.line if place else 0


def too_deep(value: JsonValue, limit: int = MAX_DEPTH) -> bool:
    """Whether mappings and lists nest deeper than `limit`."""
    level = _containers([value])
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in _containers(list(parent.values()) if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return bool(level)


def _containers(values: list[JsonValue]) -> list[dict[str, JsonValue] | list[JsonValue]]:
    return [value for value in values if isinstance(value, dict | list)]
