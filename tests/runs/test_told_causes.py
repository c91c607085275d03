"""What the report says lies behind a run: a tool that fails in its own code, a refused call, and a goodbye."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from tests.plugin.project import TWO_WORKERS, Project

TOOLS = """
ORDERS = {"W2": "open"}

def get(order_id: str) -> str:
    "Get an order."
    return ORDERS[order_id]

def find(order_id: str) -> str:
    "Find an order."
    if order_id not in ORDERS: raise KeyError(order_id)
    return ORDERS[order_id]

def cancel(order_id: str) -> str:
    "Cancel an order."
    return "Error: it is shipped"
"""
AGENT = """
def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        name, _, order = message.partition(" ")
        if name not in call:
            return message
        try:
            return str(call[name](order_id=order))
        except LookupError:
            return "Sorry, that did not work."

    return reply
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project."""
    return Project(pytester=pytester)


def write(project: Project, *scenarios: dict[str, Any]) -> Path:
    """Write a suite of an agent that makes the call which its user names, and else repeats what it is told."""
    project.write("bench/shop_tools.py", textwrap.dedent(TOOLS))
    project.write("bench/shop_agent.py", textwrap.dedent(AGENT))
    kinds = {"reads": ["get", "find"], "writes": ["cancel"]}
    suite = {"agent": "shop_agent:build", "environment": {"tools": "shop_tools", **kinds}, "scenarios": scenarios}
    return project.write("bench/agentbench.yaml", json.dumps(suite, indent=1))


def get(name: str, tool: str = "get", order: str = "W1") -> dict[str, Any]:
    """Give a scenario in which an order is looked up."""
    return {"id": name, "says": [f"{tool} {order}"], "expect": [{tool: {"order_id": order}}], "communicate": ["open"]}


SLIP = "the tool 'get' raised KeyError: 'W1' (bench/shop_tools.py:6 in get) at every call; mend it"


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_a_tool_that_works_in_no_run_is_told(project: Project, workers: str) -> None:
    """Exception and line stand beside the failure, and once at the end; a refusal that is raised is no slip."""
    write(project, get("a"), get("b"), get("c", "find"))

    result = project.run(workers)

    told = [line for line in result.outlines if SLIP in line]
    assert len(told) == 3, result.stdout.str()
    assert told[-1].startswith("bench/agentbench.yaml: ")
    assert "'find' raised" not in result.stdout.str()


def test_a_tool_that_works_elsewhere_is_not_told_at_the_end(project: Project) -> None:
    """A lookup that finds nothing may be meant."""
    write(project, get("a"), get("b", order="W2"))

    told = [line for line in project.run().outlines if SLIP in line]

    assert len(told) == 1
    assert not told[0].startswith("bench/")


def test_doctor_tells_of_a_tool_that_fails_at_an_expected_call(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """The project is not healthy."""
    path = write(project, get("a"))

    status = main(["doctor", str(path)])

    told = " ".join(capsys.readouterr().out.split())
    assert status == 1
    assert "PROBLEM tools 'get' raised KeyError: 'W1' (bench/shop_tools.py:6 in get) -> mend it" in told


def test_doctor_and_validate_tell_of_what_no_arguments_break(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tool whose server is down makes no project healthy, nor a scenario valid that needs it."""
    tools = """
    def login(state, pin: str):
        raise ConnectionError("no server")

    def save(state, name: str):
        state[name] = 1
    """
    agent = """
    def build(tools):
        def reply(message):
            try:
                tools[0](pin="4711")
            except ConnectionError:
                return "Sorry, we are down."
        return reply
    """
    policy = {"id": "first", "text": "Log in first.", "rule": {"before": {"calls": ["save"], "first": ["login"]}}}
    suite = {
        "agent": "agents:build",
        "environment": {"tools": "tools", "state": {"json": "s.json"}, "reads": ["login"], "writes": ["save"]},
        "policies": [policy],
        "scenarios": [{"id": "a", "says": ["Save Ann with the pin 4711."], "expect": [{"save": {"name": "Ann"}}]}],
    }
    for name, text in {"tools.py": tools, "agents.py": agent, "s.json": "{}"}.items():
        project.write(f"bench/{name}", textwrap.dedent(text))
    path = project.write("bench/agentbench.yaml", json.dumps(suite))

    statuses, told = [], []
    for command in ("doctor", "validate"):
        statuses.append(main([command, str(path)]))
        told.append(" ".join(capsys.readouterr().out.split()))

    broke = "'login' broke, and no argument can be the cause: ConnectionError: no server (bench/tools.py:3 in login)"
    assert statuses == [1, 1], told
    assert f"PROBLEM tools {broke} -> mend it" in told[0]
    assert '- {"login": {"pin": "***"}} *** stands for a secret, which is not shown: write the value' in told[0]
    assert f"a: the tool {broke}" in told[1]


def test_the_list_of_what_was_not_scored_says_why(project: Project) -> None:
    """A refused call is named there, not only in the failure's own text."""
    write(project, {"id": "a", "says": ["cancel W1"], "expect": [{"cancel": {"order_id": "W1"}}]})

    told = project.run().stdout.str().partition("not scored")[2]

    assert "the tool refused the expected call cancel(order_id='W1')" in " ".join(told.split())


def test_two_goodbyes_end_a_conversation(project: Project) -> None:
    """A user that does nothing but close, and hears its own words, has closed; unlabelled words mean nothing."""
    said = {"expect": [{"get": {"order_id": "W2"}}], "communicate": ["open"]}
    write(
        project,
        {"id": "closes", "says": ["get W2", {"close": "Bye!"}, {"close": "Bye!"}], **said},
        {"id": "plain", "says": ["get W2", "Bye!", "Bye!"], **said},
    )

    result = project.run()

    ends = {one.key.scenario: (one.verdict.value, str(one.termination)) for one in project.document.results}
    assert ends == {"closes": ("passed", "FINISHED"), "plain": ("error", "STALLED")}
    assert "a goodbye is a line `{close: …}`" in result.stdout.str()


@pytest.mark.parametrize(("answer", "is_told"), [("'How can I help you?'", True), ("'You said ' + message", False)])
def test_an_agent_that_hears_nothing_is_told(project: Project, answer: str, is_told: bool) -> None:
    """One answer to everything in every run is no scenario's fault, whatever each run for itself can tell."""
    write(project, get("a"), get("b", order="W2"), get("c", "find", "W2"))
    project.write("bench/shop_agent.py", f"def build(tools):\n    return lambda message: {answer}\n")

    told = project.run().stdout.str()

    assert ("in all runs (3) the agent said only 'How can I help you?', and no call of it was seen" in told) is is_told


def test_an_agent_whose_one_answer_is_right_hears_well(project: Project) -> None:
    """What passes is no agent that nothing reaches."""
    scenarios = [{"id": name, "says": ["Hi"], "communicate": ["Done"]} for name in "abc"]
    write(project, *scenarios)
    project.write("bench/shop_agent.py", "def build(tools):\n    return lambda message: 'Done.'\n")

    assert "said only" not in project.run().stdout.str()
