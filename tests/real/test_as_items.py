"""Agents of real frameworks as pytest items, several conversations at a time, against a model on loopback."""

import json
import shutil

import pytest

from tests.plugin.project import Project
from tests.real.model_server import model_server
from tests.real.test_frameworks import AGENTS, GLUE

pytestmark = pytest.mark.real

WORDS = ("canary", "sparrow", "robin", "finch")


@pytest.mark.parametrize("framework", GLUE)
def test_a_suite_of_interleaved_conversations(pytester: pytest.Pytester, framework: str) -> None:
    """Calls of tools of their own are seen and counted once per turn, and no conversation hears of another."""
    module, name, packages = GLUE[framework]
    for package in packages:
        pytest.importorskip(package)
    project = Project(pytester=pytester)
    for file in AGENTS.glob("*.py"):
        shutil.copy(file, pytester.path / file.name)
    scenarios = [
        {
            "id": word,
            "says": [f"My word is {word}.", f"Where is W{number}?", "Now sum it all up."],
            "expect": [{"get_order": {"order_id": f"W{number}"}}],
            "match": {"order": "exact", "expected_calls": "all"},
            "communicate": [f"Order W{number} is shipped", word],
            "checks": ["own_checks:hears_of_no_other"],
        }
        for number, word in enumerate(WORDS, 1)
    ]
    project.write("own_checks.py", CHECK.format(words=WORDS))
    project.write("agentbench.yaml", json.dumps({"agent": f"{module}:{name}", "scenarios": scenarios}))

    with model_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        patch.setenv("LANGSMITH_TRACING", "false")
        result = project.run("agentbench.yaml", process="fresh")

    result.assert_outcomes(passed=len(WORDS))
    assert [run.metrics["strict_recall"] for run in project.document.results] == [1.0] * len(WORDS)


CHECK = """
from pytest_agentbench import Finding

WORDS = {words!r}

def hears_of_no_other(run):
    said = " ".join(text for _, text in run.transcript.texts("assistant"))
    others = [word for word in WORDS if word != run.scenario.id and word in said]
    yield Finding(check="isolation", kind="check", passed=not others, message=f"heard of {{others}}")
"""
