"""JSON Schemas that others wrote, held against values that others wrote: patterns in them come to an end."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pytest_agentbench.core.patterns import PatternSyntaxError, pattern
from pytest_agentbench.core.values import JsonValue


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Say why a mapping is no JSON Schema, nothing where it is one."""
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - 0.1 s to import, and few suites hold a schema

    try:
        _validator(schema).check_schema(dict(schema))
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path))
        return f"{f'at {place}: ' if place else ''}{error.message}"
    return ""


def schema_misfit(value: JsonValue, schema: Mapping[str, Any]) -> str:
    """Say where a value does not fit a schema, and why; nothing where it fits.

    Raise `PatternBoundError` where a pattern of the schema takes too long on a text.
    """
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - as above

    error = best_match(_validator(schema)(dict(schema)).iter_errors(value))
    if error is None:
        return ""
    place = ".".join(map(str, error.absolute_path))
    return f"{f'at {place}: ' if place else ''}{error.message}"


def _validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415 - as above

    return _with_bounds(validator_for(schema, default=Draft202012Validator))


@lru_cache(maxsize=8)
def _with_bounds(known: Any) -> Any:
    from jsonschema.validators import extend  # noqa: PLC0415 - as above

    make: Any = extend
    return make(known, {"pattern": _pattern, "patternProperties": _pattern_properties})


def _pattern(_: Any, wanted: str, instance: Any, __: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 - as above

    if isinstance(instance, str) and not _fits(wanted, instance):
        yield ValidationError(f"{instance!r} does not match {wanted!r}")


def _pattern_properties(validator: Any, wanted: Mapping[str, Any], instance: Any, _: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for text, schema in wanted.items():
            for key, item in instance.items():
                if _fits(text, key):
                    yield from validator.descend(item, schema, path=key, schema_path=text)


def _fits(wanted: str, text: str) -> bool:
    try:
        return pattern(wanted).search(text)
    except PatternSyntaxError:  # one of another dialect says nothing here
        return True
