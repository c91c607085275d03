"""Values in rules held against what tools declare to take and to give: comparisons that can never be true.

What a schema leaves open is never wrong, but for a key that differs in a letter or two from one that it names.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.json_values import JsonValue, is_number, same
from pytest_agentbench.core.matchers import ARITHMETIC, COMPARISONS, excluding, is_matcher, is_reference
from pytest_agentbench.core.misfit import Keys, shown
from pytest_agentbench.core.moments import is_moment
from pytest_agentbench.core.names import listing, suggestion

RuleFault = tuple[Keys, str, str]
"""The way to what is wrong inside a policy, what is wrong, and a hint."""

_DEEPEST = 12
_KINDS = {
    "string": "a string",
    "number": "a number",
    "boolean": "a boolean",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


@dataclass(frozen=True)
class ValueForm:
    """What a value may be: the schemas of which it has one; none where nothing is known of it."""

    ways: tuple[Mapping[str, Any], ...] = ()
    root: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> frozenset[str]:
        """The JSON types that it may have; none where any may be."""
        found: set[str] = set()
        for way in self.ways:
            several = _kinds(way)
            if not several:
                return frozenset()
            found |= several
        return frozenset(found)

    @property
    def words(self) -> str:
        """The JSON types that it may have, in words."""
        return " or ".join(_KINDS[name] for name in sorted(self.kinds))

    @property
    def choices(self) -> list[JsonValue] | None:
        """All values that it may have, None where they are not told."""
        found: list[JsonValue] = []
        for way in self.ways:
            if isinstance(way.get("enum"), list):
                found += way["enum"]
            elif "const" in way:
                found.append(way["const"])
            elif way.get("type") == "null":
                found.append(None)
            else:
                return None
        return found if self.ways else None

    def at(self, key: str) -> "ValueForm":
        """Give what stands under a key or position; nothing is known where one way leaves it open."""
        parts: list[Any] = []
        for way in self.ways:
            if isinstance(way.get("properties"), Mapping) and key in way["properties"]:
                parts.append(way["properties"][key])
            elif key.isdecimal() and isinstance(way.get("items"), Mapping) and "prefixItems" not in way:
                parts.append(way["items"])
            elif not self._lacks(way, key):
                return ValueForm(root=self.root)
        return form_of(parts, self.root)

    @property
    def items(self) -> "ValueForm":
        """Give what stands in it where it is a list."""
        lists = [way for way in self.ways if "array" in _kinds(way)]
        is_plain = bool(lists) and all(
            isinstance(way.get("items"), Mapping) and "prefixItems" not in way for way in lists
        )
        return form_of([way["items"] for way in lists], self.root) if is_plain else ValueForm(root=self.root)

    @property
    def names(self) -> list[str]:
        """The keys that it is known to have."""
        return list(dict.fromkeys(name for way in self.ways for name in way.get("properties", {})))

    def lacks(self, key: str) -> bool:
        """Whether there is never such a key."""
        return bool(self.ways) and all(self._lacks(way, key) for way in self.ways)

    def _lacks(self, way: Mapping[str, Any], key: str) -> bool:
        properties = way.get("properties")
        if _kinds(way) == {"null"}:
            return True
        if not isinstance(properties, Mapping) or not properties or key in properties or "array" in _kinds(way):
            return False
        if "patternProperties" in way or way.get("additionalProperties") not in (None, False):
            return False
        return way.get("additionalProperties") is False or bool(suggestion(key, properties))


def form_of(schemas: Sequence[object], root: Mapping[str, Any]) -> ValueForm:
    """Give what values of any of these schemas may be; references lead into `root`."""
    found: list[Mapping[str, Any]] = []
    for schema in schemas:
        ways = _ways(schema, root, 0)
        if ways is None:
            return ValueForm(root=root)
        found += ways
    return ValueForm(tuple(found), root)


def _ways(schema: object, root: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]] | None:
    """Follow references and unions; None where anything may be."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST or schema.keys() & {"allOf", "not", "if", "$dynamicRef"}:
        return None
    if (target := schema.get("$ref")) is not None:
        return _ways(_referred(target, root), root, depth + 1)
    for union in ("anyOf", "oneOf"):
        if isinstance(schema.get(union), list):
            inner = [_ways(one, root, depth + 1) for one in schema[union]]
            return None if None in inner else [way for ways in inner if ways is not None for way in ways]
    return [schema, {"type": "null"}] if schema.get("nullable") is True else [schema]


def _referred(target: object, root: Mapping[str, Any]) -> object:
    if not isinstance(target, str) or not target.startswith("#/"):
        return None
    found: object = root
    for part in target[2:].split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _kinds(way: Mapping[str, Any]) -> frozenset[str]:
    stated = way.get("type")
    names = [stated] if isinstance(stated, str) else stated if isinstance(stated, list) else []
    if not names and isinstance(way.get("enum"), list):
        return frozenset(map(_kind, way["enum"]))
    known = frozenset("number" if name == "integer" else str(name) for name in names)
    return known if known <= _KINDS.keys() else frozenset()


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def never_true(value: JsonValue, form: ValueForm, path: Keys, whose: str) -> Iterator[RuleFault]:
    """Yield what in a value or matcher no value of this form ever fits; `path` leads to it, `whose` names the form."""
    if not form.ways:
        return
    if is_reference(value) or is_moment(value):
        yield from _reckoned_kind(value, form, path)
        return
    if is_matcher(value) and isinstance(value, Mapping):
        yield from _matcher(value, form, path, whose)
        return
    if _kind(value) not in form.kinds and form.kinds:
        yield _other_kind(value, form, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            if form.lacks(key):
                yield _missing(key, form, (*path, key), whose)
            else:
                yield from never_true(item, form.at(key), (*path, key), whose)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from never_true(item, form.items, (*path, index), whose)
    elif form.choices is not None and not any(same(value, one) for one in form.choices):
        texts = [one for one in form.choices if isinstance(one, str)]
        hint = suggestion(value, texts) if isinstance(value, str) else ""
        allowed = " or ".join(map(repr, form.choices[:20]))
        yield path, f"found {shown(value)}, which it never is; it is {allowed}", hint


def _matcher(matcher: Mapping[str, JsonValue], form: ValueForm, path: Keys, whose: str) -> Iterator[RuleFault]:
    is_whole = bool(form.ways) and all(way.get("type") == "integer" for way in form.ways)
    if is_whole and not excluding(matcher) and (why := excluding(matcher, whole_from=-math.inf)):
        yield path, f"{why}, so this is never true", ""
        return
    for operator, operand in matcher.items():
        where = (*path, operator)
        if operator in (*COMPARISONS, "$approx", "$regex"):
            if is_reference(operand) or is_moment(operand):
                yield from _reckoned_kind(operand, form, where)
            elif form.kinds and _kind(operand) not in form.kinds:
                yield _other_kind(operand, form, where)
        elif operator == "$in" and isinstance(operand, list):
            for index, one in enumerate(operand):
                yield from never_true(one, form, (*where, index), whose)
        elif operator == "$subset" and isinstance(operand, dict):
            yield from never_true(operand, form, where, whose)
        elif operator in ("$has", "$each") and form.kinds == {"array"}:
            yield from never_true(operand, form.items, where, whose)


def _reckoned_kind(value: JsonValue, form: ValueForm, path: Keys) -> Iterator[RuleFault]:
    """Yield a number held against what is never one, a date against what is never a text."""
    if what := _unlike(value, form):
        yield path, f"this is {what}; what it is compared with is {form.words}, so this is never true", ""


def _unlike(value: JsonValue, form: ValueForm) -> str:
    """Say what a moment, or a reference with `times` or `plus`, takes or comes to, where nothing of a form is that."""
    if not (is_moment(value) or value.keys() & ARITHMETIC):
        return ""
    is_date = is_moment(value) or isinstance(value.get("plus"), str)
    kind, what = ("string", "a date") if is_date else ("number", "a number")
    return what if form.kinds and kind not in form.kinds else ""


def unreckonable(value: JsonValue, form: ValueForm, path: Keys, whose: str) -> Iterator[RuleFault]:
    """Yield a reference that multiplies, adds to or moves what is never a number, or never a text."""
    if what := _unlike(value, form):
        yield path, f"{whose} is {form.words} here, and this takes {what}", ""


def missing_step(steps: Sequence[str], form: ValueForm, path: Keys, whose: str) -> Iterator[RuleFault]:
    """Yield the step of a reference that leads nowhere, whatever the tool gives."""
    for place, step in enumerate(steps):
        if form.lacks(step):
            yield _missing(step, form, path, whose, before=steps[:place])
            return
        form = form.at(step)


def at_steps(steps: Sequence[str], form: ValueForm) -> ValueForm:
    """Give what stands at the end of a way through what a tool gives."""
    for step in steps:
        form = form.at(step)
    return form


def _missing(key: str, form: ValueForm, path: Keys, whose: str, before: Sequence[str] = ()) -> RuleFault:
    at = f" at {'.'.join(before)}" if before else ""
    return path, f"{whose} has no {key!r}{at}; it has {listing(form.names)}", suggestion(key, form.names)


def _other_kind(value: JsonValue, form: ValueForm, path: Keys) -> RuleFault:
    message = (
        f"found {shown(value)}, {_KINDS[_kind(value)]}; what it is compared with is {form.words}, so this is never true"
    )
    return path, message, ""
