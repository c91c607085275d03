"""What references of rules lead to: a value of a call, or an amount or date reckoned from one, exactly."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from pytest_agentbench.checks.matchers import is_in_order
from pytest_agentbench.core.matchers import ARITHMETIC, REFERENCES
from pytest_agentbench.core.moments import moved, span_of
from pytest_agentbench.core.values import JsonValue, is_number, to_json

CENTS = 2
"""Decimals to which reckoned amounts are compared, or more where what they are reckoned from has more."""

_EXACT = Context(prec=20_000, rounding=ROUND_HALF_UP)
"""More digits than any number of a message or a file has."""


class NotThereError(LookupError):
    """A reference leads to nothing in this run."""


class UnreckonedError(NotThereError):
    """What a reference leads to is missing or of another kind, so that nobody can reckon or compare with it."""


@dataclass(frozen=True)
class Amount:
    """A reckoned number, exactly, and the decimals to which others are compared with it."""

    exact: Decimal
    places: int
    is_whole: bool = False

    @property
    def number(self) -> float:
        """The amount as a number, infinite where it is too large for one."""
        return int(self.exact) if self.is_whole else float(self.exact)

    def is_within(self, operator: str, actual: JsonValue) -> bool:
        """Whether a value is a number that compares with the amount, both rounded half up, as `$lt`, … asks."""
        if not is_number(actual):
            return False
        number, amount = _rounded(_decimal(actual), self.places), _rounded(self.exact, self.places)
        return is_in_order(operator, (number > amount) - (number < amount))


def is_reckoned(reference: Mapping[str, Any]) -> bool:
    """Whether a reference reckons from what it leads to, and does not stand for it as it is."""
    return bool(reference.keys() & ARITHMETIC)


def path_of(reference: Mapping[str, Any]) -> str:
    """Give the way that a reference takes through the arguments or the result."""
    return next(str(path) for key, path in reference.items() if key in REFERENCES)


def value_at(reference: Mapping[str, Any], arguments: Mapping[str, Any], given: Callable[[], JsonValue]) -> JsonValue:
    """Give what a reference leads to as it is; raise `NotThereError` where there is nothing."""
    path = path_of(reference)
    found = to_json(arguments) if "$argument" in reference else given()
    for step in [] if path == "." else path.split("."):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            raise NotThereError
    return found


def led_to(reference: Mapping[str, Any], arguments: Mapping[str, Any], given: Callable[[], JsonValue]) -> JsonValue:
    """Give what a reference stands for in a call and what it gave; raise `NotThereError` where there is nothing."""
    found = reckoned(reference, arguments, given)
    return found.number if isinstance(found, Amount) else found


def reckoned(reference: Mapping[str, Any], arguments: Mapping[str, Any], given: Callable[[], JsonValue]) -> Any:
    """Give what a reference stands for, a reckoned number as an `Amount`.

    Raise `NotThereError` where there is nothing, and `UnreckonedError` where nothing can be reckoned from it.
    """
    if not is_reckoned(reference):
        return value_at(reference, arguments, given)
    try:
        found = value_at(reference, arguments, given)
    except NotThereError:
        raise UnreckonedError from None
    factor, more = reference.get("times", 1), reference.get("plus", 0)
    reached: Any = None
    if isinstance(more, str):
        span = span_of(more)
        reached = moved(found, span) if span is not None and isinstance(found, str) else None
    elif is_number(found):
        exact = _EXACT.add(_EXACT.multiply(_decimal(found), _decimal(factor)), _decimal(more))
        places = max(CENTS, _decimals(found), _decimals(more))
        amount = Amount(exact, places, all(isinstance(one, int) for one in (found, factor, more)))
        reached = amount if is_number(amount.number) else None
    if reached is None:
        raise UnreckonedError
    return reached


def _decimal(number: float) -> Decimal:
    """Give the number that stands in a file or message: 19.99, not the binary number nearest to it."""
    return Decimal(number if isinstance(number, int) else repr(number))


def _decimals(number: float) -> int:
    exponent = _EXACT.normalize(_decimal(number)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _rounded(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places, _EXACT), context=_EXACT)
