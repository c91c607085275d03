"""How an ASGI app wants to be asked: by its OpenAPI document, and where that is silent by what its function returns."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_NAMES_ONE = re.compile(r".*?(?:^|_)(?:id|session)|.*[a-z]I[dD]")
"""A key that says which conversation it is, not what is said in it."""


_NO_TEXTS = (ast.List, ast.ListComp, ast.Tuple, ast.Set, ast.Dict, ast.DictComp, ast.Compare, ast.Lambda)


@dataclass(frozen=True)
class _Route:
    path: str
    body: dict[str, str]
    reply: str | None

    @property
    def keys(self) -> dict[str, Any]:
        """Give what a suite says of it, but for what is so in any case."""
        told: dict[str, Any] = {"url": self.path}
        if not self.body.items() <= {"message": "$message", "session_id": "$session_id"}.items():
            told["body"] = self.body
        return told if self.reply in (None, "reply") else {**told, "reply": self.reply}


def asked_at(app: Any) -> dict[str, Any]:
    """Give path, body and reply of the one route of an app that takes a text, else the path of its only one for posts.

    Routes with parameters in their paths are left out: nobody knows these.
    """
    posted = {route.path: getattr(route, "endpoint", None) for route in _routes(app) if "{" not in route.path}
    try:
        found = list(_described(_document(app), posted))
    except (AttributeError, TypeError, KeyError):  # a document in another form: the app is asked in the usual way
        found = []
    if len(found) == 1:
        return found[0].keys
    return {"url": next(iter(posted))} if len(posted) == 1 and not found else {}


def _described(document: dict[str, Any], posted: Mapping[str, Any]) -> Iterator[_Route]:
    """Give the routes of a document that take a text; `posted` are the functions of the app's routes by their paths."""
    for path, methods in document.get("paths", {}).items():
        body = _body(_schema(methods.get("post", {}).get("requestBody", {}), document), document)
        if body is not None and "{" not in path:
            # the router that an app includes under a prefix knows the rest of the path
            own = max((one for one in posted if path.endswith(one)), key=len, default="")
            yield _Route(path, body, _reply(methods["post"], posted.get(own), body, document))


def _routes(holder: Any) -> Iterator[Any]:
    """Give the routes for posts, those of included routers and mounted apps as well."""
    for route in getattr(holder, "routes", ()):
        yield from _routes(getattr(route, "original_router", route))
        if "POST" in (getattr(route, "methods", None) or ()):
            yield route


def _document(app: Any) -> dict[str, Any]:
    try:
        found = app.openapi()
    except Exception:  # noqa: BLE001 - the app's own code: without a document it is asked in the usual way
        return {}
    return found if isinstance(found, dict) else {}


def _schema(holder: Mapping[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    return _resolved(holder.get("content", {}).get("application/json", {}).get("schema", {}), document)


def _resolved(schema: Any, document: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference into the document, and of alternatives take the first."""
    for _ in range(10):
        if isinstance(schema, dict) and "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = document.get("components", {}).get("schemas", {}).get(name, {})
        elif isinstance(schema, dict) and schema.get("anyOf") and "type" not in schema:
            schema = schema["anyOf"][0]
    return schema if isinstance(schema, dict) else {}  # `true` is a schema, too


def _body(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, str] | None:
    """Say what stands for what in a request; None where not exactly one key can hold what the user says."""
    kinds = {name: _resolved(one, document) for name, one in schema.get("properties", {}).items()}
    needed = [name for name in schema.get("required", ()) if name in kinds]
    texts = [name for name, kind in kinds.items() if kind.get("type") == "string" and not kind.get("enum")]
    ids = [name for name in texts if _NAMES_ONE.fullmatch(name)]
    spoken = [name for name in texts if name not in ids]
    said = next((some for some in ([one for one in spoken if one in needed], spoken) if len(some) == 1), [])
    said = ["message"] if "message" in spoken else said
    lists = [name for name, kind in kinds.items() if kind.get("type") == "array"]
    told = dict.fromkeys(said, "$message") or {name: "$messages" for name in lists if len(lists) == 1}
    if not told or not {*needed} <= {*told, *ids}:
        return None
    return {**told, **dict.fromkeys(ids, "$session_id")}


def _reply(operation: dict[str, Any], function: Any, body: dict[str, str], document: dict[str, Any]) -> str | None:
    """Say where the text stands in an answer, "" where it is the answer; None where that is not to be seen."""
    schema = _schema(operation.get("responses", {}).get("200", {}), document)
    if schema.get("type") == "string":
        return ""
    kinds = {name: _resolved(one, document) for name, one in schema.get("properties", {}).items()}
    names = {name for name, kind in kinds.items() if kind.get("type") == "string"} or {*_returned(function)}
    names = {"reply"} & names or {one for one in names if one not in body and not _NAMES_ONE.fullmatch(one)}
    return names.pop() if len(names) == 1 else None


def _returned(function: Any) -> Iterator[str]:
    """Give the keys of the mappings that a function returns, as its source has them, but for those without a text."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                is_text = not isinstance(value, _NO_TEXTS) and not (
                    isinstance(value, ast.Constant) and not isinstance(value.value, str)
                )
                if is_text and isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value
