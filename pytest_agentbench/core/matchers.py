"""The grammar of matchers: argument values that stand for others, such as `{$regex: "W\\\\d+"}`.

A matcher is a mapping with one key that starts with `$`, and `tol` beside `$approx`:
`{$approx: 3.5, tol: 0.01}`, `{$regex: "W\\\\d+"}`, `{$any: true}`, `{$subset: {...}}` or `{$subset: [...]}`,
`{$call: "package.module:predicate"}`, `{$in: [...]}`, `{$not: ...}`, `{$has: ...}`, `{$each: ...}`, `{$size: 3}`; and
comparisons, of which several may stand together: `{$gte: 1, $lt: 5}`. Matchers stand at any depth of a value, and
inside those that take values.

In rules of policies, a reference such as `{$argument: order_id}` or `{$result: total}` may stand for a value, beside
which `times: 0.5` multiplies a number, and `plus: 10` or `plus: 30d` adds to a number or a date; and a moment such as
`{$today: -30d}` or `{$now: +1h}`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.core.json_values import is_count, is_number, same
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.moments import MOMENTS, is_moment, moment_misfits, moment_of, order_of, span_of
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.patterns import PatternSyntaxError, pattern

COMPARISONS = ("$lt", "$lte", "$gt", "$gte")
"""Less, at most, more, at least: of numbers with numbers, of dates with dates and of other texts with texts."""

BOUNDS: Mapping[str, str] = {"$lt": "less than", "$lte": "at most", "$gt": "more than", "$gte": "at least"}
"""What each comparison asks for, in words."""

REFERENCES = ("$argument", "$result")
"""What stands for an argument of a call, or for a part of what it gave; only rules know which call that is."""

ARITHMETIC = ("times", "plus")
"""What may stand beside a reference: a number to multiply by, and a number or span to add then."""

_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.\w+)*:\w+(\.\w+)*")
_REFERENCE = re.compile(r"\.|[^\s.]+(\.[^\s.]+)*")
_NESTING = ("$in", "$not", "$has", "$each", "$size")
_PARTNERS: Mapping[str, tuple[str, ...]] = {
    "$approx": ("tol",),
    **dict.fromkeys(("$regex", "$any", *_NESTING), ()),
    **{one: tuple(other for other in COMPARISONS if other != one) for one in COMPARISONS},
    **dict.fromkeys(("$subset", "$call"), ()),
}
"""The matchers there are, and the keys that may stand beside each."""

MATCHERS = frozenset(_PARTNERS)
"""The names of all matchers."""


def is_matcher(value: object) -> bool:
    """Whether `value` is a mapping meant as a matcher: one of its keys starts with `$`."""
    return isinstance(value, Mapping) and any(_is_operator(key) for key in value)


def holds_matcher(value: object) -> bool:
    """Whether `value` is a matcher or has one inside, at any depth."""
    if isinstance(value, Mapping):
        return is_matcher(value) or any(map(holds_matcher, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_matcher, value))


def is_reference(value: object) -> bool:
    """Whether `value` stands for a part of a call, or what is reckoned from one, as rules of policies may write it."""
    return (
        isinstance(value, Mapping)
        and len([key for key in value if key not in ARITHMETIC]) == 1
        and (any(key in REFERENCES for key in value))
    )


def holds_reference(value: object) -> bool:
    """Whether `value` is a reference or has one inside, at any depth."""
    if isinstance(value, Mapping):
        return is_reference(value) or any(map(holds_reference, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_reference, value))


def matcher_misfits(
    value: object, path: Keys = (), *, references: bool = False, impossible: bool = True
) -> Iterator[Misfit]:
    """Yield what is wrong with every matcher inside `value` that cannot work; `path` leads to the value.

    `references` says that references may stand for values; `impossible` that a matcher which nothing fits is wrong, as
    it is in a file, but not where a run has put values in for references.
    """
    yield from _Check(references, impossible).walk(value, path)


def excluding(matcher: Mapping[str, Any], *, whole_from: float | None = None) -> str:
    """Say why nothing fits all comparisons of a matcher; "" where something may, or only a run tells.

    `whole_from` says that it is held against whole numbers from there on.
    """
    bounds = [(operator, bound) for operator, bound in matcher.items() if operator in COMPARISONS]
    told = " and ".join(f"{BOUNDS[operator]} {shown(bound)}" for operator, bound in bounds)
    kinds = {"number" if is_number(one) else "text" for _, one in bounds if not is_reference(one)}
    if len(kinds) > 1:
        return f"nothing is {told}: numbers are compared with numbers, texts with texts"
    for lower, low in bounds:
        for upper, high in bounds:
            is_pair = lower in ("$gt", "$gte") and upper in ("$lt", "$lte")
            if is_pair and _are_crossed(low, high, is_strict=lower == "$gt" or upper == "$lt"):
                return f"nothing is {told}"
    if whole_from is None or kinds - {"number"}:
        return f"a whole number is not {told}" if kinds and whole_from is not None else ""
    least, most = whole_from, math.inf
    for operator, bound in bounds:
        if is_number(bound) and operator in ("$gt", "$gte"):
            least = max(least, math.floor(bound) + 1 if operator == "$gt" else math.ceil(bound))
        elif is_number(bound):
            most = min(most, math.ceil(bound) - 1 if operator == "$lt" else math.floor(bound))
    return f"no whole number{' from 0 on' if whole_from == 0 else ''} is {told}" if least > most else ""


def _are_crossed(low: Any, high: Any, *, is_strict: bool) -> bool:
    """Whether nothing lies between two bounds of a kind; of what a run puts in only the like is told."""
    if low == high:
        return is_strict
    if is_number(low) and is_number(high):
        return low > high and not same(low, high)
    if isinstance(low, str) and isinstance(high, str):
        dates = order_of(low, high)
        is_one_date = dates is None and (moment_of(low) or moment_of(high)) is not None
        return low > high and not is_one_date and dates in (None, 1)
    from_now, to_now = (span_of(next(iter(one.values()))) if is_moment(one) else None for one in (low, high))
    return from_now is not None and to_now is not None and low.keys() == high.keys() and from_now > to_now


def _is_operator(key: object) -> bool:
    return isinstance(key, str) and key.startswith("$")


class _Check:
    def __init__(self, references: bool, impossible: bool) -> None:
        self._references = references
        self._impossible = impossible

    def walk(self, value: object, path: Keys) -> Iterator[Misfit]:
        if isinstance(value, list | tuple):
            for index, item in enumerate(value):
                yield from self.walk(item, (*path, index))
        elif isinstance(value, Mapping) and not is_matcher(value):
            for key, item in value.items():
                yield from self.walk(item, (*path, str(key)))
        elif isinstance(value, Mapping):
            yield from self._matcher(value, path)

    def _matcher(self, matcher: Mapping[str, object], path: Keys) -> Iterator[Misfit]:
        operators = [key for key in matcher if _is_operator(key)]
        if self._references and operators[0] in REFERENCES:
            yield from _reference(matcher, operators[0], path)
            return
        if self._references and operators[0] in MOMENTS:
            yield from moment_misfits(matcher, path)
            return
        known = (*_PARTNERS, *((*REFERENCES, *MOMENTS) if self._references else ()))
        unknown = [operator for operator in operators if operator not in _PARTNERS]
        if unknown:
            message = f"unknown matcher {unknown[0]!r}, allowed: {listing(known)}"
            yield Misfit(path=(*path, unknown[0]), message=message, hint=suggestion(unknown[0], known), at_key=True)
            return
        operator, partners = operators[0], _PARTNERS[operators[0]]
        others = [key for key in matcher if key != operator and key not in partners]
        if others:
            allowed = (
                f"it takes only {listing(partners)} beside it" if partners else "a matcher is a mapping with one key"
            )
            message = f"{operator} has {listing(map(repr, others))} beside it: {allowed}"
            yield Misfit(path=path, message=message, hint=suggestion(str(others[0]), partners))
            return
        wrong = [misfit for each in operators for misfit in self._operand(each, matcher, path)]
        yield from wrong
        why = excluding(matcher) if self._impossible and not wrong and operator in COMPARISONS else ""
        if why:
            yield Misfit(path=path, message=f"{why}, so this never fits")

    def _operand(self, operator: str, matcher: Mapping[str, object], path: Keys) -> Iterator[Misfit]:
        operand = matcher[operator]
        where = (*path, operator)
        if self._references and _is_meant(operand, REFERENCES) and operator in (*_NESTING, *COMPARISONS, "$approx"):
            yield from self.walk(operand, where)
            return
        if self._references and _is_meant(operand, MOMENTS) and operator in COMPARISONS:
            yield from self.walk(operand, where)
            return
        if operator in ("$subset", *_NESTING):
            expected = _nested_operand(operator, operand)
            wrong = [] if expected else list(self.walk(operand, where))
            yield from wrong
            if self._impossible and not expected and not wrong:
                expected = _unfitting(operator, operand)
        elif operator == "$regex":
            expected = ""
            yield from regex_misfits(operand, where)
        else:
            expected = _plain_operand(operator, operand)
            tolerance = matcher.get("tol", 0)
            if not is_number(tolerance) or tolerance < 0:
                yield Misfit(path=(*path, "tol"), message=f"found {shown(tolerance)}, expected a number, 0 or more")
        if expected:
            yield Misfit(path=where, message=f"found {shown(operand)}, {expected}")


def _is_meant(operand: object, names: Sequence[str]) -> bool:
    """Whether a value is meant as one of these, though it may be written wrongly."""
    return isinstance(operand, Mapping) and any(name in operand for name in names)


def _nested_operand(operator: str, operand: object) -> str:
    """Say what was expected of an operand that may hold matchers itself, or nothing where it fits."""
    match operator:
        case "$subset" if not isinstance(operand, Mapping | list | tuple) or is_matcher(operand):
            return "expected a mapping or a list"
        case "$in" if not isinstance(operand, list | tuple):
            return "expected a list of values"
        case "$size" if not is_matcher(operand) and not is_count(operand):
            return "expected a whole number from 0, or a matcher"
        case _:
            return ""


def _unfitting(operator: str, operand: Any) -> str:
    """Say why nothing fits a well-formed operand that may hold matchers itself; "" where something may."""
    if operator == "$in" and not operand:
        return "which nothing is one of: expected at least one value"
    if operator == "$not" and isinstance(operand, Mapping) and "$any" in operand:
        return "which everything fits, so this never does: what is missing fits no matcher"
    if operator == "$size" and is_matcher(operand):
        if any(one in operand for one in ("$regex", "$has", "$each", "$subset")):
            return "expected a whole number from 0, or a matcher of numbers"
        if why := excluding(operand, whole_from=0):
            return f"but {why}, so this never fits"
    return ""


def _plain_operand(operator: str, operand: object) -> str:
    """Say what was expected of an operand that is a plain value, or nothing where it fits."""
    if operator == "$any":
        return "" if operand is True else "allowed: true"
    if operator == "$call":
        fits = isinstance(operand, str) and _IMPORT_PATH.fullmatch(operand)
        return "" if fits else "expected an import path package.module:name"
    if operator in COMPARISONS:
        return "" if is_number(operand) or isinstance(operand, str) else "expected a number or a text"
    return "" if is_number(operand) else "expected a number"


def _reference(matcher: Mapping[str, object], operator: str, path: Keys) -> Iterator[Misfit]:
    target = matcher[operator]
    others = [key for key in matcher if key != operator and key not in ARITHMETIC]
    if others:
        message = f"{operator} has {others[0]!r} beside it: a reference takes only {listing(ARITHMETIC)} beside it"
        yield Misfit(path=path, message=message, hint=suggestion(str(others[0]), ARITHMETIC))
    elif not isinstance(target, str) or not _REFERENCE.fullmatch(target):
        message = (
            f"found {shown(target)}, expected the way to a value, such as order_id, payment.amount or . (all of it)"
        )
        yield Misfit(path=(*path, operator), message=message)
    elif "*" in target.split("."):
        message = "'*' has no meaning here: a reference leads to one value, such as items.0.name"
        hint = "for any of several, write a matcher such as {$has: …} under where or result"
        yield Misfit(path=(*path, operator), message=message, hint=hint)
    else:
        yield from _arithmetic(matcher, path)


def _arithmetic(reference: Mapping[str, object], path: Keys) -> Iterator[Misfit]:
    factor, more = reference.get("times", 1), reference.get("plus", 0)
    if not is_number(factor):
        yield Misfit(path=(*path, "times"), message=f"found {shown(factor)}, expected a number")
    if not is_number(more) and span_of(more) is None:
        message = f"found {shown(more)}, expected a number, or a span such as 30d, -2w, 1h or 15min"
        yield Misfit(path=(*path, "plus"), message=message)
    elif "times" in reference and not is_number(more):
        message = "times makes a number, and plus moves a date: only one of them can be meant"
        yield Misfit(path=path, message=message)


def regex_misfits(operand: object, where: Keys) -> Iterator[Misfit]:
    """Yield what is wrong with a value that is to be a regular expression."""
    if not isinstance(operand, str):
        yield Misfit(path=where, message=f"found {shown(operand)}, expected a regular expression")
        return
    try:
        pattern(operand)
    except PatternSyntaxError as error:
        yield Misfit(path=where, message=f"{shown(operand)} is not a regular expression: {error}")
