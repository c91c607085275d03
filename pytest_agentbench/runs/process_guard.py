"""What all runs of a process share, as it was before them: put back after the last one, and named where it had changed.

Agents share the process with pytest, so one that replaces `builtins.open` or stops the clock takes all others along.
Nothing is put back while runs are in flight: libraries replace parts of the standard library on purpose, and agents
rely on it. Afterwards results must be written, whatever was left.
"""

import contextlib
import gc
import operator
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

_RESTORED_LISTS = ("path", "meta_path", "path_hooks")
_LIMITS = ("RLIMIT_FSIZE", "RLIMIT_NOFILE")


class ProcessGuard:
    """Remembers, when it is made, the functions and classes of the standard library and the settings of the process."""

    def __init__(self) -> None:
        self._modules = [(name, module, dict(vars(module))) for name, module in _library()]
        self._lists = {name: list(getattr(sys, name)) for name in _RESTORED_LISTS}
        self._settings = []
        for name, read, write in _settings():
            with contextlib.suppress(OSError):
                self._settings.append((name, read(), read, write))

    def mend(self) -> list[str]:
        """Put everything back as it was; name what had changed."""
        changed = []
        for name, module, attributes in self._modules:
            now = vars(module)
            if all(map(operator.is_, attributes.values(), map(now.get, attributes))):  # 20,000 names at the pace of C
                continue
            for attribute, value in attributes.items():
                if now.get(attribute) is not value and _is_offered(attribute, value):
                    setattr(module, attribute, value)
                    changed.append(f"{name}.{attribute}")
        for name, kept in self._lists.items():
            now = getattr(sys, name)
            if lost := [entry for entry in kept if entry not in now]:
                now[:] = [*now, *lost]
                changed.append(f"sys.{name}")
        for name, kept, read, write in self._settings:
            with contextlib.suppress(OSError, ValueError, RecursionError):
                if _read(read) != kept:
                    write(kept)
                    changed.append(name)
        return changed


def _library() -> Iterator[tuple[str, Any]]:
    yield "pathlib.Path", Path
    for name, module in list(sys.modules.items()):
        is_module = isinstance(module, ModuleType)  # None keeps a module from being imported
        if is_module and name.partition(".")[0] in sys.stdlib_module_names and name != "sys":
            yield name, module


def _is_offered(name: str, value: object) -> bool:
    """Tell whether a module offers it to call; what it keeps for itself may change at any time."""
    return callable(value) and (not name.startswith("_") or name == "__import__")


def _read(read: Callable[[], Any]) -> Any:
    """Read a setting; a directory that is gone is none."""
    try:
        return read()
    except OSError:
        return None


def _settings() -> Iterator[tuple[str, Callable[[], Any], Callable[[Any], object]]]:
    """Give each setting with what reads and what sets it."""
    yield "the current directory", os.getcwd, os.chdir
    yield "the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit
    yield "the switch interval", sys.getswitchinterval, sys.setswitchinterval
    yield "the umask", _umask, os.umask
    yield "the garbage collector", gc.isenabled, lambda kept: (gc.enable if kept else gc.disable)()
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    for name in _LIMITS:
        yield f"resource.{name}", *_limit(resource, getattr(resource, name))


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now


def _limit(resource: Any, limit: int) -> tuple[Callable[[], Any], Callable[[tuple[int, int]], object]]:
    def write(kept: tuple[int, int]) -> None:
        most = resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (min(kept[0], most) if most >= 0 else kept[0], most))

    return lambda: resource.getrlimit(limit), write
