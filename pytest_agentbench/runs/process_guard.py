"""What all runs of a process share, as it was before them: put back after the last one, and named where it had changed.

Agents share the process with pytest, so one that replaces `builtins.open` or stops the clock takes all others along.
Nothing is put back while runs are in flight: libraries replace parts of the standard library on purpose, and agents
rely on it. Afterwards results must be written, whatever was left.
"""

import contextlib
import gc
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
        self._functions = {name: (module, _functions(module)) for name, module in _library()}
        self._lists = {name: list(getattr(sys, name)) for name in _RESTORED_LISTS}
        self._settings = list(_settings())

    def mend(self) -> list[str]:
        """Put everything back as it was; name what had changed."""
        changed = []
        for name, (module, functions) in self._functions.items():
            for attribute, value in functions.items():
                if vars(module).get(attribute) is not value:
                    setattr(module, attribute, value)
                    changed.append(f"{name}.{attribute}")
        for name, kept in self._lists.items():
            now = getattr(sys, name)
            if lost := [entry for entry in kept if entry not in now]:
                now[:] = [*now, *lost]
                changed.append(f"sys.{name}")
        for what, read, write in self._settings:
            with contextlib.suppress(OSError, ValueError, RecursionError):
                if write(read):
                    changed.append(what)
        return changed


def _library() -> Iterator[tuple[str, Any]]:
    yield "pathlib.Path", Path
    for name, module in list(sys.modules.items()):
        is_module = isinstance(module, ModuleType)  # None keeps a module from being imported
        if is_module and name.partition(".")[0] in sys.stdlib_module_names and name != "sys":
            yield name, module


def _functions(module: Any) -> dict[str, Any]:
    """Give what a module offers to call; what it keeps for itself may change at any time."""
    return {
        name: value
        for name, value in vars(module).items()
        if callable(value) and (not name.startswith("_") or name == "__import__")
    }


def _settings() -> Iterator[tuple[str, Any, Callable[[Any], bool]]]:
    """Give each setting with its value and what sets it, which tells whether that was needed."""
    with contextlib.suppress(OSError):
        yield "the current directory", os.getcwd(), _set_cwd  # noqa: PTH109 - agents may replace `Path.cwd`
    yield "the recursion limit", sys.getrecursionlimit(), _set_recursion_limit
    yield "the switch interval", sys.getswitchinterval(), _set_switch_interval
    yield "the umask", _umask(), _set_umask
    yield "the garbage collector", gc.isenabled(), _set_collector
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    for name in _LIMITS:
        limit = getattr(resource, name)
        yield f"resource.{name}", resource.getrlimit(limit), _limiter(resource, limit)


def _set_cwd(kept: str) -> bool:
    try:
        if os.getcwd() == kept:  # noqa: PTH109 - as above
            return False
    except OSError:
        pass
    os.chdir(kept)
    return True


def _set_recursion_limit(kept: int) -> bool:
    changed = sys.getrecursionlimit() != kept
    sys.setrecursionlimit(kept)
    return changed


def _set_switch_interval(kept: float) -> bool:
    changed = sys.getswitchinterval() != kept
    sys.setswitchinterval(kept)
    return changed


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now


def _set_umask(kept: int) -> bool:
    return os.umask(kept) != kept


def _set_collector(kept: bool) -> bool:
    changed = gc.isenabled() != kept
    (gc.enable if kept else gc.disable)()
    return changed


def _limiter(resource: Any, limit: int) -> Callable[[tuple[int, int]], bool]:
    def set_limit(kept: tuple[int, int]) -> bool:
        now = resource.getrlimit(limit)
        if now == kept:
            return False
        resource.setrlimit(limit, (min(kept[0], now[1]) if now[1] >= 0 else kept[0], now[1]))
        return True

    return set_limit
