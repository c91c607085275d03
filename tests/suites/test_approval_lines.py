"""Decisions in a script, approvals that are expected and forbidden, and the key: read, refused, and given back."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.approvals import ScriptedDecision
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.suites.script_lines import unlabelled
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.tau2.tasks import export_tasks

SCENARIO = """\
id: a
says:
  - Refund W1
  - {approve: {refund: {amount: 12.5}}}
  - {reject: refund, say: Too dear}
  - {edit: {refund: {amount: 10}}}
  - {respond: ask_user, say: The blue one}
expect: [{approval: refund}, {refund: {order_id: W1}}, {approval: {refund: {amount: 10}}}]
never: [drop, {approval: drop}]
approvals: reject
"""


def read(folder: Path, text: str, name: str = "s.yaml") -> Scenario:
    """Read one scenario file."""
    (folder / name).write_text(text, encoding="utf-8")
    (scenario,) = load_scenarios(folder / name, environ={})
    return scenario


def test_lines_expectations_and_the_key_are_read(tmp_path: Path) -> None:
    """A decision means an act, and has words where the file gives some; approvals are no calls."""
    scenario = read(tmp_path, SCENARIO)

    assert scenario.says[1:] == (
        Line(act="confirm", decision=ScriptedDecision(kind="approve", tool="refund", arguments={"amount": 12.5})),
        Line(text="Too dear", act="decline", decision=ScriptedDecision(kind="reject", tool="refund")),
        Line(act="confirm", decision=ScriptedDecision(kind="edit", tool="refund", arguments={"amount": 10})),
        Line(text="The blue one", act="inform", decision=ScriptedDecision(kind="respond", tool="ask_user")),
    )
    assert scenario.lines[1:3] == ("approve refund(amount=12.5)", "Too dear")
    assert [call.name for call in scenario.expected_calls] == ["refund"]
    assert scenario.asks == (ExpectedCall(name="refund"), ExpectedCall(name="refund", arguments={"amount": 10}))
    assert ([call.name for call in scenario.never], [one.name for one in scenario.never_asks]) == (["drop"], ["drop"])
    assert scenario.approvals == "reject"


def test_approvals_alone_say_nothing_of_calls(tmp_path: Path) -> None:
    """A run that is expected to ask may write whatever the rest of the scenario allows."""
    assert read(tmp_path, "id: a\nsays: [Go]\nexpect: [{approval: refund}]\n").states_calls is False
    assert read(tmp_path, "id: a\nsays: [Go]\nexpect: []\n").states_calls is True


def test_they_survive_tau2_s_form(tmp_path: Path) -> None:
    """What τ² does not know stands under our key, in the form that a file has."""
    first = read(tmp_path, SCENARIO)

    (task,) = export_tasks([first])
    again = read(tmp_path, json.dumps([task]), "t.json")

    assert task["agentbench"]["says"][1] == {"approve": {"refund": {"amount": 12.5}}}
    assert task["agentbench"]["expect"] == [{"approval": "refund"}, {"approval": {"refund": {"amount": 10}}}]
    assert (again.says, again.asks, again.never_asks, again.approvals) == (
        first.says, first.asks, first.never_asks, first.approvals,
    )  # fmt: skip


def test_a_suite_s_key_holds_where_a_scenario_says_nothing(tmp_path: Path) -> None:
    """And gives way to the scenario's own."""
    scenarios = [{"id": "a", "says": ["Go"]}, {"id": "b", "says": ["Go"], "approvals": "reject"}]
    file = tmp_path / "agentbench.yaml"
    file.write_text(json.dumps({"agent": "my:build", "approvals": "approve", "scenarios": scenarios}))

    assert [one.approvals for one in load_suite(file, environ={}).scenarios] == ["approve", "reject"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "says: [{approve: refund, reject: refund}]",
            "2:8: says[0]: found 'approve' and 'reject', expected one decision",
        ),
        ("says: [{say: Yes}]", "2:8: says[0]: found no decision, expected one decision (decisions are approve, reject"),
        ("says: [{edit: {refund: {}}}]", "2:15: says[0].edit: the edit names no argument"),
        ("says: [{respond: ask_user}]", "2:8: says[0]: the answer has no words"),
        ("says: [{edit: refund}]", "2:15: says[0].edit: found 'refund', expected {tool: {argument: new value}}"),
        ("approvals: ask", "2:12: approvals: found 'ask', allowed: 'approve', 'reject'"),
        ("expect: [{approval: {refund: {amount: {$rgx: a}}}}]", "unknown matcher '$rgx'"),
        ("expect_any: [[{approval: {refund: {}}}]]", "an approval belongs under expect or never"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, line: str, message: str) -> None:
    """Line, column, what was found and what is allowed."""
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, f"id: a\n{line}\n")

    assert message in str(caught.value)


def test_an_approval_of_a_tool_that_is_not_there_is_told_at_its_place(tmp_path: Path) -> None:
    """Calls and approvals stand in one list, and each is found where it stands."""
    file = tmp_path / "agentbench.yaml"
    file.write_text(
        "agent: my:build\nscenarios:\n  - id: a\n    says: [Go]\n"
        "    expect: [{handoff: x}, {approval: refund}, {refnd: {}}, {approval: {refund: {amuont: 1}}}]\n"
        "    never: [{approval: refun}, {approval: ask_user}]\n"
    )
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}}

    problems = check_calls(load_suite(file, environ={}), Toolset(specs=(ToolSpec(name="refund", parameters=schema),)))

    assert [(one.line, one.key) for one in problems] == [
        (5, "scenarios[0].expect[2].refnd"),
        (5, "scenarios[0].expect[3].approval.refund.amuont"),
        (6, "scenarios[0].never[0].approval"),
    ]


def test_handoffs_and_approvals_stand_beside_calls(tmp_path: Path) -> None:
    """A handoff stands after so many calls, whatever is asked between; approvals and a handoff say no calls."""
    steps = '[{handoff: refunds}, {approval: refund}, {refund: {order_id: W1}}, {approval: "drop"}, {handoff: triage}]'
    scenario = read(tmp_path, f"id: a\nsays: [Go]\nexpect: {steps}\nnever: [{{handoff: x}}, {{approval: y}}, z]\n")

    assert [(one.to, one.place) for one in scenario.handoffs] == [("refunds", 0), ("triage", 1)]
    assert [one.name for one in scenario.asks] == ["refund", "drop"]
    assert [one.name for one in scenario.expected_calls] == ["refund"]
    forbidden = (scenario.never, scenario.never_asks, scenario.never_handoffs)
    assert [[str(one.to if isinstance(one, ExpectedHandoff) else one.name) for one in some] for some in forbidden] == [
        ["z"], ["y"], ["x"],
    ]  # fmt: skip
    assert read(tmp_path, "id: a\nsays: [Go]\nexpect: [{handoff: x}, {approval: y}]\n").states_calls is True


def test_a_decision_is_no_line_without_a_label(tmp_path: Path) -> None:
    """Its meaning is known, with words and without."""
    file = tmp_path / "agentbench.yaml"
    says = ["Refund W1", {"approve": "refund", "say": "All right then"}, {"reject": "refund"}, "Well, well"]
    file.write_text(json.dumps({"agent": "my:build", "scenarios": [{"id": "a", "says": says}]}))

    assert [one.text for one in unlabelled(load_suite(file, environ={}), Toolset())] == ["Well, well"]
