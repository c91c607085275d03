"""Handoffs, agents of calls, `output` and `replies` in scenario files: read, exported, and refused with a position."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.tau2.tasks import scenario_to_task, task_to_scenario
from tests.tables import each

FORM = r"""
- id: a
  expect:
    - get_order
    - {handoff: {from: triage, to: refunds}}
    - {refund: {order_id: W1}, by: refunds}
    - {handoff: triage}
  never: [{handoff: legal}, {refund: {order_id: W2}, by: triage}]
  output: {decision: block_card, risk: {$gte: 3}}
  replies: [{contains: W1}, {matches: '\d+', turn: any}, {json: answer.schema.json, turn: 2}, {max_words: 120}]
"""


def load(folder: Path, text: str) -> list[Scenario]:
    """Load a file beside a schema."""
    (folder / "answer.schema.json").write_text('{"required": ["days"]}')
    (folder / "s.yaml").write_text(text)
    return load_scenarios(folder / "s.yaml", environ={})


def test_handoffs_stand_between_calls(tmp_path: Path) -> None:
    """Each knows how many calls come before it; a call knows its agent."""
    (scenario,) = load(tmp_path, FORM)
    assert [(call.name, call.by) for call in scenario.expected_calls] == [("get_order", None), ("refund", "refunds")]
    assert [(one.source, one.to, one.place) for one in scenario.handoffs] == [
        ("triage", "refunds", 1),
        ("", "triage", 2),
    ]
    assert [one.to for one in scenario.never_handoffs] == ["legal"]
    assert [(call.name, call.by) for call in scenario.never] == [("refund", "triage")]
    assert scenario.replies[2].json_schema == {"required": ["days"]}


def test_an_export_says_the_same(tmp_path: Path) -> None:
    """The schema goes with it, since its file does not."""
    (scenario,) = load(tmp_path, FORM)
    again = task_to_scenario(json.loads(json.dumps(scenario_to_task(scenario))))
    assert isinstance(again, Scenario)
    names = ("handoffs", "never_handoffs", "never", "output", "task")
    assert [getattr(again, name) for name in names] == [getattr(scenario, name) for name in names]
    assert [one.json_schema for one in again.replies] == [one.json_schema for one in scenario.replies]


@each(
    ("line", "said"),
    [
        (
            "expect: [{handoff: {form: x}}]",
            "3:23: [0].expect[0].handoff.form: unknown key 'form' (did you mean 'from'?), allowed: from",
        ),
        ("expect: [{refund: {}, bye: x}]", "3:25: [0].expect[0].bye: unknown key 'bye', expected a call of one agent"),
        ("expect: [{refund: 3, by: 7}]", "3:21: [0].expect[0].refund: found 3, expected a mapping of argument names"),
        ("expect: [{refund: 3, by: 7}]", "by: found 7, expected the agent, of several, that makes the call (put it in"),
        ("expect: [{by: x}]", "the key 'name' is missing (or write {tool: {argument: value}, by: agent})"),
        ("never: [{handoff: 3}]", "found 3, expected the agent that it goes to, or {from: agent, to: agent}"),
        ("expect_any: [[{handoff: {to: x}}]]", "[0].expect_any[0][0].handoff: a handoff belongs under expect or never"),
        (
            "sessions: [{says: [a]}, {says: [b], expect: [{approval: refund}]}]",
            "3:49: [0].sessions[1].expect[0].approval: an approval belongs under expect or never of a scenario",
        ),
        ("output: {risk: {$gtee: 3}}", "unknown matcher '$gtee'"),
        ("replies: [{contain: x}]", "3:14: [0].replies[0].contain: unknown key 'contain'"),
        ("replies: [{matches: '('}]", "3:23: [0].replies[0].matches: '(' is not a regular expression"),
        ("replies: [{contains: x, turn: 0}]", "[0].replies[0].turn: found 0"),
        ("replies: [{turn: any}]", "expected contains, matches, json or max_words"),
        ("replies: [{json: {type: objekt}}]", "3:20: [0].replies[0].json: this is no JSON Schema: at type:"),
        (
            'replies: [{json: {items: {$ref: "http://nowhere.test/s"}}}]',
            "'http://nowhere.test/s' leads to nothing in it",
        ),
        (
            'replies: [{json: {$ref: "#/$defs/x"}}]',
            "3:20: [0].replies[0].json: this is no JSON Schema: '#/$defs/x' leads",
        ),
        (
            "replies: [{json: no.json}]",
            "3:20: [0].replies[0].json: 'no.json': no JSON Schema can be read there: No such",
        ),
        ("replies: [{json: s.yaml}]", "3:20: [0].replies[0].json: 's.yaml': this is no JSON"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, line: str, said: str) -> None:
    """At the key or the value that is wrong."""
    with pytest.raises(SuiteError) as caught:
        load(tmp_path, f"\n- id: a\n  {line}\n")
    assert said in str(caught.value)


def test_the_form_of_an_expected_handoff() -> None:
    """It reads as a file writes it."""
    assert str(ExpectedHandoff.model_validate({"from": "a", "to": "b"})) == "a handoff from a to b"
