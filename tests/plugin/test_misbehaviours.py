"""Every kind of misbehaving agent in one session: results are written, it ends, and the innocent pass."""

import os

import pytest

from tests.plugin.misbehaviours import CHANGING, ENDING, agent_source, kinds, tools_source
from tests.plugin.project import Project

ROWS = 400
QUICK = {"builtins-open", "json-patched", "time-patched", "file-size-limit"}


def write(project: Project, bad: list[str], *, innocent: int, seconds: float) -> None:
    """Write a suite in which scenarios that the agent deserves to pass lie between those that it spoils."""
    step = max(1, len(bad) // innocent)
    scenarios: list[dict[str, object]] = []
    for number in range(1, innocent + 1):
        order = f"W{number}"
        expected = {"says": [f"Refund {order}"], "expect": [{"refund": {"order_id": order}}], "limits": {"seconds": 30}}
        scenarios += [{"id": f"innocent{number}", "context": {"async": number % 2 == 0}, **expected}]
        upto = number * step if number < innocent else len(bad)
        scenarios += [
            {"id": kind, "says": ["Do it"], "context": {"kind": kind}, "communicate": ["what nobody says"]}
            for kind in bad[(number - 1) * step : upto]
        ]
    project.suite(
        *scenarios,  # mappings stay as they are
        agent=agent_source(),
        tools=tools_source(),
        orders=ROWS,
        limits={"seconds": seconds},
        environment={"tools": "shop_tools", "state": {"json": "state.json"}, "writes": ["refund"]},
    )


def spoilt(project: Project) -> list[str]:
    """Name the innocent scenarios that did not pass."""
    return [name for name, verdict in project.verdicts().items() if name.startswith("innocent") and verdict != "passed"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="they fork, and set limits")
def test_a_hundred_kinds_in_one_process(project: Project) -> None:
    """None of them passes, every run has a result of its own, and no innocent one is harmed."""
    bad = kinds()
    assert len(bad) >= 100
    write(project, bad, innocent=12, seconds=1)

    result = project.run(process="fresh", timeout=240)  # a copy is as deep as this test, and one agent allows 80 frames

    assert result.ret == 1
    verdicts = project.verdicts()
    assert len(verdicts) == len(bad) + 12
    assert [name for name, verdict in verdicts.items() if verdict == "passed"] == [f"innocent{n}" for n in range(1, 13)]
    assert not [run.nodeid for run in project.document.results if run.not_run is not None]


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in CHANGING]
)
def test_what_is_taken_from_the_process_is_named(project: Project, kind: str) -> None:
    """Results are written all the same; who was harmed, if anybody, can read what was changed."""
    write(project, [f"sync-{kind}"], innocent=3, seconds=1)

    result = project.run(process="forked", timeout=60)

    assert result.ret in {1, 3}
    assert len(project.verdicts()) == 4
    told = result.stdout.str() + result.stderr.str()
    assert "changed for the whole process, and put back after the runs: " in told
    assert "`-n 1` protects pytest itself" in told


@pytest.mark.slow
def test_what_ends_the_process_costs_its_own_run(pytester: pytest.Pytester) -> None:
    """With workers: each is named, every innocent one passes."""
    project = Project(pytester=pytester, arguments=("-n2", "--max-worker-restart=99"))
    write(project, [f"sync-{kind}" for kind in ENDING], innocent=8, seconds=3)

    result = project.run(timeout=300)

    assert result.ret == 1
    assert len(project.verdicts()) == len(ENDING) + 8
    assert spoilt(project) == []
    crashed = [run.key.scenario for run in project.document.results if run.termination == "CRASHED"]
    assert sorted(crashed) == sorted(f"sync-{kind}" for kind in ENDING)
