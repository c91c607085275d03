"""State in one nested JSON object, of each run's own; the handle is the mutable dict itself."""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.protocols import Isolation
from pytest_agentbench.core.state import State
from pytest_agentbench.environment.state_files import parse, read_text
from pytest_agentbench.environment.structural_sharing import LazyDict, changes, is_little, plain

LARGE = 1_000_000
"""Bytes of a JSON file from which its content is shared between runs until they look at it."""

_LITTLE = 20_000
"""Characters of a file up to which copying its content takes no time."""

_KEPT = 64

_TICK = 2_000_000_000
"""Nanoseconds within which two changes of a file may get one time; the coarsest file systems count in two seconds."""

_Stamp = tuple[int, int, int]
"""When a file's content and when the file itself was changed, and how long it is."""


class JsonState:
    """Opens the object in `file` (JSON, or YAML by its suffix); without a file it starts empty.

    A small one is copied for each run. Of a large one a run copies what it looks at, and snapshots share the rest: they
    must not be changed.
    """

    isolation: Isolation = "per_run"
    snapshots_are_json = True
    """That nobody need copy a snapshot to have it as plain JSON."""
    holds_nothing = True
    """That there is nothing to close."""

    def __init__(self, *, file: Path | None = None) -> None:
        self._file = file

    def open(self, initial: dict[str, Any], run: str) -> dict[str, Any]:
        """Give a fresh dict with the scenario's values merged in: objects key by key, anything else replaced."""
        if self._file is None:
            return merged({}, deepcopy(initial))
        content, is_large = _FILES.content(self._file)
        return merged(LazyDict(content) if is_large else deepcopy(content), deepcopy(initial))

    def opens_at_once(self, initial: dict[str, Any]) -> bool:
        """Whether opening takes no time worth a thread: what is copied is little, and was read before."""
        return is_little(initial) and (self._file is None or _FILES.has_little(self._file))

    def is_read_at_once(self, handle: dict[str, Any]) -> bool:
        """Whether a snapshot takes no time worth a thread, and meets no object of the user's."""
        return is_little(handle)

    def check(self) -> None:
        """Raise `EnvironmentFaultError` where the file cannot be read; a large one is left to the run that needs it."""
        if self._file is not None and _stamp(self._file)[2] < LARGE:
            _FILES.content(self._file)

    def snapshot(self, handle: dict[str, Any]) -> State:
        """Give the state as plain JSON."""
        state: State = plain(handle)
        return state

    def close(self, handle: dict[str, Any]) -> None:
        """Nothing is held."""

    def save(self, handle: dict[str, Any]) -> dict[str, Any]:
        """Give a copy to put back."""
        return self.snapshot(handle) if isinstance(handle, LazyDict) else deepcopy(handle)

    def restore(self, handle: dict[str, Any], saved: dict[str, Any]) -> None:
        """Put a copy back."""
        handle.clear()
        handle.update(LazyDict(saved) if isinstance(handle, LazyDict) else deepcopy(saved))

    def version(self, handle: dict[str, Any]) -> str:
        """Give a digest of the content, or of how it differs from the file's."""
        return digest(changes(handle, handle.base) if isinstance(handle, LazyDict) else handle)


def merged(state: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `changes` into `state` in place, objects key by key at any depth, and give it back."""
    for key, value in changes.items():
        inner = state.get(key)
        state[key] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return state


def is_shareable(file: Path, size: int) -> bool:
    """Whether a file of this size is shared by runs; YAML, which holds more than JSON does, never is."""
    return size >= LARGE and file.suffix.lower() == ".json"


@dataclass
class _Read:
    """A file as it was read: its stamp where that tells a change, its text where it is small, and what it holds."""

    stamp: _Stamp | None
    text: str | None
    content: dict[str, Any]


@dataclass
class _Files:
    """Files that were read, the latest last; runs that ask for one at the same time wait for one reading of it."""

    read: OrderedDict[Path, _Read] = field(default_factory=OrderedDict)
    guard: threading.Lock = field(default_factory=threading.Lock)
    locks: dict[Path, threading.Lock] = field(default_factory=dict)

    def has_little(self, file: Path) -> bool:
        """Whether a file was read before, and was short then."""
        known = self.read.get(file)
        return known is not None and known.text is not None and len(known.text) <= _LITTLE

    def content(self, file: Path) -> tuple[dict[str, Any], bool]:
        """Give what a file holds now, which nobody may change, and whether it is large."""
        with self.guard:
            lock = self.locks.setdefault(file, threading.Lock())
        with lock:
            stamp = _stamp(file)
            known = self.read.get(file)
            if known is not None and known.stamp == stamp:
                return known.content, known.text is None
            text = read_text(file)
            is_large = is_shareable(file, len(text))
            is_settled = max(stamp[:2]) + _TICK < time.time_ns()  # another change gets another time
            telling = stamp if is_large or is_settled else None
            if known is not None and known.text == text:
                known.stamp = telling
                return known.content, False
            content = parse(text, file)
            if not isinstance(content, dict):
                raise EnvironmentFaultError(f"{file}: must hold an object, found {type(content).__name__}")
            with self.guard:
                self.read[file] = _Read(telling, None if is_large else text, content)
                self.read.move_to_end(file)
                if len(self.read) > _KEPT:
                    self.read.popitem(last=False)
            return content, is_large


def _stamp(file: Path) -> _Stamp:
    try:
        found = file.stat()
    except OSError:
        return (0, 0, 0)  # reading it says why
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size


_FILES = _Files()
