"""Where a module's file is: first in the suite's folder, then on `sys.path`, and never silently another suite's."""

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

_REMEDY = "rename one of the two, or run the suites apart"


class SuiteFolder(str):
    """An entry of `sys.path` that a suite put there; other suites do not look into it."""

    __slots__ = ()


def put_first(root: Path) -> None:
    """Make `root` the first entry of `sys.path`; it stays there for imports that user code makes later."""
    folder = SuiteFolder(root)
    with LOCK:
        if not (sys.path and isinstance(sys.path[0], SuiteFolder) and sys.path[0] == folder):
            others = [entry for entry in sys.path if not (isinstance(entry, SuiteFolder) and entry == folder)]
            sys.path[:] = [folder, *others]


def locate(name: str, root: Path) -> list[ModuleSpec]:
    """Give the specs of a dotted module and of its parents, outermost first; nothing of it is executed.

    Raise `ImportPathError` where there is none, or where another file is loaded under one of the names already.
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
        _refuse_other_file(prefix, spec)
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


def refuse_shadowed_imports(file: Path, root: Path) -> None:
    """Raise `ImportPathError` where `file` imports a neighbour in `root` whose name another file has taken already.

    Python would hand it the other file's module without a word. Neighbours are followed.
    """
    for name, neighbour in _neighbours(file, root):
        other = loaded_file(name)
        if other is not None and not is_same_file(other, neighbour):
            raise ImportPathError(_conflict(name, neighbour, other))


def _neighbours(file: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """Give each module in `root`, by name and file, that `file` imports, itself or through another one of them."""
    waiting, seen = [file], set[Path]()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for name in sorted(_imports(current, current.stat().st_mtime_ns)):
            places = (root / f"{name}.py", root / name / "__init__.py")
            neighbour = next((path for path in places if path.is_file()), None)
            if neighbour is not None:
                yield name, neighbour
                waiting.append(neighbour)


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


def _refuse_other_file(name: str, spec: ModuleSpec) -> None:
    wanted, loaded = file_of(spec), loaded_file(name)
    if wanted is not None and loaded is not None and not is_same_file(wanted, loaded):
        raise ImportPathError(_conflict(name, wanted, loaded))


def _conflict(name: str, wanted: Path, loaded: Path) -> str:
    return f"module {name!r} should come from {wanted}, but {loaded} is already loaded under that name; {_REMEDY}"


def _missing(name: str, prefix: str, root: Path) -> str:
    what = f"no module {name!r}" if prefix == name else f"no module {name!r} (nor {prefix!r})"
    hint = ""
    if "." not in prefix and root.is_dir():
        names = {entry.stem for entry in root.iterdir() if entry.suffix == ".py" or entry.is_dir()}
        hint = suggestion(name, [other + name.removeprefix(prefix) for other in names])
    return with_hint(f"{what} in {root} or on sys.path", hint)


@lru_cache(maxsize=1024)
def _imports(file: Path, _changed: int) -> frozenset[str]:
    """Give the top-level names that a source file imports absolutely, standard library left out."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()  # importing it tells more
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return frozenset(names - sys.stdlib_module_names)
