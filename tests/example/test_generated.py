"""The generated scenarios of the example: current, over every tool, and caught where the agent has a bug."""

from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import staleness
from pytest_agentbench.suites.suite_file import load_suite
from tests.example.test_weather import played, with_service

WEATHER = Path(__file__).parents[2] / "example_project" / "weather_generated.agentbench.yaml"


@pytest.fixture
def weather() -> Suite:
    """The generated weather suite."""
    return load_suite(WEATHER, environ={})


def some(suite: Suite, *names: str) -> Suite:
    """The suite with the scenarios of these walks alone."""
    return suite.model_copy(update={"scenarios": tuple(one for one in suite.scenarios if one.id.endswith(names))})


def test_a_dozen_weather_scenarios_use_every_tool(weather: Suite) -> None:
    """None is stale, and both complexity classes are there."""
    classes = Counter(tag for one in weather.scenarios for tag in one.tags if tag in ("simple", "complex"))
    toolset = load_toolset(weather.environment, weather.root)

    assert len(weather.scenarios) == 12
    assert {call.name for one in weather.scenarios for call in one.expected_calls} == {
        tool.name for tool in toolset.of("assistant")
    }
    assert min(classes.values()) >= 3
    assert staleness(weather, toolset) == ""


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
