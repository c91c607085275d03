"""From an import path to an object, and from a module's name to a fresh copy of the module."""

import importlib
import importlib.util
import re
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from pytest_agentbench.core.errors import ImportPathError, with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.environment.module_search import (
    LOCK,
    clashing_name,
    file_of,
    is_same_file,
    loaded_file,
    locate,
    put_on_path,
)
from pytest_agentbench.environment.private_modules import SuiteLoader, private_space

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
    root = root.resolve()
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


def load_fresh_module(name: str, root: Path, unique: str) -> ModuleType:
    """Execute a module anew under a private name, so that two runs never share what it holds.

    `name` is dotted, or a `.py` file relative to `root`; `unique` names the run. What the module imports is shared,
    except that a package's relative imports of its own submodules are fresh too. Compiled code is kept per file and
    modification time. Give the module back with `forget_module`. Safe to call from several threads.
    """
    root = root.resolve()
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
        for path in (root / name / "__init__.py", root / f"{name}.py"):
            if path.is_file():
                return path
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
        raise ImportPathError(f"importing {name!r} raised {raised_text(error)}{_place(error, root)}") from error


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
