"""Expected calls that leave something open, in suites with state; ids that a run's world made up."""

import json
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.plugin.project import Project

TOOLS = '''
import uuid

def get_order(state: dict, order_id: str) -> dict:
    """Look an order up."""
    return state["orders"][order_id]

def refund(state: dict, order_id: str, amount: float = 0, note: str = "") -> dict:
    """Refund an order."""
    if amount > 10_000:
        raise ValueError("the limit is 10000")
    order = state["orders"][order_id]
    order.update(status="refunded", amount=amount, note=note)
    return order

def open_ticket(state: dict, title: str) -> str:
    """Open a ticket."""
    number = f"T-{uuid.uuid4().hex[:8]}"
    state["tickets"][number] = {"title": title, "open": True}
    return f"Opened {number}."

def open_silently(state: dict, title: str) -> str:
    """Open a ticket, writing it down."""
    open_ticket(state, title)
    return "done"

def list_tickets(state: dict) -> list:
    """List the tickets."""
    return [{"id": number, **ticket} for number, ticket in state["tickets"].items()]

def close_ticket(state: dict, ticket_id: str, reason: str = "") -> str:
    """Close a ticket."""
    state["tickets"][ticket_id].update(open=False, reason=reason)
    return f"Closed {ticket_id}."

TOOLS = [get_order, refund, open_ticket, open_silently, list_tickets, close_ticket]
'''
STATE = {"orders": {"W1": {"status": "delivered"}, "W2": {"status": "delivered"}}, "tickets": {}}
AGENT = """
import re

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
%s
        return "All done."
    return reply
"""
KINDS = {"reads": ["get_order", "list_tickets"], "writes": ["refund", "open_ticket", "open_silently", "close_ticket"]}


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def judged(project: Project, expect: list[Any] | dict[str, Any], *calls: str, **keys: Any) -> Result:
    """Run an agent that makes these calls, of a scenario that expects those; give its result."""
    scenario = {"id": "a", "says": ["Go"], **(expect if isinstance(expect, dict) else {"expect": expect}), **keys}
    suite = {
        "agent": "agents:build",
        "environment": {"tools": "tools", "state": {"json": "state.json"}, **KINDS},
        "scenarios": [scenario],
    }
    project.write("bench/agentbench.yaml", json.dumps(suite))
    project.write("bench/agents.py", AGENT % "\n".join(f"        {line}" for line in calls))
    project.write("bench/tools.py", TOOLS)
    project.write("bench/state.json", json.dumps(STATE))
    project.run()
    (result,) = project.document.results
    return result


def messages(result: Result) -> str:
    """What was found, as one text."""
    return "\n".join(finding.message for finding in result.findings if finding.passed is not True)


@pytest.mark.parametrize(
    "expect",
    [
        ["refund"],
        [{"refund": {"order_id": "W1"}}],
        [{"refund": {"order_id": {"$regex": "W."}}}],
        [{"refund": {"order_id": "W1", "amount": {"$approx": 9999, "tol": 1}}}],
        [{"name": "refund", "arguments": {"order_id": "W1", "amount": 1}, "compare_args": ["order_id"]}],
    ],
)
def test_what_an_expected_call_leaves_open_is_no_problem(project: Project, expect: list[Any]) -> None:
    """It is taken from the agent's own call where the expected state is computed."""
    result = judged(project, expect, "call['refund'](order_id='W1', amount=9999.5, note='late')")

    assert (result.verdict, messages(result)) == (Verdict.PASSED, "")
    assert result.calls[0].left_open["note"] == "late"


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (["call['refund'](order_id='W2', amount=9)"], "argument 'order_id' was 'W2', expected 'W1'"),
        (
            ["call['refund'](order_id='W1', amount=9)", "call['refund'](order_id='W2', amount=9)"],
            "not part of the goal",
        ),
        (
            ["call['refund'](order_id='W1', amount=9)", "call['refund'](order_id='W1', amount=5)"],
            "not part of the goal",
        ),
        (["call['open_ticket'](title='refund')"], "refund(order_id='W1') was never called"),
        (["call['refund'](order_id='W1', amount=9)", "call['open_ticket'](title='x')"], "not part of the goal"),
    ],
)
def test_what_it_states_still_decides(project: Project, calls: list[str], told: str) -> None:
    """A wrong order, a second refund and a stray write fail the run, and nothing else does."""
    result = judged(project, [{"refund": {"order_id": "W1"}}], *calls)

    assert (result.verdict, result.blame) == (Verdict.FAILED, Blame.AGENT)
    assert told in messages(result)


def test_a_call_that_was_never_made_is_the_finding(project: Project) -> None:
    """Nobody knows the rows that it would have led to."""
    result = judged(project, ["refund"], "call['get_order'](order_id='W1')")

    assert result.verdict is Verdict.FAILED
    assert [finding.message for finding in result.findings if finding.passed is False] == ["refund() was never called"]


def test_among_equal_calls_the_earlier_one_is_taken(project: Project) -> None:
    """The later one is a write outside the goal."""
    result = judged(project, ["refund"], "call['refund'](order_id='W1')", "call['refund'](order_id='W2')")

    assert result.verdict is Verdict.FAILED
    assert "refund(order_id='W2') changed state and is not part of the goal" in messages(result)
    assert not any("W1" in finding.message for finding in result.findings if finding.passed is False)


def test_a_refused_attempt_is_passed_over_for_the_call_that_worked(project: Project) -> None:
    """Only calls that succeeded give values."""
    refused = "\ntry:\n    call['refund'](order_id='W1', amount=20000)\nexcept Exception:\n    pass"
    result = judged(project, ["refund"], *refused.splitlines(), "call['refund'](order_id='W1', amount=5)")

    assert (result.verdict, messages(result)) == (Verdict.PASSED, "")
    assert result.calls[0].left_open == {"order_id": "W1", "amount": 5}


def test_a_write_that_the_tool_refused_was_attempted(project: Project) -> None:
    """It is never said not to have been called."""
    refused = ["try:", "    call['refund'](order_id='W1', amount=20000)", "except Exception:", "    pass"]
    result = judged(project, ["refund"], *refused)

    assert (result.verdict, result.blame) == (Verdict.FAILED, Blame.AGENT)
    assert result.calls[0].status == "tool_failed"
    assert "refund() was attempted but failed: the limit is 10000" in messages(result)
    assert "never called" not in messages(result)


TICKET = ["number = re.search('T-[0-9a-f]+', call['open_ticket'](title='lamp'))[0]"]


@pytest.mark.parametrize(
    ("expect", "calls"),
    [
        (["open_ticket"], TICKET),
        ([{"open_ticket": {"title": "lamp"}}], TICKET),
        (["open_ticket", "close_ticket"], [*TICKET, "call['close_ticket'](ticket_id=number, reason='fixed')"]),
        (["close_ticket", "open_ticket"], [*TICKET, "call['close_ticket'](ticket_id=number, reason='fixed')"]),
        (
            ["open_silently", "close_ticket"],
            [
                "call['open_silently'](title='lamp')",
                "number = call['list_tickets']()[0]['id']",
                "call['close_ticket'](ticket_id=number, reason='fixed')",
            ],
        ),
        (
            [{"open_ticket": {"title": "a"}}, {"open_ticket": {"title": "b"}}],
            ["call['open_ticket'](title='b')", "call['open_ticket'](title='a')"],
        ),
    ],
)
def test_ids_that_the_world_makes_up_are_those_of_the_run(
    project: Project, expect: list[Any], calls: list[str]
) -> None:
    """A fresh world names the ticket otherwise: it is the same one."""
    result = judged(project, expect, *calls)

    assert (result.verdict, messages(result)) == (Verdict.PASSED, "")


@pytest.mark.parametrize(
    "calls",
    [
        [*TICKET, "call['open_ticket'](title='lamp')"],
        ["call['open_ticket'](title='lump')"],
        [*TICKET, "call['close_ticket'](ticket_id=number)"],
    ],
)
def test_a_made_up_id_excuses_nothing(project: Project, calls: list[str]) -> None:
    """A second ticket, another title and a closed one are wrong whatever they are called."""
    result = judged(project, [{"open_ticket": {"title": "lamp"}}], *calls)

    assert (result.verdict, result.blame) == (Verdict.FAILED, Blame.AGENT)


COUNTING = TOOLS.replace('f"T-{uuid.uuid4().hex[:8]}"', "f\"T-{len(state['tickets']) + 1}\"")


@pytest.mark.parametrize(("closed", "verdict"), [("T-2", Verdict.PASSED), ("T-1", Verdict.FAILED)])
def test_ids_in_expected_calls_are_those_of_a_fresh_world(
    project: Project, monkeypatch: pytest.MonkeyPatch, closed: str, verdict: Verdict
) -> None:
    """The lamp's ticket is T-1 where it is opened first; an agent that opens it second has to close T-2."""
    monkeypatch.setattr("tests.runs.test_open_arguments.TOOLS", COUNTING)
    expect = [
        {"open_ticket": {"title": "lamp"}},
        {"open_ticket": {"title": "desk"}},
        {"close_ticket": {"ticket_id": "T-1"}},
    ]
    opened = ["call['open_ticket'](title='desk')", "call['open_ticket'](title='lamp')"]
    result = judged(project, expect, *opened, f"call['close_ticket'](ticket_id='{closed}')")

    assert result.verdict is verdict


def test_each_way_may_leave_something_open(project: Project) -> None:
    """The run is judged by the way that it took."""
    ways = {"expect_any": [[{"refund": {"order_id": "W2"}}], [{"refund": {"order_id": "W1"}}, "open_ticket"]]}
    result = judged(project, ways, "call['refund'](order_id='W1', amount=3)", *TICKET)

    assert (result.verdict, messages(result)) == (Verdict.PASSED, "")


@pytest.mark.parametrize(("order", "verdict"), [("in_order", Verdict.FAILED), ("any_order", Verdict.PASSED)])
def test_an_order_is_kept_by_what_is_left_open(project: Project, order: str, verdict: Verdict) -> None:
    """Open arguments and an order have nothing to do with each other."""
    calls = ["call['refund'](order_id='W2', amount=3)", "call['refund'](order_id='W1', amount=4)"]
    expect = [{"refund": {"order_id": "W1"}}, {"refund": {"order_id": "W2"}}]

    assert judged(project, expect, *calls, match={"order": order}).verdict is verdict
