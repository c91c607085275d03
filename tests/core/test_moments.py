"""Dates and times as rules write them: read, moved, compared."""

from datetime import UTC, date, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.moments import clock_of, dated, moment_of, moved, order_of, span_of
from tests.tables import each

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MIDDLE = {"min_value": datetime(1900, 1, 1), "max_value": datetime(2200, 1, 1)}
TIMES = st.datetimes(**MIDDLE, timezones=ZONES)
UNITS = {"w": "weeks", "d": "days", "h": "hours", "min": "minutes"}


@given(TIMES, TIMES)
def test_times_are_compared_as_instants_whatever_their_zone(one: datetime, other: datetime) -> None:
    """The order of two texts is that of the instants that they stand for."""
    assert order_of(one.isoformat(), other.isoformat()) == (one > other) - (one < other)


@given(st.dates(), st.dates())
def test_days_are_compared_as_days(one: date, other: date) -> None:
    """The order of two dates is that of the calendar, and no date comes before itself."""
    assert order_of(one.isoformat(), other.isoformat()) == (one > other) - (one < other)
    assert order_of(one.isoformat(), one.isoformat()) == 0


@given(TIMES)
def test_a_day_holds_each_of_its_times(time: datetime) -> None:
    """Where one side is a date alone, the day of the other counts, as it is written."""
    assert order_of(time.isoformat(), time.date().isoformat()) == 0
    assert order_of((time.date() + timedelta(days=1)).isoformat(), time.isoformat()) == 1


@given(TIMES, st.integers(0, 9_999), st.sampled_from(list(UNITS)), st.sampled_from(["", "+", "-"]))
def test_a_move_and_its_opposite_lead_back(time: datetime, count: int, unit: str, sign: str) -> None:
    """`-30d` takes thirty days away, and what was moved there and back is where it was."""
    span = span_of(f"{sign}{count}{unit}")

    assert span == timedelta(**{UNITS[unit]: -count if sign == "-" else count})
    there = moved(time.isoformat(), span)
    assert there is not None
    assert moment_of(moved(there, -span)) == time


@given(st.text(max_size=30))
def test_any_text_is_a_moment_or_none(text: str) -> None:
    """Nothing that a tool gives makes reading it fail, and what is no date has no place among dates."""
    moment = moment_of(text)

    assert (order_of(text, "2026-11-22") is None) is (moment is None)
    assert (moved(text, timedelta(days=1)) is None) or moment is not None


@each(
    "text",
    ["", "2026-11-31", "2026-11-22T25:00", "20261122", "2026-W47-7", "2026-11-22T10:00Z ", "٢٠٢٦-11-22", "22.11.2026"],
)
def test_what_is_no_date_is_none(text: str) -> None:
    """Only the calendar's days in the one international notation are dates."""
    assert moment_of(text) is None
    assert moved(text, timedelta(days=1)) is None


def test_a_date_moved_by_hours_becomes_a_time() -> None:
    """A day moved by days stays a day."""
    assert moved("2026-10-31", timedelta(days=1)) == "2026-11-01"
    assert moved("2026-10-31", timedelta(hours=36)) == "2026-11-01T12:00:00"


def test_no_date_lies_beyond_the_calendar() -> None:
    """A span that leads past it gives none."""
    assert moved("9999-12-31", timedelta(days=1)) is None
    assert moved("0001-01-01T00:00:00Z", timedelta(minutes=-1)) is None


def test_a_clock_has_a_zone() -> None:
    """A date alone is midnight UTC, a time without a zone is nobody's."""
    assert clock_of("2026-11-22") == datetime(2026, 11, 22, tzinfo=UTC)
    assert clock_of("2026-11-22T10:00+02:00") == datetime(2026, 11, 22, 8, tzinfo=UTC)
    assert clock_of("2026-11-22T10:00") is None


def test_today_is_the_day_where_the_clock_stands() -> None:
    """Late in the evening in Tokyo it is not yet that day in London."""
    now = clock_of("2026-11-22T00:30+09:00")
    assert now is not None

    assert dated({"on": [{"$today": "-1d"}], "at": {"$now": "+1h"}, "to": "x"}, now) == {
        "on": ["2026-11-21"],
        "at": "2026-11-22T01:30:00+09:00",
        "to": "x",
    }
