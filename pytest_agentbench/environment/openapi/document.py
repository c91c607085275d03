"""OpenAPI documents: reading one, its version, where its service listens, and its operations in order."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import yaml

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.text import printable, shorten

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
"""The methods that a path may have (OpenAPI 3.1 §4.8.9); everything else under a path is no operation."""

_REFERENCES = 20
"""How many references are followed before a chain of them counts as endless."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """A parsed document; `place` is what it is called in messages, `address` where it came from, "" for files.

    Two are equal only if they are the same one, so that what is made of a document can be kept.
    """

    content: Mapping[str, Any]
    place: str
    address: str = ""

    @property
    def is_swagger(self) -> bool:
        """Whether it is OpenAPI 2.0."""
        return "swagger" in self.content

    def resolved(self, node: Any) -> Any:
        """Follow a `$ref` within the document; raise `EnvironmentFaultError` where it leads out of it or nowhere."""
        for _ in range(_REFERENCES):
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                return node
            node = self.target(node["$ref"])
        raise EnvironmentFaultError(f"{self.place}: a reference leads to itself: {shorten(str(node), 100)}")

    def target(self, reference: str) -> Any:
        """Give what a reference names."""
        if not reference.startswith("#"):
            raise EnvironmentFaultError(
                f"{self.place}: {reference!r} leads to another file; bundle the document into one file first"
            )
        node: Any = self.content
        for part in reference[1:].split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}")
            if isinstance(node, list) and key.isdigit() and int(key) < len(node):
                node = node[int(key)]
            elif isinstance(node, Mapping) and key in node:
                node = node[key]
            else:
                raise EnvironmentFaultError(f"{self.place}: {reference!r} leads nowhere: there is no {key!r}")
        return node

    def operations(self) -> Iterator[tuple[str, str, Mapping[str, Any], list[Any]]]:
        """Give (method, path, operation, parameters of the path and of the operation) in the document's order."""
        paths = self.content.get("paths")
        for path, item in paths.items() if isinstance(paths, Mapping) else ():
            item = self.resolved(item)  # noqa: PLW2901 - the item is what the reference leads to
            if not isinstance(path, str) or not path.startswith("/") or not isinstance(item, Mapping):
                continue
            for method in METHODS:
                operation = item.get(method)
                if isinstance(operation, Mapping):
                    yield method, path, operation, [*_entries(item), *_entries(operation)]

    def server(self) -> str:
        """Give the address of the first server that the document names, "" where it names none."""
        if self.is_swagger:
            host = self.content.get("host")
            schemes = self.content.get("schemes") or ["http"]
            base = str(self.content.get("basePath") or "")
            found = f"{schemes[0]}://{host}{base}" if host else base
        else:
            servers = self.content.get("servers")
            first = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], Mapping) else {}
            found = str(first.get("url") or "")
            for name, variable in (first.get("variables") or {}).items():
                found = found.replace(f"{{{name}}}", str(variable.get("default", "")))
        found = urljoin(self.address, found) if self.address else found
        return found.rstrip("/") if found.startswith(("http://", "https://")) else ""


def read_document(file: Path) -> Document:
    """Read a document from a JSON or YAML file; raise `EnvironmentFaultError` where it is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentFaultError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise EnvironmentFaultError(f"{file}: not text: {error}") from error
    return parse_document(text, str(file))


@lru_cache(maxsize=8)
def parse_document(text: str, place: str, address: str = "") -> Document:
    """Parse a document; raise `EnvironmentFaultError` saying what it is instead."""
    content: Any
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = _yaml(text, place)
    if not isinstance(content, Mapping) or not isinstance(content.get("paths", {}), Mapping):
        raise EnvironmentFaultError(f"{place}: not an OpenAPI document: it must be a mapping with openapi and paths")
    version = str(content.get("openapi") or content.get("swagger") or "")
    if not version.startswith(("3.0", "3.1", "2.0")):
        raise EnvironmentFaultError(
            f"{place}: openapi is {shorten(printable(version), 40)!r}; OpenAPI 2.0 (swagger), 3.0 and 3.1 are read"
        )
    return Document(content=content, place=place, address=address)


def _yaml(text: str, place: str) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise EnvironmentFaultError(f"{place}: neither JSON nor YAML: {shorten(printable(str(error)), 200)}") from error


def _entries(holder: Mapping[str, Any]) -> list[Any]:
    parameters = holder.get("parameters")
    return parameters if isinstance(parameters, list) else []
