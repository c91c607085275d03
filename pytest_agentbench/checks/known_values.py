"""Values by their shape, in a text and among all that is known: numbers, dates, times, ids."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from itertools import combinations, product
from typing import Any, Self, TypeGuard

from pytest_agentbench.core.ids import shape
from pytest_agentbench.core.moments import dates_of
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.text import flat

_TOKEN = re.compile(r"(?<![a-z0-9])[a-z0-9]+(?:[-./:_][a-z0-9]+)*")
_MARKER = re.compile(r"^\W*\d{1,3}[.)]\s")
"""The number of an entry in a list."""

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_MEASURE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)[a-z]{1,4}|[a-z]{3}(\d{1,15}(?:\.\d{1,9})?)")
"""A number with what it counts, or behind the code of a currency: 24th, 16gb, 30min, usd50."""

_TIME = re.compile(r"(\d{1,2})[:h.](\d{1,2})(?::\d{2})?(?:[ap]m|z)?")
_DATE = re.compile(r"(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})")
_DIGIT = re.compile("[0-9]")
_MOMENT = re.compile(r"(?<=\d)t(?=\d{2}:?\d{2})")

_MOST_NUMBERS = 120
"""The last known numbers of which sums, differences and products count as known too."""

_MOST_STATED = 12
"""Numbers of one message of which any total counts as known."""

_CENTS, _CENT = 2, Decimal("0.01")
"""Places to which reckoned values are rounded, and no further: with whole numbers nearly all would be."""

_LEAST_AMOUNT, _LARGEST_COUNT = 10, 100
"""Amounts are added up, counts multiply: the sum of a price and a quantity means nothing."""

_LARGEST = Decimal(10**9)
_MOST_PLACES = 4
"""Bounds of numbers that are reckoned with: longer ones are ids."""

_MOST_SPELLED = 999
_MOST_DATES = 40
_FEWEST_DAYS, _MOST_DAYS = 10, 366
_PARTS = range(3, 9)
"""Sizes of an end or a beginning of an id that stand for it: `ending in 4242`."""


@dataclass(frozen=True)
class Token:
    """A word with a digit in it, in plain form; `is_value` tells that it is enough of one to ask where it is from."""

    text: str
    is_money: bool = False

    @property
    def number(self) -> Decimal | None:
        """The number that it is, or that it counts; None where it is none."""
        if _NUMBER.fullmatch(self.text):
            return Decimal(self.text)
        found = _MEASURE.fullmatch(self.text)
        return Decimal(found[1] or found[2]) if found else None

    @property
    def dates(self) -> tuple[date, ...]:
        """The dates that it may be: day and month stand in either order."""
        found = _DATE.fullmatch(self.text)
        return tuple(dates_of(int(found[1]), int(found[3]), int(found[4]))) if found else ()

    @property
    def time(self) -> tuple[int, int] | None:
        """Hour (of twelve) and minute, None where it is no time."""
        found = _TIME.fullmatch(self.text)
        return (int(found[1]) % 12, int(found[2].ljust(2, "0"))) if found else None

    @property
    def is_moment(self) -> bool:
        """Whether it may be a date or a time."""
        return bool(self.dates or self.time)

    @property
    def parts(self) -> tuple[str, ...]:
        """What stands between its separators."""
        return tuple(re.split(r"[-./:_]", self.text))

    @property
    def is_value(self) -> bool:
        """Whether it has two digits, decimals, a currency, or letters and digits that are no measure."""
        if self.number is not None:
            return self.is_money or sum(map(str.isdigit, self.text)) > 1
        if self.is_moment or not self.parts[1:]:
            return True
        return any(Token(part).is_value for part in self.parts if any(map(str.isdigit, part)))


def tokens(text: str) -> Iterator[Token]:
    """Give the words of a line that hold a digit."""
    said = _MOMENT.sub(" ", plain(_MARKER.sub(" ", text)))
    for found in _TOKEN.finditer(said):
        if any(map(str.isdigit, found[0])):
            beside = said[: found.start()].rstrip()[-1:] + said[found.end() :].lstrip()[:1]
            yield Token(found[0], any(unicodedata.category(char) == "Sc" for char in beside))


@dataclass
class KnownValues:
    """All values that are known, in whatever spelling; those of the conversation may be reckoned with."""

    locale: str = "en"
    _words: set[str] = field(default_factory=set)
    _numbers: set[Decimal] = field(default_factory=set)
    _pool: dict[Decimal, None] = field(default_factory=dict)
    _dates: set[date] = field(default_factory=set)
    _times: set[tuple[int, int]] = field(default_factory=set)
    _texts: list[str] = field(default_factory=list)
    _reckoned: set[Decimal] | None = None
    _rounded: set[Decimal] = field(default_factory=set)
    _ends: set[str] = field(default_factory=set)
    _kinds: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, texts: Iterable[str], locale: str = "en") -> Self:
        """Give the values of texts that stand beside the conversation."""
        known = cls(locale)
        for text in texts:
            known.learn(text)
        return known

    def copy(self) -> Self:
        """Give the same values, to which others may be added."""
        fields: dict[str, Any] = {
            name: value.copy() for name, value in vars(self).items() if isinstance(value, set | dict | list)
        }
        return replace(self, **fields)

    def learn(self, text: str, *, is_heard: bool = False) -> None:
        """Learn the values of a text, numbers in words among them; `is_heard` tells that it is of the conversation."""
        self._texts.append(text)
        self.add(text, is_heard=is_heard)

    def add(self, text: str, *, is_heard: bool = False) -> None:
        """Learn the values of a text that spells none in words; `is_heard` ones may be reckoned with."""
        if text.isascii() and not _DIGIT.search(text):  # as most keys and descriptions of tools
            return
        for line in text.splitlines():
            for token in tokens(line):
                self._add(token, is_heard=is_heard)

    def _add(self, token: Token, *, is_heard: bool) -> None:
        words = {"".join(token.parts), *token.parts} - self._words
        self._words |= words
        self._kinds.update([shape(token.text)] if token.parts[1:] else [])
        self._ends.update(end for word in words for size in _PARTS for end in (word[:size], word[-size:]))
        self._dates.update(token.dates)
        self._times.update([token.time] if token.time else [])
        whole = token.number
        parts = [token] if whole is not None else map(Token, token.parts)
        numbers = [number for part in parts if (number := part.number) is not None]
        self._numbers.update(numbers)
        self._rounded.update(rounded for one in numbers if _places(one) for rounded in _roundings(one))
        is_amount = is_heard and not (token.dates or (token.time and whole is None))
        for number in numbers if is_amount else ():
            self._pool.pop(number, None)
            self._pool[number] = None
            self._reckoned = None

    def has_kind(self, token: Token) -> bool:
        """Whether it has one digit, and an id is known that differs in this alone: `ord-7` beside `ord-1`."""
        is_short = sum(map(str.isdigit, token.text)) == 1 and bool(token.parts[1:])
        return is_short and shape(token.text) in self._kinds - {""}

    def holds(self, token: Token) -> bool:
        """Whether a value is known as it is, spelled otherwise, rounded, as a share of a hundred or part by part."""
        if "".join(token.parts) in self._words or (token.time in self._times and token.time):
            return True
        if token.dates:
            return not self._dates.isdisjoint(token.dates)
        number = token.number
        if number is not None:
            return self._holds_number(number) or self._is_end(token.text)
        if len(token.parts) > 1:
            return token.is_value and all(
                self.holds(one) or not one.is_value for part in token.parts for one in tokens(part)
            )
        return self._is_end(token.text)

    def _holds_number(self, number: Decimal) -> bool:
        if number in self._numbers or number * 100 in self._numbers or number / 100 in self._numbers:
            return True
        if number in self._rounded:
            return True
        is_spelled = number == int(number) and number <= _MOST_SPELLED
        return is_spelled and any(states(int(number), text, self.locale) for text in self._texts)

    def _is_end(self, text: str) -> bool:
        return len(text) in _PARTS and text in self._ends

    def derives(self, token: Token, stated: Sequence[Token]) -> bool:
        """Whether a value follows from known ones.

        A number is the sum or difference of two of the last 120 amounts (from 10) that were heard, a multiple of one
        by a count up to 100, the total of up to twelve that the same message states, or the days between two known
        dates; a whole one up to 100 follows only from those that the same message states, since most would. A date
        lies as many days from a known one as the same message states, or as a known number of two digits and more.
        """
        dates = sorted(self._dates)[-_MOST_DATES:]
        own = list(filter(_is_reckoned, (one.number for one in stated)))[:_MOST_STATED]
        if token.dates:
            days = {abs((one - known).days) for one in token.dates for known in dates}
            return any(day in own or (day >= _FEWEST_DAYS and day in self._numbers) for day in days)
        number = token.number
        if number is None:
            return False
        if number <= _MOST_DAYS and any(abs((one - other).days) == number for one, other in combinations(dates, 2)):
            return True
        if number in _reckoned(combinations(own, 2)) or number in _totals(own):
            return True
        is_small = number <= _LARGEST_COUNT and not _places(number)
        return not is_small and (number in self._sums or number in _reckoned(product(own, self._heard)))

    @property
    def _heard(self) -> list[Decimal]:
        return list(filter(_is_reckoned, list(self._pool)[-_MOST_NUMBERS:]))

    @property
    def _sums(self) -> set[Decimal]:
        """What follows from two numbers of the conversation; it is reckoned once between two messages."""
        if self._reckoned is None:
            self._reckoned = _reckoned(combinations(self._heard, 2))
        return self._reckoned


def _is_reckoned(number: Decimal | None) -> TypeGuard[Decimal]:
    """Whether a number is an amount or a count by its size, so that its products stay exact."""
    return number is not None and number < _LARGEST and _places(number) <= _MOST_PLACES


def _reckoned(pairs: Iterable[tuple[Decimal, Decimal]]) -> set[Decimal]:
    """Give sums and differences of two amounts, and products by a count, also rounded to cents up or down."""
    found: set[Decimal] = set()
    for one, other in pairs:
        if min(one, other) >= _LEAST_AMOUNT:
            found |= {one + other, abs(one - other)}
        if any(number <= _LARGEST_COUNT and not _places(number) for number in (one, other)):
            found.add(one * other)
    fine = [value for value in found if _places(value) > _CENTS]
    return found.union(*({value.quantize(_CENT, way) for way in (ROUND_HALF_UP, ROUND_HALF_DOWN)} for value in fine))


def _roundings(number: Decimal) -> Iterator[Decimal]:
    """Give a number rounded to fewer places, up to two, up and down."""
    for places in range(min(_places(number), _CENTS + 1)):
        for way in (ROUND_HALF_UP, ROUND_HALF_DOWN):
            yield number.quantize(Decimal(1).scaleb(-places), way)


def _places(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _totals(numbers: Sequence[Decimal]) -> set[Decimal]:
    totals = {Decimal(0)}
    for number in numbers:
        totals |= {total + number for total in totals}
    return totals


def stands_in(value: str, texts: Sequence[str]) -> bool:
    """Whether a value stands in texts in some spelling; of a date its day is enough, since languages have months."""
    said, parts = KnownValues.of(texts), list(tokens(value))
    if parts and all(said.holds(one) or any(said.holds(Token(str(day.day))) for day in one.dates) for one in parts):
        return True
    # 45 does not stand in 1045, whereas `LS1 5HD` stands in LS15HD
    return any(map(str.isalpha, value)) and flat(value) in flat(" ".join(texts))
