"""A call of a wrapped tool that the agent's messages tell of, too, is one call; one that was rejected is none."""

import json
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from tests.plugin.project import Project

TOOLS = """
def get_booking(state: dict, booking_id: str) -> dict:
    return {"status": "open", "hours": state["b"][booking_id]}

def set_hours(state: dict, booking_id: str, hours: int) -> dict:
    if hours > 9:
        raise LookupError("too long")
    state["b"][booking_id] = hours
    return {"hours": hours}
"""

AGENT = """
STEPS = {
    "converts": [("get_booking", {"booking_id": "B1"}), ("set_hours", {"booking_id": "B1", "hours": "5"})],
    "retries": [
        ("get_booking", {"booking_id": "B1"}),
        ("set_hours", {"booking": "B1", "hours": "5"}),
        ("set_hours", {"booking_id": "B1", "hours": "5"}),
    ],
    "too_long": [("get_booking", {"booking_id": "B1"}), ("set_hours", {"booking_id": "B1", "hours": "12"})],
    "twice": [("get_booking", {"booking_id": "B1"})] + [("set_hours", {"booking_id": "B1", "hours": "5"})] * 2,
    "tries": [("set_hours", {"booking": "B1", "hours": "5"})],
}

def a_framework(tools, way="converts"):  # converts arguments, and rejects those that a tool does not have
    known = {tool.__name__: tool for tool in tools}

    def made(name, arguments):
        if "booking" in arguments:
            return "unknown argument 'booking'", True
        given = {key: int(one) if key == "hours" else one for key, one in arguments.items()}
        try:
            return known[name](**given), False
        except LookupError as error:
            return str(error), True

    def reply(message):
        said = []
        for number, (name, arguments) in enumerate(STEPS[way]):
            result, failed = made(name, arguments)
            call = {"id": f"c{number}", "name": name, "arguments": arguments}
            said.append({"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]})
            said.append({"role": "tool", "tool_call_id": call["id"], "content": repr(result), "error": failed})
        return [*said, {"role": "assistant", "content": "Done."}]

    return reply

def a_loop(way="retries"):  # the environment makes the calls
    steps = iter(STEPS[way])

    def reply(messages):
        step = next(steps, None)
        if step is None:
            return "Done."
        return {"role": "assistant", "tool_calls": [{"id": "c1", "name": step[0], "arguments": step[1]}]}

    return reply
"""

RULES = {
    "open-only": {
        "only_if": {"calls": ["set_hours"], "earlier": {"calls": ["get_booking"], "same": ["booking_id"]}},
    },
    "looked-up": {"before": {"calls": ["set_hours"], "first": ["get_booking"]}},
    "once": {"at_most": {"calls": ["set_hours"], "times": 1}},
    "only-these": {"only": {"calls": ["get_booking", "set_hours"]}},
}


WAYS = ("converts", "retries", "too_long", "twice", "tries")


def test_a_wrapped_call_is_told_once_and_a_rejected_one_is_none(pytester: pytest.Pytester) -> None:
    """What a framework converts is no second call; what it rejects breaks only rules that forbid even trying."""
    project = Project(pytester=pytester)
    project.write("b.json", json.dumps({"b": {"B1": 3}}))
    right = {"id": "set", "says": ["Set B1 to 5"], "expect": [{"set_hours": {"booking_id": "B1", "hours": 5}}]}
    for name, agent, scenario in (
        ("framework", "a_framework", right),
        ("loop", "a_loop", {**right, "expect": [{"set_hours": {"booking_id": "B1", "hours": {"$any": True}}}]}),
        ("tries", "a_framework", {**right, "expect": [], "never": ["set_hours"]}),
    ):
        project.write(f"{name}_agent.py", AGENT)
        project.write("booking_tools.py", TOOLS)
        keys = {
            "agent": f"{name}_agent:{agent}",
            "variants": {way: {"way": way} for way in WAYS},
            "environment": {"tools": "booking_tools", "state": {"json": "b.json"}, "writes": ["set_hours"]},
            "policies": [{"id": one, "text": one, "rule": rule} for one, rule in RULES.items()],
            "scenarios": [scenario],
        }
        project.write(f"{name}.agentbench.yaml", json.dumps(keys))

    project.run("--agentbench-variant", "all")

    found = {(one.key.suite.partition(".")[0], one.key.variant): one for one in project.document.results}
    failed = {
        key: sorted({finding.check.removeprefix("policy:") for finding in one.findings if finding.passed is False})
        for key, one in found.items()
    }
    assert {way: failed["framework", way] for way in WAYS} == {
        "converts": [], "retries": [], "too_long": ["state"], "twice": ["once"], "tries": ["state"],
    }  # fmt: skip
    assert failed["loop", "retries"] == []
    assert failed["tries", "tries"] == ["never"]
    assert told(project, found["framework", "retries"]) == [
        "Step 0.", "get_booking B1", "ok", "Step 1.", "set_hours -", "rejected",
        "Step 2.", "set_hours 5", "ok", "Done.",
    ]  # fmt: skip
    assert told(project, found["framework", "too_long"])[-3:] == ["set_hours 12", "error", "Done."]


def told(project: Project, result: Result) -> list[str]:
    """Give what a transcript tells in order, in a word or two for each text, call and answer."""
    (run,) = project.pytester.path.glob(".agentbench/runs/*")
    messages: list[dict[str, Any]] = json.loads((run / result.transcript).read_text())["messages"]
    lines: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            lines.append("rejected" if message.get("rejected") else "error" if message.get("error") else "ok")
        elif message["role"] == "assistant":
            lines += [message["content"]] if message.get("content") else []
            for call in message.get("tool_calls", ()):
                is_right, given = "booking_id" in call["arguments"], [*call["arguments"].values()]
                lines.append(f"{call['name']} {given[-1] if is_right else '-'}")
    return lines


CLAIMS = """
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message

REFUND = {"id": "c1", "name": "refund", "arguments": {"order_id": "W1"}}
WRONG = {"type": "missing", "loc": ["order_id"], "msg": "Field required", "input": {}}

def told(way):
    if way == "object":
        yield Message(role="assistant", tool_calls=(ToolCall(**REFUND),))
        yield Message(role="tool", tool_call_id="c1", content="ok", rejected=True)
    elif way == "retry":
        call = {"part_kind": "tool-call", "tool_name": "refund", "args": {"order_id": "W1"}, "tool_call_id": "c1"}
        yield {"kind": "response", "parts": [call]}
        asked = {"part_kind": "retry-prompt", "tool_name": "refund", "content": [WRONG], "tool_call_id": "c1"}
        yield {"kind": "request", "parts": [asked]}
    else:
        yield {"role": "assistant", "content": None, "tool_calls": [REFUND]}
        yield {"role": "tool", "tool_call_id": "c1", "content": "ok", "error": way == "failed", "rejected": True}
    yield {"role": "assistant", "content": "Refunded W1."}

def build(way="flag"):
    return lambda message: [*told(way)]

def build_wrapped(tools, way="retry"):
    def reply(message):
        tools[0](order_id="W1")
        return [*told(way)]
    return reply
"""


def test_an_agent_excuses_no_call_by_its_own_word(pytester: pytest.Pytester) -> None:
    """What it, or a log, says of a call that was rejected counts for nothing; what we recorded does, if it failed."""
    project = Project(pytester=pytester)
    project.write("claiming.py", CLAIMS)
    project.write("refunds.py", "def refund(order_id): return 'ok'\n\ndef get_order(order_id): return 'paid'\n")
    policies = [
        {"id": "look", "text": "Look first.", "rule": {"before": {"calls": ["refund"], "first": ["get_order"]}}},
        {"id": "ask", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["refund"]}}},
    ]
    scenario = {"id": "a", "says": ["Refund W1 please"], "expect": [{"refund": {"order_id": "W1"}}]}
    call = {"id": "c1", "name": "refund", "arguments": {"order_id": "W1"}}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "no", "rejected": True}
    talk = [
        {"role": "user", "content": "Refund W1 please"},
        {"role": "assistant", "tool_calls": [call]},
        {**answer, "error": True},
        {"role": "assistant", "content": "Refunded W1."},
    ]
    ours = {"key": "a", "termination": "FINISHED", "stop_reason": "", "messages": talk}
    recorded = {
        "log": {"scenario": "a", "messages": talk},
        "ours": ours,
        "ours, done": {**ours, "messages": [*talk[:2], {**answer, "content": "ok", "error": False}, talk[3]]},
    }
    claims = ("flag", "failed", "object", "retry")
    agents: dict[str, dict[str, Any]] = {
        "claims": {"agent": "claiming:build", "variants": {way: {"way": way} for way in claims}},
        "wrapped": {"agent": "claiming:build_wrapped"},
        **{name: {"agent": {"transcripts": f"{name}.jsonl"}} for name in recorded},
    }
    agents["wrapped"]["environment"] = {"tools": "refunds", "writes": ["refund"]}
    for name, keys in agents.items():
        described = {"environment": {"writes": ["refund"]}, **keys, "policies": policies, "scenarios": [scenario]}
        project.write(f"{name}.agentbench.yaml", json.dumps(described))
    for name, recording in recorded.items():
        project.write(f"{name}.jsonl", json.dumps(recording))

    project.run("--agentbench-variant", "all")

    broken = {
        (one.key.suite.partition(".")[0], one.key.variant): {
            finding.check.removeprefix("policy:") for finding in one.findings if finding.passed is False
        }
        for one in project.document.results
    }
    both = {"look", "ask"}
    assert {suite: found & both for (suite, _), found in broken.items() if suite != "claims"} == {
        "wrapped": both, "log": both, "ours": set(), "ours, done": both,
    }  # fmt: skip
    assert {way: found & both for (suite, way), found in broken.items() if suite == "claims"} == dict.fromkeys(
        claims, both
    )
