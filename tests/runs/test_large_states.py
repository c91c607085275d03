"""Runs over a large state: nobody changes what others share, and no more of them overlap than fit into memory."""

import json
from typing import Any

import pytest

from pytest_agentbench.environment.json_state import LARGE
from tests.plugin.project import Project

CHECKS = """
import json, pathlib

SEEN = json.loads((pathlib.Path(__file__).parent / "state.json").read_text())

def scribble(value):
    for part in list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        scribble(part)
    if isinstance(value, dict):
        value.clear()

def first(run):
    assert run.initial_state == SEEN
    assert run.final_state["orders"]["W1"]["status"] == run.expected_state["orders"]["W1"]["status"] == "refunded"
    run.expected_state["orders"]["W2"]["tags"].append("changed")
    scribble(run.initial_state), scribble(run.final_state)
    return []

def second(run):
    assert run.expected_state["orders"]["W2"]["tags"] == []
    return first(run)
"""

TEST = """
import pytest

@pytest.mark.agentbench("agentbench.yaml")
def test_one(agentbench):
    for _ in range(2):
        simulation = agentbench.simulate()
        assert simulation.passed
        assert simulation.state["orders"]["W2"]["status"] == "delivered"
        simulation.state["orders"]["W2"]["status"] = "mine"
        simulation.run.initial_state["orders"].clear()
"""

COUNTING = """
import re, threading

INSIDE, MOST = [], [0]
TOGETHER = threading.Barrier(4)

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        INSIDE.append(1)
        MOST[0] = max(MOST[0], len(INSIDE))
        TOGETHER.wait(60)  # four do overlap
        INSIDE.pop()
        with open("most.txt", "w") as file:
            file.write(str(MOST[0]))
        call["refund"](order_id=order[0])
        return "It is refunded."

    return reply
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def write_state(project: Project, size: int, rows: int = 2_000) -> None:
    """Write a state of many orders, and a text that fills the file up."""
    orders: dict[str, Any] = {f"W{n}": {"status": "delivered", "tags": []} for n in range(rows)}
    content = json.dumps({"orders": orders})
    filled = json.dumps({"orders": orders, "filled": "x" * max(size - len(content), 0)})
    project.write("bench/state.json", filled)


def test_a_check_may_change_the_states_that_it_is_given(project: Project) -> None:
    """Neither another check nor a later run sees it, whatever the size of the state."""
    for size, rows in ((0, 40), (LARGE + 1, 2_000)):
        suite = json.loads(project.suite("one").read_text())
        suite["trials"] = 3
        suite["scenarios"][0]["checks"] = ["own_checks:first", "own_checks:second"]
        project.write("bench/agentbench.yaml", json.dumps(suite))
        write_state(project, size, rows)
        project.write("bench/own_checks.py", CHECKS)
        project.run("bench")
        assert set(project.verdicts().values()) == {"passed"}, size


def test_a_test_may_change_the_state_that_it_is_given(project: Project) -> None:
    """The next simulation begins in the state of the file."""
    project.suite("one")
    write_state(project, LARGE + 1)
    project.write("bench/test_own.py", TEST)

    project.run("bench/test_own.py").assert_outcomes(passed=1)


def test_runs_overlap_as_far_as_their_states_fit_into_memory(project: Project) -> None:
    """Of eight runs four at a time, and the summary says so; a small state bounds nothing."""
    project.suite(*(f"order-{n}" for n in range(8)), agent=COUNTING)
    write_state(project, 85_000_000, rows=40)

    result = project.run("bench")

    result.assert_outcomes(passed=8)
    assert (project.pytester.path / "most.txt").read_text() == "4"
    result.stdout.fnmatch_lines(["bench/agentbench.yaml: a run's state takes about 21? MB: at most 4 runs at once"])


def test_a_small_state_bounds_nothing(project: Project) -> None:
    """Nothing is said of it."""
    project.suite(*(f"order-{n}" for n in range(3)))

    result = project.run("bench")

    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*runs at once*")
