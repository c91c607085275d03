"""Expressions over the metrics of a run, such as `strict_recall >= 0.9 and tool_errors == 0`.

The grammar: comparisons (`>=`, `>`, `<=`, `<`, `==`, `!=`) of metric names and numbers, joined by `and`, `or`, `not`
and parentheses. What is not measured makes a comparison undecided, and undecided parts decide nothing: all, any and
not are those of Kleene's three-valued logic.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import TypeVar

from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.python_source import parsed

METRICS = (
    "name_recall",
    "strict_recall",
    "complete",
    "tool_errors",
    "errors_then_retried",
    "calls_ratio",
    "tool_calls",
    "agent_turns",
    "redundant_calls",
    "coherence",
    "echo_rate",
    "finished",
)
"""The names that may stand in an expression; `finished` is 1 for a run that ended FINISHED, else 0."""

_LONGEST = 500
_ROUNDING = 1e-9

_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.GtE: lambda left, right: left >= right - _ROUNDING,
    ast.Gt: lambda left, right: left > right + _ROUNDING,
    ast.LtE: lambda left, right: left <= right + _ROUNDING,
    ast.Lt: lambda left, right: left < right - _ROUNDING,
    ast.Eq: lambda left, right: abs(left - right) <= _ROUNDING,
    ast.NotEq: lambda left, right: abs(left - right) > _ROUNDING,
}

_EXAMPLE = "write it like `strict_recall >= 0.9 and tool_errors == 0`"


def check_expression(text: str) -> None:
    """Raise `ValueError` saying what was found, what is allowed and what to write, unless `text` is an expression."""
    holds(text, dict.fromkeys(METRICS))


def holds(text: str, values: Mapping[str, float | None]) -> bool | None:
    """Whether the expression is true of these values, None where what is not measured decides.

    Raise `ValueError` for a text that is no expression.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"the expression has {len(text)} characters, allowed: {_LONGEST}")
    try:
        tree = parsed(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is no expression: {error}; {_EXAMPLE}") from None
    return _truth(tree, values)


def _truth(node: ast.expr, values: Mapping[str, float | None]) -> bool | None:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return every([_truth(part, values) for part in parts])
        case ast.BoolOp(op=ast.Or(), values=parts):
            return some([_truth(part, values) for part in parts])
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return opposite(_truth(part, values))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            numbers = [_number(part, values) for part in (left, *rest)]
            return every([_compared(op, *pair) for op, pair in zip(ops, pairwise(numbers), strict=True)])
        case ast.Name(id=name):
            _number(node, values)
            raise ValueError(f"{name!r} is no comparison; compare it, as in `{name} == 1`")
    raise ValueError(f"{ast.unparse(node)!r} is no comparison; {_EXAMPLE}")


def _number(node: ast.expr, values: Mapping[str, float | None]) -> float | None:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=part):
            value = _number(part, values)
            return None if value is None else -value
        case ast.Name(id=name):
            if name not in METRICS:
                hint = suggestion(name, METRICS) or f"allowed: {listing(METRICS)}"
                raise ValueError(f"there is no metric {name!r} ({hint})")
            return values.get(name)
    raise ValueError(f"{ast.unparse(node)!r} is neither a metric nor a number; {_EXAMPLE}")


def _compared(op: ast.cmpop, left: float | None, right: float | None) -> bool | None:
    if type(op) not in _COMPARISONS:
        raise ValueError(f"comparing with {type(op).__name__!r} is not possible, allowed: >=, >, <=, <, ==, !=")
    return None if left is None or right is None else _COMPARISONS[type(op)](left, right)


U = TypeVar("U")


def every(known: Iterable[bool | U]) -> bool | U:
    """Whether all hold: one that does not decides, then the first that is not known."""
    unsure: list[bool | U] = []
    for one in known:
        if one is False:
            return False
        unsure += [] if one is True else [one]
    return unsure[0] if unsure else True


def some(known: Iterable[bool | U]) -> bool | U:
    """Whether one holds: one that does decides, then the first that is not known."""
    return opposite(every([opposite(one) for one in known]))


def opposite(known: bool | U) -> bool | U:
    """Turn what is known round."""
    return not known if isinstance(known, bool) else known
