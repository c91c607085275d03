"""Expected arguments held against the JSON Schema of their tool, by `jsonschema`; matchers fit anything.

A schema is somebody else's: what in it is no schema, leads nowhere or takes too long to decide allows anything, and
nothing is ever fetched.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

from pytest_agentbench.core.json_schema import (
    Keyword,
    at_most_steps,
    bounded_keywords,
    refusal,
    take_step,
    validator_of,
)
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.matchers import MATCHERS, holds_matcher, is_matcher
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.text import printable, shorten

_MOST_STEPS = 50_000
"""Keywords that are looked at for one argument, since definitions may double without end; patterns cost more."""

_WHOLE = ("enum", "const", "uniqueItems", "contains", "not", "if", "oneOf", "dependentSchemas")
"""Keywords that say nothing of a value with a matcher inside."""

_ARTICLES = {"array": "a list", "object": "a mapping", "integer": "an integer", "null": "null"}
_FORMATS: dict[str, tuple[Callable[[str], object], str]] = {
    "date": (date.fromisoformat, "a date such as 2024-05-15"),
    "date-time": (datetime.fromisoformat, "a time such as 2024-05-15T10:30:00Z"),
    "time": (time.fromisoformat, "a time of day such as 10:30:00"),
    "email": (lambda text: text.index("@"), "an e-mail address"),
    "uuid": (UUID, "a UUID"),
    "ipv4": (IPv4Address, "an IPv4 address"),
    "ipv6": (IPv6Address, "an IPv6 address"),
}
"""Formats that are checked, as widely as tools read them, and what is expected then."""

_EXPECTED = {
    "minimum": "a number of at least {}",
    "maximum": "a number of at most {}",
    "exclusiveMinimum": "a number above {}",
    "exclusiveMaximum": "a number below {}",
    "multipleOf": "a multiple of {}",
    "pattern": "a text with the pattern {}",
    "uniqueItems": "a list without repeated items",
}
_COUNTED = {
    "minLength": "a text of at least {} character",
    "maxLength": "a text of at most {} character",
    "minItems": "a list of at least {} item",
    "maxItems": "a list of at most {} item",
    "minProperties": "a mapping with at least {} key",
    "maxProperties": "a mapping with at most {} key",
}
_TYPES: dict[object, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_NOTES = frozenset({"type", "title", "description", "default", "examples"})
"""Keywords that refuse nothing, beside a type."""

_UNIONS = ("anyOf", "oneOf")
_PLAIN = ("type", "enum", "const")


def argument_misfits(arguments: Mapping[str, object], parameters: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield what in the arguments of an expected call the schema of the tool's parameters refuses.

    Paths start at the arguments. Arguments may be left out, and keys that the schema does not know are told elsewhere.
    """
    for name, value in arguments.items():
        schema = _schema_of(name, parameters)
        if schema is not None and not _fits_plainly(value, schema):
            for misfit in dict.fromkeys(_misfits(to_json(value), schema, parameters)):
                yield replace(misfit, path=(name, *misfit.path))


def _schema_of(name: str, parameters: Mapping[str, Any]) -> object:
    """Give the schema of an argument, None where there is none."""
    properties = parameters.get("properties")
    if isinstance(properties, Mapping) and name in properties:
        return properties[name]
    others = parameters.get("additionalProperties")
    return others if isinstance(others, Mapping) else None


def _fits_plainly(value: object, schema: object) -> bool:
    """Whether a schema asks for nothing but the type that a plain value has, as most do: `jsonschema` is not needed."""
    if not isinstance(schema, dict) or not isinstance(wanted := schema.get("type"), str):
        return False
    return type(value) in _TYPES.get(wanted, ()) and schema.keys() <= _NOTES


def _misfits(value: object, schema: object, parameters: Mapping[str, Any]) -> list[Misfit]:
    try:
        with at_most_steps(_MOST_STEPS):
            return [
                misfit for error in validator_of(parameters, _lenient).descend(value, schema) for misfit in _told(error)
            ]
    except Exception:  # noqa: BLE001 - `jsonschema` raises whatever comes to it where a schema is none
        return []


def _lenient(known: Any) -> dict[str, Keyword]:
    """Give the keywords of a validator that let matchers pass, and come to an end."""
    own: dict[str, Keyword] = {
        "format": _format,
        "exclusiveMinimum": _exclusive(known.VALIDATORS["exclusiveMinimum"], "minimum"),
        "exclusiveMaximum": _exclusive(known.VALIDATORS["exclusiveMaximum"], "maximum"),
    }
    every = {**bounded_keywords(known), **own}
    return {name: _bounded(name, keyword) for name, keyword in every.items()}


def _bounded(name: str, keyword: Keyword) -> Keyword:
    def check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        take_step()
        if is_matcher(instance) or (name in _WHOLE and holds_matcher(instance)):
            return
        if name == "enum" and not isinstance(wanted, list):
            return
        if instance is None and schema.get("nullable") is True:  # OpenAPI 3.0
            return
        yield from keyword(validator, wanted, instance, schema) or ()

    return check


def _format(_: Any, wanted: str, instance: Any, __: Any) -> Iterator[Any]:
    if isinstance(instance, str) and wanted in _FORMATS:
        try:
            _FORMATS[wanted][0](instance)
        except ValueError:
            yield refusal("format")


def _exclusive(keyword: Keyword, bound: str) -> Keyword:
    """Read `exclusiveMinimum: true` beside a minimum as OpenAPI 3.0 does."""

    def check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(wanted, bool):
            yield from keyword(validator, wanted, instance, schema) or ()
        elif wanted and bound in schema and instance == schema[bound]:
            yield refusal(bound)

    return check


def _told(error: Any) -> Iterator[Misfit]:
    """Say what an error of `jsonschema` means: what was found, what is allowed."""
    path: Keys = tuple(error.absolute_path)
    found, wanted = shown(error.instance), error.validator_value
    match error.validator:
        case "anyOf" | "oneOf" if error.context:
            yield from _none_of(error)
        case "required":
            missing = [repr(name) for name in wanted if name not in error.instance]
            yield Misfit(path=path, message=f"found {found}, which lacks {listing(missing)}")
        case "additionalProperties" if wanted is False:
            known = list(error.schema.get("properties", {}))
            allowed = listing(known) or "none"
            for key in [key for key in error.instance if key not in known]:
                message = f"there is no key {key!r}, allowed: {allowed}"
                yield Misfit(path=(*path, key), message=message, hint=suggestion(key, known), at_key=True)
        case _:
            allowed = " or ".join(_allowed(error))
            if not allowed:
                refused = shorten(printable(error.message), 160)
                yield Misfit(path=path, message=f"found {found}, which the schema of the tool refuses: {refused}")
                return
            yield Misfit(path=path, message=f"found {found}, expected {allowed}", hint=_hint(error.instance, [error]))


def _none_of(error: Any) -> Iterator[Misfit]:
    """Tell what all ways of a union allow, or what is wrong with the way whose type the value has."""
    leaves = list(_leaves(error))
    if all(leaf.validator in _PLAIN and leaf.absolute_path == error.absolute_path for leaf in leaves):
        allowed = " or ".join(dict.fromkeys(text for leaf in leaves for text in _allowed(leaf)))
        hint = _hint(error.instance, leaves)
        yield Misfit(
            path=tuple(error.absolute_path), message=f"found {shown(error.instance)}, expected {allowed}", hint=hint
        )
        return
    ways: dict[object, list[Any]] = {}
    for one in error.context:
        ways.setdefault(one.schema_path[0], []).append(one)
    near = [
        several
        for several in ways.values()
        if not any(one.validator in _PLAIN and one.absolute_path == error.absolute_path for one in several)
    ]
    for one in min(near or ways.values(), key=len):
        yield from _told(one)


def _leaves(error: Any) -> Iterator[Any]:
    for one in error.context:
        if one.validator in _UNIONS and one.context:
            yield from _leaves(one)
        else:
            yield one


def _allowed(error: Any) -> list[str]:
    """Say what a keyword allows; [] where its own words say it best."""
    wanted = error.validator_value
    match error.validator:
        case "type":
            names = [wanted] if isinstance(wanted, str) else wanted
            return [_ARTICLES.get(name, f"a {name}") for name in names]
        case "enum":
            return [f"one of {listing(map(repr, wanted))}"]
        case "const":
            return [repr(wanted)]
        case "format":
            return [_FORMATS[wanted][1]]
        case "exclusiveMinimum" | "exclusiveMaximum" if isinstance(wanted, bool):
            bound = "minimum" if error.validator == "exclusiveMinimum" else "maximum"
            return [_EXPECTED[error.validator].format(error.schema[bound])]
    if error.validator in _COUNTED:
        return [_COUNTED[error.validator].format(wanted) + ("s" if wanted != 1 else "")]
    text = _EXPECTED.get(error.validator, "")
    return [text.format(shorten(printable(str(wanted)), 80))] if text else []


def _hint(value: object, errors: list[Any]) -> str:
    allowed = {text for error in errors for text in _allowed(error)}
    if allowed == {"a string"} and isinstance(value, int | float) and not isinstance(value, bool):
        return f"put it in quotes: '{value}'"
    if isinstance(value, dict) and len(value) == 1 and (meant := f"${next(iter(value))}") in MATCHERS:
        return f"a matcher begins with $: {meant}"
    if not isinstance(value, str):
        return ""
    choices = [one for error in errors if error.validator == "enum" for one in error.validator_value]
    return suggestion(value, [one for one in choices if isinstance(one, str)])
