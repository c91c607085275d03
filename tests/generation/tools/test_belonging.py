"""What belongs together is tried together, what is told is believed, and what is given back stands apart."""

from pathlib import Path

import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.core.suite import EnvironmentSpec, StateSpec
from pytest_agentbench.generation.tools.graph.graph import build_graph, with_repeats, without_repeats
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.world import asked_for_state, world_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.tools.probed import card, edges_of, probed, written

RACKS = """
def list_makers(*, state: dict) -> list[dict]:
    "List the makers."
    return [{"mark": mark} for mark in state["makers"]]

def list_pieces(mark: str, *, state: dict) -> list[dict]:
    "List a maker's pieces."
    if mark not in state["makers"]:
        raise LookupError(f"no maker {mark}")
    return [{"piece": key} for key, one in state["pieces"].items() if one == mark]

def show_last(*, state: dict) -> dict:
    "Show what came in last."
    return {"mark": "QD-2", "piece": "P7702"}

def show_piece(mark: str, piece: str, *, state: dict) -> dict:
    "Show a piece of a maker."
    if mark not in state["makers"]:
        raise LookupError(f"no maker {mark}")
    if state["pieces"].get(piece) != mark:
        raise LookupError(f"no piece {piece} of that maker")
    return {"piece": piece, "mark": mark, "rack": "left"}

def set_aside(piece: str, where: str, *, state: dict) -> str:
    "Set a piece aside."
    if piece not in state["pieces"]:
        raise LookupError(f"no piece {piece}")
    if where not in ("back", "roof"):
        raise ValueError(f"unknown place {where}; see show_places")
    return "done"

def show_places(*, state: dict) -> list[dict]:
    "Show where there is room."
    return [{"code": "back", "text": "Behind the kiln"}, {"code": "roof", "text": "Under the roof"}]

def book_kiln(piece: str, day: str, *, now: datetime, state: dict) -> str:
    "Book the kiln, ahead of time."
    if piece not in state["pieces"]:
        raise LookupError(f"no piece {piece}")
    if not now.date() < date.fromisoformat(day) < now.date() + timedelta(days=90):
        raise ValueError("the kiln is booked ahead, and for no more than three months")
    return "booked"
"""
IMPORTS = "from datetime import date, datetime, timedelta\n"
STATE = {"makers": ["HZ-4", "QD-2"], "pieces": {"P1101": "HZ-4", "P1102": "HZ-4", "P7702": "QD-2"}}
READS = ("list_makers", "list_pieces", "show_last", "show_piece", "show_places")


def test_values_are_tried_with_what_stood_beside_them(tmp_path: Path) -> None:
    """A piece is shown to its maker alone: of another maker's it takes the mark that the answer gives with it."""
    cards = probed(written(tmp_path, IMPORTS + RACKS, STATE, reads=READS, writes=["set_aside", "book_kiln"]))

    pairs = {(flow.source, flow.target, flow.target_path) for flow in cards.flows}
    assert ("show_last", "show_piece", "piece") in pairs
    assert ("list_pieces", "show_piece", "piece") in pairs
    assert ("list_makers", "show_piece", "mark") in pairs


def test_a_tool_that_a_refusal_names_tells_the_values(tmp_path: Path) -> None:
    """Words that no name leads to are taken from where a refusal sends its reader."""
    cards = probed(written(tmp_path, IMPORTS + RACKS, STATE, reads=READS, writes=["set_aside", "book_kiln"]))
    alone = probed(
        written(tmp_path, IMPORTS + RACKS, STATE, reads=READS, writes=["set_aside", "book_kiln"]),
        without=frozenset({"told"}),
    )

    assert ("show_places", "set_aside") in edges_of(cards)
    assert card(alone, "set_aside").partial != ""


def test_days_lie_around_the_clock_of_the_suite(tmp_path: Path) -> None:
    """What is booked ahead of time is booked after `now`, whenever that is."""
    written(tmp_path, IMPORTS + RACKS, STATE, reads=READS, writes=["set_aside", "book_kiln"])
    file = tmp_path / "agentbench.yaml"
    plain = file.read_text(encoding="utf-8")
    for year in (2019, 2031):
        file.write_text(f"{plain}now: {year}-05-02T09:00Z\n", encoding="utf-8")
        cards = probed(world_of(load_suite(file, environ={}, generating=True)))

        assert card(cards, "book_kiln").partial == ""
        assert ("list_pieces", "book_kiln") in edges_of(cards)


def test_what_a_read_gives_back_stands_apart(tmp_path: Path) -> None:
    """Reading a piece and then booking for it is a pair in the file, and none that scenarios are made of."""
    world = written(tmp_path, IMPORTS + RACKS, STATE, reads=READS, writes=["set_aside", "book_kiln"])
    cards = probed(world)
    taxonomy = build_taxonomy(cards)

    plain = build_graph(cards, taxonomy)
    whole = with_repeats(plain, cards, taxonomy)

    repeated = {(one.source, one.target) for one in whole.edges if one.repeats}
    assert ("show_piece", "set_aside") in repeated
    assert ("show_piece", "set_aside") not in {(one.source, one.target) for one in plain.edges if one.via}
    assert sum(one.weight for one in whole.edges if one.source == "show_piece") == 1
    assert without_repeats(whole) == plain


def test_what_the_state_is_read_with_is_known() -> None:
    """Arguments of the calls that read the state exist; flags say nothing."""
    calls = [{"list_duties": {"crew": "MT-1", "all": True}}, {"list_duties": {"crew": "MT-2"}}, "list_cars"]

    found = asked_for_state(EnvironmentSpec(state=StateSpec(kind="tools", options={"tools": calls})))

    assert found == {"crew": ("MT-1", "MT-2")}
    assert asked_for_state(EnvironmentSpec()) == {}


FERRY = """
HOLDERS = {"K-31": ("wren", "acc-9f"), "K-32": ("teal", "acc-2b"), "K-33": ("rook", "acc-5d")}
TRIPS = {"acc-9f": ["T-401", "T-402"], "acc-2b": ["T-511", "T-512"], "acc-5d": ["T-623", "T-624"]}

def open_session(code: str, word: str) -> dict:
    "Open a session by code and word."
    if HOLDERS.get(code, ("", ""))[0] != word:
        raise LookupError("no such code and word")
    return {"holder": {"account": {"key": HOLDERS[code][1]}}}

def list_trips(account: str) -> list[dict]:
    "List the trips of an account."
    if account not in TRIPS:
        raise LookupError(f"no account {account}")
    return [{"trip": trip} for trip in TRIPS[account]]

def show_trip(account: str, trip: str) -> dict:
    "Show a trip of an account."
    if trip not in TRIPS.get(account, ()):
        raise LookupError(f"no trip {trip}")
    return {"trip": trip, "berth": f"B{trip[-2:]}"}
"""


def test_nobody_identifies_as_one_and_asks_for_the_account_of_another(tmp_path: Path) -> None:
    """The recipe knows three accounts, and the words of two of their holders."""
    (tmp_path / "ferry.py").write_text(FERRY)
    (tmp_path / "agentbench.yaml").write_text(
        "agent: none:build\nscenarios: [generated/scenarios/*.yaml]\n"
        "environment:\n  tools: ferry\n  reads: [open_session, list_trips, show_trip]\n"
        "policies:\n- id: who\n  text: Open a session first.\n"
        "  rule: {before: {calls: [list_trips, show_trip], first: [open_session]}}\n"
        "generate: {from: tools, count: 8, seed: 7, "
        "values: {code: [K-31, K-32], word: [wren, teal], account: [acc-9f, acc-2b, acc-5d]}}\n"
    )

    main(["generate", str(tmp_path / "agentbench.yaml")])

    told = [(one["expect"], one["knows"]) for one in map(yaml.safe_load, _texts(tmp_path))]
    accounts = {"K-31": "acc-9f", "K-32": "acc-2b"}
    assert len(told) > 3
    for calls, knows in told:
        made = [call["arguments"] for call in calls]
        assert {one["account"] for one in made if "account" in one} <= {accounts[knows["code"]]}


def _texts(folder: Path) -> list[str]:
    return [file.read_text() for file in folder.glob("generated/scenarios/*.yaml")]
