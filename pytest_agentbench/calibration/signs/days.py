"""Days and times of day that a text names, in English and French, words and figures."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAMES = (
    "january janvier jan janv", "february fevrier feb fev fevr", "march mars mar", "april avril apr avr", "may mai",
    "june juin jun", "july juillet jul juil", "august aout aug", "september septembre sep sept",
    "october octobre oct", "november novembre nov", "december decembre dec",
)  # fmt: skip
_MONTHS = {name: number for number, names in enumerate(_NAMES, start=1) for name in names.split()}
_MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_NUMBER = r"\d{1,2}(?:st|nd|rd|th|er|eme|e)?(?![\w:])"
_AND = r"\s*(?:-|–|to|and|&|et|au|or|ou|,)\s*(?:the |le )?"
_SEVERAL = rf"{_NUMBER}(?:{_AND}{_NUMBER})*"
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_DAY_FIRST = re.compile(rf"(?<![\w.,:])({_SEVERAL})\s*(?:of )?({_MONTH})(?:,? (\d{{4}})(?!\d))?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH}) (?:the )?({_SEVERAL})(?:,? (\d{{4}})(?!\d))?")
_FIGURES = re.compile(r"(?<![\w.,:/-])(\d{1,2})([/.-])(\d{1,2})(?:\2(\d{4}|\d\d))?(?![\w/-]|\.\d)")
_MONTH_ALONE = re.compile(rf"\b({_MONTH})(?: (\d{{4}})(?!\d))?")
_CLOCK = re.compile(r"(?<![\w:.,/-])(\d{1,2}):(\d\d)(?::\d\d)?(?:\.\d+)?\s?([ap])?\.?(?:m\b\.?)?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[t ](\d\d):(\d\d)(:\d\d)?")
_HOURS = re.compile(r"(?<![\w:.,/-])(\d{1,2})\s?h(?:eures?|rs?|ours?)?\.?(?:\s?(\d\d)(?!\d))?(?![a-z])")
_HALF_DAY = re.compile(r"(?<![\w:.,/-])(\d{1,2})(?:[.:](\d\d))?\s?([ap])\.?m\b\.?")
_NOON, _DAY = 12, 24
_FULL = 4


@dataclass(frozen=True)
class Spot:
    """Where a text names a day (`day`, `month`, and `year`, 0 where it is not said) or a time (`minutes` of the day)."""

    start: int
    end: int
    day: int = 0
    month: int = 0
    year: int = 0
    minutes: tuple[int, ...] = ()


def days(text: str) -> list[Spot]:
    """Give the days that a text in plain form names; of `3/5` both readings."""
    found: list[Spot] = []
    for match in _ISO.finditer(text):
        found += _spots(match, [int(match[3])], int(match[2]), match[1])
    for match in _DAY_FIRST.finditer(text):
        found += _spots(match, _several(match[1]), _MONTHS[match[2].rstrip(".")], match[3])
    for match in _MONTH_FIRST.finditer(text):
        if not _overlaps(match, found):
            found += _spots(match, _several(match[2]), _MONTHS[match[1].rstrip(".")], match[3])
    for match in _FIGURES.finditer(text):
        first, second = int(match[1]), int(match[3])
        if (match[2] != "." or match[4]) and not _overlaps(match, found):
            found += [*_spots(match, [first], second, match[4]), *_spots(match, [second], first, match[4])]
    return found


def times(text: str) -> list[Spot]:
    """Give the times of day that a text in plain form names; without `am` or `pm` both halves of the day."""
    found: list[Spot] = []
    for pattern in (_STAMP, _HALF_DAY, _CLOCK, _HOURS):
        for match in pattern.finditer(text):
            hour, minute = int(match[1]), int(match[2] or 0)
            if hour > _DAY or minute > 59 or _overlaps(match, found):
                continue
            half = match[3] if pattern in (_HALF_DAY, _CLOCK) else None
            found.append(Spot(match.start(), match.end(), minutes=_minutes(hour, minute, half)))
    return found


def months(text: str) -> set[int]:
    """Give the months that a text names, with a day or without."""
    return {_MONTHS[match[1].rstrip(".")] for match in _MONTH_ALONE.finditer(text)} | {one.month for one in days(text)}


def blanked(text: str, spots: list[Spot]) -> str:
    """Give a text with what the spots cover replaced by spaces."""
    for one in spots:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def _minutes(hour: int, minute: int, half: str | None) -> tuple[int, ...]:
    if half is not None:
        return ((hour % _NOON + (_NOON if half == "p" else 0)) * 60 + minute,)
    if 0 < hour <= _NOON:
        return (hour * 60 + minute, (hour + _NOON) % _DAY * 60 + minute)
    return (hour % _DAY * 60 + minute,)


def _several(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _spots(match: re.Match[str], of_month: list[int], month: int, year: str | None) -> Iterator[Spot]:
    full = int(year) if year and len(year) == _FULL else 0
    for day in of_month:
        if 0 < day <= 31 and 0 < month <= 12:
            yield Spot(match.start(), match.end(), day=day, month=month, year=full)


def _overlaps(match: re.Match[str], found: list[Spot]) -> bool:
    return any(one.start < match.end() and match.start() < one.end for one in found)
