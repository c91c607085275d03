"""Agents that other people published, played as they are: a right model passes, one that breaks its prompt does not.

They come from their packages, or from working copies under the folder that AGENTBENCH_PUBLIC_AGENTS names.
"""

import importlib.util
import os
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.testing import ModelServer
from tests.plugin.project import Project
from tests.real.public import scripts

pytestmark = pytest.mark.real

HERE = Path(__file__).parent / "public"
FOLDER = "AGENTBENCH_PUBLIC_AGENTS"


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Where an agent is from, what a broken run of it must be failed by, and what it reads besides its model."""

    module: str
    """A module of it that is there where it is installed."""
    needs: tuple[str, ...]
    """Packages that it imports."""
    broken: dict[str, tuple[str, ...]]
    """By scenario what the findings of the broken run must name."""
    folder: str = ""
    """Its place below the folder, where it is no package."""
    glue: str = ""
    """The file that somebody who wrote the agent would have to write; at most five lines of code."""


AGENTS = {
    "openai_customer_service": Agent(
        folder="openai-agents-python",
        module="examples.customer_service.main",
        needs=("agents",),
        broken={
            "seat": ("ask-for-the-confirmation-number", "AB1CD2"),
            "bag": ("no-knowledge-of-its-own",),
        },
    ),
    "openai_airline": Agent(
        folder="openai-cs-agents-demo/python-backend",
        module="airline.agents",
        needs=("agents", "chatkit"),
        glue="airline_context.py",
        broken={"front-row": ("medical-seats",), "compensation": ("policy-before-money",), "poem": ("about-flights",)},
    ),
    "bank_support": Agent(
        module="pydantic_ai_examples.bank_support",
        needs=("pydantic_ai",),
        glue="bank_context.py",
        broken={"balance": ("by-name",), "lost-card": ("by-name", "block_card")},
    ),
    "langgraph_customer_support": Agent(
        folder="langgraph-customer-support",
        module="customer_support_agent.main_graph",
        needs=("langgraph", "langchain_openai", "langchain_anthropic", "langchain_tavily", "pandas"),
        broken={"hotel": ("quiet-delegation",), "palace": ("search-first", "quiet-delegation")},
    ),
    "adk_customer_service": Agent(
        folder="adk-samples/python/agents/customer-service",
        module="customer_service.agent",
        needs=("google.adk", "pydantic_settings"),
        broken={"cart": ("look-first", "confirm"), "discount": ("manager",)},
    ),
    "openai_approvals": Agent(
        folder="openai-agents-python",
        module="examples.agent_patterns.human_in_the_loop",
        needs=("agents",),
        broken={"approved": ("use-the-tools",), "rejected": ("use-the-tools",)},
    ),
    "pydantic_ai_approvals": Agent(
        module="pydantic_ai_examples.ag_ui.api.tool_approval",
        needs=("pydantic_ai", "starlette", "ag_ui"),
        broken={"approved": ("truth",), "rejected": ("truth",)},
    ),
    "openai_tool_guardrails": Agent(
        folder="openai-agents-python",
        module="examples.basic.tool_guardrails",
        needs=("agents",),
        broken={"welcome": ("call-it",), "blocked": ("no-lie",), "secret": ("no-number",)},
    ),
    "adk_approvals": Agent(
        folder="adk-python/contributing/samples",
        module="human_in_loop.agent",
        needs=("google.adk",),
        broken={"small": ("51",), "large": ("manager",)},
    ),
}


@pytest.fixture(params=AGENTS)
def name(request: pytest.FixtureRequest) -> str:
    """Name an agent that is there."""
    agent = AGENTS[request.param]
    for package in agent.needs:
        pytest.importorskip(package)
    top = agent.module.partition(".")[0]
    if not agent.folder:
        if importlib.util.find_spec(top) is None:
            pytest.skip(f"the package {top} is not installed")
    elif FOLDER not in os.environ:
        pytest.skip(f"{FOLDER} names no folder with {agent.folder} in it")
    elif not (Path(os.environ[FOLDER]) / agent.folder / top).is_dir():
        pytest.skip(f"there is no {agent.folder}/{top} below {os.environ[FOLDER]}")
    return str(request.param)


@pytest.fixture
def project(name: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Lay the suite out beside what the agent reads, as its own README has it."""
    agent = AGENTS[name]
    project = Project(pytester=pytester)
    for file in (HERE / "suites").glob("*.*"):
        if file.stem == name or file.suffix != ".yaml" or file.stem == "bank_rows":
            shutil.copy(file, pytester.path / (f"{name}.agentbench.yaml" if file.stem == name else file.name))
    if agent.glue:
        shutil.copy(HERE / "glue" / agent.glue, pytester.path)
    with sqlite3.connect(pytester.path / "travel2.sqlite") as travel:
        travel.executescript((HERE / "suites" / "travel2.sql").read_text(encoding="utf-8"))
    travel.close()
    path = [str(Path(os.environ[FOLDER]) / agent.folder)] if agent.folder else []
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.setenv("TAVILY_API_KEY", "none")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    return project


def play(project: Project, script: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Result]:
    """Play the suite with this model, and give the results by scenario."""
    with ModelServer(scripts.scripted(script)) as model:
        for variable in ("OPENAI_API_KEY", "GOOGLE_API_KEY"):
            monkeypatch.setenv(variable, "none")
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", model.base_url.removesuffix("/v1"))
        project.run("-p", "no:logging", process="fresh")
    assert model.problems == []
    return {result.nodeid.rpartition("::")[2]: result for result in project.document.results}


def test_glue_is_at_most_five_lines() -> None:
    """What somebody who wrote the agent has to write for us."""
    files = [HERE / "glue" / agent.glue for agent in AGENTS.values() if agent.glue]
    code = {file.name: sum(map(bool, file.read_text(encoding="utf-8").splitlines())) for file in files}
    assert code == {"airline_context.py": 5, "bank_context.py": 4}


def test_a_right_model_passes(name: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is held against an agent that does what its prompt says."""
    runs = play(project, getattr(scripts, name), monkeypatch)

    assert {key: (run.verdict.value, run.error) for key, run in runs.items()} == dict.fromkeys(runs, ("passed", None))
    assert set(runs) == set(AGENTS[name].broken)


def test_a_model_that_breaks_its_prompt_fails(name: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent is to blame, and the findings name the rule."""
    runs = play(project, getattr(scripts, name + "_broken"), monkeypatch)

    for key, named in AGENTS[name].broken.items():
        found = " ".join(f"{one.policy}: {one.message}" for one in runs[key].findings if one.passed is False)
        assert (runs[key].verdict.value, runs[key].blame) == ("failed", "agent"), (key, runs[key].error)
        assert all(part in found for part in named), (key, found)
