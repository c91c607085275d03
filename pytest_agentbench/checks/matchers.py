"""Whether an argument value is the expected one: equality after JSON normalisation, or a matcher.

In code, a callable stands for itself.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from pytest_agentbench.checks.pairing import maximum_matching
from pytest_agentbench.core.errors import CheckError
from pytest_agentbench.core.matchers import COMPARISONS, is_matcher, matcher_misfits
from pytest_agentbench.core.moments import order_of
from pytest_agentbench.core.patterns import pattern
from pytest_agentbench.core.values import JsonValue, is_number, same, to_json

Resolver = Callable[[str], Callable[[JsonValue], object]]
"""Gives the predicate behind an import path such as `package.module:name`."""

RELATIVE_TOLERANCE = 1e-6
"""Tolerance of `$approx` without `tol`, relative to the expected number (pytest.approx has the same)."""


def matches(expected: object, actual: object, resolve: Resolver | None = None) -> bool:
    """Whether `actual` is what `expected` asks for: 1 is 1.0, "1" is not 1, list order counts.

    Raise `ValueError` on a matcher that is not well-formed and `CheckError` on a predicate that raises.
    """
    return _matches(expected, to_json(actual), resolve)


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
    wrong = list(matcher_misfits(matcher))
    if wrong:
        raise ValueError("; ".join(map(str, wrong)))
    if "$any" in matcher:
        return True
    if "$approx" in matcher:
        return _is_close(matcher["$approx"], actual, matcher.get("tol"))
    if "$regex" in matcher:
        return isinstance(actual, str) and pattern(matcher["$regex"]).fullmatch(actual)
    if "$subset" in matcher:
        return _holds_subset(matcher["$subset"], actual, resolve)
    if any(operator in matcher for operator in COMPARISONS):
        return all(_compares(operator, actual, bound) for operator, bound in matcher.items())
    if "$call" not in matcher:
        return _nested_holds(matcher, actual, resolve)
    path: str = matcher["$call"]
    if resolve is None:
        raise ValueError(f"$call {path!r}: import paths cannot be resolved here; pass a callable instead")
    return _ask(resolve(path), path, actual)


def _nested_holds(matcher: Mapping[str, Any], actual: JsonValue, resolve: Resolver | None) -> bool:
    ((operator, operand),) = matcher.items()
    match operator:
        case "$in":
            return any(_matches(one, actual, resolve) for one in operand)
        case "$not":
            return not _matches(operand, actual, resolve)
        case "$has":
            return isinstance(actual, list | dict) and any(_matches(operand, one, resolve) for one in actual)
        case "$each":
            return isinstance(actual, list) and all(_matches(operand, one, resolve) for one in actual)
        case _:
            return isinstance(actual, list | dict | str) and _matches(operand, len(actual), resolve)


def _compares(operator: str, actual: JsonValue, bound: float | str) -> bool:
    """Compare numbers with numbers, dates with dates and other texts with texts; any other pair does not fit."""
    if isinstance(actual, str) and isinstance(bound, str):
        of_dates = order_of(actual, bound)
        order = (actual > bound) - (actual < bound) if of_dates is None else of_dates
    elif is_number(actual) and is_number(bound):
        order = 0 if same(actual, bound) else 1 if actual > bound else -1
    else:
        return False
    return {"$lt": order < 0, "$lte": order <= 0, "$gt": order > 0}.get(operator, order >= 0)


def _is_close(expected: float, actual: JsonValue, tolerance: float | None) -> bool:
    if not is_number(actual):
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
