"""Operations as tools: one JSON Schema for all that a request takes, and where each argument goes in the request."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, count, takewhile
from typing import Any, Literal

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.tool import ToolKind, ToolSpec
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


Place = Literal["path", "query", "header", "cookie", "form", "body", "whole"]
"""Where an argument goes; `body` is a key of a JSON body, `whole` the body itself."""

_KINDS: dict[str, ToolKind] = {"get": "read", "head": "read", "options": "read", "trace": "read"}
_UNSENT = frozenset({"accept", "content-type", "authorization"})
"""Headers that a document may name but that are not parameters (OpenAPI 3.1 §4.8.12)."""

_PLACES: tuple[Place, ...] = ("path", "query", "header", "cookie")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True, kw_only=True)
class Argument:
    """An argument: its name, and the key under which a request holds it. `many` says how lists are written there."""

    name: str
    place: Place
    key: str
    many: Literal["repeat", "comma", "space", "pipe", "deep", "json"] = "comma"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation; `content` is the media type of its body, "" where it takes none."""

    method: str
    path: str
    arguments: tuple[Argument, ...]
    content: str
    spec: ToolSpec


@dataclass(frozen=True)
class _Given:
    """A parameter as declared, and its schema."""

    argument: Argument
    schema: Schema
    required: bool


@lru_cache(maxsize=8)
def operations_of(document: Document, fixed: frozenset[str] = frozenset()) -> tuple[Operation, ...]:
    """Give all operations as tools; `fixed` are headers and query parameters that the suite sends itself.

    Raise `EnvironmentFaultError` where a reference leads nowhere.
    """
    declared = list(document.operations())
    names = operation_names([(method, path, found.get("operationId")) for method, path, found, _ in declared])
    return tuple(_operation(document, name, entry, fixed) for name, entry in zip(names, declared, strict=True))


def _operation(
    document: Document, name: str, entry: tuple[str, str, Mapping[str, Any], list[Any]], fixed: frozenset[str]
) -> Operation:
    method, path, declared, parameters = entry
    given = _parameters(document, parameters, fixed)
    content, body = _body(document, declared, parameters)
    given += body
    properties: dict[str, Schema] = {}
    required: list[str] = []
    taken: set[str] = set()
    arguments: list[Argument] = []
    for one in sorted(given, key=lambda one: (*_PLACES, "form", "body", "whole").index(one.argument.place)):
        shown = unique([one.argument.key, f"{one.argument.place}_{one.argument.key}"], taken)
        arguments.append(replace(one.argument, name=shown))
        properties[shown] = one.schema
        required += [shown] if one.required or one.argument.place == "path" else []
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    spec = ToolSpec(
        name=name,
        description=_description(declared, method, path),
        parameters=schema,
        kind=_KINDS.get(method, "write"),
        returns=_returns(document, declared),
        destructive=method == "delete",
    )
    return Operation(method=method.upper(), path=path, arguments=tuple(arguments), content=content, spec=spec)


def _description(declared: Mapping[str, Any], method: str, path: str) -> str:
    told = [str(declared[key]).strip() for key in ("summary", "description") if declared.get(key)]
    return "\n\n".join(dict.fromkeys(told)) or f"{method.upper()} {path}"


def _parameters(document: Document, entries: Sequence[Any], fixed: frozenset[str]) -> list[_Given]:
    """Give the parameters of path, query, header and cookie; an operation's replace those of its path."""
    found: dict[tuple[str, str], _Given] = {}
    for entry in map(document.resolved, entries):
        if not isinstance(entry, Mapping) or entry.get("in") not in _PLACES or not entry.get("name"):
            continue
        key, place = str(entry["name"]), entry["in"]
        if (place == "header" and key.lower() in _UNSENT) or f"{place}:{key.lower()}" in fixed:
            found.pop((place, key), None)
            continue
        found[place, key] = _given(document, entry, place)
    return list(found.values())


def _given(document: Document, entry: Mapping[str, Any], place: Place) -> _Given:
    key = str(entry["name"])
    schema = _described(_parameter_schema(document, entry), entry)
    return _Given(Argument(name=key, place=place, key=key, many=_many(entry)), schema, entry.get("required") is True)


def _parameter_schema(document: Document, entry: Mapping[str, Any]) -> Schema:
    if "schema" in entry:
        return small_schema(document, entry["schema"])
    content = entry.get("content")
    if isinstance(content, Mapping) and content:
        media = next(iter(content.values()))
        return small_schema(document, media.get("schema") if isinstance(media, Mapping) else None)
    return small_schema(document, {key: value for key, value in entry.items() if key != "required"})  # OpenAPI 2.0


def _described(schema: Schema, entry: Mapping[str, Any]) -> Schema:
    told = dict(schema)
    if entry.get("description"):
        told["description"] = str(entry["description"]).strip()
    if "example" in entry and "examples" not in told:
        told["examples"] = [entry["example"]]
    return told


def _many(entry: Mapping[str, Any]) -> Literal["repeat", "comma", "space", "pipe", "deep", "json"]:
    """Say how a list is written: styles of 3.x (§4.8.12.2), collection formats of 2.0."""
    if isinstance(entry.get("content"), Mapping):
        return "json"
    if "collectionFormat" in entry or ("schema" not in entry and "type" in entry):
        formats = {"multi": "repeat", "ssv": "space", "pipes": "pipe"}
        return formats.get(str(entry.get("collectionFormat")), "comma")  # type: ignore[return-value]  # of the three
    style = entry.get("style") or ("form" if entry.get("in") in ("query", "cookie") else "simple")
    if style == "deepObject":
        return "deep"
    if entry.get("explode", style == "form") and style == "form":
        return "repeat"
    return {"spaceDelimited": "space", "pipeDelimited": "pipe"}.get(str(style), "comma")  # type: ignore[return-value]  # of these


def _body(document: Document, declared: Mapping[str, Any], entries: Sequence[Any]) -> tuple[str, list[_Given]]:
    """Give the media type of the body and the arguments that make it up."""
    if document.is_swagger:
        return _swagger_body(document, declared, [document.resolved(entry) for entry in entries])
    body = document.resolved(declared.get("requestBody"))
    content = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(content, Mapping) or not content:
        return "", []
    media = _preferred(list(content))
    inner = content[media] if isinstance(content[media], Mapping) else {}
    schema = small_schema(document, inner.get("schema"))
    return media, _body_arguments(media, schema, required=body.get("required") is True)


def _swagger_body(document: Document, declared: Mapping[str, Any], entries: Sequence[Any]) -> tuple[str, list[_Given]]:
    takes = declared.get("consumes") or document.content.get("consumes") or ["application/json"]
    forms = [entry for entry in entries if isinstance(entry, Mapping) and entry.get("in") == "formData"]
    if forms:
        given = [_given(document, entry, "form") for entry in forms]
        return (_FORMS[1] if _FORMS[1] in takes else _FORMS[0]), given
    for entry in entries:
        if isinstance(entry, Mapping) and entry.get("in") == "body":
            media = _preferred([str(one) for one in takes])
            schema = _described(small_schema(document, entry.get("schema")), entry)
            return media, _body_arguments(media, schema, required=entry.get("required") is True)
    return "", []


def _preferred(medias: Sequence[str]) -> str:
    """Choose JSON where it is offered, then forms, then what comes first."""

    def rank(media: str) -> tuple[bool, bool, bool]:
        plain = media.partition(";")[0].strip().lower()
        return plain != "application/json", not plain.endswith("+json"), plain not in _FORMS

    return min(medias, key=rank)


def _body_arguments(media: str, schema: Schema, *, required: bool) -> list[_Given]:
    """Give an object's properties as arguments of their own; any other body is one argument."""
    place: Place = "form" if media.partition(";")[0] in _FORMS else "body"
    properties = schema.get("properties")
    others = {"oneOf", "anyOf", "allOf", "patternProperties"} & schema.keys()
    if not properties or others or isinstance(schema.get("additionalProperties"), dict):
        return [_Given(Argument(name="body", place="whole", key="body"), schema, required)]
    needed = schema.get("required") or () if required else ()
    return [
        _Given(Argument(name=name, place=place, key=name, many="repeat"), one, name in needed)
        for name, one in properties.items()
    ]


def _returns(document: Document, declared: Mapping[str, Any]) -> Schema | None:
    """Give the schema of the first successful answer that declares one."""
    responses = declared.get("responses")
    for status, response in sorted(responses.items(), key=str) if isinstance(responses, Mapping) else ():
        answer = document.resolved(response)
        if not str(status).startswith("2") or not isinstance(answer, Mapping):
            continue
        schema = answer.get("schema")
        content = answer.get("content")
        if isinstance(content, Mapping) and content:
            media = content[_preferred(list(content))]
            schema = media.get("schema") if isinstance(media, Mapping) else None
        if schema is not None:
            return small_schema(document, schema, answer=True)
    return None


LONGEST = 64
"""Characters of a tool's name that chat models accept at most (OpenAI's function names)."""

_VERSION = re.compile(r"^(?:api|v\d+(?:\.\d+)*)$", re.IGNORECASE)
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_PARAMETER = re.compile(r"\{([^}]*)\}")


def operation_names(operations: Sequence[tuple[str, str, object]]) -> list[str]:
    """Give a name for each (method, path, operation id), in order: the id where there is one, else method and path.

    `GET /buckets/{id}/groups` becomes `get_buckets_groups`, `GET /buckets/{id}` `get_buckets_by_id`. Where two would be
    named alike the later one names all parameters of its path, and if that is not enough it is numbered.
    """
    taken: set[str] = set()
    names: list[str] = []
    common = _common([path for _, path, _ in operations])
    for method, path, given in operations:
        known = _UNFIT.sub("_", given).strip("_") if isinstance(given, str) else ""
        steps = [step for step in path.split("/") if step][common:]
        candidates = [known] if known else []
        candidates += [_name(method, steps, every=False), _name(method, steps, every=True)]
        names.append(unique([name[:LONGEST] for name in candidates if name], taken))
    return names


def unique(candidates: Iterable[str], taken: set[str]) -> str:
    """Give the first candidate that is not taken, else the first with a number, and take it."""
    ordered = list(candidates)
    tails = (f"_{number}" for number in count(2))
    numbered = (ordered[0][: LONGEST - len(tail)] + tail for tail in tails)
    found = next(name for name in chain(ordered, numbered) if name not in taken)
    taken.add(found)
    return found


def _name(method: str, steps: Sequence[str], *, every: bool) -> str:
    words = [method]
    for position, step in enumerate(steps):
        parameters = _PARAMETER.findall(step)
        if parameters and (every or position == len(steps) - 1):
            words += ["by", *parameters]
        elif not parameters:
            words.append(step)
    return "_".join(filter(None, (_UNFIT.sub("_", word).strip("_") for word in words)))


def _common(paths: Sequence[str]) -> int:
    """Count the leading steps, such as `/api/v1`, that say the version and that all paths share."""
    leading = zip(*([step for step in path.split("/") if step][:-1] for path in paths), strict=False)
    return len(list(takewhile(lambda steps: len(set(steps)) == 1 and _VERSION.match(steps[0]), leading)))
