"""Agents of real frameworks on the model class that each takes by itself: most agents name a model and no class."""

import json
import shutil
from pathlib import Path

import pytest

from pytest_agentbench.testing import ModelServer, call, text
from tests.plugin.project import Project

pytestmark = pytest.mark.real

AGENTS = Path(__file__).parent / "agents"


@pytest.mark.parametrize(
    ("framework", "package"),
    [
        ("langgraph", "langgraph"),
        ("smolagents", "smolagents"),
        ("pydantic_ai", "pydantic_ai"),
        ("openai_agents", "agents"),
        ("adk", "google.adk"),
    ],
)
def test_a_call_and_an_answer(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, framework: str, package: str
) -> None:
    """The model is asked over its own API, and the call of its answer is seen."""
    pytest.importorskip(package)
    project = Project(pytester=pytester)
    for name in ("default_models.py", "orders.py"):
        shutil.copy(AGENTS / name, pytester.path)
    scenario = {"id": "where", "says": ["Where is W1?"], "expect": [{"get_order": {"order_id": "W1"}}]}
    scenarios = [{**scenario, "communicate": ["shipped"], "match": {"expected_calls": "all"}}]
    project.write("agentbench.yaml", json.dumps({"agent": f"default_models:{framework}", "scenarios": scenarios}))
    said = "Your order is shipped."
    answers = [
        call("get_order", order_id="W1"),
        call("final_answer", answer=said) if framework == "smolagents" else text(said),
    ]

    with ModelServer(answers) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url.removesuffix("/v1"))
        monkeypatch.setenv("GOOGLE_API_KEY", "none")
        monkeypatch.setenv("LANGSMITH_TRACING", "false")
        project.run(process="fresh")

    [run] = project.document.results
    assert (run.verdict.value, run.error) == ("passed", None)
