"""Agents that do nothing pass nothing: wherever the expected calls cannot be replayed, they must be made."""

import json
import textwrap
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from tests.plugin.project import Project

IDLE = "def build():\n    return lambda message: 'All done.'\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def judged(
    project: Project, environment: dict[str, Any], scenario: dict[str, Any], agent: str = IDLE, **own: str
) -> Result:
    """Run one scenario and give its result."""
    suite = {"agent": "idle:build", "environment": environment, "scenarios": [{"id": "a", "says": ["Go"], **scenario}]}
    project.write("bench/agentbench.yaml", json.dumps(suite))
    project.write("bench/idle.py", textwrap.dedent(agent))
    project.write("bench/state.json", '{"orders": {"W1": "open"}}')
    for name, text in own.items():
        project.write(f"bench/{name}", textwrap.dedent(text))
    project.run()
    (result,) = project.document.results
    return result


def test_state_without_tools(project: Project) -> None:
    """Where the environment has no tools, what the expected calls lead to is not known."""
    result = judged(project, {"state": {"json": "state.json"}}, {"expect": [{"cancel": {"order_id": "W1"}}]})

    assert not result.passed


def test_state_with_described_tools(project: Project) -> None:
    """Tools that are only described cannot be replayed, and nothing of ours breaks."""
    tools = json.dumps([{"type": "function", "function": {"name": "cancel", "parameters": {"type": "object"}}}])
    write = {"state": {"json": "state.json"}, "tools": "tools.json", "writes": ["cancel"]}

    result = judged(project, write, {"expect": [{"cancel": {}}]}, **{"tools.json": tools})

    assert not result.passed
    assert result.not_run is None


def test_an_expected_write_that_fails_in_any_world_scores_nobody(project: Project) -> None:
    """Who tries it and who does not are told the same: nobody can make the call that the scenario asks for."""
    tools = """
    def cancel(state: dict, order_id: str) -> None:
        state["orders"][order_id] = state["orders"][order_id].upper()
    """
    environment = {"tools": "shop_tools", "state": {"json": "state.json"}, "writes": ["cancel"]}
    wanted = {"expect": [{"cancel": {"order_id": "W9"}}]}
    trying = """
    def build(tools):
        def reply(message):
            try:
                tools[0](order_id="W9")
            except KeyError:
                return "There is no such order."
        return reply
    """

    idling = IDLE.replace("build()", "build(tools)")

    idle = judged(project, environment, wanted, agent=idling, **{"shop_tools.py": tools})
    tried = judged(project, environment, wanted, agent=trying, **{"shop_tools.py": tools})

    assert [(one.verdict, one.blame) for one in (idle, tried)] == [("error", "scenario")] * 2
    told = [finding.message for finding in tried.findings]
    assert any("cancel(order_id='W9') fails on a fresh environment too: KeyError: 'W9'" in one for one in told), told


def test_a_predicate_of_the_users_decides_about_an_argument(project: Project) -> None:
    """`$call` leads to a function beside the suite."""
    tools = "def note(text: str) -> str:\n    return 'ok'\n"
    agent = "def build(tools):\n    return lambda message: tools[0](text='long enough') and 'Noted.'\n"
    own = {"shop_tools.py": tools, "own.py": "def long(value):\n    return len(value) > 5\n"}
    wanted = {"expect": [{"note": {"text": {"$call": "own:long"}}}], "match": {"expected_calls": "all"}}

    result = judged(project, {"tools": "shop_tools"}, wanted, agent=agent, **own)

    assert (result.verdict, result.metrics["strict_recall"]) == ("passed", 1.0)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"scenarios": [{"id": "a", "says": ["Go"], "checks": ["nope:x"]}]}, "*checks: no module 'nope'*"),
        ({"scenarios": [{"id": "a", "says": ["Go"], "checks": ["idle:NUMBER"]}]}, "*'idle:NUMBER' is int*"),
        ({"environment": {"state": {"own": "nope:Provider"}}}, "*environment.state.own: no module 'nope'*"),
        ({"agent": {"callable": "idle:build"}, "variants": {"a": {"x": 1}}}, "*variants: a plain reply function*"),
    ],
)
def test_import_paths_that_lead_nowhere_are_collection_errors(
    project: Project, keys: dict[str, Any], message: str
) -> None:
    """What a suite names is looked for before anything runs."""
    suite = {"agent": "idle:build", "scenarios": [{"id": "a", "says": ["Go"]}], **keys}
    project.write("bench/agentbench.yaml", json.dumps(suite))
    project.write("bench/idle.py", IDLE + "NUMBER = 3\n")

    result = project.run()

    assert result.ret == 2
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*Traceback*")
