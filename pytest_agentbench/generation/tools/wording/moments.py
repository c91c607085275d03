"""Dates and times as people write them: read out of what is known, and taken out of a sentence where they are known.

`2026-03-16T13:00:00+00:00` is 16 March 2026, le 16 mars, 03/16/2026, 13:00, 1 pm and 13 h. Seconds since 1970 that lie
between 2001 and 2096 are a moment too (UTC): services give them, and nobody says them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pytest_agentbench.core.spoken import plain

_MONTHS = (
    ("january", "janvier"), ("february", "fevrier"), ("march", "mars"), ("april", "avril"), ("may", "mai"),
    ("june", "juin"), ("july", "juillet"), ("august", "aout"), ("september", "septembre"), ("october", "octobre"),
    ("november", "novembre"), ("december", "decembre"),
)  # fmt: skip
_ACCENTED = {"fevrier": "février", "aout": "août", "decembre": "décembre"}
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_CLOCK = re.compile(r"(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?![\d:])")
_FRENCH_CLOCK = re.compile(r"(?<![\w:.,])([01]?\d|2[0-3]) ?h(?:eures?)? ?([0-5]\d)?(?!\w)", re.IGNORECASE)
_HALVES = re.compile(
    r"(?<![\w:.,])(1[0-2]|0?[1-9])(?:[:.]([0-5]\d))? ?(a|p)\.?m\b\.?|(?<![\w:.,])(1[0-2]|[1-9]) o['’]clock",
    re.IGNORECASE,
)
_STAMP = re.compile(
    r"(?<![\w-])(?:\d{4}-\d{2}-\d{2})?T([01]\d|2[0-3]):?([0-5]\d)(?::?[0-5]\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?!\w)"
)
_SLASHED = re.compile(r"(?<![\d/.])(\d{1,2})[/.](\d{1,2})(?:[/.](\d{4}|\d{2}))?(?![\d/])")
_EPOCH = (1_000_000_000, 4_000_000_000)

Day = tuple[int, int, int]
"""Year, month, day; the year 0 where none is told."""
Time = tuple[int, int]
"""Hour and minute."""


@dataclass
class Moments:
    """Known dates and times of day."""

    days: set[Day] = field(default_factory=set)
    times: set[Time] = field(default_factory=set)

    def add(self, text: str) -> None:
        """Take in every date and time that a text says."""
        self.days |= set(_days_in(text))
        self.times |= {time for _, times in _times_in(text) for time in times}
        self.times |= {(int(match[1]), int(match[2])) for match in _STAMP.finditer(text)}

    def add_number(self, number: float) -> None:
        """Take a number in that may be seconds since 1970."""
        if number == int(number) and _EPOCH[0] <= number <= _EPOCH[1]:
            moment = datetime.fromtimestamp(number, UTC)
            self.days.add((moment.year, moment.month, moment.day))
            self.times.add((moment.hour, moment.minute))

    def has_day(self, day: Day) -> bool:
        """Whether a date is known; one without a year is by any year's."""
        return day in self.days or (not day[0] and any(known[1:] == day[1:] for known in self.days))

    def without(self, text: str) -> str:
        """Take the known dates and times out of a text, however they are written there."""
        return self._without_days(self._without_times(text))

    @staticmethod
    def clock_times(text: str) -> list[str]:
        """Give the times of day that a text says with a colon."""
        return [match[0] for match in _CLOCK.finditer(text)]

    def _without_times(self, text: str) -> str:
        flat = _STAMP.sub(self._stamped, text)
        for (start, end), times in reversed(list(_times_in(flat))):
            if not self.times.isdisjoint(times):
                flat = f"{flat[:start]} {flat[end:]}"
        return flat

    def _stamped(self, match: re.Match[str]) -> str:
        days = set(_days_in(match[0]))
        return " " if (int(match[1]), int(match[2])) in self.times and all(map(self.has_day, days)) else match[0]

    def _without_days(self, text: str) -> str:
        flat = _ISO.sub(lambda one: self._kept(one, int(one[1]), int(one[2]), int(one[3])), text)
        flat = _SLASHED.sub(self._slashed, flat)
        flat = _SPOKEN.sub(self._spoken, flat)
        return _MONTH_ALONE.sub(self._month, flat)

    def _kept(self, match: re.Match[str], year: int, month: int, day: int) -> str:
        return " " if self.has_day((year, month, day)) else match[0]

    def _slashed(self, match: re.Match[str]) -> str:
        """Take `16/03/2026`, `03/16` and their like out, whichever of day and month is first."""
        left, right, year = int(match[1]), int(match[2]), int(match[3] or 0)
        known = [day for day in self.days if not year or year in (day[0], day[0] % 100)]
        return " " if any(day[1:] in ((left, right), (right, left)) for day in known) else match[0]

    def _spoken(self, match: re.Match[str]) -> str:
        name, day = match["before"] or match["after"], int(match["day"] or match["late"])
        return self._kept(match, int(match["year"] or 0), _month(plain(name)), day)

    def _month(self, match: re.Match[str]) -> str:
        month, year = _month(plain(match[1])), int(match[2] or 0)
        return " " if any(day[1] == month and year in (0, day[0]) for day in self.days) else match[0]


def _days_in(text: str) -> Iterator[Day]:
    for year, month, day in _ISO.findall(text):
        yield int(year), int(month), int(day)
    flat = plain(text)
    for match in _WORDED.finditer(flat):
        name = match["before"] or match["after"]
        day = int(match["day"] or match["late"])
        if 1 <= day <= 31:
            yield int(match["year"] or 0), _month(name), day


def _times_in(text: str) -> Iterator[tuple[tuple[int, int], tuple[Time, ...]]]:
    """Yield where a text says a time, and which it may be: `three o'clock` leaves the half of the day open."""
    found: list[tuple[tuple[int, int], tuple[Time, ...]]] = []
    for pattern in (_CLOCK, _FRENCH_CLOCK):
        found += [(match.span(), ((int(match[1]), int(match[2] or 0)),)) for match in pattern.finditer(text)]
    for match in _HALVES.finditer(text):
        hour = int(match[1] or match[4]) % 12
        halves = (0, 12) if match[4] else (12 * (match[3].lower() == "p"),)
        found.append((match.span(), tuple((hour + half, int(match[2] or 0)) for half in halves)))
    taken = 0
    for span, times in sorted(found, key=lambda one: (one[0][0], -one[0][1])):
        if span[0] >= taken:
            taken = span[1]
            yield span, times


def _month(name: str) -> int:
    return next(place for place, names in enumerate(_MONTHS, start=1) if any(one.startswith(name) for one in names))


def _spellings(month: int) -> list[str]:
    spelt = {form for name in _MONTHS[month - 1] for form in (name, name[:3], name[:4])}
    accented = {_ACCENTED[name] for name in _MONTHS[month - 1] if name in _ACCENTED}
    return sorted(spelt | accented, key=len, reverse=True)


_PLAIN = sorted({form for n in range(1, 13) for form in map(plain, _spellings(n))}, key=len, reverse=True)
_ACCENTS = sorted({form for n in range(1, 13) for form in _spellings(n)}, key=len, reverse=True)


def _worded(names: list[str]) -> re.Pattern[str]:
    either = "|".join(names)
    return re.compile(
        rf"\b(?:(?P<before>{either})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
        rf"|(?P<late>\d{{1,2}})(?:st|nd|rd|th|er)?(?: of)? (?P<after>{either})\b(?:\.(?=,? (?:19|20)\d\d\b))?)"
        r"(?:,? (?P<year>(?:19|20)\d\d)\b)?",
        re.IGNORECASE,
    )


_WORDED = _worded(_PLAIN)
_SPOKEN = _worded(_ACCENTS)
_MONTH_ALONE = re.compile(
    rf"(?<!\d )(?<!\der )\b({'|'.join(_ACCENTS)})(?:,? ((?:19|20)\d\d))?\b(?! \d{{1,2}}\b)", re.IGNORECASE
)
