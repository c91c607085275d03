"""Modules of the package load as any others do, which is quicker than the way in which pytest loads a plugin's."""

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_PACKAGE = f"{__name__.partition('.')[0]}."


class PlainFinder:
    """Finds the package's own modules before pytest does.

    pytest rewrites the assertions in every module of an installed plugin. Ours assert nothing, and there are hundreds:
    that took as long as all the rest of a short session, and far longer where no bytecode may be written.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Give where a module of the package is; None for any other."""
        return PathFinder.find_spec(name, path, target) if name.startswith(_PACKAGE) else None


@contextmanager
def quick_imports() -> Iterator[PlainFinder]:
    """Look for no garbage while hundreds of modules load, all of which stay; the finder is left in place."""
    finder, collects = PlainFinder(), gc.isenabled()
    sys.meta_path.insert(0, finder)
    gc.disable()
    try:
        yield finder
    finally:
        if collects:
            gc.enable()
