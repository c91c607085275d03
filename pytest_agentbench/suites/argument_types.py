"""Whether a literal argument can be what the JSON Schema of a tool's parameter says."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from pytest_agentbench.core.matchers import holds_matcher, is_matcher
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.values import same

_ARTICLES = {"array": "a list", "object": "a mapping", "integer": "an integer", "null": "null"}
_UNIONS = ("anyOf", "oneOf")


def argument_misfits(value: object, schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield what is wrong with `value`, by type, `enum` and `const`; lists item by item. Paths start at the value.

    `whole` is the schema that `$ref`s lead into. Matchers fit anything. What this does not know (formats, bounds, the
    insides of objects) is never wrong.
    """
    try:
        found = list(_misfits(value, schema, whole, ()))
    except RecursionError:  # the schema leads round in a circle, so it says nothing
        return
    yield from found


def _misfits(value: object, schema: object, whole: Mapping[str, Any], path: Keys) -> Iterator[Misfit]:
    schema = _resolved(schema, whole)
    if is_matcher(value) or _fits(value, schema, whole):
        return
    items = schema.get("items")
    if isinstance(value, list) and schema.get("type") == "array" and isinstance(items, Mapping):
        for index, item in enumerate(value):
            yield from _misfits(item, items, whole, (*path, index))
        return
    allowed = " or ".join(dict.fromkeys(_wanted(schema, whole)))
    hint = f"put it in quotes: '{value}'" if allowed == "a string" and _is_numeric(value) else ""
    yield Misfit(path=path, message=f"found {shown(value)}, expected {allowed}", hint=hint)


def _fits(value: object, schema: object, whole: Mapping[str, Any]) -> bool:
    schema = _resolved(schema, whole)
    for union in _UNIONS:
        choices = schema.get(union)
        if isinstance(choices, list) and choices:
            return any(_fits(value, choice, whole) for choice in choices)
    if is_matcher(value) or (value is None and schema.get("nullable") is True):
        return True
    if isinstance(schema.get("enum"), list):
        return holds_matcher(value) or any(same(value, allowed) for allowed in schema["enum"])
    if "const" in schema:
        return holds_matcher(value) or same(value, schema["const"])
    types = _types(schema)
    if types and not any(_is(value, name) for name in types):
        return False
    items = schema.get("items")
    return not (isinstance(value, list) and isinstance(items, Mapping)) or all(_fits(i, items, whole) for i in value)


def _wanted(schema: object, whole: Mapping[str, Any]) -> Iterator[str]:
    """Name what a schema allows."""
    schema = _resolved(schema, whole)
    for union in _UNIONS:
        if isinstance(schema.get(union), list) and schema[union]:
            for choice in schema[union]:
                yield from _wanted(choice, whole)
            return
    if isinstance(schema.get("enum"), list):
        yield f"one of {listing(map(repr, schema['enum']))}"
    elif "const" in schema:
        yield repr(schema["const"])
    else:
        yield from (_ARTICLES.get(name, f"a {name}") for name in _types(schema))


def _resolved(schema: object, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow `$ref: "#/…"`; what leads nowhere, or round in a circle, allows anything."""
    for _ in range(10):
        if not isinstance(schema, Mapping):
            return {}
        target = schema.get("$ref")
        if not isinstance(target, str):
            return schema
        if not target.startswith("#/"):
            return {}
        schema = whole
        for part in target[2:].split("/"):
            schema = schema.get(part) if isinstance(schema, Mapping) else None
    return {}


def _types(schema: Mapping[str, Any]) -> list[str]:
    stated = schema.get("type")
    if isinstance(stated, str):
        return [stated]
    return [name for name in stated if isinstance(name, str)] if isinstance(stated, list) else []


def _is(value: object, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "integer":
            return _is_numeric(value) and (isinstance(value, int) or value.is_integer())
        case "number":
            return _is_numeric(value)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, Mapping)
        case "null":
            return value is None
    return True


def _is_numeric(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
