"""Who is to blame when a run breaks: mistakes of the suite are not the agent's."""

import json
import textwrap
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.plugin.project import Project

IDLE = "def build():\n    return lambda message: 'All done.'\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def judged(project: Project, suite: dict[str, Any], agent: str = IDLE, **files: str) -> Result:
    """Run one scenario and give its result; `tools_py="…"` is the file tools.py."""
    whole = {"agent": "agents:build", "scenarios": [{"id": "a", "says": ["Go"]}], **suite}
    project.write("bench/agentbench.yaml", json.dumps(whole))
    project.write("bench/agents.py", textwrap.dedent(agent))
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        project.write(f"bench/{stem}.{suffix}", textwrap.dedent(text))
    project.run()
    (result,) = project.document.results
    return result


@pytest.mark.parametrize(
    ("agent", "variants", "says"),
    [
        (IDLE, {"a": {"modle": "x"}}, "has no parameter 'modle'"),
        ("def build():\n    return None\n", {}, "NoneType None is no agent"),
        ("def build():\n    return lambda: 'hi'\n", {}, "takes no message"),
        ("def build(model):\n    return lambda message: 'hi'\n", {}, "requires model"),
    ],
)
def test_a_factory_that_does_not_fit_is_the_suites_fault(
    project: Project, agent: str, variants: dict[str, Any], says: str
) -> None:
    """Nothing is known about the agent then: the run is not scored."""
    result = judged(project, {"variants": variants} if variants else {}, agent)

    assert (result.verdict, result.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert says in (result.error or "")


def test_what_a_factory_raises_is_the_agents(project: Project) -> None:
    """The agent could not be built, by its own fault."""
    result = judged(project, {}, "def build():\n    raise TypeError('no model')\n")

    assert (result.verdict, result.blame) == (Verdict.FAILED, Blame.AGENT)
