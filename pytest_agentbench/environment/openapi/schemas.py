"""Schemas of an OpenAPI document as small JSON Schemas: references put in place, dialects of 2.0 and 3.0 translated."""

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.environment.openapi.document import Document

LARGE = 8_000
"""Characters of JSON above which a schema is cut at a lesser depth: some documents inline to 88 kB for one tool."""

_NODES = 400
"""Parts of a schema from which on it is surely too large, so that none is written out to the millionth."""

_DEPTHS = (6, 3, 2, 1)
"""How many references deep a schema is told; the last is taken however large it is."""

_KEPT = (
    "type", "title", "description", "format", "enum", "const", "default", "examples", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems",
    "uniqueItems", "minProperties", "maxProperties", "required",
)  # fmt: skip
_INNER = ("items", "additionalProperties", "not", "contains", "propertyNames")
_LISTS = ("oneOf", "anyOf", "allOf", "prefixItems")

Schema = dict[str, Any]


def small_schema(document: Document, schema: Any, *, answer: bool = False) -> Schema:
    """Give a schema without references. Where it repeats itself or grows too large, what lies deeper is left open.

    Of a request, what only answers hold is left out, and the reverse with `answer`.
    """
    for depth in _DEPTHS:
        inliner = _Inliner(document, "writeOnly" if answer else "readOnly", most=_NODES if depth > 1 else None)
        try:
            made = inliner.put(schema, depth, ())
        except _TooLargeError:
            continue
        if depth == 1 or len(dumps(made)) <= LARGE:
            return made
    raise AssertionError("the last depth is never too large")


class _TooLargeError(Exception):
    """A schema has more parts than are told."""


class _Inliner:
    """Puts references in place."""

    def __init__(self, document: Document, hidden: str, most: int | None) -> None:
        """`hidden` is the mark of parts to leave out; raise `_TooLargeError` from the part after `most` on."""
        self._document = document
        self._hidden = hidden
        self._left = most

    def put(self, schema: Any, depth: int, seen: tuple[str, ...]) -> Schema:
        """Give `schema` as a JSON Schema; `seen` are the references that lead to it."""
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise _TooLargeError
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return self._plain(schema, depth, seen)
        beside = {key: schema[key] for key in ("description", "default") if key in schema}
        if reference in seen or depth == 0:
            return {**self._outline(reference), **beside}
        return {**self.put(self._document.target(reference), depth - 1, (*seen, reference)), **beside}

    def _outline(self, reference: str) -> Schema:
        """Give what is told of a schema whose parts are left open."""
        target = self._document.resolved({"$ref": reference})
        outline: Schema = {"description": f"{reference.rpartition('/')[2]}, of which no more is told here"}
        if isinstance(target, Mapping) and isinstance(target.get("type"), str):
            outline["type"] = target["type"]
        return outline

    def _plain(self, schema: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> Schema:
        made: Schema = {key: schema[key] for key in _KEPT if key in schema}
        if made.get("type") == "file":
            made["type"] = "string"
        if "example" in schema and "examples" not in made:
            made["examples"] = [schema["example"]]
        for key in _INNER:
            if isinstance(schema.get(key), Mapping):
                made[key] = self.put(schema[key], depth, seen)
            elif isinstance(schema.get(key), bool):
                made[key] = schema[key]
        for key in _LISTS:
            if isinstance(schema.get(key), list):
                made[key] = [self.put(one, depth, seen) for one in schema[key]]
        if isinstance(schema.get("properties"), Mapping):
            made["properties"] = self._properties(schema["properties"], depth, seen)
            made["required"] = [name for name in made.get("required") or () if name in made["properties"]]
        return _translated(_merged(made), nullable=schema.get("nullable") is True or schema.get("x-nullable") is True)

    def _properties(self, properties: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> Schema:
        return {
            str(name): self.put(one, depth, seen)
            for name, one in properties.items()
            if not (isinstance(one, Mapping) and one.get(self._hidden) is True)
        }


def _merged(schema: Schema) -> Schema:
    """Put the parts of an `allOf` into one schema where all of them are objects."""
    parts = schema.get("allOf")
    if not parts or not all(part.get("type") in ("object", None) and not part.keys() & {*_LISTS} for part in parts):
        if schema.get("required") == []:
            del schema["required"]
        return schema
    merged: Schema = {"type": "object"} if any("properties" in part for part in parts) else {}
    for part in [*parts, {key: value for key, value in schema.items() if key != "allOf"}]:
        properties = {**merged.get("properties", {}), **part.get("properties", {})}
        required = list(dict.fromkeys([*merged.get("required", ()), *(part.get("required") or ())]))
        merged |= part
        if properties:
            merged["properties"] = properties
        if required:
            merged["required"] = required
    if merged.get("required") == []:
        del merged["required"]
    return merged


def _translated(schema: Schema, *, nullable: bool) -> Schema:
    """Write what 2.0 and 3.0 say in their own way as JSON Schema does: exclusive bounds and null."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool):
            strict = schema.pop(exclusive)
            if strict and bound in schema:
                schema[exclusive] = schema.pop(bound)
    if nullable and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    return schema
