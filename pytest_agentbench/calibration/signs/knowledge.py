"""What is known at a point of a conversation: figures, days and times that users, answers and briefings gave."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import combinations, islice, product

from pytest_agentbench.calibration.signs.days import days, months, times
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.validation.values import scalars

_TOKEN = re.compile(r"(?<!\w)(?:[a-z]+[-_#]?)?\d\w*(?:[.,:/_-]\d\w*)*")
_PART = re.compile(r"[^\W_]+")
_WHOLE = 4
"""Letters and digits from which a figure is no other figure's part by accident."""
_FEW = 12
"""Numbers of one place up to which sums of any of them count as known."""
_TERMS = 4
_MOST = 40
_SPAN = re.compile(
    r"\b(\d{1,3})(?:\s?(?:-|–|to|a|ou|or)\s?(\d{1,3}))?\s?(?:business |working )?(day|week|month|year|jour|semaine|mois|an)"
)
_RELATIVE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|next|(?:this|last|previous) (?:week|month|year)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|(?:later|following|previous) day"
    r"|aujourd'hui|ce soir|demain|hier|prochaine?|derniere?|(?:ce|cette) (?:mois|semaine)|lendemain|veille|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\b"
)  # fmt: skip
_PER_HOUR = 60
_CUMULATIVE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
"""Days of a common year before each month."""


@dataclass
class Knowledge:
    """Texts, each a piece of its own, and the values of answers; compared in `plain` form."""

    pieces: Sequence[str]
    columns: Sequence[Sequence[Decimal]] = field(default=())
    """Numbers that stand under one key of one answer: what is added up to a total."""
    amounts: Sequence[Decimal] = field(default=())
    """Numbers with decimals in answers: what is added to a told one, or taken off."""

    @cached_property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.pieces)

    @cached_property
    def _flat(self) -> str:
        return "\n".join("".join(_PART.findall(piece)) for piece in self.pieces)

    @cached_property
    def _tokens(self) -> frozenset[str]:
        return frozenset(
            part
            for token in _TOKEN.findall(self.text)
            for part in ("".join(_PART.findall(token)), *_PART.findall(token))
        )

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """Every number in it."""
        return frozenset(value for piece in self.pieces for value in numbers(piece))

    @cached_property
    def _days(self) -> frozenset[tuple[int, int]]:
        return frozenset((one.month, one.day) for piece in self.pieces for one in days(piece))

    @cached_property
    def _years(self) -> frozenset[int]:
        named = {one.year for piece in self.pieces for one in days(piece)} - {0}
        return frozenset(
            named | {int(number) for number in re.findall(r"(?<![\w.,])(?:19|20)\d\d(?![\w.,]\d)", self.text)}
        )

    @cached_property
    def _times(self) -> frozenset[int]:
        return frozenset(minutes for piece in self.pieces for one in times(piece) for minutes in one.minutes)

    @cached_property
    def _spans(self) -> list[tuple[int, str]]:
        return [
            (int(number), match[3]) for match in _SPAN.finditer(self.text) for number in (match[1], match[2]) if number
        ]

    def says(self, text: str) -> bool:
        """Whether a text in plain form stands in it: long ones anywhere, short ones as a word of their own."""
        bare = "".join(_PART.findall(text))
        if len(bare) >= _WHOLE and bare in self._flat:
            return True
        return bare in self._tokens or re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.text) is not None

    def has_day(self, month: int, day: int, year: int = 0) -> bool:
        """Whether a day is named in it, follows from a span of days in it, or may be meant by a relative one.

        The first of a month is known at all times: people name it when they mean the month.
        """
        if year and self._years and not {year - 1, year, year + 1} & self._years:
            return False
        if day == 1 or (month, day) in self._days or _RELATIVE.search(self.text):
            return True
        return any(self._reached(known, (month, day)) for known in self._days)

    def _reached(self, known: tuple[int, int], wanted: tuple[int, int]) -> bool:
        apart = abs(_ordinal(known) - _ordinal(wanted))
        away = {apart, 365 - apart, 366 - apart}
        for count, unit in self._spans:
            if unit in ("day", "jour") and away & {count, count - 1, count + 1}:
                return True
            if unit in ("week", "semaine") and away & {7 * count}:
                return True
            if unit in ("month", "mois") and known[1] == wanted[1] and (wanted[0] - known[0]) % 12 == count % 12:
                return True
        return False

    def has_month(self, month: int) -> bool:
        """Whether a month is named in it, with a day or without."""
        return month in {number for piece in self.pieces for number in months(piece)}

    def has_time(self, minutes: Iterable[int], also: Iterable[int] = ()) -> bool:
        """Whether a time of day is named in it, or is as far from one as a number of minutes or hours in it."""
        known = {*self._times, *also}
        spans = {int(number) for number in self.numbers if 0 < number < 600 and number == int(number)}
        spans |= {int(number * _PER_HOUR) for number in self.numbers if 0 < number <= 24}
        return any(one in known or any(abs(one - other) in spans for other in self._times) for one in minutes)

    def names_time(self, minutes: int) -> bool:
        """Whether a time of day is named in it as it stands."""
        return minutes in self._times

    def has_day_of_month(self, day: int) -> bool:
        """Whether some day that is named in it is of this number."""
        return day in {known for _, known in self._days}

    def has_span(self, minutes: int) -> bool:
        """Whether as many minutes lie between two times of day in it."""
        few = sorted(self._times)[:_MOST]
        return any((b - a) % (24 * 60) == minutes for a in few for b in few)

    def has_number(self, value: Decimal, told: Iterable[Decimal] = (), *, is_price: bool = False) -> bool:
        """Whether a number is in it, rounded from one in it, the sum of a column, or made up of two that were `told`.

        A price may also be a share, a rate or a sum of several that were told or stand in a column.
        """
        exponent = value.as_tuple().exponent
        places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
        if any(one == value or abs(one) == value or round(one, places) == value for one in self.numbers):
            return True
        told = [one for one in told if one != value]
        few = sorted(set(told))[:_MOST]
        if any(value in (a + b, abs(a - b), a * b) for a, b in combinations(few, 2)):
            return True
        if any(value in (sum(column), len(column)) for column in self.columns):
            return True
        return is_price and (
            any(value in (a + b, abs(a - b)) for a in told for b in self.amounts)
            or is_computed(value, told, self.columns)
        )


def is_relative(text: str) -> bool:
    """Whether a text in plain form names a day by how far it is: `tomorrow`, `last month`."""
    return _RELATIVE.search(text) is not None


def is_computed(value: Decimal, told: Sequence[Decimal], columns: Sequence[Sequence[Decimal]]) -> bool:
    """Whether a price is a share or a rate of told ones, or a sum of some of them or of a column's."""
    few = sorted(set(told))[:_MOST]
    for a, b in combinations(few, 2):
        if value in _shares(a, b) or value in _shares(b, a):
            return True
    if any(round(a * count, 2) == value or round(a / count, 2) == value for a in few for count in range(2, 10)):
        return True
    places = [list(told)[:_FEW], *columns]
    return any(_is_sum(value, place) for place in places)


def _shares(a: Decimal, b: Decimal) -> tuple[Decimal, ...]:
    rate = a * b / 100
    return (round(a / b, 2), round(a / b, 0), rate, round(rate, 2), round(a - rate, 2), round(a + rate, 2)) if b else ()


def _is_sum(value: Decimal, place: Sequence[Decimal]) -> bool:
    """Whether a number adds up from some numbers of one place: all of them, any few, or with some taken off."""
    if sum(place) == value or value == len(place):
        return True
    few = [one for one in place if one][:_FEW]
    if any(sum(some) == value for size in range(2, len(few)) for some in islice(combinations(few, size), 1000)):
        return True
    return any(
        abs(sum(sign * one for sign, one in zip(signs, some, strict=True))) == value
        for some in islice(combinations(few, 3), 300)
        for signs in product((1, -1), repeat=3)
    )


def numbers(text: str) -> Iterator[Decimal]:
    """Give the numbers of a text in plain form."""
    for token in re.findall(r"(?<![\d.])\d+(?:\.\d+)?", text):
        try:
            yield Decimal(token)
        except InvalidOperation:
            continue


def tokens(text: str) -> Iterator[re.Match[str]]:
    """Find what looks like a figure in a text in plain form: amounts, codes, numbers."""
    return _TOKEN.finditer(text)


def pieces_of(value: JsonValue) -> Iterator[str]:
    """Give the values of an answer in plain form, with the keys that hold a digit or an address."""
    yield from (plain(str(scalar)) for _, scalar in scalars(value))
    yield from (plain(key) for key in _keys(value) if any(char.isdigit() for char in key))


def _keys(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(item)


def columns_of(value: JsonValue) -> list[list[Decimal]]:
    """Give the numbers that stand under one key of an answer, several of them."""
    found: dict[str, list[Decimal]] = {}
    for key, scalar in scalars(value):
        if is_number(scalar):
            found.setdefault(key, []).append(Decimal(str(scalar)))
    return [column for column in found.values() if len(column) > 1]


def amounts_of(value: JsonValue) -> list[Decimal]:
    """Give the numbers of an answer that are written with decimals."""
    return [Decimal(str(scalar)) for _, scalar in scalars(value) if isinstance(scalar, float)]


def _ordinal(day: tuple[int, int]) -> int:
    return _CUMULATIVE[day[0] - 1] + day[1]
