"""Dates as people say them: `2026-12-07` is 7 December 2026, le 7 décembre 2026, with a time of day `… at 09:00`.

A moment with seconds or a time zone is left as it is: who says it means exactly that.
"""

import re
from datetime import date

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.wording.tongue import Tongue

_MOMENT = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::00(?:\.0+)?)?Z?)?")


def is_date(value: JsonValue) -> bool:
    """Whether a value is a day, with or without a time of day."""
    return isinstance(value, str) and _parts(value) is not None


def date_text(value: JsonValue, tongue: Tongue) -> str:
    """Say a day in words; raise `ValueError` for what is none."""
    found = _parts(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{value!r} is no date")
    day, clock = found
    number = tongue.first_day if day.day == 1 else str(day.day)
    text = f"{number} {tongue.months[day.month - 1]} {day.year}"
    return tongue.day_and_time.format(day=text, time=clock) if clock else text


def _parts(value: str) -> tuple[date, str] | None:
    match = _MOMENT.fullmatch(value)
    if match is None:
        return None
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    is_time = match[4] is not None and int(match[4]) < 24 and int(match[5]) < 60
    if match[4] is not None and not is_time:
        return None
    return day, f"{match[4]}:{match[5]}" if is_time else ""
