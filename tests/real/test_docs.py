"""What the pages show of frameworks, where these are installed."""

from pathlib import Path

import pytest

from pytest_agentbench.testing import ModelServer, text
from tests.docs.pages import DOCS, blocks
from tests.docs.test_docs import show, write
from tests.plugin.project import Project

pytestmark = pytest.mark.real


def test_the_page_on_frameworks_is_true(tmp_path: Path) -> None:
    """Its files are written and its commands run, those of LangGraph and of pydantic-ai."""
    pytest.importorskip("langgraph")
    pytest.importorskip("pydantic_ai")

    show(DOCS / "how-to" / "frameworks.md", tmp_path / "project")


@pytest.mark.parametrize(
    ("factory", "package"), [("build_openai_agents", "agents"), ("build_pydantic_ai", "pydantic_ai")]
)
def test_models_of_frameworks_are_recorded_by_the_proxy(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, factory: str, package: str
) -> None:
    """The factories of the page on cassettes build agents whose calls are recorded, and replayed without a server."""
    pytest.importorskip("agents")
    pytest.importorskip(package)
    [block] = [one for one in blocks(DOCS / "how-to" / "cassettes.md") if one.file == "framework_agents.py"]
    write(pytester.path / "framework_agents.py", block.text)
    write(
        pytester.path / "agentbench.yaml",
        f"agent: framework_agents:{factory}\n"
        'scenarios: [{id: hours, says: ["When are you open?"], communicate: ["9 am"]}]\n',
    )
    project = Project(pytester=pytester)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    with ModelServer([text("From 9 am.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        recorded = project.run("--agentbench-cassette=record", process="fresh")
    replayed = project.run("--agentbench-cassette=replay", process="fresh")

    recorded.assert_outcomes(passed=1)
    recorded.stdout.fnmatch_lines(["*1 recorded, 0 dropped*"])
    replayed.assert_outcomes(passed=1)
