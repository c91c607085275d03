"""Requests of events: whose numbers they take, and whose refusal it is where a tool refuses one."""

import asyncio

import pytest

from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.source import planner_of
from pytest_agentbench.suites.suite_file import load_suite

SCHEMA = """
CREATE TABLE members (member_id TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE bookings (booking_id TEXT PRIMARY KEY, member_id TEXT NOT NULL REFERENCES members,
  nights REAL NOT NULL, price REAL NOT NULL, status TEXT NOT NULL);
"""

ROWS = """
members:
  - {member_id: M-11, name: Ida Holm}
  - {member_id: M-12, name: Tom Reed}
bookings:
  - {booking_id: K9001, member_id: M-11, nights: 3, price: 66, status: confirmed}
  - {booking_id: K9002, member_id: M-11, nights: 2, price: 80, status: requested}
  - {booking_id: K9003, member_id: M-12, nights: 5, price: 130, status: ended}
"""

TOOLS = '''
import sqlite3


def get_booking(booking_id: str, *, state: sqlite3.Connection) -> dict:
    """Look up a booking."""
    return dict(state.execute("SELECT * FROM bookings WHERE booking_id = ?", (booking_id,)).fetchone())


def extend_booking(booking_id: str, nights: int, *, state: sqlite3.Connection) -> str:
    """Extend a booking by some nights."""
    booking = get_booking(booking_id, state=state)
    if booking["status"] != "confirmed":
        raise ValueError(f"booking is {booking['status']}")
    state.execute("UPDATE bookings SET nights = nights + ? WHERE booking_id = ?", (nights, booking_id))
    return "extended"
'''

WEEK = """
  - {id: week-at-most, text: At most 7 nights., challenge: 2,
     rule: {never: {calls: [extend_booking], where: {nights: {$gt: 7}}}}}
"""

CONFIRMED = """
  - {id: confirmed-only, text: Extend confirmed bookings alone., challenge: 2,
     rule: {only_if: {calls: [extend_booking],
       earlier: {calls: [get_booking], same: [booking_id], result: {status: confirmed}}}}}
"""


def refusals(folder, policies):
    """Give, by row and nights, the rules that a request to extend decides, of all that may be asked for."""
    (folder / "schema.sql").write_text(SCHEMA, encoding="utf-8")
    (folder / "rows.yaml").write_text(ROWS, encoding="utf-8")
    (folder / "stay_tools.py").write_text(TOOLS, encoding="utf-8")
    file = folder / "agentbench.yaml"
    file.write_text(
        "agent: stay_agent:build\n"
        "environment:\n  tools: stay_tools\n  state: {sqlite: {schema: schema.sql, rows: rows.yaml}}\n"
        "  reads: [get_booking]\n  writes: [extend_booking]\n"
        f"policies:\n{policies.strip(chr(10))}\n"
        "scenarios: [generated/scenarios/*.yaml]\ngenerate: {from: policies}\n",
        encoding="utf-8",
    )

    async def found():
        suite = load_suite(file, environ={}, generating=True)
        planner = await planner_of(suite, load_toolset(suite.environment, suite.root))
        options = [option for root in planner.roots for option in await planner.options(root)]
        samples = planner.runs.samples
        asked = [(one.acts[0].request.arguments({}, samples), one) for one in options]
        return {(form["booking_id"], form["nights"]): set(one.decides) for form, one in asked if "nights" in form}

    return asyncio.run(found())


def test_numbers_are_those_of_the_rule_and_of_the_arguments_own_column(tmp_path):
    """A figure of the rule and its neighbours, or what the row has under that name; never its price; and integers."""
    found = refusals(tmp_path, WEEK)

    asked = {nights for _, nights in found}
    assert all(type(nights) is int for nights in asked)
    assert asked <= {2, 3, 4, 5, 6, 7, 8}
    assert found["K9001", 8] == {"week-at-most"}


@pytest.mark.parametrize("policies", [WEEK, WEEK + CONFIRMED])
def test_a_refusal_for_another_reason_decides_no_rule(tmp_path, policies):
    """What is refused as well where the rule is kept, or for what another rule forbids, is not refused by the rule."""
    found = refusals(tmp_path, policies)

    assert "week-at-most" in found["K9001", 8]
    assert not any("week-at-most" in rules for (booking, _), rules in found.items() if booking != "K9001")
    assert any("confirmed-only" in rules for (booking, _), rules in found.items() if booking == "K9003") is (
        policies != WEEK
    )
