"""What a refusal wants is done, and what goes under a name that a call may leave out is found as well."""

import pytest

from pytest_agentbench.generation.tools.probing.refusals import said
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
