"""The shape of the code: which floor may import which, what may be imported where, and whose words appear."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx

import pytest_agentbench
from pytest_agentbench.plugin import hooks

PACKAGE = Path(pytest_agentbench.__file__).parent
PROJECT = PACKAGE.parent

FLOORS = (
    {"core"},
    {"messages", "spec"},
    {"suites", "environment", "llm", "testing"},
    {"agents", "users"},
    {"simulation", "checks"},
    {"runs"},
    {"validation"},
    {"results"},
    {"generation", "calibration"},
    {"report"},
    {"api"},
    {"tau2"},
    {"plugin", "cli"},
)
HEIGHT = {folder: height for height, folders in enumerate(FLOORS) for folder in folders}


@dataclass(frozen=True)
class Module:
    """What the tests want to know of a file, read once; a syntax tree is far too big to be kept."""

    lines: int
    docstring: str | None
    imports: frozenset[tuple[str, str]]
    """All imports anywhere in it: the module, and the name taken from it, if any."""

    @property
    def imported(self) -> list[str]:
        """Give the full names of the modules that it imports from."""
        return sorted({module for module, _ in self.imports})


def read(path: Path) -> Module:
    """Read one file of the package."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imports: set[tuple[str, str]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports |= {(node.module, alias.name) for alias in node.names}
    return Module(text.count("\n"), ast.get_docstring(tree), frozenset(imports))


@cache
def package() -> dict[Path, Module]:
    """Give all files of the package."""
    return {path: read(path) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def modules() -> dict[str, Module]:
    """Give the files in folders of the package, by their paths in it."""
    return {path.relative_to(PACKAGE).as_posix(): one for path, one in package().items() if path.parent != PACKAGE}


def test_data_flows_one_way_through_the_floors() -> None:
    """A module imports from its own folder and from lower floors only."""
    above = [
        (name, other)
        for name, module in modules().items()
        for other in module.imported
        if other.startswith("pytest_agentbench.")
        and (folder := name.split("/")[0]) != (its := other.split(".")[1])
        and HEIGHT.get(its, -1) >= HEIGHT[folder]  # `built_in` lists modules, and imports none
    ]

    assert above == []


def test_pytest_xdist_and_private_parts_have_their_places() -> None:
    """Only plugin/ imports pytest, only plugin/scheduling.py xdist at run time, only plugin/compat.py private parts."""
    places = {
        "pytest": re.compile(r"plugin/"),
        "xdist": re.compile(r"plugin/(scheduling|distributed)\.py"),
        "_pytest": re.compile(r"plugin/(compat|items)\.py"),
        "openai": re.compile(r"llm/"),
    }
    misplaced = [
        (name, root)
        for name, module in modules().items()
        for root in sorted({one.partition(".")[0] for one in module.imported} & places.keys())
        if not places[root].match(name)
    ]

    assert misplaced == []


def test_every_folder_stands_on_a_floor() -> None:
    """A new folder must say which floor it is on."""
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}

    assert folders == set(HEIGHT)


def test_a_file_fits_a_readers_head() -> None:
    """A file holds one idea in at most 500 lines and says in its first line which."""
    assert [name for name, module in modules().items() if module.lines > 500] == []
    assert [name for name, module in modules().items() if not module.docstring] == []


def test_public_names_are_sorted_complete_and_there() -> None:
    """`__all__` lists exactly what loads lazily, in order."""
    names = pytest_agentbench.__all__
    homes = {name for several in pytest_agentbench._HOMES.values() for name in several}

    assert names == sorted(names, key=lambda name: (name.islower(), name))
    assert set(names) == homes
    assert all(getattr(pytest_agentbench, name) is not None for name in names)


def test_every_public_name_says_what_it_is() -> None:
    """What users import has a docstring of its own."""
    assert [name for name in pytest_agentbench.__all__ if not getattr(pytest_agentbench, name).__doc__] == []


def example_words() -> set[str]:
    """Give the names of tools, tables and policies of the example project."""
    example = PROJECT / "example_project"
    words: set[str] = set()
    for path in example.glob("*/tools.py"):
        functions = [
            node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
        ]
        words |= {node.name for node in functions if not node.name.startswith("_")}
    for path in example.rglob("policies.yaml"):
        words |= set(re.findall(r"^\s*-\s*\{?\s*id:\s*([\w-]+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    for path in example.rglob("schema.sql"):
        tables = re.findall(r"CREATE TABLE (\w+)", path.read_text(encoding="utf-8"))
        words |= {table for table in tables if "_" in table}
    return words


def test_the_package_names_nothing_of_an_example() -> None:
    """No tool, table or policy of an example project appears in the product."""
    words = example_words()
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(words)))})\b")

    found = {
        f"{path.relative_to(PACKAGE)}: {match.group()}"
        for path in PACKAGE.rglob("*.py")
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    }

    assert len(words) > 20
    assert found == set()


def test_no_floor_names_another_benchmark() -> None:
    """What is told of τ²-bench by name stands in its package alone; the fields of scenarios are its fields, too."""
    others = [path for path in PACKAGE.glob("*/**/*.py") if path.relative_to(PACKAGE).parts[0] != "tau2"]
    named = re.compile("tau_?2|tau_?bench", re.IGNORECASE)

    assert [path for path in others if named.search(path.read_text(encoding="utf-8"))] == []


def module_name(path: Path) -> str:
    """Give the full name under which a file of the package is imported."""
    parts = path.relative_to(PROJECT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_module_imports_itself_through_others() -> None:
    """No cycle, also counting imports inside functions and under `TYPE_CHECKING`."""
    files = {module_name(path): module for path, module in package().items()}
    graph = networkx.DiGraph()
    for name, module in files.items():
        targets = {full if (full := f"{source}.{taken}") in files else source for source, taken in module.imports}
        graph.add_edges_from((name, target) for target in targets if target in files and target != name)

    cycles = [sorted(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1]

    assert len(graph) > 400
    assert cycles == []


def test_the_table_of_hooks_is_complete() -> None:
    """`plugin/hooks.py` names every hook that a class of the plugin answers, and no other."""
    told: dict[str, set[str]] = {}
    for name, listed in re.findall(r"^\| `(\w+)` \| (.*) \|$", hooks.__doc__ or "", re.MULTILINE):
        told.setdefault(name, set()).update(listed.split(", "))
    found: dict[str, set[str]] = {}
    for path in (PACKAGE / "plugin").glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and "Protocol" not in map(ast.unparse, node.bases):
                functions = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
                if answered := {name for name in functions if name.startswith("pytest_")}:
                    found[node.name] = answered

    assert told == found
