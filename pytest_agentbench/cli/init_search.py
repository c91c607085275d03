"""Finds agents and apps that frameworks made in a repository: by what files say, then by importing these few apart."""

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_agentbench.agents.frameworks.recognition import framework_of
from pytest_agentbench.agents.http.app import is_app
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.environment.import_path import load_object

_PACKAGES = ("agents", "google.adk", "langchain", "langgraph", "pydantic_ai", "smolagents")
"""Packages that make agents."""

_APPS = ("fastapi", "starlette")
"""Packages that make ASGI apps."""

APP = "an ASGI app"

SKIPPED = frozenset({"build", "dist", "node_modules", "site-packages", "test", "tests"})
"""Folders in which nobody keeps the agent."""

_MOST_FILES = 5_000
_MOST_MODULES = 10
_SECONDS = 60.0
"""How much is looked at: files that are read, modules that are imported, and seconds that an import may take."""


@dataclass(frozen=True)
class Candidate:
    """A name at the top level of a module that holds what a framework's function or class gave, as the file says.

    `mentions` are the names that stand in its arguments, `line` is its own.
    """

    name: str
    module: str
    root: Path
    file: Path
    line: int
    mentions: frozenset[str]

    @property
    def target(self) -> str:
        """Its import path."""
        return f"{self.module}:{self.name}"


def sources(folder: Path) -> Iterator[Path]:
    """Give the Python files of a repository, those near its top first; no environments, tests or hidden folders."""
    left, seen = [folder], 0
    while left and seen < _MOST_FILES:
        here = left.pop(0)
        try:
            inside = sorted(here.iterdir())
        except OSError:
            continue
        for path in inside:
            if path.is_dir():
                if not path.name.startswith(".") and path.name not in SKIPPED and not (path / "pyvenv.cfg").exists():
                    left.append(path)
            elif path.suffix == ".py":
                seen += 1
                yield path


def parsed(file: Path) -> ast.Module:
    """Give the statements of a Python file, none of one that cannot be read; nothing is executed."""
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def candidates(file: Path, module: str, root: Path) -> list[Candidate]:
    """Give what a file takes from a framework and keeps at its top level; nothing is executed."""
    try:
        text = file.read_bytes()
        if not any(package.partition(".")[0].encode() in text for package in (*_PACKAGES, *_APPS)):
            return []
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    known = _Known(tree)
    found: dict[str, Candidate] = {}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or not known.makes(node.value):
            continue
        mentions = frozenset(_mentioned(node.value))
        for one in targets:
            if isinstance(one, ast.Name):
                found[one.id] = Candidate(one.id, module, root, file, node.lineno, mentions)
    return list(found.values())


def _mentioned(value: ast.expr) -> Iterator[str]:
    """Name what stands among the arguments of a call, and of calls whose result it is made on."""
    while isinstance(value, ast.Call | ast.Attribute):
        if isinstance(value, ast.Attribute):
            value = value.value
            continue
        for given in [*value.args, *(one.value for one in value.keywords)]:
            yield from (one.id for one in ast.walk(given) if isinstance(one, ast.Name))
        value = value.func


def ranked(found: Sequence[Candidate], likely: Sequence[str]) -> list[Candidate]:
    """Sort by usual names, then by how many others stand in the call (agents that it hands over to), the last first."""
    names = {one.name for one in found}

    def key(one: Candidate) -> tuple[int, int, int, str, int]:
        usual = likely.index(one.name) if one.name in likely else len(likely)
        return usual, -len(one.mentions & names - {one.name}), len(one.file.parts), one.file.as_posix(), -one.line

    return sorted(found, key=key)


class Confirmed:
    """Tells which candidates are agents; each module is imported once, in a process of its own."""

    def __init__(self, found: Sequence[Candidate]) -> None:
        self._found = found
        self._told: dict[tuple[Path, str], dict[str, str]] = {}
        self.problems: list[str] = []

    def kind(self, one: Candidate) -> str:
        """Name the framework whose agent a candidate is, or give `APP`; "" where it is none, or it is not known."""
        key = one.root, one.module
        if key not in self._told and len(self._told) < _MOST_MODULES:
            targets = [other.target for other in self._found if (other.root, other.module) == key]
            self._told[key], problem = _confirm(one.root, targets)
            if problem:
                self.problems.append(f"{one.module}: {problem}")
        return self._told.get(key, {}).get(one.target, "")


def _confirm(root: Path, targets: Sequence[str]) -> tuple[dict[str, str], str]:
    """Import targets in a child process; give the framework of each that is an agent, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="agentbench-") as folder:
        out = Path(folder) / "told.json"
        command = [sys.executable, "-P", "-m", __name__, str(root), str(out), *targets]
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            ended = subprocess.run(  # noqa: S603 - the user asked for what is in this folder
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
                env={**os.environ, "PYTHONPATH": paths},
            )
        except subprocess.TimeoutExpired:
            return {}, f"importing it has not ended within {_SECONDS:g} s"
        if not out.exists():
            said = ended.stderr.decode(errors="backslashreplace").strip().splitlines()[-1:]
            return {}, f"importing it ended the process with status {ended.returncode}: {printable(' '.join(said))}"
        told = json.loads(out.read_text(encoding="utf-8"))
    return told["agents"], told["problem"]


class _Known:
    """What a file imports of frameworks."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree

    @cached_property
    def _names(self) -> set[str]:
        names: set[str] = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Import):
                names |= {(one.asname or one.name.partition(".")[0]) for one in node.names if _is_known(one.name)}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                is_known = _is_known(node.module)
                whole = {(one.asname or one.name) for one in node.names if _is_known(f"{node.module}.{one.name}")}
                names |= {(one.asname or one.name) for one in node.names} if is_known else whole
        return names

    def makes(self, value: ast.expr) -> bool:
        """Whether an expression calls what comes from a framework, a method of what it gave, or `.compile()`."""
        if not isinstance(value, ast.Call):
            return False
        called = value.func.value if isinstance(value.func, ast.Subscript) else value.func
        if isinstance(called, ast.Name):
            return called.id in self._names
        if not isinstance(called, ast.Attribute):
            return False
        if called.attr == "compile" and self._names:
            return True
        inner = called.value
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        return inner.id in self._names if isinstance(inner, ast.Name) else self.makes(inner)


def _is_known(module: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in (*_PACKAGES, *_APPS))


def is_whole_app(found: object) -> bool:
    """Whether something is an ASGI app and not a router, which is a part of one."""
    return is_app(found) and hasattr(found, "add_middleware")


def _main(root: str, out: str, *targets: str) -> None:
    found: dict[str, str] = {}
    problem = ""
    for target in targets:
        try:
            held = load_object(target, Path(root))
            found[target] = framework_of(held) or (APP if is_whole_app(held) else "")
        except AgentBenchError as error:
            problem = problem or shorten(str(error), 500)
    Path(out).write_text(json.dumps({"agents": found, "problem": problem}), encoding="utf-8")
    os._exit(0)  # threads and clients that a module started need not end


if __name__ == "__main__":
    _main(*sys.argv[1:])
