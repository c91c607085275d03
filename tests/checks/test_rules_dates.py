"""Rules with dates and reckoned values: counted from the suite's clock, or from what a call was given and gave."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.policies import check_policies
from pytest_agentbench.core.policy import Policy
from tests.checks.builders import agent, call, run_of
from tests.checks.test_rules import Part, gave
from tests.tables import each

NOW = datetime(2026, 11, 22, 10, tzinfo=UTC)


def kept(rule: dict[str, Any], *parts: Part, now: datetime | None = NOW) -> bool | None:
    """Whether a conversation keeps a rule; None where the rule was not exercised."""
    run = run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),), now=now)
    (outcome,) = check_policies(run).outcomes
    return outcome.kept if outcome.exercised else None


WINDOW = {
    "only_if": {
        "calls": ["refund"],
        "earlier": {"calls": ["get_order"], "result": {"delivered_at": {"$gte": {"$today": "-30d"}}}},
    }
}


@each(
    ("delivered", "expected"),
    [
        ("2026-10-23", True),
        ("2026-10-22", False),
        ("2026-10-23T00:00Z", True),
        ("2026-10-22T23:59Z", False),
        ("2026-10-23 08:00", True),
        ("soon", False),
        (20261023, False),
        (None, False),
    ],
)
def test_a_window_of_days_is_counted_from_today(delivered: object, expected: bool) -> None:
    """Dates and times are compared by day; what is no date lies in no window."""
    assert kept(WINDOW, gave("get_order", {"delivered_at": delivered}), call("refund")) is expected


def test_a_rule_about_days_is_not_exercised_without_its_call() -> None:
    """Looking is no refund."""
    assert kept(WINDOW, gave("get_order", {"delivered_at": "2026-10-23"})) is None


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.integers(0, 3_000))
def test_every_window_ends_on_its_day(today: date, days: int) -> None:
    """The last day of a window is inside, the day before it is not."""
    now = datetime(today.year, today.month, today.day, 12, tzinfo=UTC)
    rule = {"never": {"calls": ["refund"], "where": {"bought": {"$lt": {"$today": f"-{days}d"}}}}}
    last = today - timedelta(days=days)

    assert kept(rule, call("refund", bought=last.isoformat()), now=now) is True
    assert kept(rule, call("refund", bought=(last - timedelta(days=1)).isoformat()), now=now) is False


@each(
    ("at", "expected"),
    [("2026-11-22T11:00Z", True), ("2026-11-22T12:00+01:00", True), ("2026-11-22T10:59Z", False), ("11:00", False)],
)
def test_a_time_is_the_same_in_every_zone(at: str, expected: bool) -> None:
    """`{$now: +1h}` as a value asks for that instant, however it is written."""
    assert kept({"only_if": {"calls": ["book"], "arguments": {"at": {"$now": "+1h"}}}}, call("book", at=at)) is expected


@each(("value", "expected"), [("2026-11-22", True), ("2026-11-22T15:00Z", True), ("x", False)])
def test_today_is_a_value_like_any_other(value: str, expected: bool) -> None:
    """It stands in lists and below matchers."""
    rule = {"only_if": {"calls": ["book"], "arguments": {"day": {"$in": [{"$today": "0d"}, {"$today": "+1d"}]}}}}

    assert kept(rule, call("book", day=value)) is expected


@each(
    ("then", "arguments", "expected"),
    [
        ({"day": {"$lte": {"$result": "delivered", "plus": "30d"}}}, {"day": "2026-12-01"}, True),
        ({"day": {"$lte": {"$result": "delivered", "plus": "30d"}}}, {"day": "2026-12-02"}, False),
        ({"day": {"$result": "delivered", "plus": "-1d"}}, {"day": "2026-10-31T08:00Z"}, True),
        ({"amount": {"$lte": {"$result": "total", "times": 0.5}}}, {"amount": 49.995}, True),
        ({"amount": {"$lte": {"$result": "total", "times": 0.5}}}, {"amount": 50}, True),
        ({"amount": {"$lte": {"$result": "total", "times": 0.5}}}, {"amount": 50.01}, False),
        ({"amount": {"$result": "total", "times": 0.5, "plus": 5}}, {"amount": 54.995}, True),
        ({"amount": {"$result": "total", "plus": -5}}, {"amount": 94.99}, True),
        ({"amount": {"$result": "delivered", "times": 2}}, {"amount": 5}, None),
        ({"day": {"$result": "total", "plus": "1d"}}, {"day": "2026-12-01"}, None),
        ({"day": {"$not": {"$result": "lost", "plus": "1d"}}}, {"day": "2026-12-01"}, None),
    ],
)
def test_values_are_reckoned_from_what_a_call_gave(
    then: dict[str, Any], arguments: dict[str, Any], expected: bool | None
) -> None:
    """A number is multiplied, then added to; a date is moved; of anything else nobody can tell."""
    rule = {
        "when": {"calls": ["get_order"]},
        "then": {
            "any": [{"never": {"calls": ["refund"], "where": {}}}, {"later": {"calls": ["refund"], "where": then}}]
        },
    }
    looked = gave("get_order", {"delivered": "2026-11-01", "total": 99.99})

    assert kept(rule, looked, call("refund", **arguments)) is expected


@each(
    ("text", "said", "expected"),
    [
        ({"$result": "total", "times": 0.5}, "You get $50.00 back.", True),
        ({"$result": "total", "times": 0.5}, "You get $100.00 back.", False),
        ({"$result": "total", "times": 0.003}, "That is 0.3.", True),
        ({"$result": "total", "times": 0.12345}, "That is $12.35.", True),
        ({"$result": "total", "times": 0.12345}, "That is $12.34.", True),
        ({"$result": "total", "times": 0.12345}, "That is $12.36.", False),
        ({"$result": "delivered", "plus": "30d"}, "Until 2026-12-01.", True),
        ({"$result": "delivered", "plus": "30d"}, "Until December 1, 2026.", True),
        ({"$result": "delivered", "plus": "30d"}, "Until 01.12.2026.", True),
        ({"$result": "delivered", "plus": "30d"}, "Until December 2, 2026.", False),
        ({"$result": "delivered"}, "It came on November 1.", True),
        ({"$result": "delivered", "plus": "1h"}, "It came on November 1, at 1 am.", True),
        ({"$today": "+3d"}, "It comes on 2026-11-25.", True),
        ({"$today": "+3d"}, "It comes on November 25, 2026.", True),
        ({"$today": "+3d"}, "It comes on 25 November.", True),
        ({"$today": "+3d"}, "It comes on 2026-11-24.", False),
        ({"$now": "+1h"}, "It comes today, 22/11/2026, by 11:00.", True),
        ({"$now": "+1h"}, "It comes today, 22/11/2026, by 12:00.", False),
    ],
)
def test_what_is_reckoned_can_be_asked_for_in_words(text: dict[str, Any], said: str, expected: bool) -> None:
    """The agent must say the half, or the day, in any of their spellings; an amount may be rounded to cents."""
    rule = {"when": {"calls": ["get_order"]}, "then": {"must_say": text}}
    looked = gave("get_order", {"delivered": "2026-11-01", "total": 100})

    assert kept(rule, looked, agent(said)) is expected


def test_a_day_is_said_in_the_language_of_the_scenario() -> None:
    """German months in a German conversation."""
    rule = {"when": {"calls": ["get_order"]}, "then": {"must_say": {"$today": "+10d"}}}
    policy = Policy(id="p", text="p", rule=rule)
    parts = [gave("get_order", {}), agent("Es kommt am 2. Dezember.")]

    (german,) = check_policies(run_of(*parts, policies=(policy,), now=NOW, scenario={"language": "de"})).outcomes
    (english,) = check_policies(run_of(*parts, policies=(policy,), now=NOW)).outcomes

    assert (german.kept, english.kept) == (True, False)


def test_texts_that_are_no_dates_keep_their_order() -> None:
    """Codes are compared letter by letter, a date with a code as well."""
    rule = {"never": {"calls": ["refund"], "where": {"code": {"$lt": "B"}}}}

    assert kept(rule, call("refund", code="A")) is False
    assert kept(rule, call("refund", code="B")) is True


def test_without_a_clock_nothing_is_kept_by_chance() -> None:
    """The suite file refuses such a rule; a run made in code must not pass by it either."""
    rule = {"never": {"calls": ["refund"], "where": {"day": {"$lt": {"$today": "0d"}}}}}

    with pytest.raises(ValueError, match="counted from the suite's `now`"):
        kept(rule, call("refund", day="2026-01-01"), now=None)


@each(
    ("rule", "shown"),
    [
        (WINDOW, 'before get_order gave delivered_at at least "2026-10-23"'),
        ({"only": {"calls": ["refund"], "where": {"day": {"$today": "0d"}}}}, "only refund with day='2026-11-22'"),
        (
            {"only_if": {"calls": ["refund"], "arguments": {"day": {"$lt": {"$today": "1w"}}}}},
            'without day less than "2026-11-29"',
        ),
        (
            {"only": {"calls": ["refund"], "result": {"day": {"$now": "0d"}}}},
            'giving day "2026-11-22T10:00:00+00:00"',
        ),
    ],
)
def test_a_broken_rule_tells_the_days_that_were_counted(rule: dict[str, Any], shown: str) -> None:
    """Nobody has to count thirty days back from a clock that stands elsewhere."""
    run = run_of(call("refund", day="2027-01-01"), policies=(Policy(id="p", text="p", rule=rule),), now=NOW)

    (finding,) = check_policies(run).findings

    assert shown in finding.message
