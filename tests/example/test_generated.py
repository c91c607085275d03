"""The generated scenarios of the example: complete, current, over all levels, and most of them decided by calls."""

import json
from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import staleness
from pytest_agentbench.suites.suite_file import load_suite
from tests.example.test_weather import played, with_service

SUITE = Path(__file__).parents[2] / "example_project" / "generated.agentbench.yaml"
WEATHER = SUITE.with_name("weather_generated.agentbench.yaml")


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


@pytest.fixture
def weather() -> Suite:
    """The generated weather suite."""
    return load_suite(WEATHER, environ={})


def some(suite: Suite, *names: str) -> Suite:
    """The suite with the scenarios of these walks alone."""
    return suite.model_copy(update={"scenarios": tuple(one for one in suite.scenarios if one.id.endswith(names))})


def test_fifty_weather_scenarios_cover_every_tool_and_edge(weather: Suite) -> None:
    """None is stale; both complexity classes are there, and of the walks that were tried less than 10 % were lost."""
    report = json.loads((WEATHER.parent / "bench/weather/generated/report.json").read_text(encoding="utf-8"))
    covered = {one["what"]: one for one in report["coverage"]}
    classes = Counter(tag for one in weather.scenarios for tag in one.tags if tag in ("simple", "complex"))

    assert len(weather.scenarios) == 50
    assert covered["tools"]["covered"] == covered["tools"]["total"] == 7
    assert covered["edges"]["covered"] == covered["edges"]["total"] == 9
    assert min(classes.values()) >= 20
    assert len(report["lost"]) < 0.1 * report["tried"]
    assert staleness(weather, load_toolset(weather.environment, weather.root)) == ""


def test_users_of_the_weather_speak_of_places_and_not_of_coordinates(weather: Suite) -> None:
    """Coordinates are said only where a failure was planned; no line holds a name of a field or of a tool."""
    for scenario in weather.scenarios:
        lines = " ".join(scenario.lines)
        assert ("latitude" in lines) <= ("failure" in scenario.tags)
        assert "_" not in lines
        assert "{" not in lines


async def test_swapped_coordinates_are_caught_in_generated_scenarios(weather: Suite, tmp_path: Path) -> None:
    """Findings name lat and lon, and the agent is to blame."""
    judged = await played(some(weather, "w0003", "w0009", "w0011"), tmp_path, "inverted")

    assert len(judged) == 3
    for one in judged.values():
        said = " ".join(finding.message for finding in one.findings)
        assert (one.verdict, one.blame) == (Verdict.FAILED, Blame.AGENT)
        assert "argument 'lat' was" in said
        assert "argument 'lon' was" in said


async def test_an_outage_in_generated_scenarios_is_the_environments(weather: Suite, tmp_path: Path) -> None:
    """Nobody answers, and no agent is blamed for it."""
    judged = await played(with_service(some(weather, "w0003", "w0009"), "http://127.0.0.1:9/v1", None), tmp_path)

    assert {(one.verdict, one.blame) for one in judged.values()} == {(Verdict.ERROR, Blame.ENVIRONMENT)}
