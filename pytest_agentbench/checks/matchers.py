"""Whether an argument value is the expected one: equality after JSON normalisation, or a matcher.

Matchers are mappings with one key that starts with `$` (and `tol` beside `$approx`):
`{$approx: 3.5, tol: 0.01}`, `{$regex: "W\\d+"}` (full match), `{$any: true}`, `{$subset: {...}}`,
`{$call: "package.module:predicate"}`. In code, a callable stands for itself. Matchers nest.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_agentbench.checks.pairing import maximum_matching
from pytest_agentbench.core.errors import CheckError
from pytest_agentbench.core.values import JsonValue, same, to_json

Resolver = Callable[[str], Callable[[JsonValue], object]]
"""Gives the predicate behind an import path such as `package.module:name`."""

RELATIVE_TOLERANCE = 1e-6
"""Tolerance of `$approx` without `tol`, relative to the expected number (pytest.approx has the same)."""

KNOWN = ("$any", "$approx", "$call", "$regex", "$subset")
"""The matchers there are."""


def matches(expected: object, actual: object, resolve: Resolver | None = None) -> bool:
    """Whether `actual` is what `expected` asks for: 1 is 1.0, "1" is not 1, list order counts.

    Raise `ValueError` on a matcher that is not well-formed and `CheckError` on a predicate that raises.
    """
    return _matches(expected, to_json(actual), resolve)


def problems_in(value: object, where: str = "") -> list[str]:
    """Say everything that is wrong with the matchers inside `value`, one sentence each; `where` leads to the value."""
    if isinstance(value, Mapping):
        if is_matcher(value):
            return _matcher_problems(value, where)
        return [text for key, item in value.items() for text in problems_in(item, f"{where}.{key}" if where else key)]
    if isinstance(value, list | tuple):
        return [text for index, item in enumerate(value) for text in problems_in(item, f"{where}[{index}]")]
    return []


def is_matcher(value: object) -> bool:
    """Whether `value` is a mapping meant as a matcher: one of its keys starts with `$`."""
    return isinstance(value, Mapping) and any(isinstance(key, str) and key.startswith("$") for key in value)


def _matches(expected: object, actual: JsonValue, resolve: Resolver | None) -> bool:
    if callable(expected):
        return _ask(expected, getattr(expected, "__qualname__", "the predicate"), actual)
    if isinstance(expected, Mapping):
        if is_matcher(expected):
            return _matcher_holds(expected, actual, resolve)
        wanted = {_key(key): item for key, item in expected.items()}
        return (
            isinstance(actual, dict)
            and wanted.keys() == actual.keys()
            and all(_matches(item, actual[key], resolve) for key, item in wanted.items())
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, list)
            and len(expected) == len(actual)
            and all(_matches(left, right, resolve) for left, right in zip(expected, actual, strict=True))
        )
    return same(to_json(expected), actual)


def _matcher_holds(matcher: Mapping[str, Any], actual: JsonValue, resolve: Resolver | None) -> bool:
    problems = _matcher_problems(matcher, "")
    if problems:
        raise ValueError("; ".join(problems))
    if "$any" in matcher:
        return True
    if "$approx" in matcher:
        return _is_close(matcher["$approx"], actual, matcher.get("tol"))
    if "$regex" in matcher:
        return isinstance(actual, str) and re.fullmatch(matcher["$regex"], actual) is not None
    if "$subset" in matcher:
        return _holds_subset(matcher["$subset"], actual, resolve)
    path: str = matcher["$call"]
    if resolve is None:
        raise ValueError(f"$call {path!r}: import paths cannot be resolved here; pass a callable instead")
    return _ask(resolve(path), path, actual)


def _is_close(expected: float, actual: JsonValue, tolerance: float | None) -> bool:
    if not _is_number(actual):
        return False
    if tolerance is None:
        return math.isclose(expected, actual, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)
    # 0.1 + 0.2 lies within 0.1 of 0.2: the limit itself is inside whatever the last bit says
    return bool(abs(expected - actual) <= tolerance + 1e-12 * max(1.0, abs(expected)))


def _holds_subset(expected: object, actual: JsonValue, resolve: Resolver | None) -> bool:
    """A mapping holds each named key with a matching value; a list holds a different match for each item."""
    if isinstance(expected, Mapping):
        return isinstance(actual, dict) and all(
            _key(key) in actual and _matches(item, actual[_key(key)], resolve) for key, item in expected.items()
        )
    if not isinstance(actual, list) or not isinstance(expected, list | tuple):
        return False
    edges = [[place for place, found in enumerate(actual) if _matches(item, found, resolve)] for item in expected]
    return len(maximum_matching([edges])) == len(expected)


def _ask(predicate: Callable[..., object], name: str, actual: JsonValue) -> bool:
    try:
        return bool(predicate(actual))
    except Exception as error:  # a predicate of the user may raise anything
        raise CheckError(f"the predicate {name} raised {type(error).__name__} on {actual!r}") from error


def _key(key: object) -> str:
    return key if isinstance(key, str) else str(to_json(key))


def _matcher_problems(matcher: Mapping[Any, Any], where: str) -> list[str]:
    place = f"{where}: " if where else ""
    names = [key for key in matcher if isinstance(key, str) and key.startswith("$")]
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        return [f"{place}unknown matcher {name!r}; there are {', '.join(KNOWN)}" for name in unknown]
    if len(names) > 1:
        return [f"{place}one matcher at a time, found {' and '.join(names)}"]
    name = names[0]
    others = [key for key in matcher if key != name and not (name == "$approx" and key == "tol")]
    found = [f"{place}{name} takes no key {key!r} beside it" for key in others]
    return (
        found + [f"{place}{text}" for text in _value_problems(name, matcher)] + _nested_problems(name, matcher, where)
    )


def _value_problems(name: str, matcher: Mapping[str, Any]) -> list[str]:
    value = matcher[name]
    match name:
        case "$any":
            return [] if value is True else [f"$any takes true, found {value!r}"]
        case "$approx":
            wrong = [] if _is_number(value) else [f"$approx takes a number, found {value!r}"]
            tolerance = matcher.get("tol", 0)
            if not _is_number(tolerance) or tolerance < 0:
                wrong.append(f"tol takes a number that is not negative, found {tolerance!r}")
            return wrong
        case "$regex":
            return _regex_problems(value)
        case "$subset":
            fits = isinstance(value, Mapping | list | tuple) and not is_matcher(value)
            return [] if fits else [f"$subset takes a mapping or a list, found {value!r}"]
        case _:
            fits = isinstance(value, str) and re.fullmatch(r"[^\W\d]\w*(\.\w+)*:\w+(\.\w+)*", value) is not None
            return [] if fits else [f"$call takes an import path 'package.module:name', found {value!r}"]


def _nested_problems(name: str, matcher: Mapping[str, Any], where: str) -> list[str]:
    if name != "$subset" or is_matcher(matcher[name]):
        return []
    return problems_in(matcher[name], f"{where}.$subset" if where else "$subset")


def _regex_problems(value: object) -> list[str]:
    if not isinstance(value, str):
        return [f"$regex takes a text, found {value!r}"]
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        return [f"$regex {value!r} is not a regular expression: {error}"]
    return []


def _is_number(value: object) -> bool:
    """Whether `value` is a number that a float can hold, infinities and NaN apart."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
