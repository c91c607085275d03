"""Events: each policy of a set is decided by one, rows are consistent, calls are real, the same seed gives the same."""

import asyncio
import sqlite3

import pytest
import yaml

from pytest_agentbench.generation.draft import ANSWERS
from tests.generation.policies.airline import airline
from tests.generation.policies.kit import PROJECT, database_faults, of_customers, planned, ruled_support

BENCH = PROJECT / "example_project" / "bench" / "support"


@pytest.fixture(scope="module")
def support(tmp_path_factory):
    """Events of the support desk, of three customers with all kinds of orders."""
    rows = tmp_path_factory.mktemp("support") / "rows.yaml"
    suite = of_customers(ruled_support(), {"C101", "C106", "C108"}, rows)
    return asyncio.run(planned(suite, 30, 2, 11))


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Events of the airline."""
    folder = tmp_path_factory.mktemp("airline")
    return folder, asyncio.run(planned(airline(folder), 60, 1, 8))


def sets_of(found):
    """Give the sets by their ids, which drafts have too."""
    return {one.id: one for one in found.source.sets}


@pytest.mark.slow
def test_every_event_has_exactly_the_level_asked_for_and_few_sets_are_lost(support, flown):
    """The sum of challenges of what an event decides is the level; under a tenth of the sets becomes none."""
    assert (len(support.drafts), len(flown[1].drafts)) == (30, 60)
    for found in (support, flown[1]):
        challenges = {one.id: one.challenge for one in found.source.graph.policies}
        sets = sets_of(found)

        for draft in found.drafts:
            assert sum(challenges[part.policy] for part in draft.policies) == sets[draft.id].requested
            assert [part.policy for part in draft.policies] == list(sets[draft.id].policies)
        assert len(found.losses) <= len(found.drafts) / 10


def test_every_policy_is_involved_by_a_wrong_run_or_a_tool_that_it_names(support, flown):
    """A policy with a rule has a run that breaks it, one without has a call of a tool of its own."""
    for found in (support, flown[1]):
        for draft in found.drafts:
            for part in draft.policies:
                assert part.involves
                assert bool(part.wrong_runs) is (part.handling == "decided")
                if part.handling != "decided":
                    named = found.source.maker.tools_of[part.policy]
                    turns = draft.turns
                    assert named & {call.call.name for turn in turns for call in (*turn.calls, *turn.refused)}


def test_kinds_of_events_follow_from_kinds_of_rules(support, flown):
    """Kept, requested, declined, unproven, at the limit: each is there, and for the policies that can have it."""
    kinds = {(part.policy, part.event) for draft in support.drafts for part in draft.policies}
    others = {(part.policy, part.event) for draft in flown[1].drafts for part in draft.policies}

    assert {event for _, event in kinds | others} == {"kept", "requested", "declined", "unproven", "at_limit"}
    assert {("pending-only", "requested"), ("confirm-changes", "declined"), ("identify-first", "kept")} <= kinds
    assert {policy for policy, event in kinds if event == "at_limit"} <= {"one-exchange", "one-compensation"}
    assert {policy for policy, event in kinds if event == "declined"} <= {
        "confirm-changes",
        "details-first",
        "no-means-no",
    }


def test_no_row_is_inconsistent_in_a_real_database(support, flown):
    """A database of the suite's schema takes every row as a new one, and finds no dangling reference."""
    folder, found = flown

    faults = [
        fault for one in support.drafts for fault in database_faults(one, BENCH / "schema.sql", BENCH / "rows.yaml")
    ]
    faults += [
        fault for one in found.drafts for fault in database_faults(one, folder / "schema.sql", folder / "rows.yaml")
    ]

    assert faults == []


def test_nobody_of_the_fresh_rows_is_somebody_of_the_base_rows(support):
    """No key, no name and no address of a person stands in the rows that every scenario starts from."""
    base = yaml.safe_load((BENCH / "rows.yaml").read_text(encoding="utf-8"))
    people = {(row["first_name"], row["last_name"]) for row in base["customers"]}
    mails = {row["email"] for row in base["customers"]}
    keys = {row["customer_id"] for row in base["customers"]} | {row["order_id"] for row in base["orders"]}

    for draft in support.drafts:
        for row in draft.state["customers"]:
            assert (row["first_name"], row["last_name"]) not in people
            assert row["email"] not in mails
            assert row["customer_id"] not in keys
        assert not keys & {row["order_id"] for row in draft.state.get("orders", ())}


async def test_expected_calls_succeed_again_and_refused_ones_are_not_among_them(support):
    """Calls of a right run are real, what is refused is forbidden, and a refusal alone writes nothing."""
    runs = support.source.maker.runs
    refusing = [one for one in support.drafts if all(turn.refused or not turn.calls for turn in one.turns)][:4]

    for draft in [*support.drafts[:6], *refusing]:
        async with runs.world.open(draft.state) as opened:
            before = await opened.snapshot()
            answers = [await opened.call(call.call.name, call.call.arguments) for call in draft.calls]
            after = await opened.snapshot()

        assert [one.content for one in answers if one.error] == []
        assert [one.content for one in answers] == [call.answer for call in draft.calls]
        assert (before == after) is not any(call.writes for call in draft.calls)
        for turn in draft.turns:
            assert not any(call.call in [one.call for one in draft.calls] for call in turn.refused)
    assert refusing
    assert not any(call.writes for draft in refusing for call in draft.calls)


def test_a_change_that_needs_a_yes_has_a_turn_for_it(support):
    """The request has the values, the answer has the change; a user who declines has it among what is refused."""
    for draft in support.drafts:
        for number, turn in enumerate(draft.turns):
            if turn.act in ANSWERS:
                assert draft.turns[number - 1].act == "request"
                assert not turn.states
                assert bool(turn.refused) is (turn.act == "decline")


def test_each_value_is_said_or_found_in_an_answer(support, flown):
    """No argument comes from nowhere: the user says it in this turn or before, or an answer holds it."""
    for found in (support, flown[1]):
        for draft in found.drafts:
            said = [str(one.value) for turn in draft.turns for one in turn.states]
            for call in draft.calls:
                for name, value in call.call.arguments.items():
                    origin = call.origins[name]
                    if origin.source == "user":
                        assert str(value) in said
                    else:
                        assert str(value) in draft.calls[origin.call].answer


def test_policies_that_nothing_decides_are_in_no_set_and_say_why(support, flown):
    """What has no rule and names no tool, and what no request breaks, is left out with its reason."""
    assert "no rule and names no tool" in support.source.left_out["customer-language"]
    assert "no wrong run" in support.source.left_out["three-lookups"]
    assert set(flown[1].source.left_out) == {"no-upgrades"}
    mentioned = {part.policy for draft in support.drafts for part in draft.policies}
    assert not mentioned & set(support.source.left_out)


def test_the_symbolic_event_stays_in_the_provenance(support):
    """Level, symbols and their relations stand beside what was made of them."""
    draft = support.drafts[0]

    kept = draft.provenance

    assert kept["requested"] == kept["realised"]
    assert kept["symbolic_event"]["symbols"]["C1"].startswith("customers: ")
    assert "C1 asks for" in kept["symbolic_event"]["description"]


@pytest.mark.slow
async def test_the_same_seed_gives_the_same_drafts(tmp_path):
    """Two sources agree to the byte; another seed gives others."""
    file = airline(tmp_path)

    first = [one.model_dump_json() for one in (await planned(file, 12, 1, 8)).drafts]
    again = [one.model_dump_json() for one in (await planned(file, 12, 1, 8)).drafts]
    other = [one.model_dump_json() for one in (await planned(file, 12, 1, 8, seed=8)).drafts]

    assert first == again
    assert first != other


async def test_a_validator_of_the_user_refuses_rows(tmp_path):
    """Rows that a validator refuses are lost with its reason, and none is in a draft."""
    file = airline(tmp_path)
    (tmp_path / "own_checks.py").write_text(
        "def no_gold(table, row, rows):\n    return 'gold' if row.get('tier') == 'gold' else None\n", encoding="utf-8"
    )

    found = await planned(file, 6, 1, 8, validators=["own_checks:no_gold"])

    assert found.drafts
    assert all(row["tier"] != "gold" for one in found.drafts for row in one.state["members"])


def test_a_database_error_is_what_the_helper_of_these_tests_finds():
    """The check of rows is not empty: it finds a twin key and a dangling reference."""
    connection = sqlite3.connect(":memory:")
    connection.executescript((BENCH / "schema.sql").read_text(encoding="utf-8"))
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("INSERT INTO variants (item_id, product_id, price, stock) VALUES ('x', 'nowhere', 1, 1)")

    assert connection.execute("PRAGMA foreign_key_check").fetchall()
