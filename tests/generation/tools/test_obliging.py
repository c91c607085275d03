"""What a refusal wants is done, and what goes under a name that a call may leave out is found as well."""

import pytest

from pytest_agentbench.generation.tools.probing.refusals import ends_in, has_name, names_argument, said, without_lists
from pytest_agentbench.generation.tools.values import Cards
from tests.generation.tools.probed import card, edges_of, probed, written

FOLDER = """
def get_leaf(path: str, *, state: dict) -> dict:
    "Get a leaf, or all leaves of a folder."
    if path == ".":
        return {"leaves": [{"path": one} for one in sorted(state["leaves"])]}
    if path not in state["leaves"]:
        raise LookupError(f"no leaf at {path}")
    return {"path": path, "text": state["leaves"][path]}

def put_leaf(path: str, text: str | None = None, form: str | None = None, *, state: dict) -> dict:
    "Put a leaf into a folder, or at a path with its text."
    if text is None:
        if path != ".":
            raise LookupError(f"no folder {path}")
        path = f"./leaf{len(state['leaves'])}"
    elif form not in ("plain", "coded"):
        raise ValueError("Must specify form of the leaf as 'plain' or 'coded'")
    elif path == ".":
        raise OSError("[Errno 21] Is a directory")
    state["leaves"][path] = text
    return {"path": path}

def patch_leaf(path: str, new_path: str | None = None, *, state: dict) -> dict:
    "Rename a leaf."
    if path != "." and path not in state["leaves"]:
        raise LookupError(f"no leaf at {path}")
    if path == "." and new_path not in (None, "."):
        raise ValueError("the folder stays where it is")
    if new_path not in (None, "."):
        state["leaves"][new_path] = state["leaves"].pop(path)
    return {"renamed": "yes"}

def add_mark(path: str, *, state: dict) -> dict:
    "Add a mark to a leaf."
    if path not in state["leaves"]:
        raise RuntimeError("unhandled")
    state["marks"].setdefault(path, []).append("M-7702")
    return {"mark": "M-7702"}

def list_marks(path: str, *, state: dict) -> list[str]:
    "List the marks of a leaf."
    return state["marks"].get(path, [])
"""


@pytest.fixture(scope="module")
def leaves(tmp_path_factory: pytest.TempPathFactory) -> Cards:
    """Probe the folder of leaves once."""
    return probed(written(tmp_path_factory.mktemp("leaves"), FOLDER, {"leaves": {"leaf": None}, "marks": {}}))


def test_what_works_on_things_is_tried_with_those_there_are(leaves: Cards) -> None:
    """A value that other tools take is no use here, and the refusal does not say so."""
    found = edges_of(leaves)

    assert {("get_leaf", "add_mark"), ("put_leaf", "add_mark"), ("get_leaf", "list_marks")} <= found


def test_what_refusals_ask_for_is_given_one_after_the_other(leaves: Cards) -> None:
    """One wants another argument and names two values of it, the next a file where a folder was given."""
    kept = [probe.arguments for probe in card(leaves, "put_leaf").probes if probe.verdict == "ok"]
    assert any(one.get("text") and one.get("form") == "plain" and one["path"] != "." for one in kept)


def test_a_name_that_a_call_may_leave_out_is_one_that_is_made(leaves: Cards) -> None:
    """A rename without a new name works, and does nothing; with one, other tools know the thing by it."""
    found = edges_of(leaves)

    assert ("patch_leaf", "get_leaf") in found


def test_a_refusal_says_what_it_says_without_the_names_of_its_fields() -> None:
    """Fields that hold messages are called alike everywhere; what is told of an argument keeps its name."""
    told = said('HTTP 404: {"code": 404, "message": "no such jar", "details": {"jar_id": "J-1", "parts": 2}}')

    assert told == "no such jar\njar_id 'J-1'\nparts 2"
    assert said("HTTP 404: gone") == "HTTP 404: gone"
    assert said("no such jar") == "no such jar"


TRAYS = """
def list_trays(*, state: dict) -> list[str]:
    "List the trays."
    return ["T1:T4", "T5:T8"]

def describe_tray(tray: str, *, state: dict) -> dict:
    "Describe a tray."
    if tray not in ("T1:T4", "T5:T8"):
        raise LookupError(f"Tray '{tray}' not found. Use for example 'T1:T4'.")
    return {"tray": tray, "spots": ["T3", "T7"]}

def fill_tray(tray: str, *, state: dict) -> dict:
    "Fill a tray."
    if tray not in ("T1:T4", "T5:T8"):
        raise LookupError(f"Tray '{tray}' not found. Use for example 'T1:T4'.")
    state["filled"].append(tray)
    return {"things": 4}

def seal_tray(tray: str, *, state: dict) -> dict:
    "Seal a tray."
    if tray not in ("T1:T4", "T5:T8"):
        raise LookupError(f"Tray '{tray}' not found. Use for example 'T1:T4'.")
    state["sealed"].append(tray)
    return {"seal": "done"}

def sort_tray(tray: str, by: str, *, state: dict) -> dict:
    "Sort what lies on a tray."
    if tray not in ("T1:T4", "T5:T8"):
        raise LookupError(f"Tray '{tray}' not found. Use for example 'T1:T4'.")
    if tray not in state["filled"]:
        raise LookupError(f"Tray '{tray}' holds nothing.")
    if state["sealed"]:
        raise ValueError("There are sealed trays, which cannot be sorted. Unseal them first.")
    if by not in ("P", "Q", "R"):
        raise ValueError(f"'{by}' is nothing to sort by: give a letter from P to R.")
    return {"sorted": 4}

def put_label(tray: str, at: str, words: list[str], name: str | None = None, *, state: dict) -> dict:
    "Put a label on a tray."
    if at in ("T1", "T4", "B2", "A1"):
        raise ValueError("The label would cover the tray. Choose another `at`, such as 'T1'.")
    if at not in ("T3", "T7"):
        raise ValueError(f"Invalid spot '{at}'. Use for example 'T1'.")
    if words[0] not in ("name", "weight"):
        raise ValueError(f"Word '{words[0]}' not found. Available words: 'name', 'weight'.")
    if name is not None:
        raise ValueError("a label has no other name")
    return {"label": words[0]}
"""


@pytest.fixture(scope="module")
def trays(tmp_path_factory: pytest.TempPathFactory) -> Cards:
    """Probe the trays once."""
    return probed(written(tmp_path_factory.mktemp("trays"), TRAYS, {"filled": [], "sealed": []}))


def works(cards: Cards, tool: str) -> bool:
    """Whether some call of a tool did what it is for."""
    return any(probe.verdict == "ok" for probe in card(cards, tool).probes)


def test_what_another_tool_did_is_left_out_where_refusals_speak_of_it(trays: Cards) -> None:
    """Sealing comes first and hinders sorting, which then says between which letters its argument lies."""
    assert works(trays, "seal_tray")
    assert works(trays, "sort_tray")


def test_another_value_of_the_same_look_is_tried_where_one_is_in_the_way(trays: Cards) -> None:
    """A refusal asks for another spot; values that it lists in quotes ask for no argument that is called so."""
    assert works(trays, "put_label")


def test_what_a_refusal_lists_and_between_what_its_values_lie_is_read() -> None:
    """Lists in quotes are values; a name in quotes that stands alone is an argument's."""
    listed = "Field 'x' not found. Available fields: 'name', 'city' and 'at'."

    assert without_lists(listed) == "Field 'x' not found. Available fields: ."
    assert not names_argument(listed, "at")
    assert names_argument("Choose a `at` outside it, or another `sheet`.", "options.at")
    assert ends_in("a column letter from A to C.") == ["A", "C"]
    assert has_name("the first row of source is the head", "source")
    assert not has_name("the first row of source is the head", "is")
