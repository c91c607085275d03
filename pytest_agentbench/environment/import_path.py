"""From an import path to an object, and from a module's name to a fresh copy of the module.

Thirty suites may each have an `agent.py`: modules whose ordinary names other files have are loaded as submodules of a
package that stands for the suite's folder. Their imports of neighbours are compiled to lead there, too: `import tools`
becomes `import agentbench_suite_2.tools as tools`. Everything else that they import, and everything in `sys.path`,
stays as it is. An import by text (`importlib.import_module("tools")`) is not seen.
"""

import ast
import importlib
import importlib.util
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar
from weakref import WeakValueDictionary

from pytest_agentbench.core.errors import ImportPathError, with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.python_source import parsed
from pytest_agentbench.core.text import raised_text

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
    return left == right or os.path.realpath(left) == os.path.realpath(right)


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
    if "." in name:
        return _find_inside(name, path)
    found = BuiltinImporter.find_spec(name) or FrozenImporter.find_spec(name) or PathFinder.find_spec(name, path)
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
    file = Path(name.removesuffix(".py").replace(".", "/") + ".py")
    hint = f"write the module without .py: {name.removesuffix('.py')!r}" if (root / file).is_file() else ""
    if not hint and "." not in prefix and root.is_dir():
        names = {entry.stem for entry in root.iterdir() if entry.suffix == ".py" or entry.is_dir()}
        hint = suggestion(name, [other + name.removeprefix(prefix) for other in names])
    return with_hint(f"{what} in {root} or on sys.path", hint)


@lru_cache(maxsize=1024)
def _imports(file: Path, _changed: int) -> frozenset[tuple[int, str]]:
    """Give the modules that a source file imports: how many folders up (0: an absolute name) and the dotted name.

    `from a import b` gives `a.b`, which may be a module. The standard library is left out.
    """
    try:
        tree = parsed(file.read_bytes(), str(file))
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


_PREFIX = "agentbench_suite_"


def private_space(root: Path) -> str:
    """Give the name of the package that holds the private modules of the suites in `root`, made where there is none."""
    with LOCK:
        finder = next((one for one in sys.meta_path if isinstance(one, _Finder)), None)
        if finder is None:
            finder = _Finder()
            sys.meta_path.insert(0, finder)
        space = finder.spaces.setdefault(
            root, f"{_PREFIX}{len(finder.spaces) + 1}_{re.sub(r'[^a-z0-9]+', '_', root.name.lower())}"
        )
        if space not in sys.modules:
            package = ModuleType(space, f"Modules of the suites in {root}.")
            package.__path__ = [str(root)]
            sys.modules[space] = package
        return space


@lru_cache(maxsize=256)
def _compiled(file: str, _changed: int, _size: int, root: Path, space: str) -> CodeType:
    """Compile a file; with a `space`, its imports of modules in `root` lead to that package."""
    source = Path(file).read_bytes()
    if not space:
        return compile(source, file, "exec", dont_inherit=True)
    tree = _Imports(root, space).visit(parsed(source, file))
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class _Finder:
    """Finds the modules of private packages; their source is compiled with the imports of neighbours changed."""

    def __init__(self) -> None:
        self.spaces: dict[Path, str] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Give the spec of a module in a private package, None for every other."""
        space = name.partition(".")[0]
        if path is None or not space.startswith(_PREFIX):
            return None
        spec = PathFinder.find_spec(name, path)
        root = next((root for root, known in self.spaces.items() if known == space), None)
        if spec is not None and root is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = SuiteLoader(name, spec.loader.path, root, space)
        return spec


class SuiteLoader(SourceFileLoader):
    """Loads a source file from the code compiled before, as long as the file has not changed.

    With a `space` its imports of neighbours in `root` lead to that private package.
    """

    def __init__(self, fullname: str, path: str, root: Path, space: str) -> None:
        """Remember the suite's folder, and the private package where the file needs it."""
        super().__init__(fullname, path)
        self._root, self._space = root, space

    def get_code(self, fullname: str) -> CodeType:
        """Give the compiled file."""
        stat = Path(self.path).stat()
        return _compiled(self.path, stat.st_mtime_ns, stat.st_size, self._root, self._space)


class _Imports(ast.NodeTransformer):
    """Leads the absolute imports of modules in a suite's folder to its private package."""

    def __init__(self, root: Path, space: str) -> None:
        self._root, self._space = root, space

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        """`import a.b as c` and `import a` are led there by their names; `import a.b` also binds `a`."""
        return [ast.copy_location(one, node) for alias in node.names for one in self._led(alias)]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        """`from a.b import c` is led there; a relative import finds its way itself."""
        if node.level == 0 and node.module and self._is_own(node.module):
            return ast.copy_location(ast.ImportFrom(f"{self._space}.{node.module}", node.names, 0), node)
        return node

    def _led(self, alias: ast.alias) -> list[ast.stmt]:
        if not self._is_own(alias.name):
            return [ast.Import([alias])]
        private, (top, _, inner) = f"{self._space}.{alias.name}", alias.name.partition(".")
        if alias.asname or not inner:
            return [ast.Import([ast.alias(private, alias.asname or top)])]
        return [
            ast.Import([ast.alias(private, "_agentbench_loaded")]),
            ast.Import([ast.alias(f"{self._space}.{top}", top)]),
        ]

    def _is_own(self, name: str) -> bool:
        return has_own(name.partition(".")[0], self._root)


_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_NOT_THEIRS = ("<frozen", str(Path(__file__).resolve().parents[1]), str(Path(importlib.__file__).parent))

T = TypeVar("T")


def load_object(target: str, root: Path) -> object:
    """Import `package.module:name` (the name may be dotted too) and give the object.

    Modules are looked for in `root`, then on `sys.path`. Raise `ImportPathError` where the path is malformed, the
    module or the name is missing, the import raises, or another file is loaded under the module's name already.
    """
    module_name, _, attribute = target.partition(":")
    if not (_DOTTED.fullmatch(module_name) and _DOTTED.fullmatch(attribute)):
        raise ImportPathError(f"{target!r} is not an import path; write it as 'package.module:name'")
    value: object = load_module(module_name, root)
    for depth, part in enumerate(attribute.split(".")):
        try:
            value = getattr(value, part)
        except AttributeError:
            owner = ".".join([module_name, *attribute.split(".")[:depth]])
            raise ImportPathError(_no_attribute(target, owner, part, value)) from None
    return value


def load_module(name: str, root: Path) -> ModuleType:
    """Import a dotted module from `root` first; raise `ImportPathError` as `load_object` does.

    A module of the suite's own folder is imported the ordinary way, unless another file has its name, or that of a
    neighbour that it imports: then it and these neighbours are loaded under private names (`private_modules`).
    """
    root = _resolved(root)
    known = _LOADED.get((name, root))
    if known is not None and sys.modules.get(known.__name__) is known:
        return known
    module = _found_module(name, root)
    if isinstance(module, ModuleType):  # one that put an object in its own place is looked up each time
        _LOADED[name, root] = module
    return module


_LOADED: WeakValueDictionary[tuple[str, Path], ModuleType] = WeakValueDictionary()
"""What each suite's folder gave for a name: every run asks, and looking for files takes longer than all else."""


def _found_module(name: str, root: Path) -> ModuleType:
    file = file_of(locate(name, root)[-1])
    if file is not None and file.is_relative_to(root) and clashing_name(name, file, root):
        private = f"{private_space(root)}.{name}"
        return _guarded(lambda: importlib.import_module(private), name, root)
    put_on_path(root)
    module = _guarded(lambda: importlib.import_module(name), name, root)
    loaded = loaded_file(name)
    if file is not None and loaded is not None and not is_same_file(file, loaded):
        raise ImportPathError(
            f"module {name!r} should come from {file}, but importing it gave {loaded}; rename one of the two"
        )
    return module


def _resolved(root: Path) -> Path:
    return _resolved_once(root) if root.is_absolute() else root.resolve()


@lru_cache(maxsize=256)
def _resolved_once(root: Path) -> Path:
    """Follow the links of a suite's folder once: every run asks, and each part of a path is a look at the disk."""
    return root.resolve()


def load_fresh_module(name: str, root: Path, unique: str) -> ModuleType:
    """Execute a module anew under a private name, so that two runs never share what it holds.

    `name` is dotted, or a `.py` file relative to `root`; `unique` names the run. What the module imports is shared,
    except that a package's relative imports of its own submodules are fresh too. Compiled code is kept per file and
    modification time. Give the module back with `forget_module`. Safe to call from several threads.
    """
    root = _resolved(root)
    file, parent = _source_of(name, root)
    package = load_module(parent, root).__name__ if parent else ""
    clashes = file.suffix == ".py" and file.is_relative_to(root) and clashing_name("", file, root)
    space = private_space(root) if clashes else ""
    if not space:
        put_on_path(root)
    locations = [str(file.parent)] if file.name == "__init__.py" else None
    stem = file.parent.name if locations else file.stem
    private = f"{package}." if package else ""
    private += re.sub(r"\W", "_", f"_agentbench_{unique}_{stem}", flags=re.ASCII)
    with LOCK:
        number = 0
        while (taken := private if not number else f"{private}_{number}") in sys.modules:
            number += 1
        loader = SuiteLoader(taken, str(file), root, space)
        spec = importlib.util.spec_from_file_location(taken, file, loader=loader, submodule_search_locations=locations)
        if spec is None:
            raise ImportPathError(f"{file} cannot be loaded as a module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[taken] = module
    try:
        _guarded(lambda: loader.exec_module(module), name, root)
    except BaseException:
        forget_module(module)
        raise
    return module


def forget_module(module: ModuleType) -> None:
    """Remove a fresh module and the submodules that it loaded from `sys.modules`."""
    with LOCK:
        own, inner = module.__name__, f"{module.__name__}."
        sys.modules.pop(own, None)
        if not hasattr(module, "__path__"):  # no package: nothing lies inside it
            return
        for name in [name for name in sys.modules if name.startswith(inner)]:
            del sys.modules[name]


def _source_of(name: str, root: Path) -> tuple[Path, str]:
    """Give the file to execute and the dotted name of the package that it belongs to."""
    if name.endswith(".py"):
        file = root / name
        if not file.is_file():
            raise ImportPathError(f"no file {name!r} in {root}")
        return file, ""
    if not _DOTTED.fullmatch(name):
        raise ImportPathError(f"{name!r} is not a module; write it as 'package.module', or as a path ending in .py")
    file = _find_file(name, root)
    return file, name.rpartition(".")[0]


def _find_file(name: str, root: Path) -> Path:
    if "." not in name:  # executed under a private name, so what is loaded as `name` elsewhere does not matter
        for path in (f"{root}/{name}/__init__.py", f"{root}/{name}.py"):
            if os.path.isfile(path):  # noqa: PTH113 - every run asks, and a `Path` takes longer than the look
                return Path(path)
    found = file_of(locate(name, root)[-1])
    if found is None or found.suffix != ".py":
        raise ImportPathError(f"module {name!r} is not Python source (found {found or 'no file'}); name a .py module")
    return found


def _guarded(work: Callable[[], T], name: str, root: Path) -> T:
    """Run an import; whatever user code raises there, exits included, becomes an `ImportPathError` with its place."""
    try:
        return work()
    except ImportPathError:
        raise
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        if interrupted and threading.current_thread() is threading.main_thread():
            raise  # the user's own Ctrl-C
        told = f"SyntaxError: {error.msg}" if isinstance(error, SyntaxError) else raised_text(error)
        raise ImportPathError(f"importing {name!r} raised {told}{_place(error, root)}") from error


def _place(error: BaseException, root: Path) -> str:
    """Give ` (file:line)` of the innermost frame in the suite's folder, else of the innermost that is not ours."""
    if isinstance(error, SyntaxError) and error.filename and error.filename.endswith(".py"):
        return f" ({error.filename}:{error.lineno})"
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = [place for place in frames if not place[0].startswith(_NOT_THEIRS)]
    own = [place for place in theirs if Path(place[0]).is_relative_to(root)] or theirs
    return f" ({own[-1][0]}:{own[-1][1]})" if own else ""


def _no_attribute(target: str, owner: str, name: str, value: object) -> str:
    names = [found for found in dir(value) if not found.startswith("_")]
    hint = suggestion(name, names) or f"it has {listing(names, 10) or 'no public names'}"
    return with_hint(f"{target!r}: {owner!r} has no {name!r}", hint)
