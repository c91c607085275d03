"""What `agentbench init` is pointed at: an agent found and imported, or a service that is started, never imported."""

import ast
import inspect
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_agentbench.agents.callables import declares, is_required, parameters
from pytest_agentbench.agents.frameworks.recognition import framework_of
from pytest_agentbench.agents.http.app import is_app
from pytest_agentbench.cli.init_app import asked_at
from pytest_agentbench.cli.init_search import APP, SKIPPED, Confirmed, candidates, is_whole_app, parsed, ranked, sources
from pytest_agentbench.core.errors import AgentBenchError, ImportPathError, SuiteFaultError, with_hint
from pytest_agentbench.core.names import listing
from pytest_agentbench.environment.import_path import load_module, load_object
from pytest_agentbench.messages.content import shown

_HANDLER = "HTTPRequestHandler"
_PORT = "PORT"
_FLAG = "--port"
_ANY_PATH = "/"


@dataclass(frozen=True, kw_only=True)
class FoundService:
    """A file that serves posts: the paths that it names there and for GET, and how it is told its port.

    `words` come behind the file in its command, `env` is set for it; `port` is one that it chooses itself.
    """

    file: Path
    posted: tuple[str, ...]
    got: tuple[str, ...]
    words: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    port: int | None = None

    def agent(self, root: Path) -> dict[str, Any]:
        """Give what a suite in `root` says at `agent:`; a service that chooses its port is not started from there."""
        path = next((one for one in self.posted if "reset" not in one), _ANY_PATH)
        if self.port is not None:
            return {"http": {"url": f"http://127.0.0.1:{self.port}{path}"}}
        serve: dict[str, Any] = {"command": ["{python}", os.path.relpath(self.file, root), *self.words]}
        if self.env:
            serve["env"] = dict(self.env)
        if ready := next((one for one in self.got if "health" in one or "ready" in one or "up" in one), ""):
            serve["ready"] = ready
        return {"http": {"url": f"http://127.0.0.1:{{port}}{path}", "serve": serve}}


def service_in(file: Path) -> FoundService | None:
    """Find the handler of posts in a file, and where its port comes from; None where either is not to be seen."""
    tree = parsed(file)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    handlers = [node for node in classes if any(ast.unparse(base).endswith(_HANDLER) for base in node.bases)]
    methods = [one for node in handlers for one in node.body if isinstance(one, ast.FunctionDef)]
    posts = [one for one in methods if one.name == "do_POST"]
    if not posts:
        return None
    gets = [one for one in methods if one.name == "do_GET"]
    found = FoundService(file=file, posted=tuple(_paths(posts)), got=tuple(_paths(gets)))
    return _with_port(found, tree)


def _paths(methods: Sequence[ast.FunctionDef]) -> Iterator[str]:
    """Give the texts that look like paths and that `self.path` is held against."""
    for method in methods:
        for node in ast.walk(method):
            if isinstance(node, ast.Compare) and ".path" in ast.unparse(node):
                yield from (
                    one.value
                    for one in ast.walk(node)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.startswith("/")
                )


def _with_port(found: FoundService, tree: ast.Module) -> FoundService | None:
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    if _FLAG in texts:
        return replace(found, words=(_FLAG, "{port}"))
    if any(isinstance(node, ast.Subscript) and ast.unparse(node) == "sys.argv[1]" for node in ast.walk(tree)):
        return replace(found, words=("{port}",))
    if _PORT in texts:
        return replace(found, env=((_PORT, "{port}"),))
    made = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and "HTTPServer" in ast.unparse(node.func))
    ports = [
        one.value
        for call in made
        for one in (call.args[0].elts[1:] if call.args and isinstance(call.args[0], ast.Tuple) else ())
        if isinstance(one, ast.Constant) and isinstance(one.value, int) and one.value
    ]
    return replace(found, port=ports[0]) if ports else None


LIKELY = (
    "build", "build_agent", "make_agent", "create_agent", "agent", "root_agent", "graph", "app", "reply", "chat",
)  # fmt: skip
"""Names that agents and what builds them go by, the likeliest first."""

OFFERED = ("tools", "state", "context", "session_id", "base_url")
"""What a factory may require."""

_SPOKEN = ("message", "messages", "turn")
_BUILDS = re.compile(r"(build|make|create|get|new|setup)(_|$)")
_NOT_AGENTS = re.compile(r"(test_.*|.*_test|conftest|setup|noxfile|tasks)\.py")
_URL = re.compile(r"https?://", re.IGNORECASE)
_MODULE = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, kw_only=True)
class Target:
    """An agent that was found: what a suite in `root` says at `agent:`, and what it is in a few words.

    `takes_tools` is whether it wants the environment's tools, `others` are further places that may be agents.
    """

    root: Path
    agent: str | dict[str, Any]
    name: str
    what: str
    takes_tools: bool = False
    others: tuple[str, ...] = ()

    @property
    def file(self) -> Path | None:
        """The Python file of the agent, if it has one."""
        found = getattr(sys.modules.get(self.name.partition(":")[0]), "__file__", None)
        return Path(found) if isinstance(found, str) and found.endswith(".py") else None


def find_target(given: str | None, folder: Path, into: Path | None) -> Target:
    """Find the agent that was asked for, or one in `folder`; `into` is where its suite is to lie, if that was said.

    Raise `ImportPathError` where nothing can be imported there, `SuiteFaultError` where what is there is no agent or
    nothing was found.
    """
    try:
        return _found(given, folder, into)
    except ImportPathError as error:
        if into is None or into == folder:
            raise
        hint = "a suite finds modules in its own folder and among what is installed: install the agent, or leave --into"
        raise ImportPathError(with_hint(str(error), hint)) from error


def _found(given: str | None, folder: Path, into: Path | None) -> Target:
    if given is None:
        return _searched(folder, into)
    if _URL.match(given):
        return Target(root=into or folder, agent={"http": {"url": given}}, name=given, what="an HTTP endpoint")
    place, _, name = given.partition(":")
    if place.endswith(".py"):
        file = folder / place
        if not file.is_file():
            raise ImportPathError(f"there is no file {place!r} in {folder}")
        if not name and (service := service_in(file.resolve())):
            return _served(service, into or file.resolve().parent)
        module, root = _module_of(file)
    else:
        module, root = place, folder
    root = into or root
    if name:
        return _told(load_object(f"{module}:{name}", root), f"{module}:{name}", root)
    held = getattr(load_module(module, root), "__file__", None)
    made = ranked(candidates(Path(held), module, root), LIKELY) if held else []
    agents = [one.target for one in made if framework_of(_object(one.target, root))]
    found = [f"{module}:{one}" for one in LIKELY if _object(f"{module}:{one}", root) is not None]
    found += [one.target for one in made if is_whole_app(_object(one.target, root))]
    found += [f"{module}:{one}" for one in (replying(Path(held)) if held else ())]
    if not (agents or found):
        names = ", ".join(LIKELY)
        raise SuiteFaultError(
            f"the module {module!r} has no agent of a framework and none of {names}, nor an ASGI app or a class with a "
            f"method `reply`; say which it is: `{given}:NAME`"
        )
    problems: list[str] = []
    if usual := _usable([(one, root) for one in dict.fromkeys([*agents, *found])], problems):
        return usual
    raise SuiteFaultError("\n".join(problems))


def _searched(folder: Path, into: Path | None) -> Target:
    """Look for agents of frameworks in all Python files, else for likely names in those at the top.

    Then for services, apps of any name, and classes with a method `reply`. Only what looks like one is imported.
    """
    made = [one for file in sources(folder) if _is_module(file) for one in candidates(file, *_module_of(file))]
    confirmed = Confirmed(made)
    order = ranked(made, LIKELY)
    for one in order:
        if confirmed.kind(one) not in ("", APP):
            told = _told(load_object(one.target, into or one.root), one.target, into or one.root)
            others = (other for other in order if other is not one and confirmed.kind(other) not in ("", APP))
            return replace(told, others=tuple(other.target for other in others))
    files = [*_sources(folder)]
    named = sorted((LIKELY.index(name), file, name) for file in files for name in _top_level(file) if name in LIKELY)
    likely = [_import_path(file, name, into) for _, file, name in named]
    problems = confirmed.problems
    if usual := _usable(likely, problems):
        return usual
    if services := [*filter(None, (service_in(file.resolve()) for file in files))]:
        return _served(services[0], into or services[0].file.parent, services[1:])
    apps = [(one.target, into or one.root) for one in order if confirmed.kind(one) == APP]
    classes = [_import_path(file, name, into) for file in files for name in replying(file)]
    if last := _usable([*apps, *classes], problems):
        return last
    seen = "".join(f"\n  {one}" for one in problems)
    if likely or apps or classes:
        raise SuiteFaultError(f"none of what was found is an agent:{seen}")
    raise SuiteFaultError(
        f"no agent found in {folder}: no Python file there makes one with a framework, and none at its top, nor in "
        f"a package there, defines {', '.join(LIKELY)}, an ASGI app or a class with a method `reply`; say where it is: "
        f"`agentbench init my_agent.py:NAME`, `package.module:NAME` or the http(s) address{seen}"
    )


def _import_path(file: Path, name: str, into: Path | None) -> tuple[str, Path]:
    """Give the import path of a name in a file, and the folder that it starts from."""
    module, root = _module_of(file)
    return f"{module}:{name}", into or root


def _served(service: FoundService, root: Path, others: Sequence[FoundService] = ()) -> Target:
    return Target(
        root=root,
        agent=service.agent(root),
        name=service.file.name,
        what="a service on http.server",
        others=tuple(one.file.name for one in others),
    )


def _usable(found: Sequence[tuple[str, Path]], problems: list[str]) -> Target | None:
    """Give the first that is an agent, of import paths and the folders they start from; note the problems."""
    for target, root in found:
        try:
            told = _told(load_object(target, root), target, root)
        except AgentBenchError as error:
            problems.append(str(error))
            continue
        return replace(told, others=tuple(other for other, _ in found if other != target))
    return None


def _told(found: Any, target: str, root: Path) -> Target:
    """Say what an object is, and how a suite names it."""
    framework = framework_of(found)
    if framework:
        return Target(root=root, agent=target, name=target, what=f"an agent of {framework}")
    reply = getattr(found, "reply", None)
    if callable(reply):
        if inspect.isabstract(found) or getattr(found, "_is_protocol", False):
            raise _no_agent(found, target, why="it is abstract; name a class that extends it")
        if inspect.isclass(found):
            return _factory(found, target, root, "a class whose objects reply")
        named = {"callable": f"{target}.reply"}
        return Target(root=root, agent=named, name=target, what="an object that replies", takes_tools=_wants(reply))
    if is_app(found):
        http = {"app": target, **asked_at(found)}
        return Target(root=root, agent={"http": http}, name=target, what="an ASGI app, played in this process")
    if not callable(found):
        raise _no_agent(found, target)
    if inspect.isclass(found):
        raise _no_agent(found, target, why="its objects have no method `reply`")
    if _is_reply(found):
        named = {"callable": target}
        return Target(root=root, agent=named, name=target, what="a reply function", takes_tools=_wants(found))
    return _factory(found, target, root, "a factory")


def _factory(found: Any, target: str, root: Path, what: str) -> Target:
    unfilled = [one for one in _required(found) if one not in OFFERED]
    if unfilled:
        why = f"it requires {listing(unfilled)}, which nothing fills; give {'it' if len(unfilled) == 1 else 'them'}"
        raise _no_agent(found, target, why=f"{why} a default, or write a factory that does")
    return Target(root=root, agent=target, name=target, what=what, takes_tools=_wants(found))


def _is_reply(function: Any) -> bool:
    """Whether a function answers messages; else it builds what does."""
    if any(declares(function, name) for name in _SPOKEN):
        return True
    others = [name for name in _required(function) if name not in OFFERED]
    named = getattr(function, "__name__", "")
    return len(others) == 1 and not _BUILDS.match(named)


def _required(function: Any) -> list[str]:
    return [parameter.name for parameter in parameters(function) or () if is_required(parameter)]


def _wants(function: Any) -> bool:
    return declares(function, "tools")


def _no_agent(found: object, target: str, why: str = "") -> SuiteFaultError:
    kind = f"the class {found.__name__}" if inspect.isclass(found) else f"{type(found).__name__} {shown(found)}"
    return SuiteFaultError(
        f"{target!r} is {kind}, which is no agent{f': {why}' if why else ''}. An agent is a function that takes what "
        "the user says, a factory that gives one, an object with a method `reply`, an ASGI app, or an agent of "
        "LangGraph, pydantic-ai, the OpenAI Agents SDK, smolagents or Google ADK"
    )


def _object(target: str, root: Path) -> Any:
    """Give what an import path leads to, None where it leads nowhere."""
    try:
        return load_object(target, root)
    except AgentBenchError:
        return None


def _sources(folder: Path) -> Iterator[Path]:
    packages = (one.parent for one in sorted(folder.glob("*/__init__.py")) if one.parent.name not in SKIPPED)
    for place in (folder, folder / "src", *packages):
        yield from filter(_is_module, sorted(place.glob("*.py")))


def _is_module(file: Path) -> bool:
    return not _NOT_AGENTS.fullmatch(file.name) and _MODULE.fullmatch(file.stem) is not None


def _top_level(file: Path) -> set[str]:
    """Give the names that a file defines or imports at its top level; nothing is executed."""
    names: set[str] = set()
    for node in parsed(file).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        else:
            names.update(_assigned(node))
    return names


def replying(file: Path) -> list[str]:
    """Name the classes at the top of a file with a method `reply` that takes a text, then what they were called for.

    A class that another one there extends is left out.
    """
    nodes = parsed(file).body
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    bases = {name: {base.id for base in node.bases if isinstance(base, ast.Name)} for name, node in classes.items()}
    reply = {name for name, node in classes.items() if any(map(_is_reply_method, node.body))}
    for name in classes:  # a base stands above what extends it
        reply |= {name} if bases[name] & reply else set()
    reply -= {base for held in bases.values() for base in held}
    made = [
        name
        for node in nodes
        for name in _assigned(node)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id in reply
    ]
    return [*(name for name in classes if name in reply), *made]


def _is_reply_method(node: ast.stmt) -> bool:
    """Whether a statement of a class defines `reply`, which takes something beside its object."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node.name == "reply" and len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]) > 1


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    yield from (one.id for one in targets if isinstance(one, ast.Name))


def _module_of(file: Path) -> tuple[str, Path]:
    """Give the dotted name of a file and the folder that it is imported from: above the packages it lies in."""
    file = file.resolve()
    parts, root = [file.stem], file.parent
    while (root / "__init__.py").is_file():
        parts, root = [root.name, *parts], root.parent
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts), root
