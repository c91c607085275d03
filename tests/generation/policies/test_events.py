"""Events: rows that a real database accepts, calls that succeed, refusals, and users who know no right answers."""

import asyncio

import pytest
from pytest_agentbench.generation.policies.events.user import Told, leaks

from pytest_agentbench.generation.policies.events.events import state_of_rows
from pytest_agentbench.generation.policies.values import ExtractedPolicy, PolicySet
from tests.generation.policies.airline import airline
from tests.generation.policies.kit import PROJECT, SUPPORT, database_faults, events_for, maker_for


@pytest.fixture(scope="module")
def support():
    """Two hundred events of the support desk."""
    return asyncio.run(events_for(SUPPORT, 200, 2, 11))


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Two hundred events of the airline."""
    folder = tmp_path_factory.mktemp("airline")
    return folder, *asyncio.run(events_for(airline(folder), 200, 1, 8))


def test_no_row_of_200_support_events_is_inconsistent(support):
    """A database of the suite's schema takes every row as a new one, and finds no dangling reference."""
    maker, events, rejections = support
    folder = PROJECT / "example_project" / "bench" / "support"

    faults = [
        fault for one in events for fault in database_faults(one, maker, folder / "schema.sql", folder / "rows.yaml")
    ]

    print(f"support: {len(events)} events, {sum(len(one.rows) for one in events)} rows, {len(faults)} inconsistent")
    assert faults == []
    assert len(events) == 200
    assert rejections == []


def test_no_row_of_200_airline_events_is_inconsistent(flown):
    """The same on a schema with number keys, a table that refers to itself and a composite key."""
    folder, maker, events, rejections = flown

    faults = [
        fault for one in events for fault in database_faults(one, maker, folder / "schema.sql", folder / "rows.yaml")
    ]

    print(f"airline: {len(events)} events, {sum(len(one.rows) for one in events)} rows, {len(faults)} inconsistent")
    assert faults == []
    assert len(events) + len(rejections) == 200
    assert len(events) >= 190


def test_every_event_has_a_call_that_names_a_generated_row(support, flown):
    """Some argument of an expected call is a value of a row that the event brought."""
    for event in (*support[1], *flown[2]):
        fresh = {str(value) for row in event.rows for value in row.values.values()}

        assert any(str(value) in fresh for call in event.expected for value in call.arguments.values())


async def test_expected_calls_succeed_again_and_refused_ones_are_not_among_them(support):
    """Expected calls are real; what a policy refuses is forbidden; where nothing else is asked for, nothing changes."""
    maker, events, _ = support
    refusing = [one for one in events if one.forbidden][:5]

    for event in [*events[:5], *refusing]:
        state = state_of_rows(event.rows, maker.oracle.samples.schema, maker.oracle.samples.rows)
        async with maker.oracle.world.open(state) as opened:
            before = await opened.snapshot()
            answers = [await opened.call(call.name, call.arguments) for call in event.expected]
            after = await opened.snapshot()

        assert [one.content for one in answers if one.error] == []
        assert (before == after) is event.unchanged
        assert not [call for call in event.forbidden if call in event.expected]
    assert len(refusing) == 5


def test_each_policy_is_decided_by_calls_or_left_to_a_judge_with_a_reason(support):
    """Every policy of an event has a binding that says why, and points at calls of the event."""
    for event in support[1]:
        assert [one.policy for one in event.bindings] == list(event.set.policies)
        assert all(one.reason for one in event.bindings)
        assert all(at < len(event.expected) for one in event.bindings for at in one.expected)
        assert all(one.forbidden for one in event.bindings if one.handling == "refuses")


def test_the_conditions_that_refuse_come_from_words_and_columns(support):
    """State, limit and order of dates are found in the texts; a refused row breaks one of them."""
    maker = support[0]

    kinds = {(one.policy, one.kind) for one in maker.oracle.conditions("return_items")}
    kinds |= {(one.policy, one.kind) for one in maker.oracle.conditions("refund_shipping")}

    assert {("return-window", "value"), ("return-window", "most"), ("late-delivery", "after")} <= kinds


async def test_the_same_seed_gives_the_same_events(tmp_path):
    """Two makers agree to the byte; another seed gives others."""
    file = airline(tmp_path)

    first = [one.model_dump_json() for one in (await events_for(file, 12, 1, 8))[1]]
    again = [one.model_dump_json() for one in (await events_for(file, 12, 1, 8))[1]]
    other = [one.model_dump_json() for one in (await events_for(file, 12, 1, 8, seed=8))[1]]

    assert first == again
    assert first != other


def test_a_user_told_of_policies_tools_or_expected_behaviour_is_found():
    """What only the critique may know is refused in goal and lines."""
    policy = ExtractedPolicy(id="window", text="Take items back within 30 days of delivery only.")
    user = Told(
        persona="Calm.", goal="Return the lamp.", says=("Please take items back within 30 days of delivery.",), facts=()
    )

    assert leaks(user, [policy])[0].startswith("the user is told of window")
    assert leaks(user.model_copy(update={"says": ("Call return_items.",)}), [policy], ["return_items"])
    assert leaks(user.model_copy(update={"says": ("I return the lamp.",)}), [policy], ["return_items"]) == []


async def test_policies_of_one_and_tools_of_none_get_an_answer(tmp_path):
    """A set whose policies are about no tool still becomes an event with calls, and says that a judge decides."""
    maker = await maker_for(airline(tmp_path), seed=2)
    one = PolicySet(id="c1-001", first="no-upgrades", policies=("no-upgrades",), requested=1, realised=1)

    event = await maker.make(one)

    assert event.expected
    assert event.judge_only == ("no-upgrades",)
    assert event.says[-1] == "Could you grant upgrades?"
