"""Suites whose agents frameworks made, played by pytest: named as they are, and built with the environment's tools."""

import json
import os
import re
import shutil
import subprocess
import sys
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
