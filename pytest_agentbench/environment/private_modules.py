"""Modules of a suite whose ordinary names other files have: thirty suites may each have an `agent.py`.

Such modules are loaded as submodules of a package that stands for the suite's folder. Their imports of neighbours are
compiled to lead there, too: `import tools` becomes `import agentbench_suite_2.tools as tools`. Everything else that
they import, and everything in `sys.path`, stays as it is. An import by text (`importlib.import_module("tools")`) is
not seen.
"""

import ast
import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from pytest_agentbench.environment.module_search import LOCK, has_own

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
    tree = _Imports(root, space).visit(ast.parse(source, file))
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
