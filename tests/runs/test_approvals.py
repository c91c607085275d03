"""Approvals that an agent asks its user for: who decides, what comes of it, and what the run is judged by."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.run import Result, Run
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.runs.plan import plans
from pytest_agentbench.runs.runner import Services, run_scenario
from pytest_agentbench.suites.suite_file import load_suite

TOOLS = """
def refund(state: dict, order_id: str, amount: float) -> str:
    "Give money back."
    state["refunds"][order_id] = amount
    return "done"

def close_account(state: dict, order_id: str) -> str:
    "Close an account."
    state["refunds"]["closed"] = order_id
    return "closed"
"""
AGENT = """
LEAD = {"content": "One thing."}

def build(tools, asks, obeys=True):
    call = {tool.__name__: tool for tool in tools}
    asks = [asks] if isinstance(asks, dict) else list(asks)

    def reply(message, decisions):
        done = []
        for one in decisions:
            if one["kind"] in ("approve", "edit") or not obeys:
                call[one["tool"]](**one["arguments"])
                done.append("Paid.")
            elif one["kind"] == "respond":
                done.append(f"You want {one['text']}")
        if asks and (not decisions or not done):
            return {**LEAD, "approvals": [asks.pop(0)]}
        return " ".join(done) or "Nothing was done."

    return reply
"""
REFUND = {"tool": "refund", "arguments": {"order_id": "W1", "amount": 12.5}, "id": "1"}
DEARER = {**REFUND, "arguments": {"order_id": "W1", "amount": 99}}
OTHER = {"tool": "close_account", "arguments": {"order_id": "W1"}}
WHICH = {"tool": "ask_user", "text": "Which one?", "allowed": ["respond"]}
PAID = {"refund": {"order_id": "W1", "amount": 12.5}}
BY_ORDER = {"name": "refund", "arguments": PAID["refund"], "compare_args": ["order_id"]}
POLICY = {"id": "ask", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["refund"], "stating": ["amount"]}}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the one folder of all suites here, since modules are imported once."""
    return tmp_path_factory.mktemp("approvals")


def played(folder: Path, asks: Any, scenario: dict[str, Any], obeys: bool = True, **suite: Any) -> tuple[Run, Result]:
    """Play one scenario with an agent that asks for these approvals, one after the other."""
    whole = {
        "agent": "asking:build",
        "variants": {"v": {"asks": asks, "obeys": obeys}},
        "environment": {"tools": "shop", "state": {"json": "state.json"}, "writes": ["refund", "close_account"]},
        "policies": [POLICY],
        "scenarios": [{"id": "a", "says": ["Refund W1"], **scenario}],
        **suite,
    }
    for name, text in (
        ("agentbench.yaml", json.dumps(whole)),
        ("state.json", '{"refunds": {}}'),
        ("shop.py", TOOLS),
        ("asking.py", AGENT),
    ):
        (folder / name).write_text(text)
    loaded = load_suite(folder / "agentbench.yaml", environ={})
    (plan,) = plans(loaded, "a", ("v",), load_toolset(loaded.environment, folder))
    return asyncio.run(run_scenario(plan, Services(isolation=IsolationGate(folder / "locks"))))


def says(*lines: object) -> dict[str, Any]:
    """A script that begins with the wish."""
    return {"says": ["Refund W1", *lines]}


@pytest.mark.parametrize(
    ("asks", "scenario", "suite", "kinds", "words"),
    [
        (REFUND, {**says({"approve": "refund"}), "expect": [PAID]}, {}, ["approve"], "Yes, please."),
        (REFUND, says({"approve": {"refund": {"amount": 12.5}}, "say": "Go"}), {}, ["approve"], "Go"),
        (REFUND, {**says({"reject": "refund", "say": "No!"}), "never": ["refund"]}, {}, ["reject"], "No!"),
        (
            REFUND,
            {**says({"edit": {"refund": {"amount": 10}}}), "expect": [{"refund": {"order_id": "W1", "amount": 10}}]},
            {},
            ["edit"],
            "Yes, please. My amount is 10.",
        ),
        (
            REFUND,
            {**says({"edit": {"refund": {"amount": 10}}, "say": "But ten"}), "policies": ["ask"]},
            {},
            ["edit"],
            "But ten",
        ),
        (
            WHICH,
            {**says({"respond": "ask_user", "say": "blue"}), "communicate": ["want blue"]},
            {},
            ["respond"],
            "blue",
        ),
        (WHICH, {**says({"inform": "red"}), "communicate": ["want red"]}, {}, ["respond"], "red"),
        (REFUND, {"expect": [PAID]}, {}, ["approve"], "Yes, please."),
        (REFUND, {"expect": ["refund"]}, {}, ["approve"], "Yes, please."),
        ([DEARER, REFUND], {"expect": [PAID]}, {}, ["reject", "approve"], "Yes, please."),
        (DEARER, {"expect": [BY_ORDER]}, {}, ["approve"], "Yes, please."),
        (
            [OTHER, REFUND],
            {**says({"reject": "close_account"}), "expect": [PAID]},
            {},
            ["reject", "approve"],
            "Yes, please.",
        ),
        (REFUND, {}, {"approvals": "approve"}, ["approve"], "Yes, please."),
        (REFUND, {"approvals": "reject", "never": ["refund"]}, {"approvals": "approve"}, ["reject"], "No, thank you."),
        (REFUND, {"approvals": "reject", "expect": [{"approval": PAID}]}, {}, ["reject"], "No, thank you."),
    ],
)
def test_the_line_the_wish_or_the_key_decides(
    folder: Path, asks: Any, scenario: dict[str, Any], suite: dict[str, Any], *, kinds: list[str], words: str
) -> None:
    """Each decision reaches the agent, the run passes, and the rule of consent is kept where a refund was made."""
    run, result = played(folder, asks, scenario, **suite)

    messages = run.transcript.messages
    assert (result.verdict, run.stop_reason) == (Verdict.PASSED, "done"), result.findings
    assert [one.kind for message in messages for one in message.decisions] == kinds
    assert [message.text for message in messages if message.decisions][-1] == words
    assert all(one.kept is True for one in result.policies if one.exercised)


def test_a_call_that_contradicts_the_wish_gets_a_no_with_what_is_wanted(folder: Path) -> None:
    """The agent is told the wanted value, as by the plain no to a question."""
    run, _ = played(folder, [DEARER, REFUND], {"expect": [PAID]})

    [first, _] = [message for message in run.transcript.messages if message.decisions]
    assert first.text == "No, it should be 12.5."
    assert [(act.kind, act.about, act.facts) for act in first.acts or ()] == [("decline", (99,), {"amount": 12.5})]


def test_the_agent_s_question_states_tool_and_arguments(folder: Path) -> None:
    """Whoever plays the user reads what it is about; the transcript keeps it as data, too."""
    run, _ = played(folder, REFUND, {"expect": [PAID]})

    [asked] = [message for message in run.transcript.messages if message.approvals]
    assert asked.text == 'One thing.\nDo you approve refund(order_id="W1", amount=12.5)?'
    assert (asked.approvals[0].tool, asked.approvals[0].arguments) == ("refund", {"order_id": "W1", "amount": 12.5})


def test_what_nothing_decides_is_unscored_with_the_line_to_add(folder: Path) -> None:
    """The scenario says no expectation, no line and no key: blame is its own."""
    run, result = played(folder, REFUND, {"communicate": ["Paid"]})

    assert (result.verdict, result.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert run.stop_reason == (
        'the agent asks for approval of refund(order_id="W1", amount=12.5), and nothing says what the user decides: '
        'add `{approve: {refund: {"order_id": "W1", "amount": 12.5}}}` or `{reject: refund}` to `says`, '
        "or the key `approvals: approve`"
    )


def test_a_decision_that_the_agent_does_not_take_is_unscored(folder: Path) -> None:
    """An agent may say which decisions it takes."""
    asks = {**REFUND, "allowed": ["approve", "reject"]}

    run, result = played(folder, asks, {**says({"edit": {"refund": {"amount": 1}}}), "communicate": ["Paid"]})

    assert (result.verdict, result.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert "the agent takes only approve, reject" in run.stop_reason


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ({"expect": [{"approval": "close_account"}]}, "the approval of close_account() was never asked for"),
        ({"expect": [{"approval": {"refund": {"amount": 1}}}]}, "the approval of refund(amount=1) was never asked for"),
        ({"never": [{"approval": "refund"}]}, "the approval of refund(order_id='W1', amount=12.5) is forbidden"),
    ],
)
def test_approvals_are_expected_and_forbidden(folder: Path, scenario: dict[str, Any], said: str) -> None:
    """An approval that was not asked for, or should not have been, is the agent's failure."""
    _, result = played(folder, REFUND, {"approvals": "reject", **scenario})

    assert (result.verdict, result.blame) == (Verdict.FAILED, Blame.AGENT)
    assert any(said in finding.message for finding in result.findings if finding.passed is False)


def test_an_agent_that_ignores_the_no_is_caught(folder: Path) -> None:
    """The call was refused, and is made all the same."""
    script = says({"reject": "refund"})

    obeying, ignoring = (played(folder, REFUND, {**script, "expect": []}, obeys=obeys)[1] for obeys in (True, False))

    assert obeying.verdict is Verdict.PASSED
    assert (ignoring.verdict, ignoring.blame) == (Verdict.FAILED, Blame.AGENT)
    assert any("although the user declined" in one.message for one in ignoring.findings)
