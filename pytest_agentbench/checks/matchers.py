"""Whether an argument value is the expected one: equality after JSON normalisation, or a matcher.

In code, a callable stands for itself. What cannot be told is a `Doubt`, as references in rules of policies may lead to
nothing (`core.expression.every`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.checks.maximum_matching import maximum_matching
from pytest_agentbench.core.errors import CheckError
from pytest_agentbench.core.expression import every, opposite, some
from pytest_agentbench.core.json_values import JsonValue, is_number, same, to_json
from pytest_agentbench.core.matchers import COMPARISONS, is_matcher, matcher_misfits
from pytest_agentbench.core.moments import order_of
from pytest_agentbench.core.patterns import pattern

Resolver = Callable[[str], Callable[[JsonValue], object]]
"""Gives the predicate behind an import path such as `package.module:name`."""

RELATIVE_TOLERANCE = 1e-6
"""Tolerance of `$approx` without `tol`, relative to the expected number (pytest.approx has the same)."""


@dataclass(frozen=True)
class Doubt:
    """Why nobody can tell whether something is as a rule says, and what to do about it."""

    why: str
    cure: str


Truth = bool | Doubt
"""Whether something holds, or why nobody can tell."""


def matches(expected: object, actual: object, resolve: Resolver | None = None) -> bool:
    """Whether `actual` is what `expected` asks for: 1 is 1.0, "1" is not 1, list order counts.

    Raise `ValueError` on a matcher that is not well-formed and `CheckError` on a predicate that raises.
    """
    return Matcher(resolve).holds(expected, to_json(actual)) is True


class Matcher:
    """Holds values against expected ones; `resolve` leads from import paths to predicates."""

    def __init__(self, resolve: Resolver | None = None) -> None:
        self._resolve = resolve

    def holds(self, expected: object, actual: JsonValue) -> Truth:
        """Whether a value is the expected one."""
        if callable(expected):
            return _ask(expected, getattr(expected, "__qualname__", "the predicate"), actual)
        if isinstance(expected, Mapping):
            if is_matcher(expected):
                return self.matcher_holds(expected, actual)
            return self.mapping_holds(expected, actual)
        if isinstance(expected, list | tuple):
            if not isinstance(actual, list) or len(expected) != len(actual):
                return False
            return every(self.holds(left, right) for left, right in zip(expected, actual, strict=True))
        return same(to_json(expected), actual)

    def mapping_holds(self, expected: Mapping[Any, Any], actual: JsonValue) -> Truth:
        """Whether a value is a mapping with exactly these keys, each with a matching value."""
        return len(expected) == len(actual) and self._subset(expected, actual) if isinstance(actual, dict) else False

    def matcher_holds(self, matcher: Mapping[str, Any], actual: JsonValue) -> Truth:
        """Whether a value is what a matcher asks for."""
        wrong = list(matcher_misfits(matcher, impossible=False))
        if wrong:
            raise ValueError("; ".join(map(str, wrong)))
        if any(operator in matcher for operator in COMPARISONS):
            return every(self.compares(operator, actual, bound) for operator, bound in matcher.items())
        operator = next(key for key in matcher if key.startswith("$"))
        return self._operator_holds(operator, matcher[operator], actual, matcher.get("tol"))

    def compares(self, operator: str, actual: JsonValue, bound: Any) -> Truth:
        """Compare numbers with numbers, dates with dates and other texts with texts; any other pair does not fit."""
        if isinstance(actual, str) and isinstance(bound, str):
            of_dates = order_of(actual, bound)
            order = (actual > bound) - (actual < bound) if of_dates is None else of_dates
        elif is_number(actual) and is_number(bound):
            order = 0 if same(actual, bound) else 1 if actual > bound else -1
        else:
            return False
        return is_in_order(operator, order)

    def _operator_holds(self, operator: str, operand: Any, actual: JsonValue, tol: float | None) -> Truth:
        match operator:
            case "$any":
                return True
            case "$approx":
                return _is_close(operand, actual, tol)
            case "$regex":
                return isinstance(actual, str) and pattern(operand).fullmatch(actual)
            case "$subset":
                return self._subset(operand, actual)
            case "$in":
                return some(self.holds(one, actual) for one in operand)
            case "$not":
                return opposite(self.holds(operand, actual))
            case "$has":
                return isinstance(actual, list | dict) and some(self.holds(operand, one) for one in actual)
            case "$each":
                return isinstance(actual, list) and every(self.holds(operand, one) for one in actual)
            case "$size":
                return isinstance(actual, list | dict | str) and self.holds(operand, len(actual))
            case _:
                return _ask(self._predicate(operand), operand, actual)

    def _predicate(self, path: str) -> Callable[[JsonValue], object]:
        if self._resolve is None:
            raise ValueError(f"$call {path!r}: import paths cannot be resolved here; pass a callable instead")
        return self._resolve(path)

    def _subset(self, expected: object, actual: JsonValue) -> Truth:
        """A mapping holds each named key with a matching value; a list holds a different match for each item."""
        if isinstance(expected, Mapping):
            wanted = {key if isinstance(key, str) else str(to_json(key)): item for key, item in expected.items()}
            if not isinstance(actual, dict) or not wanted.keys() <= actual.keys():
                return False
            return every(self.holds(item, actual[key]) for key, item in wanted.items())
        if not isinstance(actual, list) or not isinstance(expected, list | tuple):
            return False
        known = [[self.holds(item, found) for found in actual] for item in expected]
        sure, possible = (
            [
                [place for place, holds in enumerate(row) if holds is True or (holds is not False and unsure)]
                for row in known
            ]
            for unsure in (False, True)
        )
        if len(maximum_matching([sure])) == len(expected):
            return True
        doubts = (holds for row in known for holds in row if isinstance(holds, Doubt))
        return len(maximum_matching([possible])) == len(expected) and next(doubts)


def is_in_order(operator: str, order: int) -> bool:
    """Whether -1, 0 or 1 is how `$lt`, `$lte`, `$gt` or `$gte` asks two values to compare."""
    return {"$lt": order < 0, "$lte": order <= 0, "$gt": order > 0}.get(operator, order >= 0)


def _is_close(expected: float, actual: JsonValue, tolerance: float | None) -> bool:
    if not is_number(actual):
        return False
    if tolerance is None:
        return math.isclose(expected, actual, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)
    # 0.1 + 0.2 lies within 0.1 of 0.2: the limit itself is inside whatever the last bit says
    return bool(abs(expected - actual) <= tolerance + 1e-12 * max(1.0, abs(expected)))


def _ask(predicate: Callable[..., object], name: str, actual: JsonValue) -> bool:
    try:
        return bool(predicate(actual))
    except Exception as error:  # a predicate of the user may raise anything
        raise CheckError(f"the predicate {name} raised {type(error).__name__} on {actual!r}") from error
