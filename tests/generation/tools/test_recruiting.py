"""Recruiting where environments are not a table of data: one at a time, empty to begin with, values of their own."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.generation.tools.artifacts import POOL, PoolFile, load
from pytest_agentbench.generation.tools.data_types import Card, Cards, Graph, Place, PoolEntry, SemanticType
from pytest_agentbench.generation.tools.flows import assignments
from pytest_agentbench.generation.tools.graph.graph import build_graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.generation.tools.hydration.stock import Stock
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.session import Budget
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.recruiting.recruiter import Recruiter
from pytest_agentbench.generation.tools.walks.rehearsal import rehearse
from pytest_agentbench.generation.tools.world import World, world_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.tools.making import run
from tests.generation.tools.probed import written

LENT = """
OPEN = []
MOST = []

class Provider:
    isolation = "exclusive"

    def open(self, initial, run):
        OPEN.append(run)
        MOST.append(len(OPEN))
        return {"cups": {"C-10441": "blue", "C-20882": "green"}, "lent": []}

    def snapshot(self, handle):
        return handle

    def close(self, handle):
        OPEN.pop()
"""

CUPS = '''
def list_cups(*, state) -> list[dict]:
    """List the cups."""
    return [{"cup_id": id, "colour": colour} for id, colour in state["cups"].items()]


def lend_cup(cup_id: str, *, state) -> dict:
    """Lend a cup.

    Args:
        cup_id: Number of the cup
    """
    if cup_id not in state["cups"]:
        raise LookupError(f"there is no cup {cup_id}")
    state["lent"].append(cup_id)
    return {"cup_id": cup_id, "status": "lent"}
'''

NOTES = '''
def add_note(title: str, *, state: dict) -> str:
    """Add a note.

    Args:
        title: Title of the note, for example Milk or Bread
    """
    number = 700 + 13 * (1 + len(state["notes"]))
    state["notes"][f"N{number}"] = {"title": title, "labels": []}
    return f"Created note N{number}."


def get_note(note_id: str, *, state: dict) -> dict:
    """Get a note.

    Args:
        note_id: Number of the note
    """
    if note_id not in state["notes"]:
        raise LookupError(f"there is no note {note_id}")
    return {"note_id": note_id, **state["notes"][note_id]}


def label_note(note_id: str, label: str, *, state: dict) -> dict:
    """Label a note.

    Args:
        note_id: Number of the note
        label: Label of the note, for example urgent or later
    """
    if note_id not in state["notes"]:
        raise LookupError(f"there is no note {note_id}")
    state["notes"][note_id]["labels"].append(label)
    return {"note_id": note_id, "labels": state["notes"][note_id]["labels"]}


def list_notes(*, state: dict) -> list[dict]:
    """List the notes."""
    return [{"note_id": id, **note} for id, note in state["notes"].items()]
'''

HOMES = '''
import uuid

HOME = uuid.uuid4().hex


def get_home(*, state: dict) -> dict:
    """Get the folder of this session."""
    return {"folder": f"/homes/{HOME}", "drawer": "D-4471"}


def open_folder(folder: str, *, state: dict) -> dict:
    """Open a folder.

    Args:
        folder: The folder
    """
    if folder != f"/homes/{HOME}":
        raise LookupError(f"there is no folder {folder}")
    return {"files": ["letter", "list"]}


def open_drawer(drawer: str, *, state: dict) -> dict:
    """Open a drawer.

    Args:
        drawer: Number of the drawer
    """
    if drawer != "D-4471":
        raise LookupError(f"there is no drawer {drawer}")
    return {"spoons": 12}
'''


async def recruited(world: World) -> tuple[Cards, Graph, Stock, dict[str, str]]:
    """Probe a world and make its pool; give the reasons of tools without calls last."""
    cards = await probe(world, seed=7, budget=Budget(nominal=12, challenges=6, observed=16, effects=4))
    taxonomy = build_taxonomy(cards)
    graph = build_graph(cards, taxonomy)
    pool, why = await Recruiter(world=world, cards=cards, taxonomy=taxonomy).recruit(graph.tools)
    rules = SuiteRules((), world.toolset)
    return cards, graph, Stock(world=world, cards=cards, taxonomy=taxonomy, pool=pool, rules=rules), why


def entries_of(folder: Path) -> list[PoolEntry]:
    """The verified calls that were written."""
    found = load(folder / "generated" / POOL, PoolFile)
    assert found is not None
    return list(found.entries)


def suite_of(folder: Path, tools: str, recipe: str, state: dict[str, Any]) -> Path:
    """Write a suite of tools with a recipe; give its file."""
    (folder / "tools.py").write_text(tools)
    (folder / "state.json").write_text(json.dumps(state))
    path = folder / "agentbench.yaml"
    path.write_text(
        "agent: nowhere:build\n"
        "environment: {tools: tools, state: {json: state.json}}\n"
        "scenarios: [generated/scenarios/*.yaml]\n"
        f"generate: {{from: tools, {recipe}}}\n"
    )
    return path


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scenarios of a service that starts without a note."""
    path = suite_of(tmp_path_factory.mktemp("notes"), NOTES, "count: 10, seed: 7", {"notes": {}})
    outcome = run(path)
    assert outcome.is_complete, outcome.lines
    return path


def test_no_two_environments_are_open_at_once_where_runs_must_not_overlap(tmp_path: Path) -> None:
    """Reads and changes are recruited, walks rehearsed and scenarios written, one environment after the other."""
    (tmp_path / "lent.py").write_text(LENT)
    path = suite_of(tmp_path, CUPS, "count: 2, seed: 7", {})
    path.write_text(path.read_text().replace("{json: state.json}", '{own: "lent:Provider"}'))

    outcome = run(path)

    assert outcome.is_complete, outcome.lines
    assert {entry.tool for entry in entries_of(tmp_path)} == {"list_cups", "lend_cup"}


def test_what_works_only_after_others_is_verified_behind_them(notes: Path) -> None:
    """An entry says behind which call it works, with all that it was given then."""
    pool = Pool(entries=tuple(entries_of(notes.parent)))

    assert not pool.of("add_note")[0].after
    for tool in ("get_note", "label_note", "list_notes"):
        assert pool.chain(pool.behind(tool)[0])[0].tool == "add_note"
    assert pool.behind("label_note")[0].arguments["label"]


def test_scenarios_of_an_empty_service_use_all_of_its_tools(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No conversation begins with what is not there yet; a deed comes back to what an earlier call made."""
    report = json.loads((notes.parent / "generated/report.json").read_text())
    forms = [yaml.safe_load(file.read_text()) for file in sorted(notes.parent.glob("generated/scenarios/*.yaml"))]

    status = main(["validate", str(notes), "--no-mutants"])

    assert status == 0, capsys.readouterr().out
    rows = {row["what"]: row for row in report["coverage"]}
    assert rows["tools"]["covered"] == 4
    assert {form["expect"][0]["name"] for form in forms} == {"add_note"}
    paths = [form["provenance"]["path"] for form in forms]
    assert any("add_note > get_note" in path or "add_note > label_note" in path for path in paths)
    for form in forms:
        for call, origin in zip(form["expect"], form["provenance"]["calls"], strict=True):
            assert set(origin["arguments"]) == set(call["arguments"])
            if "note_id" in call["arguments"]:
                assert isinstance(origin["arguments"]["note_id"], dict), form["id"]  # from an answer, not from the pool


async def test_values_of_one_environment_are_not_handed_on(tmp_path: Path) -> None:
    """A folder drawn by each process is in no verified call; its edge is closed, that of a lasting value is not."""
    world = written(tmp_path, HOMES, {"drawers": 1})

    _, graph, stock, why = await recruited(world)
    closed = (await rehearse(graph, stock, seed=1)).closed

    assert stock.pool.of("open_folder") == ()
    assert [entry.arguments for entry in stock.pool.of("open_drawer")] == [{"drawer": "D-4471"}]
    assert ("get_home", "open_drawer") not in closed
    assert "others in each environment" in closed.get(("get_home", "open_folder"), why.get("open_folder", ""))


def test_a_saved_entry_is_read_as_it_was(tmp_path: Path) -> None:
    """What works at once is written without a word about what comes before."""
    pool = Pool.model_validate(
        {
            "entries": [
                {"id": "a.1", "tool": "a", "arguments": {}, "content": "1"},
                {"id": "b.1", "tool": "b", "arguments": {}, "content": "2", "after": "a.1"},
                {"id": "c.1", "tool": "c", "arguments": {}, "content": "3", "after": "b.1"},
            ]
        }
    )

    assert "after" not in pool.entries[0].model_dump()
    assert [one.id for one in pool.chain(pool.entries[2])] == ["a.1", "b.1", "c.1"]
    assert (pool.of("b"), pool.behind("a")) == ((), ())
    assert pool.sources("c") == {"b"}


def test_values_of_different_records_do_not_go_together() -> None:
    """A name in one list and an end in another are two things; columns of one table belong together."""
    one = SemanticType(
        id="name",
        produced=(
            Place(tool="look", path="people.*.name"),
            Place(tool="look", path="ties.*.to"),
        ),
        consumed=(Place(tool="tie", path="from"), Place(tool="tie", path="to")),
    )
    days = SemanticType(
        id="day", produced=(Place(tool="plan", path="days.*"),), consumed=(Place(tool="book", path="day"),)
    )
    rooms = SemanticType(
        id="room", produced=(Place(tool="plan", path="rooms.*"),), consumed=(Place(tool="book", path="room"),)
    )
    people = {"people": [{"name": "Ada"}, {"name": "Ben"}], "ties": [{"to": "Cleo"}, {"to": "Dora"}]}

    tied = assignments([one], "look", people, Card(tool="tie"))
    booked = assignments([days, rooms], "plan", {"days": ["mon", "tue"], "rooms": ["7", "8"]}, Card(tool="book"))

    assert all(len(row.arguments) == 1 for row in tied)
    assert [dict(row.arguments) for row in booked] == [{"day": "mon", "room": "7"}, {"day": "tue", "room": "8"}]


def test_what_a_change_draws_is_not_to_be_told(tmp_path: Path) -> None:
    """A receipt that is another one in each environment is no value that an agent must say; a fee is."""
    tools = NOTES.replace(
        '    return f"Created note N{number}."',
        "    import uuid\n\n"
        '    return {"note_id": f"N{number}", "receipt": uuid.uuid4().hex, "fee": 12 + len(state["notes"])}',
    )
    path = suite_of(tmp_path, tools, "count: 6, seed: 7", {"notes": {}})

    outcome = run(path)

    assert outcome.is_complete, outcome.lines
    forms = [yaml.safe_load(file.read_text()) for file in tmp_path.glob("generated/scenarios/*.yaml")]
    told = {fact["path"] for form in forms for fact in form["provenance"]["facts"]}
    assert "receipt" not in told


def test_a_change_that_lapses_within_a_year_is_used_where_none_lasts(tmp_path: Path) -> None:
    """A visit in some weeks can be booked on the clock of the suite, and not a year later; one in two years can."""
    (tmp_path / "visits.py").write_text(
        "def book_visit(state, now, visit: int) -> str:\n"
        "    'Book a visit.'\n"
        "    if state['visits'][str(visit)] <= str(now.date()):\n"
        "        raise ValueError(f'visit {visit} is over')\n"
        "    state['booked'].append(visit)\n    return 'booked'\n"
    )
    suite = tmp_path / "agentbench.yaml"
    suite.write_text(
        "agent: none:build\nnow: 2026-11-30T09:00Z\nscenarios: [generated/scenarios/*.yaml]\n"
        "environment: {tools: visits, state: {json: state.json}, writes: [book_visit]}\n"
        "generate: {from: tools, count: 1, values: {visit: [917, 918]}}\n"
    )

    async def booked(**days: str) -> set[int]:
        visits = {name.removeprefix("v"): day for name, day in days.items()}
        (tmp_path / "state.json").write_text(json.dumps({"visits": visits, "booked": []}))
        world = world_of(load_suite(suite, environ={}, generating=True), hints={"visit": [917, 918]})
        cards = await probe(world, seed=7)
        pool, why = await Recruiter(world=world, cards=cards, taxonomy=build_taxonomy(cards)).recruit(["book_visit"])
        assert why == {}
        return {dict(entry.arguments)["visit"] for entry in pool.of("book_visit")}

    assert asyncio.run(booked(v917="2027-01-08")) == {917}
    assert asyncio.run(booked(v917="2027-01-08", v918="2028-11-30")) == {918}


BOOKED = '''
def list_bookings(*, state: dict) -> list[dict]:
    """List the bookings."""
    return state["bookings"]


def book_machine(machine: str, member: str, remark: str, *, state: dict) -> dict:
    """Book a machine."""
    if any(one["machine"] == machine and one["member"] == member for one in state["bookings"]):
        raise ValueError("it is booked")
    state["bookings"].append({"machine": machine, "member": member})
    return {"machine": machine, "member": member, "remark": remark}
'''


def test_no_user_says_what_only_a_probe_made_up(tmp_path: Path) -> None:
    """Rows have machines and members, and the tool takes any text: of a remark nothing is known but what it is."""
    rows = [{"machine": "chipper", "member": "M-101"}, {"machine": "tiller", "member": "M-102"}]
    path = suite_of(tmp_path, BOOKED, "count: 4, seed: 7", {"bookings": rows})

    run(path, until="walks")

    found = load(tmp_path / "generated" / POOL, PoolFile)
    made = [dict(entry.arguments) for entry in found.entries if entry.tool == "book_machine"] if found else []
    assert {one["machine"] for one in made} == {"chipper", "tiller"}
    assert {one["member"] for one in made} == {"M-101", "M-102"}
    assert "remark of this request" in {one["remark"] for one in made}
    assert all(one["remark"].endswith(" of this request") for one in made)
