"""Hydration: real calls in one world, every argument with an origin, one owner, the suite's rules kept."""

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_agentbench.generation.draft import Turn
from pytest_agentbench.generation.owned_rows import CallRecord
from pytest_agentbench.generation.ownership import people_of
from pytest_agentbench.generation.tools.data_types import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Edge,
    Graph,
    Place,
    SemanticType,
    Taxonomy,
    Walk,
)
from pytest_agentbench.generation.tools.hydration.hydrate import hydrate
from pytest_agentbench.generation.tools.hydration.stock import HydrationError, Stock
from pytest_agentbench.generation.tools.hydration.turns import wanted_of
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.recruiting.proposals import slips
from pytest_agentbench.generation.tools.recruiting.recruiter import Recruiter
from pytest_agentbench.generation.tools.walks.rehearsal import rehearse
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.tools.making import hydrated, run, stocked, suite_in, turns_of

CHAIN = (RUN_CONVERSATION, "find_rooms", "room_details", RUN_CONVERSATION, END_OF_SIMULATION)
WRITES = (
    RUN_CONVERSATION,
    "book_room",
    "get_booking",
    RUN_CONVERSATION,
    "cancel_booking",
    RUN_CONVERSATION,
    END_OF_SIMULATION,
)
PAPERS = """
def list_papers(claim: str, *, state: dict) -> dict:
    "List the papers that a claim lacks."
    if claim not in state["claims"]:
        raise LookupError(f"no claim {claim}")
    return {"papers": state["claims"][claim]}

def hand_in(claim: str, paper: str, *, state: dict) -> str:
    "Note that a paper has come in."
    if paper not in state["claims"][claim]:
        raise ValueError(f"no paper {paper}")
    state["claims"][claim].remove(paper)
    return "noted"
"""
RULES = """policies:
  - {id: identify, text: Look the member up first., rule: {before: {calls: writes, first: [get_member]}}}
  - {id: ask, text: Ask before a change., rule: {confirm_before: {calls: writes}}}
  - {id: weeks, text: Never renew for three weeks., rule: {never: {calls: [renew_loan], where: {weeks: 3}}}}
"""


def with_other(stock: Stock, **changed: object) -> Stock:
    """Give the stock with other parts."""
    parts = {name: getattr(stock, name) for name in ("world", "cards", "taxonomy", "pool", "rules", "state")}
    return Stock(**{**parts, **changed})


@pytest.fixture(scope="module")
def hotel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stock, Graph]:
    """What walks of the hotel are hydrated with."""
    return asyncio.run(stocked(suite_in(tmp_path_factory.mktemp("hotel"), "hotel")))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stock, Graph]:
    """What walks of the library are hydrated with, under rules."""
    return asyncio.run(stocked(suite_in(tmp_path_factory.mktemp("library"), "library", more=RULES)))


def test_a_chain_takes_its_arguments_from_the_result_before(hotel: tuple[Stock, Graph]) -> None:
    """The second call's room is one that the first call found; the user points at it and does not say it."""
    turns = asyncio.run(turns_of(hotel[0], CHAIN))

    first, second = turns[0].calls
    assert second.call.arguments["room"] in first.answer
    assert (second.origins["room"].source, second.origins["room"].call) == ("result", 0)
    reference = turns[0].references[0]
    assert (reference.label, reference.source, reference.argument, reference.call) == ("room", 0, "room", 1)
    assert [stated.argument for stated in turns[0].states] == ["beds"]


def test_a_place_in_a_list_is_named_once_the_list_was_shown(tmp_path: Path) -> None:
    """Where only its place says which one is meant, the list is asked for in a turn of its own, unless there is one."""
    (tmp_path / "papers.py").write_text(PAPERS)
    (tmp_path / "state.json").write_text(json.dumps({"claims": {f"C-10{n}": ["photos", "receipts"] for n in range(4)}}))
    (tmp_path / "agentbench.yaml").write_text(
        "agent: none:build\nenvironment: {tools: papers, state: {json: state.json}}\n"
        "scenarios: [generated/scenarios/*.yaml]\ngenerate: {from: tools, values: {claim: [C-100, C-101]}}\n"
    )
    walk = (RUN_CONVERSATION, "list_papers", "hand_in", RUN_CONVERSATION, END_OF_SIMULATION)
    stock, _ = asyncio.run(stocked(tmp_path / "agentbench.yaml"))

    shown = asyncio.run(turns_of(stock, walk))
    once = asyncio.run(turns_of(with_other(stock, once=True), walk))

    assert [[call.call.name for call in turn.calls] for turn in shown] == [["list_papers"], ["hand_in"]]
    assert [(one.source, one.call) for one in shown[1].references] == [(0, 0)]
    assert [[call.call.name for call in turn.calls] for turn in once] == [["list_papers", "hand_in"]]


def test_changes_are_made_one_after_the_other_in_one_world(hotel: tuple[Stock, Graph]) -> None:
    """A booking that the walk makes is found by its next call, and no other walk sees it."""
    first = asyncio.run(turns_of(hotel[0], WRITES, seed=1))
    second = asyncio.run(turns_of(hotel[0], WRITES, seed=1))

    assert first == second
    booked, looked_up = first[0].calls
    assert looked_up.call.arguments["reference"] in booked.answer
    assert "7001" in looked_up.answer


def test_all_is_about_one_person(hotel: tuple[Stock, Graph]) -> None:
    """Who has booked a room books the next one for the same guest, whatever was searched for in between."""
    walk = (RUN_CONVERSATION, "book_room", RUN_CONVERSATION, "find_rooms", "book_room", RUN_CONVERSATION)

    told = [asyncio.run(turns_of(hotel[0], (*walk, END_OF_SIMULATION), seed=seed)) for seed in range(4)]

    for turns in told:
        guests = {call.call.arguments.get("guest") for turn in turns for call in turn.calls} - {None}
        assert len(guests) == 1
        calls = [CallRecord(one.call.name, one.call.arguments) for turn in turns for one in turn.calls]
        assert set(people_of(hotel[0].ownership, calls)["guest"]) == guests


def test_every_argument_has_an_origin_and_is_said_or_pointed_at(hotel: tuple[Stock, Graph]) -> None:
    """Arguments and origins cover each other; what the user does not say, a reference or a result gives."""
    stock, graph = hotel

    found = asyncio.run(hydrated(stock, graph, 16))

    assert len(found) >= 6
    for turns in found:
        calls = [call for turn in turns for call in turn.calls]
        for call in calls:
            assert set(call.origins) == set(call.call.arguments)
        for turn in turns:
            said = {(one.call, one.argument) for one in (*turn.states, *turn.references)}
            assert said == {(place, path) for place, call in enumerate(turn.calls) for path in call.origins}


def test_a_name_leads_to_an_identifier_by_a_call_that_is_made(library: tuple[Stock, Graph]) -> None:
    """Where a title finds one book, the user says the title, and the book's number is looked up."""
    nodes = (RUN_CONVERSATION, "get_book", RUN_CONVERSATION, END_OF_SIMULATION)

    turns = asyncio.run(turns_of(library[0], nodes))

    assert [call.call.name for call in turns[0].calls] == ["search_books", "get_book"]
    assert [stated.argument for stated in turns[0].states] == ["title"]


def test_rules_are_kept_while_a_walk_is_planned(library: tuple[Stock, Graph]) -> None:
    """The member is looked up first, a change is confirmed in a turn of its own, what is forbidden is not asked for."""
    nodes = (RUN_CONVERSATION, "renew_loan", RUN_CONVERSATION, END_OF_SIMULATION)

    told = [asyncio.run(turns_of(library[0], nodes, seed=seed)) for seed in range(5)]

    for turns in told:
        assert [turn.act for turn in turns] == ["request", "confirm"]
        lookup, renewal = turns[0].calls[-1], turns[1].calls[0]
        assert (lookup.call.name, lookup.asked) == ("get_member", False)
        assert renewal.call.arguments.get("weeks") != 3
        assert renewal.call.arguments["loan_id"] in turns[1].about
        member = library[0].ownership.about(CallRecord("renew_loan", renewal.call.arguments)).people["member"]
        assert member == {lookup.call.arguments["member_id"]}


def test_what_the_user_wants_to_know_stays_what_it_is(library: tuple[Stock, Graph]) -> None:
    """It stands in the answer of the turn's last call, and is none of the values that were said."""
    nodes = (RUN_CONVERSATION, "get_book", RUN_CONVERSATION, END_OF_SIMULATION)

    turn: Turn = asyncio.run(turns_of(library[0], nodes))[0]

    assert turn.wanted
    assert turn.wanted[0].call == len(turn.calls) - 1
    assert turn.wanted[0].text in turn.calls[-1].answer
    assert turn.wanted[0].text not in [str(stated.value) for stated in turn.states]


def test_a_name_that_ends_in_a_short_word_says_of_nothing_what_is_wanted() -> None:
    """`sign_in` answers with a name, not with the name of an *in*; `find_member` with that of a member."""
    answer = {"name": "Hazel Oduya", "code": "HZL-4"}

    wanted = [next(wanted_of(answer, ["HZL-4"], tool, {})) for tool in ("sign_in", "find_member")]

    assert [(one.label, one.thing) for one in wanted] == [("name", ""), ("name", "member")]
    assert [one.thing for one in wanted_of([{"loan": "L301", "tier": "full"}], [], "list_loans", {})] == ["", "loans"]


def test_an_edge_that_the_world_does_not_bear_is_closed(hotel: tuple[Stock, Graph]) -> None:
    """A type leads from a booking's room to booking a room, and that room is taken."""
    stock, graph = hotel
    room = SemanticType(
        id="room_number",
        produced=(Place(tool="get_booking", path="room"),),
        consumed=(Place(tool="book_room", path="room"),),
    )
    taxonomy = Taxonomy(types=(*(one for one in stock.taxonomy.types if one.id != "room_number"), room))
    leading = Edge(source="get_booking", target="book_room", via=("room_number",))
    others = tuple(one for one in graph.edges if (one.source, one.target) != ("get_booking", "book_room"))

    found = asyncio.run(
        rehearse(graph.model_copy(update={"edges": (*others, leading)}), with_other(stock, taxonomy=taxonomy), seed=1)
    )

    assert ("get_booking", "book_room") in found.closed
    assert ("find_rooms", "room_details") not in found.closed


@pytest.mark.parametrize(("bound", "why"), [({"tries": 1}, "all tries are used up"), ({"seconds": 0.0}, "the time is")])
def test_a_rehearsal_ends_and_says_what_it_left(hotel: tuple[Stock, Graph], bound: dict[str, Any], why: str) -> None:
    """Nothing that was not tried is closed."""
    stock, graph = hotel

    found = asyncio.run(rehearse(graph, stock, seed=1, **bound))

    assert found.left.startswith("not rehearsed: ")
    assert " edges" in found.left
    assert why in found.left
    assert found.closed == {}


def test_a_walk_gives_up_after_so_many_tries(hotel: tuple[Stock, Graph]) -> None:
    """It is lost, whatever attempts are left, and has the turns that came before."""
    stock, _ = hotel

    with pytest.raises(HydrationError, match="too many calls were tried") as caught:
        asyncio.run(hydrate(Walk(id="w", nodes=CHAIN), stock, Random(1), tries=1))

    assert caught.value.turns == ()


def test_a_tool_without_verified_calls_is_said(hotel: tuple[Stock, Graph]) -> None:
    """A walk with a tool that has no entry is lost for that reason."""
    with pytest.raises(HydrationError, match="no verified call left: find_rooms"):
        asyncio.run(turns_of(with_other(hotel[0], pool=Pool()), CHAIN))


def test_a_tool_that_a_rule_forbids_is_left_out(tmp_path: Path) -> None:
    """The rehearsal finds out that no call of it may be made, and says so."""
    never = "policies:\n  - {id: no, text: Never reserve., rule: {never: {calls: [reserve_book]}}}\n"

    async def rehearsed() -> dict[str, str]:
        stock, graph = await stocked(suite_in(tmp_path, "library", more=never))
        return (await rehearse(graph, stock, seed=1)).unfit

    assert set(asyncio.run(rehearsed())) == {"reserve_book"}


def test_the_pool_holds_calls_that_were_answered_and_why_others_are_not(hotel: tuple[Stock, Graph]) -> None:
    """Entries have distinct arguments and real answers; values that only a probe put in are not among them."""
    stock, graph = hotel

    pool, why = asyncio.run(
        Recruiter(world=stock.world, cards=stock.cards, taxonomy=stock.taxonomy).recruit(graph.tools)
    )

    assert why == {}
    assert pool == stock.pool
    for tool in graph.tools:
        keys = [str(entry.arguments) for entry in pool.of(tool)]
        assert len(keys) == len(set(keys)) >= 2
    guests = {entry.arguments["guest"] for entry in pool.of("book_room")}
    assert guests <= {"Weiss", "Lambert", "Duarte"}


def test_slips_of_users_are_near_what_they_meant() -> None:
    """Two letters swapped, or another last digit; a number of one digit is not mistyped."""
    assert list(slips({"name": "Lambert"})) == [{"name": "Lambetr"}]
    assert list(slips({"code": "BK-6001"})) == [{"code": "BK-6008"}]
    assert list(slips({"nights": 3, "room": "7"})) == []
    assert list(slips({"status": "booked"})) == []


LAMPS = '''
def add_lamp(room: str, *, state: dict) -> dict:
    """Add a lamp to a room.

    Args:
        room: Name of the room, such as hall
    """
    lamp = f"LP-{len(state['lamps']) + 71}"
    state["lamps"][lamp] = {"room": room, "level": 5}
    return {"lamp_id": lamp, "room": room}


def set_level(lamp_id: str, level: Literal[5, 6, 7], *, state: dict) -> dict:
    """Set how bright a lamp is.

    Args:
        lamp_id: Number of the lamp
        level: How bright
    """
    if lamp_id not in state["lamps"]:
        raise LookupError(f"there is no lamp {lamp_id}")
    state["lamps"][lamp_id]["level"] = level
    return {"lamp_id": lamp_id, "level": level}
'''


def test_a_change_that_leaves_all_as_it_was_is_not_planned(tmp_path: Path) -> None:
    """No run can tell whether it was made, so that each lamp gets another level than it has."""
    (tmp_path / "lamps_tools.py").write_text(f"from typing import Literal\n{LAMPS}", encoding="utf-8")
    (tmp_path / "lamps_state.json").write_text('{"lamps": {"LP-70": {"room": "hall", "level": 6}}}', encoding="utf-8")
    file = suite_in(tmp_path, "lamps", "count: 6, seed: 3")

    outcome = run(file)

    report = json.loads((tmp_path / "generated/report.json").read_text(encoding="utf-8"))
    assert outcome.accepted > 2
    assert report["lost"] == []
    for scenario in load_suite(file, environ={}).scenarios:
        levels = {"LP-70": 6}
        for call in scenario.expected_calls:
            if call.name == "set_level":
                assert levels.get(call.arguments["lamp_id"], 5) != call.arguments["level"]
                levels[call.arguments["lamp_id"]] = call.arguments["level"]
