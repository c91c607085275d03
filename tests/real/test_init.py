"""`agentbench init` finds the agents of real frameworks by their type, under names that nobody expects."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.testing import ModelServer, text

pytestmark = pytest.mark.real

MODULES = {
    "agents": (
        "OpenAI Agents SDK",
        """
from agents import Agent, OpenAIChatCompletionsModel, ModelSettings
from openai import AsyncOpenAI

brain = OpenAIChatCompletionsModel(model="loopback", openai_client=AsyncOpenAI())
mood = ModelSettings(temperature=0)
clerk = Agent[dict](name="clerk", model=brain)
receptionist = Agent(name="receptionist", model=brain, handoffs=[clerk])
""",
    ),
    "pydantic_ai": (
        "pydantic-ai",
        """
import pydantic_ai
from pydantic_ai.models.openai import OpenAIChatModel

brain = OpenAIChatModel("loopback")
receptionist: pydantic_ai.Agent[None, str] = pydantic_ai.Agent(brain)
""",
    ),
    "langgraph": (
        "LangGraph",
        """
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph

brain = ChatOpenAI(model="loopback")
plan = StateGraph(MessagesState)
plan.add_node("think", lambda state: {"messages": [brain.invoke(state["messages"])]})
plan.add_edge(START, "think")
receptionist = plan.compile().with_config(tags=["desk"])
""",
    ),
    "smolagents": (
        "smolagents",
        """
import os
from smolagents import CodeAgent, OpenAIServerModel

brain = OpenAIServerModel("loopback", api_base=os.environ["OPENAI_BASE_URL"], api_key="none")
receptionist = CodeAgent([], brain, max_steps=1)
""",
    ),
    "google.adk": (
        "Google ADK",
        """
import os
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm

brain = LiteLlm("openai/loopback", api_base=os.environ["OPENAI_BASE_URL"], api_key="none")
receptionist = LlmAgent(name="receptionist", model=brain)
""",
    ),
}


@pytest.mark.parametrize("package", MODULES)
def test_an_agent_is_found_by_its_type(tmp_path: Path, package: str) -> None:
    """Models and settings beside it are not taken for it, nor the agent that it hands over to."""
    pytest.importorskip(package)
    framework, code = MODULES[package]
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "frontdesk.py").write_text(code, encoding="utf-8")
    (tmp_path / "app.py").write_text("raise RuntimeError('nobody imports this')", encoding="utf-8")

    with ModelServer(lambda _: text("<code>final_answer('Hello')</code>")) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        ended = subprocess.run(
            [str(Path(sys.executable).parent / "agentbench"), "init"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert f"frontdesk:receptionist is an agent of {framework}\n" in ended.stdout, ended.stdout + ended.stderr
    assert "agent: frontdesk:receptionist" in (tmp_path / "shop" / "agentbench.yaml").read_text(encoding="utf-8")
