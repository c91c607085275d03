"""Tools of which nothing says whether they write: asked for once, and remembered where a run saw them write."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.suites.suite_file import load_suite
from tests.plugin.project import TWO_WORKERS, Project

STATELESS = """
BOXES = {"W1": "lamp"}

def box(order_id: str) -> str:
    "What is in a box."
    return BOXES[order_id]

def frobnicate(order_id: str) -> str:
    "Frobnicate a box."
    BOXES[order_id] = "frobbed"
    return "done"
"""
STATEFUL = """
def frobnicate(state: dict, order_id: str) -> str:
    "Frobnicate an order."
    state["orders"][order_id]["status"] = "frobbed"
    return "done"

def tweak(state: dict, order_id: str) -> str:
    "Tweak an order."
    state["orders"][order_id]["status"] = "tweaked"
    return "done"

def glance(state: dict, order_id: str) -> str:
    "The look of an order."
    return state["orders"][order_id]["status"]
"""
AGENT = """
import re

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        name = message.split()[0].lower()
        if name not in call:
            return "You are welcome."
        call["glance"](order_id="W1") if "glance" in call else None
        call[name](order_id="W1")
        return "It is done."

    return reply
"""
ASKS = "`environment: {reads: [box, frobnicate]}`"


def scenario(tool: str) -> dict[str, object]:
    """Give a scenario in which the agent is to call one tool."""
    return {"id": tool, "says": [f"{tool.capitalize()} W1"], "expect": [{tool: {"order_id": "W1"}}]}


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """Give a project."""
    return Project(pytester=pytester)


def stateless(project: Project, **environment: object) -> Path:
    """Write a suite whose tools say nothing of what they do, and no state shows it."""
    return project.suite(
        scenario("frobnicate"),  # taken as it is
        agent=AGENT,
        tools=STATELESS,
        environment={"tools": "shop_tools", **environment},
    )


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_collection_asks_once_in_a_line_to_paste(project: Project, workers: str) -> None:
    """The session goes on, and says which tools are meant; once declared, nothing is asked."""
    stateless(project)

    result = project.run(workers)

    assert sum(ASKS in line for line in result.outlines) == 1
    assert result.ret == 0
    stateless(project, reads=["box"], writes=["frobnicate"])
    assert not any("nothing says whether" in line for line in project.run(workers).outlines)


def test_nothing_is_asked_where_a_state_shows_what_calls_do(project: Project) -> None:
    """What changed is seen there."""
    project.suite(scenario("frobnicate"), agent=AGENT, tools=STATEFUL)

    assert not any("nothing says whether" in line for line in project.run().outlines)


def test_validate_asks_and_calls_no_scenario_wrong(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """What the suite does not say is a problem of the suite; the scenarios are right."""
    path = stateless(project)

    status = main(["validate", str(path)])

    out = " ".join(capsys.readouterr().out.split())
    assert status == 1
    assert "environment: nothing says whether box, frobnicate read or write" in out
    assert ASKS in out
    assert "1 of 1 scenario valid" in out
    assert "wrong runs that pass" not in out
    assert main(["validate", str(stateless(project, reads=["box"], writes=["frobnicate"]))]) == 0


def kinds(path: Path) -> dict[str, tuple[str, str]]:
    """Give each tool's kind, and what settled it, as a later session sees them."""
    suite = load_suite(path, environ={})
    specs: tuple[ToolSpec, ...] = load_toolset(suite.environment, suite.root).specs
    return {spec.name: (spec.kind, spec.kind_from) for spec in specs}


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_what_a_run_saw_write_is_known_to_write_from_then_on(project: Project, workers: str) -> None:
    """What several workers saw stands in one plain file beside the suite, and settles what nobody declares."""
    path = project.suite(
        scenario("frobnicate"),
        scenario("tweak"),
        agent=AGENT,
        tools=STATEFUL,
    )
    assert kinds(path)["tweak"] == ("unknown", "name")

    project.run(workers)

    seen = json.loads((path.parent / ".agentbench" / "seen-writes.json").read_text())
    assert seen == {"agentbench.yaml": ["frobnicate", "tweak"]}
    assert kinds(path) == {
        "frobnicate": ("write", "seen"),
        "tweak": ("write", "seen"),
        "glance": ("unknown", "name"),
    }


def test_what_was_seen_overrides_no_declaration(project: Project) -> None:
    """The user has the last word, also about what changes some log; a file that is none of ours says nothing."""
    path = project.suite(
        scenario("tweak"),
        agent=AGENT,
        tools=STATEFUL,
        environment={"tools": "shop_tools", "state": {"json": "state.json"}, "reads": ["tweak"]},
    )
    file = path.parent / ".agentbench" / "seen-writes.json"

    project.run()

    assert not file.exists()
    project.write("bench/.agentbench/seen-writes.json", '{"agentbench.yaml": ["tweak", 3, "glance"]}')
    assert kinds(path)["tweak"] == ("read", "declared")
    assert kinds(path)["glance"] == ("write", "seen")
    file.write_text("[1")
    assert kinds(path)["glance"] == ("unknown", "name")
