"""JSON Schemas that others wrote, held against values that others wrote: every keyword comes to an end.

Nothing is ever fetched: what a schema refers to must stand in it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.json_values import JsonValue, exactness
from pytest_agentbench.core.patterns import PatternSyntaxError, pattern

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]
"""A keyword as `jsonschema` calls it: validator, value of the keyword, instance, schema; it gives errors."""

_MOST_STEPS = 100_000
"""Keywords that are looked at for one value, since definitions may double without end."""

_STEPS: ContextVar[list[int]] = ContextVar("steps")
"""How many steps are left."""


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Say why a mapping is no JSON Schema, or what it refers to that is not in it; nothing where all is well."""
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - 0.1 s to import, and few suites hold a schema

    try:
        _extended(_known(schema), _counted_keywords).check_schema(dict(schema))
        return _dangling(schema)
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path))
        return f"{f'at {place}: ' if place else ''}{error.message}"
    except RecursionError:
        return "it is nested too deeply"


def schema_misfit(value: JsonValue, schema: Mapping[str, Any]) -> str:
    """Say where a value does not fit a schema, and why; nothing where it fits.

    Raise `PatternBoundError` where a pattern of the schema, or all of it, takes too long on the value.
    """
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - as above

    try:
        with at_most_steps(_MOST_STEPS):
            error = best_match(validator_of(schema, _counted_keywords).iter_errors(value))
    except RecursionError:
        raise PatternBoundError("the JSON Schema leads too deep into the value; write it without recursion") from None
    if error is None:
        return ""
    place = ".".join(map(str, error.absolute_path))
    return f"{f'at {place}: ' if place else ''}{error.message}"


@contextmanager
def at_most_steps(most: int) -> Iterator[None]:
    """Bound the keywords that `take_step` counts within."""
    token = _STEPS.set([most])
    try:
        yield
    finally:
        _STEPS.reset(token)


def take_step() -> None:
    """Count a keyword that is looked at; raise `PatternBoundError` where there are too many."""
    left = _STEPS.get()
    left[0] -= 1
    if left[0] < 0:
        raise PatternBoundError(f"the JSON Schema takes more than {_MOST_STEPS:,} steps on the value")


def _dangling(schema: Mapping[str, Any]) -> str:
    """Say what a schema refers to that does not stand in it."""
    from referencing import Registry, Resource  # noqa: PLC0415 - as above
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415 - as above

    registry: Any = Registry()
    whole: Any = Resource.from_contents(dict(schema), default_specification=DRAFT202012)
    left = [(whole, registry.resolver_with_root(whole))]
    while left:
        one, resolver = left.pop()
        wanted = one.contents.get("$ref") if isinstance(one.contents, Mapping) else None
        if isinstance(wanted, str):
            try:
                resolver.lookup(wanted)
            except Unresolvable:
                return f"{wanted!r} leads to nothing in it, and nothing is fetched; put it under $defs"
        left += [(inner, resolver.in_subresource(inner)) for inner in one.subresources()]
    return ""


def validator_of(schema: Mapping[str, Any], keywords: Callable[[Any], dict[str, Keyword]]) -> Any:
    """Give a validator of a schema; `keywords` gives those of one of `jsonschema`'s own. Nothing is ever fetched."""
    from referencing import Registry  # noqa: PLC0415 - as above

    return _extended(_known(schema), keywords)(dict(schema), registry=Registry())


def _known(schema: Mapping[str, Any]) -> Any:
    from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415 - as above

    return validator_for(schema, default=Draft202012Validator)


@lru_cache(maxsize=16)
def _extended(known: Any, keywords: Callable[[Any], dict[str, Keyword]]) -> Any:
    from jsonschema.validators import extend  # noqa: PLC0415 - as above

    make: Any = extend
    return make(known, keywords(known))


def _counted_keywords(known: Any) -> dict[str, Keyword]:
    return {name: _counted(keyword) for name, keyword in bounded_keywords(known).items()}


def bounded_keywords(known: Any) -> dict[str, Keyword]:
    """Give the keywords of one of `jsonschema`'s validators, those whose search may not end in a way that does.

    They raise `PatternBoundError` where a pattern takes too long.
    """
    every: dict[str, Keyword] = {**known.VALIDATORS, **_BOUNDED}
    if "unevaluatedProperties" in every:
        every["unevaluatedProperties"] = _unevaluated(every["unevaluatedProperties"])
    return every


def _counted(keyword: Keyword) -> Keyword:
    def check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        take_step()
        yield from keyword(validator, wanted, instance, schema) or ()

    return check


def _pattern(_: Any, wanted: str, instance: Any, __: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _fits(wanted, instance):
        yield refusal(f"{instance!r} does not match {wanted!r}")


def _pattern_properties(validator: Any, wanted: Mapping[str, Any], instance: Any, _: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for text, schema in wanted.items():
            for key, item in instance.items():
                if _fits(text, key):
                    yield from validator.descend(item, schema, path=key, schema_path=text)


def _additional(validator: Any, wanted: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known, texts = schema.get("properties", {}), schema.get("patternProperties", {})
    others = [key for key in instance if key not in known and not any(_fits(text, key) for text in texts)]
    if isinstance(wanted, Mapping):
        for key in others:
            yield from validator.descend(instance[key], wanted, path=key)
    elif not wanted and others:
        yield refusal(f"Additional properties are not allowed ({', '.join(map(repr, others))})")


def _unevaluated(keyword: Keyword) -> Keyword:
    """Refuse what `jsonschema` decides by patterns of its own, whose search may not end."""

    def check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if _holds(validator._resolver.lookup("#").contents, "patternProperties"):
            raise PatternBoundError("unevaluatedProperties beside patternProperties has no bound; write one of them")
        yield from keyword(validator, wanted, instance, schema) or ()

    return check


def _holds(value: Any, key: str) -> bool:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            if key in one:
                return True
            left += one.values()
        elif isinstance(one, list):
            left += one
    return False


def _unique(_: Any, wanted: Any, instance: Any, __: Any) -> Iterator[Any]:
    if wanted and isinstance(instance, list) and len(set(map(exactness, instance))) < len(instance):
        yield refusal("a list with a repeated item")


def refusal(message: str) -> Any:
    """Give what a keyword yields where a value does not fit."""
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 - as above

    return ValidationError(message)


def _fits(wanted: str, text: str) -> bool:
    try:
        return pattern(wanted).search(text)
    except PatternSyntaxError:  # one of another dialect says nothing here
        return True


_BOUNDED: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "uniqueItems": _unique,
}
"""Keywords whose own way in `jsonschema` may not come to an end."""
