"""Documents: the value a YAML or JSON file holds, and the place of each part of it."""

import bisect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, dotted

MAX_DEPTH = 100
"""How deep mappings and lists may nest; deeper files are refused before anything recurses over them."""

TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


@dataclass(frozen=True)
class FilePlace:
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
    locate: Callable[[Keys], FilePlace | None]

    def place(self, path: Keys) -> FilePlace | None:
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


_BLANK = re.compile(r"[ \t\n\r]*")


def read_json(text: str, file: Path, *, first_line: int = 1) -> Document:
    """Read one JSON value; `first_line` is the line of the file on which `text` begins. Raises `SuiteError`."""

    def wrong(message: str, line: int = first_line, column: int = 1) -> SuiteError:
        return SuiteError([Problem(file=file, line=line, column=column, message=message)])

    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise wrong(f"this is not JSON: {error.msg}", first_line + error.lineno - 1, error.colno) from None
    except RecursionError:
        raise wrong(TOO_DEEP) from None
    except ValueError as error:  # a number with thousands of digits, NaN, a duplicate key
        raise wrong(f"this cannot be read: {error}") from None
    if too_deep(value):
        raise wrong(TOO_DEEP)
    scanner = _Scanner(text, first_line)
    return Document(file=file, value=value, locate=scanner.locate)


class _Scanner:
    """Finds places in a text that is known to be JSON."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        self._decoder = json.JSONDecoder()
        self._items: list[int] | None = None
        self._lines: list[int] | None = None

    def locate(self, path: Keys) -> FilePlace | None:
        key = value = self._skip(0)
        for depth, step in enumerate(path):
            found = self._item(value, step, depth) if isinstance(step, int) else self._member(value, step)
            if found is None:
                return None
            key, value = found
        key_line, key_column = self._position(key)
        line, column = self._position(value)
        return FilePlace(key_line=key_line, key_column=key_column, line=line, column=column)

    def _position(self, offset: int) -> tuple[int, int]:
        start = self._text.rfind("\n", 0, offset) + 1
        return self._first_line + self._line(offset), offset - start + 1

    def _line(self, offset: int) -> int:
        if self._lines is None:
            self._lines = [match.start() for match in re.finditer("\n", self._text)]
        return bisect.bisect_left(self._lines, offset)

    def _item(self, start: int, index: int, depth: int) -> tuple[int, int] | None:
        """Find an item of the list at `start`; the items of the outermost list are remembered."""
        if self._text[start] != "[":
            return None
        if depth == 0:
            if self._items is None:
                self._items = self._offsets(start)
            offsets = self._items
        else:
            offsets = self._offsets(start)
        return (offsets[index], offsets[index]) if index < len(offsets) else None

    def _offsets(self, start: int) -> list[int]:
        offsets: list[int] = []
        at = self._skip(start + 1)
        while self._text[at] != "]":
            offsets.append(at)
            at = self._skip(self._decoder.raw_decode(self._text, at)[1])
            if self._text[at] == ",":
                at = self._skip(at + 1)
        return offsets

    def _member(self, start: int, key: str) -> tuple[int, int] | None:
        if self._text[start] != "{":
            return None
        at = self._skip(start + 1)
        while self._text[at] != "}":
            name, end = self._decoder.raw_decode(self._text, at)
            value = self._skip(self._skip(end) + 1)
            if name == key:
                return at, value
            at = self._skip(self._decoder.raw_decode(self._text, value)[1])
            if self._text[at] == ",":
                at = self._skip(at + 1)
        return None

    def _skip(self, offset: int) -> int:
        match = _BLANK.match(self._text, offset)
        return match.end() if match else offset


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Build an object, refusing a key that stands twice: `json` alone would drop the first one silently."""
    value: dict[str, JsonValue] = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"the key {key!r} is repeated in one object")
        value[key] = item
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
