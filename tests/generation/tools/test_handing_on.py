"""Values that go from one tool to the other, where calls use things up, make names, give new ids, or get in the way."""

from pathlib import Path

import pytest

from tests.generation.tools.probed import card, edges_of, probed, written

BOXES = """
import uuid

def list_boxes(*, state: dict) -> list[dict]:
    "List the boxes."
    return [{"id": key, "label": one["label"]} for key, one in state["boxes"].items()]

def create_box(label: str, *, state: dict) -> dict:
    "Create a box."
    key = str(uuid.uuid4())
    state["boxes"][key] = {"label": label, "is_open": False}
    return {"id": key}

def unseal_box(box_id: str, *, state: dict) -> str:
    "Unseal a box, once and for all."
    box = state["boxes"].get(box_id)
    if box is None:
        raise LookupError(f"no box {box_id}")
    if box["is_open"]:
        raise ValueError(f"box {box_id} is open")
    box["is_open"] = True
    return "unsealed"
"""

ROOMS = """
def open_room(name: str, *, state: dict) -> str:
    "Open a room."
    if name in state["rooms"]:
        raise ValueError("there is one of that name already")
    state["rooms"].append(name)
    return "done"

def read_board(room: str, *, state: dict) -> str:
    "Read the board of a room."
    if room not in state["rooms"]:
        raise LookupError(f"no room {room}")
    return "nothing is written there yet, and nobody has been here since the morning"

def read_news(topic: str, *, state: dict) -> str:
    "Read the news about a topic."
    return "it rains"
"""

SHELVES = """
def add_shelf(name: str, *, state: dict) -> dict:
    "Add a shelf."
    state["shelves"][name] = ["a"]
    return {"shelf": name, "jars": len(state["shelves"])}

def list_jars(shelf: str, *, state: dict) -> dict:
    "List the jars of a shelf."
    if shelf not in state["shelves"]:
        raise LookupError(f"no shelf {shelf}")
    state["seen"] = shelf
    return {"jars": [{"jar_id": place + 1} for place, _ in enumerate(state["shelves"][shelf])]}

def show_jar(jar_id: int, *, state: dict) -> dict:
    "Show a jar."
    if not 1 <= jar_id <= 2:
        raise LookupError(f"no jar {jar_id}")
    return {"content": "plums"}

def count_all(*, state: dict) -> dict:
    "Count what there is."
    return {"total_jars": len(state["shelves"]), "jars_in_use": 2}
"""


def test_a_call_that_uses_things_up_is_tried_with_fresh_ones(tmp_path: Path) -> None:
    """A box is unsealed once: what is probed around that call is probed in environments where it is still sealed.

    The ids of boxes are drawn anew in each of them.
    """
    cards = probed(written(tmp_path, BOXES, {"boxes": {}}))

    unseal = card(cards, "unseal_box")
    assert {("create_box", "unseal_box"), ("list_boxes", "unseal_box")} <= edges_of(cards)
    assert sum(probe.verdict == "ok" for probe in unseal.probes) > 2
    assert {one.kind for one in unseal.divergences} <= {"output"}


def test_a_count_that_happens_to_be_a_number_of_something_is_none(tmp_path: Path) -> None:
    """Small numbers are accepted as ids by chance; only those that are called so join two tools."""
    cards = probed(written(tmp_path, SHELVES, {"shelves": {"oak": ["a", "b"]}}))

    found = edges_of(cards)
    assert ("count_all", "show_jar") not in found
    assert ("add_shelf", "list_jars") in found


def test_what_probing_leaves_behind_hinders_no_other_tool(tmp_path: Path) -> None:
    """One tool takes every name that it is given; another, probed later, finds its names free."""
    tools = """
def reserve_name(name: str, *, state: dict) -> str:
    "Reserve a name."
    state["taken"].append(name)
    return "reserved"

def write_page(name: str, text: str, *, state: dict) -> str:
    "Write a page."
    if len(state["taken"]) > 8:
        raise ValueError("too many names are taken")
    state["pages"][name] = text
    return name

def read_page(name: str, *, state: dict) -> str:
    "Read a page."
    if name not in state["pages"]:
        raise LookupError(f"no page {name!r}")
    return state["pages"][name]
"""

    cards = probed(written(tmp_path, tools, {"taken": [], "pages": {}}))

    refused = [probe for probe in card(cards, "write_page").probes if "too many names" in probe.content]
    assert ("write_page", "read_page") in edges_of(cards)
    assert refused == []


def test_a_path_below_the_one_that_was_given_is_no_echo(tmp_path: Path) -> None:
    """A folder's listing gives paths that begin with the folder's: they are news, the folder's own path is none."""
    tools = """
FILES = {"/srv/data": ["/srv/data/plan.txt", "/srv/data/list.txt"]}

def get_root() -> str:
    "Get the folder to begin with."
    return "/srv/data"

def list_folder(path: str) -> str:
    "List a folder."
    if path not in FILES:
        raise LookupError(f"no folder {path}")
    return "\\n".join(FILES[path])

def read_text(path: str) -> str:
    "Read a file."
    if path not in FILES["/srv/data"]:
        raise LookupError(f"no file {path}")
    return "bread and butter"
"""

    found = edges_of(probed(written(tmp_path, tools)))

    assert {("get_root", "list_folder"), ("list_folder", "read_text")} <= found
    assert ("get_root", "read_text") not in found


def test_a_refusal_of_one_argument_says_nothing_of_the_others(tmp_path: Path) -> None:
    """`no page 9 in book A` is about pages: A stays a book that is known."""
    tools = """
BOOKS = {"book-1041": ["pg-1104"], "book-2077": ["pg-2204"], "book-3013": ["pg-3304"]}

def list_books() -> list[str]:
    "List the books."
    return list(BOOKS)

def list_pages(book: str) -> list[str]:
    "List the pages of a book."
    if book not in BOOKS:
        raise LookupError(f"no book {book}")
    return BOOKS[book]

def show_page(book: str, page: str) -> str:
    "Show a page of a book."
    if book not in BOOKS:
        raise LookupError(f"no book {book}")
    if page not in BOOKS[book]:
        raise LookupError(f"no page {page}")
    return "Once upon a time there was a tool."
"""

    found = edges_of(probed(written(tmp_path, tools)))

    assert {("list_books", "list_pages"), ("list_books", "show_page"), ("list_pages", "show_page")} <= found


@pytest.mark.parametrize("number", ["C26-0404", "26-0404", "R7/118", "0420/11"])
def test_a_number_with_a_year_in_it_is_no_date(number: str, tmp_path: Path) -> None:
    """Numbers of claims, repairs and files have dashes and slashes as dates have: they go from a list to a tool."""
    tools = """
def list_claims(member: str, *, state: dict) -> list[dict]:
    "List the claims of a member."
    found = [{"claim": one["claim"]} for one in state["claims"] if one["member"] == member]
    if not found:
        raise LookupError(f"no member {member}")
    return found

def read_claim(claim: str, *, state: dict) -> dict:
    "Read a claim."
    if claim not in [one["claim"] for one in state["claims"]]:
        raise LookupError(f"no claim {claim}")
    return {"peril": "theft"}
"""
    state = {"claims": [{"claim": number, "member": "M-48213"}, {"claim": f"{number[:-1]}9", "member": "M-48213"}]}

    world = written(tmp_path, tools, state, hints={"member": "M-48213"})
    assert edges_of(probed(world)) == {("list_claims", "read_claim")}


@pytest.mark.parametrize("time", ["2026-11-24", "24.11.2026", "11/24", "2026-11", "10:30-11:00", "v1.20.3", "1.1204"])
def test_a_date_a_time_and_a_version_name_nothing(time: str, tmp_path: Path) -> None:
    """A tool that takes a value only because it is of this form is not joined to where one stands."""
    tools = """
import re

def list_news(*, state: dict) -> list[dict]:
    "List what is new."
    return state["news"]

def check_since(after: str) -> str:
    "Check whether something happened."
    if not re.fullmatch("[v0-9.:/-]+", after):
        raise ValueError(f"no such thing as {after}")
    return "yes"
"""
    state = {"news": [{"said": time, "title": "a"}]}

    assert edges_of(probed(written(tmp_path, tools, state))) == set()
