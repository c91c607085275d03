"""Whether anybody asks for what an expected call takes from an earlier result."""

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.validation.reachable import is_free
from pytest_agentbench.validation.report import ScenarioReport
from pytest_agentbench.validation.scenario import validate
from tests.tables import each
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
    ("line", "call", "warnings"),
    [
        ("Show me loan L1 and reserve that item for that member.", {"reserve": RESERVED}, 0),
        ("Show me loan L1 and reserve that item for that member.", {"reserve": {**RESERVED, **DUE}}, 1),
        ("Show me loan L1 and reserve that item, due on the same day.", {"reserve": {**RESERVED, **DUE}}, 1),
        ("Show me loan L1 and reserve that item until 9 March 2031.", {"reserve": {**RESERVED, **DUE}}, 0),
        ("Show me loan L1 and extend loan L2.", {"extend": {"loan_id": "L2", **DUE}}, 1),
    ],
)
def test_what_stands_beside_a_thing_may_have_to_be_asked_for(
    line: str, call: dict[str, Any], warnings: int, tmp_path: Path
) -> None:
    """A date that nothing but an earlier result holds is shown: whether the words ask for it is for people to say."""
    found = report(tmp_path, line, call)

    assert found.issues == ()
    assert [text.startswith("does a line ask for") for text in found.warnings] == [True] * warnings


def test_what_a_policy_states_needs_no_asking(tmp_path: Path) -> None:
    """What the agent is told stands not in a result alone."""
    policies = [{"id": "due", "text": "What is reserved is due on 2031-03-09."}]
    call = {"reserve": {**RESERVED, **DUE}}

    found = report(tmp_path, "Show me loan L1 and reserve that item for that member.", call, policies=policies)

    assert (found.issues, found.warnings) == ((), ())


@each(
    ("value", "schema", "free"),
    [
        ("W1", {}, False),
        (7, {}, False),
        ("Le Mans", {}, False),
        ("2031-03-09", {}, True),
        ("09:30", {}, True),
        (True, {}, True),
        ("gold", {"enum": ["gold", "grey"]}, True),
        (12.5, {}, True),
    ],
)
def test_things_are_told_from_dates_choices_and_measures(value: Any, schema: Any, free: bool) -> None:
    """Identifiers, names and places say which thing is meant; the rest says when, how or how much."""
    assert is_free(value, schema) is free
