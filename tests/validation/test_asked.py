"""Whether anybody asks for what an expected call takes from an earlier result."""

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.validation.asked import is_free
from pytest_agentbench.validation.report import ScenarioReport
from pytest_agentbench.validation.suite import validate
from tests.validation.worlds import write_suite

LOANS = '''
def get_loan(loan_id: str, *, state: dict) -> dict:
    """Look up a loan."""
    return state["loans"][loan_id]


def reserve(item_id: str, member_id: str, due: str | None = None, *, state: dict) -> str:
    """Reserve an item for a member."""
    state["holds"].append([item_id, member_id, due])
    return "reserved"


def extend(loan_id: str, due: str, *, state: dict) -> str:
    """Extend a loan."""
    state["loans"][loan_id]["due"] = due
    return "extended"
'''
STATE = '{"holds": [], "loans": {"L1": {"item_id": "B-77", "member_id": "M5", "due": "2031-03-09"}, "L2": {"due": ""}}}'
RESERVED = {"item_id": "B-77", "member_id": "M5"}
DUE = {"due": "2031-03-09"}


def report(folder: Path, line: str, *calls: dict[str, Any], **fields: Any) -> ScenarioReport:
    """Validate a scenario in which a loan is looked up before the calls."""
    expect = [{"get_loan": {"loan_id": "L1"}}, *calls]
    suite = write_suite(folder, {"id": "s", "says": [line], "expect": expect}, **fields)
    (folder / "tools.py").write_text(LOANS)
    (folder / "state.json").write_text(STATE)
    (found,) = validate(suite, environ={}, now=lambda: 0.0, mutate=False).scenarios
    return found


@pytest.mark.parametrize(
    ("line", "call", "problems", "warnings"),
    [
        ("Show me loan L1 and reserve that item for that member.", {"reserve": RESERVED}, 0, 0),
        ("Show me loan L1 and reserve that item for that member.", {"reserve": {**RESERVED, **DUE}}, 1, 0),
        ("Show me loan L1 and reserve that item, due on the same day.", {"reserve": {**RESERVED, **DUE}}, 0, 0),
        ("Show me loan L1 and reserve that item until 9 March 2031.", {"reserve": {**RESERVED, **DUE}}, 0, 0),
        ("Show me loan L1 and extend loan L2.", {"extend": {"loan_id": "L2", **DUE}}, 0, 1),
    ],
)
def test_what_stands_beside_a_thing_has_to_be_asked_for(
    line: str, call: dict[str, Any], problems: int, warnings: int, tmp_path: Path
) -> None:
    """A date of an earlier result is a problem in an optional argument, a warning in one that must be given."""
    found = report(tmp_path, line, call)

    assert [issue.kind for issue in found.issues] == ["unreachable"] * problems
    assert len(found.warnings) == warnings
    assert all("nobody asks for" in text for text in [*(issue.message for issue in found.issues), *found.warnings])


def test_a_name_said_for_one_argument_asks_for_no_other(tmp_path: Path) -> None:
    """Who says when one loan is due has said nothing of when another thing is."""
    line = "Make loan L2 due on 1 May 2031. Show me loan L1 and reserve that item for that member."
    extended = {"extend": {"loan_id": "L2", "due": "2031-05-01"}}

    found = report(tmp_path, line, extended, {"reserve": {**RESERVED, **DUE}})

    assert [issue.about for issue in found.issues] == ["reserve.due"]


def test_a_policy_may_ask_for_it(tmp_path: Path) -> None:
    """What the agent is told to hand on is asked for."""
    policies = [{"id": "due", "text": "What is reserved is due when the loan is."}]
    call = {"reserve": {**RESERVED, **DUE}}

    found = report(tmp_path, "Show me loan L1 and reserve that item for that member.", call, policies=policies)

    assert found.issues == ()


@pytest.mark.parametrize(
    ("name", "value", "schema", "free"),
    [
        ("order_id", "W1", {}, False),
        ("item", 7, {}, False),
        ("lat", 48.85, {}, False),
        ("city", "Le Mans", {}, False),
        ("day", "2031-03-09", {}, True),
        ("at", "09:30", {}, True),
        ("express", True, {}, True),
        ("tier", "gold", {"enum": ["gold", "grey"]}, True),
        ("total_price", 40, {}, True),
        ("words", 1500, {}, True),
        ("size", 12.5, {}, True),
        ("n", 3, {"description": "How many there are"}, True),
    ],
)
def test_things_are_told_from_dates_choices_and_measures(name: str, value: Any, schema: Any, free: bool) -> None:
    """Identifiers, names and places say which thing is meant; the rest says when, how or how much."""
    assert is_free(name, value, schema) is free
