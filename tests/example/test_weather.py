"""The weather suite: it is worth running, notices swapped coordinates, and does not blame the agent for an outage."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_agentbench.core.remote import OpenApiSpec, ServiceSpec
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.runs.plan import plans
from pytest_agentbench.runs.runner import Services, run_scenario
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.scenario import validate

SUITE = Path(__file__).parents[2] / "example_project" / "weather.agentbench.yaml"


@pytest.fixture
def suite() -> Suite:
    """The weather suite, with the service started for it."""
    return load_suite(SUITE, environ={})


def with_service(suite: Suite, base_url: str, command: Sequence[str] | None) -> Suite:
    """Give the suite with another service, or with one that is not started."""
    [tools] = suite.environment.tools
    assert isinstance(tools.remote, OpenApiSpec)
    service = ServiceSpec(command=tuple(command), share="session") if command else None
    remote = tools.remote.model_copy(update={"base_url": base_url, "service": service})
    environment = suite.environment.model_copy(update={"tools": (tools.model_copy(update={"remote": remote}),)})
    return suite.model_copy(update={"environment": environment})


async def played(suite: Suite, tmp_path: Path, variant: str = "careful") -> dict[str, Result]:
    """Play every scenario once; give the results by scenario."""
    services = Services(isolation=IsolationGate(tmp_path))
    toolset = load_toolset(suite.environment, suite.root)
    return {
        plan.scenario.id: (await run_scenario(plan, services))[1]
        for plan in plans(suite, "weather", (variant,), toolset)
    }


def test_every_scenario_is_valid() -> None:
    """A right run passes, weak agents fail, values can be known, wrong runs are caught."""
    report = validate(SUITE, environ=os.environ)

    assert {scenario.id: [issue.message for issue in scenario.issues] for scenario in report.scenarios} == {
        scenario.id: [] for scenario in report.scenarios
    }
    assert 8 <= len(report.scenarios) <= 12
    assert not [scenario.id for scenario in report.scenarios if scenario.survivors]


async def test_the_agent_passes(suite: Suite, tmp_path: Path) -> None:
    """All scenarios, in both languages."""
    judged = await played(suite, tmp_path)

    assert {one.verdict for one in judged.values()} == {Verdict.PASSED}


async def test_swapped_coordinates_are_caught_with_the_argument_named(suite: Suite, tmp_path: Path) -> None:
    """Wherever coordinates are used the run fails, findings name lat and lon, and the agent is to blame."""
    judged = await played(suite, tmp_path, "inverted")

    without = {"fr-vigilance-et-bulletin", "fr-couleurs"}
    assert {name for name, one in judged.items() if one.verdict is Verdict.PASSED} == without
    assert {one.blame for name, one in judged.items() if name not in without} == {Blame.AGENT}
    said = [finding.message for finding in judged["tomorrow"].findings]
    assert "forecast: argument 'lat' was 4.848, expected 45.749" in said
    assert "forecast: argument 'lon' was 45.749, expected 4.848" in said


@pytest.mark.parametrize(
    ("base_url", "command", "told"),
    [
        ("http://127.0.0.1:9/v1", None, "cannot be reached"),
        ("http://127.0.0.1:{port}/v1", ["{python}", "-c", "raise SystemExit('out of memory')"], "out of memory"),
    ],
)
async def test_an_outage_is_never_the_agents(
    suite: Suite, tmp_path: Path, base_url: str, command: list[str] | None, told: str
) -> None:
    """Nobody listens, or the service that the suite starts never comes up: each run says why, or which one says it."""
    judged = await played(with_service(suite, base_url, command), tmp_path)

    blame = Blame.SCENARIO if command else Blame.ENVIRONMENT
    assert {(one.verdict, one.blame) for one in judged.values()} == {(Verdict.ERROR, blame)}
    assert any(told in str(one.error) for one in judged.values())
    assert all(told in str(one.error) or "the same as" in str(one.error) for one in judged.values())


async def test_a_broken_geocoder_fails_whoever_needs_a_place(suite: Suite, tmp_path: Path) -> None:
    """The service is up and finds nothing: runs that need no place pass."""
    command = ["{python}", "-m", "weather.service", "--port", "{port}", "--broken-geocoder"]
    judged = await played(with_service(suite, "http://127.0.0.1:{port}/v1", command), tmp_path)

    passed = {name for name, one in judged.items() if one.verdict is Verdict.PASSED}
    assert passed == {"conditions-at-coordinates", "fr-vigilance-et-bulletin", "fr-couleurs"}
