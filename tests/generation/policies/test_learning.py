"""What earlier runs teach: which policies meet, and how hard they are."""

import asyncio
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.data_types import PolicyGraph
from pytest_agentbench.generation.policies.graph import learn_weights, other_challenges, policies_of_results
from pytest_agentbench.generation.policies.pipeline import run
from pytest_agentbench.results.document import Document, write
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.airline import airline
from tests.generation.policies.graphs import graph
from tests.results.make import result


def weight(net: PolicyGraph, one: str, other: str) -> float:
    return next(edge.weight for edge in net.edges if {edge.source, edge.target} == {one, other})


def test_conversations_correct_weights_without_making_anything_impossible() -> None:
    """Pairs seen together gain, pairs seen apart lose, both the more the more is seen; nothing unseen becomes zero."""
    net = graph([1, 1, 1], {(0, 1): 4, (0, 2): 4, (1, 2): 4})

    few = learn_weights(net, [("p0", "p1")] * 3)
    many = learn_weights(net, [("p0", "p1"), ("p0", "p1", "unknown")] * 30 + [("p2",)] * 60)

    assert 4 < weight(few, "p0", "p1") < weight(many, "p0", "p1") < 10
    assert 0 < weight(many, "p0", "p2") < 4
    assert weight(few, "p0", "p2") == 4


def test_challenges_are_told_as_far_as_runs_contradict_them() -> None:
    """A rule that is always broken is hard, one that is always kept easy; of one never exercised nothing is told."""
    net = graph([3, 3, 3], {})
    outcomes = (
        PolicyOutcome(policy="p0", exercised=True, kept=False),
        PolicyOutcome(policy="p1", exercised=True, kept=True),
        PolicyOutcome(policy="p2", exercised=False),
    )
    runs = [result(f"s{number}", "failed", policies=outcomes) for number in range(30)]
    spoilt = [result("x", "error", "environment", policies=outcomes[:1])] * 100

    assert list(other_challenges(net, [*runs, *spoilt])) == [
        "p0: its challenge is 3; broken in 30 of 30 runs, it would be 5",
        "p1: its challenge is 3; broken in 0 of 30 runs, it would be 1",
    ]


def test_runs_that_count_nowhere_teach_no_weights() -> None:
    """Pending ones, those that others spoilt and those that were not run say nothing of conversations."""
    outcomes = tuple(PolicyOutcome(policy=name, exercised=True, kept=True) for name in ("p0", "p1"))
    counted = result("a", "passed", policies=outcomes)
    others = [
        result("b", "passed", policies=outcomes, pending=True),
        result("c", "error", "environment", policies=outcomes),
        result("d", "passed", policies=outcomes, not_run="the budget is spent"),
    ]

    assert policies_of_results([counted, *others]) == [("p0", "p1")]


def test_a_recipe_names_the_results_that_it_learns_from(tmp_path: Path) -> None:
    """The lines say from how many runs; a file that holds no results is named."""
    (tmp_path / "results.json").write_text("[]", encoding="utf-8")
    file = airline(tmp_path, extra=", traces: [results.json]")

    def lines() -> str:
        suite = load_suite(file, environ={}, generating=True)
        toolset = load_toolset(suite.environment, suite.root)
        return "\n".join(asyncio.run(run(suite, toolset, until="graph")).lines)

    first, second = (one.id for one in load_suite(file, environ={}, generating=True).policies[:2])
    outcomes = tuple(PolicyOutcome(policy=name, exercised=True, kept=True) for name in (first, second))
    with pytest.raises(SuiteFaultError, match=r"generate.traces: of policies, these are results files: .*results.json"):
        lines()
    write(Document(results=(result("a", "passed", policies=outcomes),)), tmp_path / "results.json")

    assert "weights corrected by 1 run" in lines()
