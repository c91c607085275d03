"""Checks the rule of a policy against its JSON Schema and says what is wrong in words of the file."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.suites.schema_forms import INSTEAD

_OLD_BOOLEANS = ("yes", "on", "y", "true", "no", "off", "n", "false")
"""Words that YAML 1.1 takes for booleans: those that mean true, then those that mean false."""

Schema = dict[str, Any]


def misfits(value: JsonValue, schema: Schema, *, root: Schema | None = None, path: Keys = ()) -> Iterator[Misfit]:
    """Yield every place where `value` does not fit `schema`; references resolve in `root` (default: `schema`)."""
    yield from _Check(root if root is not None else schema).walk(value, schema, path)


class _Check:
    def __init__(self, root: Schema) -> None:
        self._root = root

    def walk(self, value: JsonValue, schema: Schema, path: Keys) -> Iterator[Misfit]:
        schema = self._resolved(schema)
        if "anyOf" in schema:
            yield from self._any_of(value, schema, path)
            return
        if "type" in schema and not fits_type(value, schema["type"]):
            # YAML reads 3.50 as a number: whoever means the text has to say so
            hint = "put it in quotes to make it text" if _is_unquoted(value, schema) else ""
            hint = hint or (_meant(value) if schema["type"] == "boolean" else "")
            yield Misfit(path=path, message=f"found {shown(value)}, expected {_expected(schema)}", hint=hint)
            return
        if "enum" in schema and not any(type(value) is type(one) and value == one for one in schema["enum"]):
            texts = [one for one in schema["enum"] if isinstance(one, str)]
            hint = suggestion(value, texts) if isinstance(value, str) else ""
            hint = hint or (_meant(value) if True in schema["enum"] else "")
            allowed = listing(map(repr, schema["enum"]))
            yield Misfit(path=path, message=f"found {shown(value)}, allowed: {allowed}", hint=hint)
        elif isinstance(value, str):
            yield from _text(value, schema, path)
        elif isinstance(value, bool):
            return
        elif isinstance(value, int | float):
            yield from _number(value, schema, path)
        elif isinstance(value, list):
            yield from self._list(value, schema, path)
        elif isinstance(value, dict):
            yield from self._mapping(value, schema, path)

    def _list(self, value: list[JsonValue], schema: Schema, path: Keys) -> Iterator[Misfit]:
        if len(value) < schema.get("minItems", 0):
            yield Misfit(path=path, message=f"found {shown(value)}, expected {_expected(schema)}")
        if "items" in schema:
            for index, item in enumerate(value):
                yield from self.walk(item, schema["items"], (*path, index))

    def _mapping(self, value: dict[str, JsonValue], schema: Schema, path: Keys) -> Iterator[Misfit]:
        least, most = schema.get("minProperties", 0), schema.get("maxProperties", math.inf)
        if not least <= len(value) <= most:
            yield Misfit(path=path, message=f"found {shown(value)}, expected {_expected(schema)}")
            return
        properties: Schema = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        for name in schema.get("required", ()):
            # a mistyped key is told once, as the unknown key that it is
            mistyped = others is False and any(key not in properties and suggestion(key, [name]) for key in value)
            if name not in value and not mistyped:
                hint = schema.get(INSTEAD, {}).get(name, "")
                yield Misfit(path=path, message=f"the key {name!r} is missing", hint=hint)
        for key, item in value.items():
            if key in properties:
                yield from self.walk(item, properties[key], (*path, key))
                continue
            if others is False:
                allowed = f"unknown key {key!r}, allowed: {listing(properties, 40)}"
                hint = schema.get(INSTEAD, {}).get(key) or suggestion(key, properties)
                yield Misfit(path=(*path, key), message=allowed, hint=hint, at_key=True)
                continue
            yield from _key(key, schema, path)
            if isinstance(others, dict):
                yield from self.walk(item, others, (*path, key))

    def _any_of(self, value: JsonValue, schema: Schema, path: Keys) -> Iterator[Misfit]:
        """Yield nothing if one branch fits, else what is wrong with the branch that was most likely meant."""
        branches = [self._resolved(branch) for branch in schema["anyOf"]]
        near: list[tuple[int, list[Misfit], Schema]] = []
        told_apart = isinstance(value, dict) and "description" in schema
        for branch in branches:
            found = list(self.walk(value, branch, path))
            if not found:
                return
            texts = [one for one in branch.get("enum", ()) if isinstance(one, str)]
            meant = isinstance(value, str) and bool(suggestion(value, texts))
            if meant or "anyOf" in branch or fits_type(value, branch.get("type", [])):
                near.append((_likeness(value, branch), found, branch))
                told_apart &= bool(branch.get("required"))
        alike = max(near, key=lambda pair: (pair[0], -len(pair[1])), default=None)
        # {orders: {…}} shares no key with {sqlite: …}, {json: …} or {own: …}: none of them was meant
        if alike and (alike[0] or not told_apart):
            rivals = dict.fromkeys(_lacking(value, found, branch) for like, found, branch in near if like == alike[0])
            if len(rivals) > 1 and all(rivals):
                yield Misfit(path=path, message=f"one of the keys {listing(map(repr, rivals))} is missing")
            else:
                yield from alike[1]
        else:
            expected = schema.get("description") or " or ".join(_expected(branch) for branch in branches)
            is_flag = any(True in branch.get("enum", ()) for branch in branches)
            hint = _meant(value) if is_flag else ""
            yield Misfit(path=path, message=f"found {shown(value)}, expected {expected}", hint=hint)

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            target: Schema = self._root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
            schema = target
        return schema


def _meant(value: JsonValue) -> str:
    """Say what to write for a word that older YAML took for a boolean."""
    if not isinstance(value, str) or value.lower() not in _OLD_BOOLEANS:
        return ""
    return f"YAML 1.2 reads {value} as a text: write {'true' if value.lower() in _OLD_BOOLEANS[:4] else 'false'}"


def fits_type(value: JsonValue, kinds: str | list[str]) -> bool:
    """Whether a value has one of the JSON Schema types; numbers must be finite, and 2.0 is an integer."""
    return any(_is_kind(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _is_kind(value: JsonValue, kind: str) -> bool:
    if kind == "number":
        return is_number(value)
    if kind == "integer":
        return _is_kind(value, "number") and (isinstance(value, int) or (value.is_integer() and abs(value) < 2**53))
    types = {"string": str, "boolean": bool, "null": type(None), "array": list, "object": dict}
    return isinstance(value, types[kind])


def _is_unquoted(value: JsonValue, schema: Schema) -> bool:
    """Whether a number, or true or false, would be what a schema wants if it were a text."""
    is_text = schema["type"] == "string" and isinstance(value, bool | int | float)
    return is_text and re.search(schema.get("pattern", ""), str(value)) is not None


def _expected(schema: Schema) -> str:
    """Say what a schema wants: its description, else its types."""
    if "description" in schema:
        return str(schema["description"])
    if "enum" in schema:
        return listing(map(repr, schema["enum"]))
    words = {
        "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
        "null": "nothing", "array": "a list", "object": "a mapping",
    }  # fmt: skip
    kinds = schema.get("type", [])
    return " or ".join(words[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "something else"


def _lacking(value: JsonValue, found: Sequence[Misfit], branch: Schema) -> str:
    """Give the key whose absence is all that is wrong with a mapping; nothing where more is."""
    lacking = [name for name in branch.get("required", ()) if isinstance(value, dict) and name not in value]
    return lacking[0] if len(lacking) == len(found) == 1 else ""


def _likeness(value: JsonValue, branch: Schema) -> int:
    """Count the keys of a mapping that a branch knows: the branch with most was probably meant."""
    if not isinstance(value, dict):
        return 0
    known = branch.get("properties", {})
    return sum(key in known or bool(suggestion(key, known)) for key in value)


def _text(value: str, schema: Schema, path: Keys) -> Iterator[Misfit]:
    if len(value) < schema.get("minLength", 0) or ("pattern" in schema and not re.search(schema["pattern"], value)):
        yield Misfit(path=path, message=f"found {shown(value)}, expected {_expected(schema)}")


def _number(value: float, schema: Schema, path: Keys) -> Iterator[Misfit]:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if value < low or value > high or value <= schema.get("exclusiveMinimum", -math.inf):
        yield Misfit(path=path, message=f"found {shown(value)}, expected {_expected(schema)}")


def _key(key: str, schema: Schema, path: Keys) -> Iterator[Misfit]:
    names: Schema = schema.get("propertyNames", {})
    if "pattern" in names and not re.search(names["pattern"], key):
        message = f"found the name {shown(key)}, expected {_expected(names)}"
        yield Misfit(path=(*path, key), message=message, at_key=True)
