"""Suites whose agents frameworks made, played by pytest: named as they are, and built with the environment's tools."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, text

pytestmark = pytest.mark.real

AGENTS = Path(__file__).parent / "agents"

SUITES = {
    "langgraph": ("langgraph", "langgraph_agent:graph", "build_langgraph"),
    "pydantic-ai": ("pydantic_ai", "pydantic_ai_agent:agent", "build_pydantic_ai"),
    "openai-agents": ("agents", "openai_agents_agent:agent", "build_openai_agents"),
    "smolagents": ("smolagents", "smolagents_agent:agent", "build_smolagents"),
    "adk": ("google.adk", "adk_agent:root_agent", "build_adk"),
}

TOOLS = """
def get_order(state: dict, order_id: str) -> str:
    '''Look an order up.'''
    state["seen"].append(order_id)
    return f"Order {order_id} is shipped"
"""

SCENARIOS = """
scenarios:
  - id: first
    says: ["Where is W1?", "And where is W22?"]
    expect: [{get_order: {order_id: W1}}, {get_order: {order_id: W22}}]
    communicate: [W1 is shipped, W22 is shipped]
  - id: second
    says: ["Where is W3?"]
    expect: [{get_order: {order_id: W3}}]
  - id: third
    says: ["Where is W3?"]
    expect: [{get_order: {order_id: W3}}]
"""


def answer(request: ModelRequest) -> Answer:
    """Look up what the user named last, then say what was found; smolagents speaks by calling a tool.

    It also gives results as texts of the user's, with what the user says next behind them.
    """
    said = str(request.last)
    *_, order = re.finditer(r"W\d+", said)
    results = list(re.finditer(r"Order W\d+ is shipped", said))
    if not results or results[-1].end() < order.end():
        return call("get_order", order_id=order.group())
    found = results[-1].group()
    return call("final_answer", answer=found) if "final_answer" in request.tools else text(found)


@pytest.mark.parametrize("kind", ["as it is", "with the environment's tools"])
@pytest.mark.parametrize("name", SUITES)
def test_a_suite_passes_with_each_call_counted_once(tmp_path: Path, name: str, kind: str) -> None:
    """Runs overlap on one loop; a call seen by the environment and told by the framework is one call."""
    package, target, factory = SUITES[name]
    pytest.importorskip(package)
    for file in AGENTS.glob("*.py"):
        shutil.copy(file, tmp_path)
    agent = f"agent: {target}" if kind == "as it is" else f"agent: tools_agents:{factory}"
    world = "" if kind == "as it is" else "environment: {tools: shop_tools, state: {json: state.json}}"
    (tmp_path / "shop_tools.py").write_text(TOOLS)
    (tmp_path / "state.json").write_text('{"seen": []}')
    (tmp_path / "agentbench.yaml").write_text(f"{agent}\n{world}\n{SCENARIOS}")
    with ModelServer(answer) as server:
        environ = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        environ |= {"LANGSMITH_TRACING": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--agentbench",
            "--agentbench-json",
            "out.json",
            "-p",
            "no:cacheprovider",
        ]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=100, check=False
        )

    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert {one["verdict"] for one in results} == {"passed"}
    assert sorted(one["metrics"]["tool_calls"] for one in results) == [1, 1, 2]


CONVERTING = """
agent: tools_agents:{factory}
environment: {{tools: hours_tools, state: {{json: hours.json}}, writes: [add_hours]}}
policies:
  - id: looked-up
    text: Look the booking up.
    rule: {{only_if: {{calls: [add_hours], earlier: {{calls: [get_hours], same: [booking]}}}}}}
  - {{id: once, text: Add hours once., rule: {{at_most: {{calls: [add_hours], times: 1}}}}}}
scenarios:
  - {{id: add, says: ["Give B1 2 more hours"], expect: [{{add_hours: {{booking: B1, hours: 2}}}}]}}
"""

HOURS = """
def get_hours(state: dict, booking: str) -> int:
    '''Look a booking up.'''
    return state["B1"]["hours"]

def add_hours(state: dict, booking: str, hours: int) -> dict:
    '''Add hours to a booking.'''
    state["B1"]["hours"] += hours
    return state["B1"]
"""


@pytest.mark.parametrize("name", ["langgraph", "pydantic-ai", "openai-agents"])
def test_what_a_framework_converts_or_rejects_is_one_call(tmp_path: Path, name: str) -> None:
    """A number in quotes reaches the tool as a number; a call with a wrong argument never does, and breaks nothing."""
    package, _, factory = SUITES[name]
    pytest.importorskip(package)
    for file in AGENTS.glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "hours_tools.py").write_text(HOURS)
    (tmp_path / "hours.json").write_text('{"B1": {"hours": 3}}')
    (tmp_path / "agentbench.yaml").write_text(CONVERTING.format(factory=factory))
    with ModelServer() as server:
        server.play(
            [
                call("get_hours", booking="B1"),
                call("add_hours", id="B1", hours="2"),
                call("add_hours", booking="B1", hours="2"),
                text("Booking B1 has 5 hours."),
            ]
        )
        environ = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        command = [sys.executable, "-m", "pytest", "--agentbench", "--agentbench-json", "out.json"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=100, check=False
        )

    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = tmp_path.glob(".agentbench/runs/*/transcripts/*.json")
    told = json.loads(file.read_text())["messages"]
    calls = [one["arguments"] for message in told for one in message.get("tool_calls", ())]
    assert calls == [{"booking": "B1"}, {"id": "B1", "hours": "2"}, {"booking": "B1", "hours": 2}]
    assert [message.get("rejected", False) for message in told if message["role"] == "tool"] == [False, True, False]


REMEMBERING = """
import sqlite3

from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph


def think(state):
    return {"messages": [AIMessage(f"{len(state['messages'])} so far.")]}


builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_edge(START, "think")
graph = builder.compile(checkpointer=SqliteSaver(sqlite3.connect("kept.sqlite", check_same_thread=False)))


def build(session_id):
    return lambda message: graph.invoke({"messages": [("user", message)]}, {"configurable": {"thread_id": session_id}})
"""


@pytest.mark.parametrize("target", ["remembering:graph", "remembering:build"])
def test_a_checkpointer_that_outlives_the_session_changes_no_result(tmp_path: Path, target: str) -> None:
    """Three sessions on one SQLite file begin every conversation anew; a thread is named as the run's session is."""
    pytest.importorskip("langgraph.checkpoint.sqlite")
    (tmp_path / "remembering.py").write_text(REMEMBERING)
    scenarios = [
        {"id": f"s{number}", "says": ["One", "Two"], "communicate": ["1 so far", "3 so far"]} for number in range(4)
    ]
    (tmp_path / "agentbench.yaml").write_text(json.dumps({"agent": target, "scenarios": scenarios}))
    command = [sys.executable, "-m", "pytest", "--agentbench", "--agentbench-json", "out.json"]

    sessions = set()
    for _ in range(3):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        sessions |= {result["session_id"] for result in json.loads((tmp_path / "out.json").read_text())["results"]}

    with closing(sqlite3.connect(tmp_path / "kept.sqlite")) as kept:
        assert {thread for (thread,) in kept.execute("SELECT DISTINCT thread_id FROM checkpoints")} == sessions
    assert len(sessions) == 12
