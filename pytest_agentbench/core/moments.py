"""Dates and times as rules and contexts write them: read from ISO text, moved by a span such as `-30d`, compared.

`{$today: -30d}` and `{$now: +1h}` stand for a date and a time that are counted from the suite's `now`.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from pytest_agentbench.core.misfit import Keys, Misfit, shown

MOMENTS = ("$now", "$today")
"""What stands for a moment that is counted from the suite's `now`."""

_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_SPAN = re.compile(r"([+-]?)([0-9]{1,6})(w|d|h|min)")
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "min": "minutes"}
_A_SPAN = "a span such as 0d, -30d, 2w, +1h or 15min"


def moment_of(text: object) -> date | datetime | None:
    """Read a date (2026-11-22) or a date and time (2026-11-22T10:00Z); None where it is none."""
    if not isinstance(text, str) or not _ISO.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text) if len(text) == len("2026-11-22") else datetime.fromisoformat(text)
    except ValueError:
        return None


def span_of(text: object) -> timedelta | None:
    """Read a span such as `-30d`; None where it is none."""
    found = _SPAN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    span = timedelta(**{_UNITS[found[3]]: int(found[2])})
    return -span if found[1] == "-" else span


def moved(text: str, span: timedelta) -> str | None:
    """Move a date or time; a date moved by hours becomes a time. None where there is no such date."""
    moment = moment_of(text)
    if moment is None:
        return None
    if not isinstance(moment, datetime) and span % timedelta(days=1):
        moment = datetime.combine(moment, time())
    try:
        return (moment + span).isoformat()
    except OverflowError:
        return None


def order_of(left: object, right: object) -> int | None:
    """Compare two dates or times: -1, 0 or 1; None where one is neither.

    Where one is a date alone, days are compared, each as it is written. A time without a zone is in UTC.
    """
    one, other = moment_of(left), moment_of(right)
    if one is None or other is None:
        return None
    if isinstance(one, datetime) and isinstance(other, datetime):
        first, second = _instant(one), _instant(other)
        return (first > second) - (first < second)
    day, other_day = _day(one), _day(other)
    return (day > other_day) - (day < other_day)


def clock_of(text: str) -> datetime | None:
    """Read the suite's `now`: a time with its zone, or a date, which is midnight UTC; None where it is neither."""
    moment = moment_of(text)
    if isinstance(moment, datetime):
        return moment if moment.tzinfo is not None else None
    return None if moment is None else datetime.combine(moment, time(), UTC)


def is_moment(value: object) -> bool:
    """Whether a value stands for a moment: `{$now: …}` or `{$today: …}`."""
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in MOMENTS


def moment_text(value: Mapping[str, str], now: datetime) -> str:
    """Give the date or time that `{$today: …}` or `{$now: …}` stands for; raise `ValueError` where there is none."""
    ((kind, span),) = value.items()
    start = now.date().isoformat() if kind == "$today" else now.isoformat()
    by = span_of(span)
    found = None if by is None else moved(start, by)
    if found is None:
        raise ValueError(f"{kind}: {span}: there is no such date")
    return found


def dated(value: Any, now: datetime) -> Any:
    """Give a value with every moment in it, at any depth, replaced by its date or time as a text."""
    if is_moment(value):
        return moment_text(value, now)
    if isinstance(value, Mapping):
        return {key: dated(item, now) for key, item in value.items()}
    return [dated(item, now) for item in value] if isinstance(value, list | tuple) else value


def moment_misfits(value: Mapping[str, object], path: Keys) -> Iterator[Misfit]:
    """Yield what is wrong with a mapping that is to stand for a moment."""
    kind = next(key for key in value if key in MOMENTS)
    span = span_of(value[kind])
    if len(value) > 1:
        message = f"{kind} has another key beside it: a moment is a mapping with one key, such as {{{kind}: -30d}}"
        yield Misfit(path=path, message=message)
    elif span is None:
        yield Misfit(path=(*path, kind), message=f"found {shown(value[kind])}, expected {_A_SPAN}")
    elif kind == "$today" and span % timedelta(days=1):
        message = f"found {shown(value[kind])}: $today is a day, and moves by whole days"
        yield Misfit(path=(*path, kind), message=message, hint=f"write {{$now: {value[kind]}}}")


def clock_misfits(value: object, path: Keys, now: datetime | None, *, checked: bool = True) -> Iterator[Misfit]:
    """Yield each moment in a value, at any depth, that nobody can tell: there is no `now`, or no such date.

    `checked` says that the form of moments was checked before.
    """
    if is_moment(value) and isinstance(value, Mapping):
        wrong = [] if checked else list(moment_misfits(value, path))
        yield from wrong
        kind = next(iter(value))
        if wrong or span_of(value[kind]) is None:
            return
        if now is None:
            message = f"{kind} is counted from the suite's `now`, which is not there"
            yield Misfit(path=(*path, kind), message=message, hint="add `now: 2026-11-22T10:00Z` to the suite")
            return
        try:
            moment_text(value, now)
        except ValueError as error:
            yield Misfit(path=(*path, kind), message=str(error))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from clock_misfits(item, (*path, str(key)), now, checked=checked)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from clock_misfits(item, (*path, index), now, checked=checked)


def _day(moment: date | datetime) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _instant(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def dates_of(first: int, middle: int, last: int) -> Iterator[date]:
    """Give the dates that three numbers in a row may be: the middle one may be the month, or the day in front of it."""
    for year, month, day in dict.fromkeys(((first, middle, last), (last, middle, first), (last, first, middle))):
        try:
            yield date(year if year > 99 else 2000 + year, month, day)
        except ValueError:
            continue
