"""The generated scenarios of the example: complete, current, over all levels, and most of them decided by calls."""

from pathlib import Path

from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import staleness
from pytest_agentbench.suites.suite_file import load_suite

SUITE = Path(__file__).parents[2] / "example_project" / "generated.agentbench.yaml"


def test_a_hundred_scenarios_stand_for_the_suite_as_it_is():
    """100 of them over complexities 2 to 11, none stale, each with expected calls or a final state."""
    suite = load_suite(SUITE, environ={})
    policies = {policy.id: policy for policy in suite.policies}

    levels = {one.rated_complexity(policies)[0] for one in suite.scenarios}

    assert len(suite.scenarios) == 100
    assert levels == set(range(2, 12))
    assert staleness(suite, load_toolset(suite.environment, suite.root)) == ""
    assert sum(bool(one.expected_calls) for one in suite.scenarios) >= 80
    assert {name for one in suite.scenarios for name in one.policies} == set(policies)
