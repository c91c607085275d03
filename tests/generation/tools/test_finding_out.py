"""How calls that work are found where refusals say what is wrong, and which edges follow from what was seen."""

import asyncio
from pathlib import Path

from tests.generation.tools.making import stocked
from tests.generation.tools.probed import card, edges_of, probed, written


def test_what_is_put_under_the_id_of_something_else_does_not_come_from_there(tmp_path: Path) -> None:
    """A service that makes things under the caller's ids repeats each; only what was unknown before was made."""
    tools = """
def list_racks(*, state: dict) -> list[dict]:
    "List the racks."
    return [{"id": key} for key in state["racks"]]

def get_rack(id: str, *, state: dict) -> dict:
    "Get a rack."
    if id not in state["racks"]:
        raise LookupError(f"no rack {id}")
    return {"id": id, "height": 3}

def put_rack(id: str, *, state: dict) -> dict:
    "Create or replace a rack."
    state["racks"][id] = {}
    return {"id": id, "height": 3}

def get_cask(rack_id: str, id: str, *, state: dict) -> dict:
    "Get a cask of a rack."
    if id not in state["racks"].get(rack_id, {}):
        raise LookupError(f"no cask {id}")
    return {"id": id, "litres": 90}

def put_cask(rack_id: str, id: str, *, state: dict) -> dict:
    "Create or replace a cask in a rack."
    if rack_id not in state["racks"]:
        raise LookupError(f"no rack {rack_id}")
    state["racks"][rack_id][id] = 90
    return {"id": id, "litres": 90}
"""

    found = edges_of(probed(written(tmp_path, tools, {"racks": {"rk-4071": {}, "rk-5162": {}}})))

    assert {("put_cask", "get_cask"), ("list_racks", "put_cask")} <= found
    assert {("put_cask", "get_rack"), ("put_cask", "put_rack"), ("put_cask", "list_racks")} & found == set()


def test_what_takes_anything_leaves_calls_for_what_does_not(tmp_path: Path) -> None:
    """Each accepted call uses a seat up; names of passengers are all accepted, seats that are none are refused."""
    tools = """
def list_seats(*, state: dict) -> list[dict]:
    "List the free seats."
    return [{"seat": seat} for seat in state["free"]]

def book_seat(seat: str, passenger: str, meal: str, luggage: int, *, state: dict) -> str:
    "Book a seat for a passenger."
    if seat not in ("11", "12", "13", "14"):
        raise LookupError(f"no seat {seat}")
    if seat not in state["free"]:
        raise ValueError(f"seat {seat} is taken")
    state["free"].remove(seat)
    return "Have a good journey, and mind the step."
"""

    found = edges_of(probed(written(tmp_path, tools, {"free": ["11", "12", "13", "14"]})))

    assert ("list_seats", "book_seat") in found


def test_how_many_there_are_is_not_which(tmp_path: Path) -> None:
    """`Open cases: 1` counts them, though there is a case of that number."""
    tools = """
def list_cases(*, state: dict) -> list[dict]:
    "List the cases."
    return [{"case_id": number} for number in state["cases"]]

def sum_up(*, state: dict) -> str:
    "Sum up what is to be done."
    return f"# Summary\\n\\n**Open Cases**: {len(state['cases'])}\\n"

def show_case(case_id: int, *, state: dict) -> dict:
    "Show a case."
    if case_id not in state["cases"]:
        raise LookupError(f"no case {case_id}")
    return {"about": "a broken gate"}
"""

    found = edges_of(probed(written(tmp_path, tools, {"cases": [1, 2]})))

    assert ("list_cases", "show_case") in found
    assert ("sum_up", "show_case") not in found


def test_that_a_filter_finds_a_text_joins_nothing(tmp_path: Path) -> None:
    """A filter for words finds what holds an id too; what it does not find, it answers with an empty list."""
    tools = """
TRIPS = [{"trip_id": "TR-10442", "to": "the seaside"}, {"trip_id": "TR-20817", "to": "the hills"}]

def list_trips() -> list[dict]:
    "List the trips."
    return TRIPS

def suggest_trips(mood: str | None = None) -> dict:
    "Suggest trips."
    return {"trips": [one["to"] for one in TRIPS if not mood or mood in str(one)]}

def show_trip(trip_id: str) -> dict:
    "Show a trip."
    return {"days": {one["trip_id"]: 3 for one in TRIPS}[trip_id]}
"""

    found = edges_of(probed(written(tmp_path, tools)))

    assert ("list_trips", "show_trip") in found
    assert ("list_trips", "suggest_trips") not in found


def test_arguments_on_top_are_looked_at_before_those_deep_within(tmp_path: Path) -> None:
    """Forty settings do not hide the argument that is declared after them."""
    settings = "\n".join(f"    option_{number}: int | None = None" for number in range(45))
    tools = f"""
from pydantic import BaseModel

class Settings(BaseModel):
{settings}

def paint(settings: Settings | None = None, colour: str = "red") -> dict:
    "Paint something in a colour, such as 'blue'."
    return {{"painted": colour}}
"""

    cards = probed(written(tmp_path, tools))

    assert "colour" in {one.path for one in card(cards, "paint").parameters}


SHELVES = """
SHELVES = {"oak-11": ["Emma"], "elm-22": ["Dune"], "yew-33": []}

def list_shelves() -> dict:
    "List the shelves."
    return {"shelves": list(SHELVES)}

def list_books(place: str) -> list[str]:
    "List the books of a place."
    if place != "hall":
        raise LookupError("no such place")
    return [{"stack": "yew-33", "books": 0}]

def read_shelf(shelf: str) -> str:
    "Say what stands on a shelf."
    if shelf not in SHELVES:
        return f"{shelf}: Error - there is no such shelf"
    return "".join(f"{book}\\n" for book in SHELVES[shelf])
"""


def test_a_failure_that_begins_with_a_value_of_the_call_is_one(tmp_path: Path) -> None:
    """`oak-99: Error - …` is no answer about a shelf."""
    world = written(tmp_path, SHELVES, reads=["list_shelves", "list_books", "read_shelf"])

    probes = card(probed(world), "read_shelf").probes

    assert {probe.verdict for probe in probes if ": Error" in probe.content} == {"refused"}


def test_an_empty_answer_where_made_up_values_are_refused_joins_two_tools(tmp_path: Path) -> None:
    """The stack that `list_books` names is there, and holds nothing."""
    world = written(
        tmp_path,
        SHELVES,
        reads=["list_shelves", "list_books", "read_shelf"],
        hints={"place": ["hall"], "shelf": ["oak-11"]},
    )

    assert ("list_books", "read_shelf") in edges_of(probed(world))


def test_a_choice_that_a_refusal_names_is_found_and_no_key_stands_for_it(tmp_path: Path) -> None:
    """What a refusal quotes is tried; the bill's number is no way of paying it."""
    tools = '''
def list_bills(*, state: dict) -> list[dict]:
    "List the bills."
    return [{"bill_id": key, **one} for key, one in state["bills"].items()]

def pay_bill(bill_id: str, method: str, *, state: dict) -> dict:
    """Pay a bill.

    Args:
        bill_id: Number of the bill
        method: card or transfer
    """
    if method not in ("card", "transfer"):
        raise ValueError("method must be 'card' or 'transfer'")
    state["bills"][bill_id]["status"] = f"paid by {method}"
    return {"bill_id": bill_id, "status": "paid"}

def drop_bill(bill_id: str, reason: str, *, state: dict) -> dict:
    "Drop a bill."
    if reason not in ("paid_twice", "wrong_person"):
        raise ValueError("reason: 'paid_twice' and 'wrong_person' count, nothing else")
    state["bills"][bill_id]["status"] = "dropped"
    return {"bill_id": bill_id, "status": "dropped"}
'''
    bills = {f"N71{number}": {"amount": 18.4 + number, "status": "due"} for number in range(10, 16)}
    written(tmp_path, tools, {"bills": bills})
    suite = "agent: nowhere:build\nscenarios: [generated/scenarios/*.yaml]\ngenerate: {from: tools}\n"
    file = tmp_path / "agentbench.yaml"
    file.write_text(f"{suite}environment: {{tools: tools, state: {{json: state.json}}}}\n", encoding="utf-8")

    stock, _ = asyncio.run(stocked(file))

    assert {entry.arguments["method"] for entry in stock.pool.of("pay_bill")} >= {"card"}
    assert {entry.arguments["reason"] for entry in stock.pool.of("drop_bill")} >= {"paid_twice"}
