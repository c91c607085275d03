"""Finds a service on the standard library's `http.server`, by what its file says: it is started, never imported."""

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _is_handler(node)]
    methods = [one for node in handlers for one in node.body if isinstance(one, ast.FunctionDef)]
    posts = [one for one in methods if one.name == "do_POST"]
    if not posts:
        return None
    gets = [one for one in methods if one.name == "do_GET"]
    found = FoundService(file=file, posted=tuple(_paths(posts)), got=tuple(_paths(gets)))
    return _with_port(found, tree)


def _is_handler(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith(_HANDLER) for base in node.bases)


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
