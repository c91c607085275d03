"""Where a module's file is: first in the suite's folder, then on `sys.path`, and never another suite's."""

import ast
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path

from pytest_agentbench.core.errors import ImportPathError, with_hint
from pytest_agentbench.core.names import suggestion

LOCK = threading.RLock()
"""Guards `sys.path` and the choice of module names, which the whole process shares."""


class SuiteFolder(str):
    """An entry of `sys.path` that a suite put there; other suites do not look into it."""

    __slots__ = ()


def put_on_path(root: Path) -> None:
    """Put `root` on `sys.path` before all but other suites' folders; it stays there for imports made later.

    The folder of an earlier suite stays before it, so that what that suite imports late is still its own.
    """
    folder = SuiteFolder(root)
    with LOCK:
        folders = [entry for entry in sys.path if isinstance(entry, SuiteFolder)]
        if folder not in folders:
            others = [entry for entry in sys.path if not isinstance(entry, SuiteFolder)]
            sys.path[:] = [*folders, folder, *others]


def locate(name: str, root: Path) -> list[ModuleSpec]:
    """Give the specs of a dotted module and of its parents, outermost first; nothing of it is executed.

    Raise `ImportPathError` where there is none.
    """
    path: list[str] | None = [str(root), *(entry for entry in sys.path if not isinstance(entry, SuiteFolder))]
    specs: list[ModuleSpec] = []
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        prefix = ".".join(parts[:depth])
        spec = _find(prefix, path) if path is not None else None
        if spec is None and path is not None:
            importlib.invalidate_caches()  # the file may be younger than the folder's listing
            spec = _find(prefix, path)
        if spec is None:
            raise ImportPathError(_missing(name, prefix, root))
        specs.append(spec)
        path = _inside(spec, parts[depth - 1], path or [])
    return specs


def _inside(spec: ModuleSpec, part: str, path: list[str]) -> list[str] | None:
    """Give the folders in which submodules lie; None for a module that has none.

    The folders of a namespace are found here: asking its spec needs the parents to be imported.
    """
    if spec.submodule_search_locations is None:
        return None
    if spec.origin is None:
        return [str(folder) for entry in path if (folder := Path(entry, part)).is_dir()]
    return list(spec.submodule_search_locations)


def file_of(spec: ModuleSpec) -> Path | None:
    """Give the file that a spec leads to, or None for namespaces and built-in modules."""
    return Path(spec.origin) if spec.has_location and spec.origin else None


def loaded_file(name: str) -> Path | None:
    """Give the file of the module that is loaded under `name`, if any."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return Path(file) if isinstance(file, str) else None


def is_same_file(left: Path, right: Path) -> bool:
    """Compare two paths with symbolic links resolved."""
    return os.path.realpath(left) == os.path.realpath(right)


def clashing_name(name: str, file: Path, root: Path) -> str | None:
    """Give a name that `file`, to be loaded as `name` from `root`, cannot have in this process; None where it can all.

    Such a name is its own or that of a neighbour in `root` that it imports, itself or through other neighbours, and
    another file has it already, or would be found first: `agent` where two suites have an `agent.py`.
    """
    top = name.partition(".")[0]
    places = [(top, place)] if top and (place := _top_file(top, root)) is not None else []
    for neighbour, place in [*places, *_neighbours(file, root)]:
        other = loaded_file(neighbour) or _in_earlier_folder(neighbour, root)
        if other is not None and not is_same_file(other, place):
            return neighbour
    return None


def has_own(name: str, root: Path) -> bool:
    """Whether a top-level module of that name lies in `root`; a name of the standard library is never looked for."""
    return name not in sys.stdlib_module_names and (
        _top_file(name, root) is not None or ((root / name).is_dir() and any((root / name).rglob("*.py")))
    )


def _top_file(name: str, root: Path) -> Path | None:
    return next((path for path in (root / name / "__init__.py", root / f"{name}.py") if path.is_file()), None)


def _in_earlier_folder(name: str, root: Path) -> Path | None:
    """Give the file that an import of `name` would find in a suite's folder that stands before `root`."""
    for entry in list(sys.path):
        if not isinstance(entry, SuiteFolder):
            continue
        if entry == str(root):
            return None
        if (file := _top_file(name, Path(entry))) is not None:
            return file
    return None


def _neighbours(file: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """Give each top-level module in `root`, by name and file, that `file` imports, itself or through others in there.

    Packages are followed into the submodules that are imported.
    """
    waiting, seen = [file], set[Path]()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for level, name in sorted(_imports(current, current.stat().st_mtime_ns)):
            folder = current.parents[level - 1] if 0 < level <= len(current.parents) else root
            parts = name.split(".")
            for depth in range(1, len(parts) + 1):
                found = _top_file(parts[depth - 1], folder.joinpath(*parts[: depth - 1]))
                if found is not None and found.is_relative_to(root):
                    waiting.append(found)
                    if level == 0 and depth == 1:
                        yield name.partition(".")[0], found


def _find(name: str, path: list[str]) -> ModuleSpec | None:
    if "." not in name:
        frozen = BuiltinImporter.find_spec(name) or FrozenImporter.find_spec(name)
        if frozen is not None:
            return frozen
    if "." in name:
        return _find_inside(name, path)
    found = PathFinder.find_spec(name, path)
    if found is not None:
        return found
    for finder in sys.meta_path:  # editable installs and the like bring finders of their own
        if finder not in (BuiltinImporter, FrozenImporter, PathFinder) and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path)
            if spec is not None:
                return spec
    return None


def _find_inside(name: str, path: list[str]) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(name, path)
    except KeyError:  # a folder without __init__.py: the spec of a namespace asks for its parent, which is not imported
        return ModuleSpec(name, None, is_package=True)


def _missing(name: str, prefix: str, root: Path) -> str:
    what = f"no module {name!r}" if prefix == name else f"no module {name!r} (nor {prefix!r})"
    hint = ""
    if "." not in prefix and root.is_dir():
        names = {entry.stem for entry in root.iterdir() if entry.suffix == ".py" or entry.is_dir()}
        hint = suggestion(name, [other + name.removeprefix(prefix) for other in names])
    return with_hint(f"{what} in {root} or on sys.path", hint)


@lru_cache(maxsize=1024)
def _imports(file: Path, _changed: int) -> frozenset[tuple[int, str]]:
    """Give the modules that a source file imports: how many folders up (0: an absolute name) and the dotted name.

    `from a import b` gives `a.b`, which may be a module. The standard library is left out.
    """
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()  # importing it tells more
    names: set[tuple[int, str]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            prefix = f"{node.module}." if node.module else ""
            names.update((node.level, f"{prefix}{alias.name}") for alias in node.names)
    return frozenset(
        (level, name) for level, name in names if level or name.partition(".")[0] not in sys.stdlib_module_names
    )
