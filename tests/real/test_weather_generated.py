"""Scenarios of the weather service: one seed writes the same bytes twice, and the committed ones are passed."""

import shutil
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.suites.suite_file import load_suite
from tests.example.test_weather import played

pytestmark = pytest.mark.real

PROJECT = Path(__file__).parents[2] / "example_project"
SUITE = PROJECT / "weather_generated.agentbench.yaml"


def written(folder: Path) -> dict[str, bytes]:
    """Generate eight scenarios in a copy of the example; give the files."""
    copy = folder / "example_project"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("__pycache__", "generated", ".agentbench"))
    suite = copy / SUITE.name
    suite.write_text(suite.read_text(encoding="utf-8").replace("count: 50", "count: 8"), encoding="utf-8")

    assert main(["generate", str(suite)]) == 0

    return {file.name: file.read_bytes() for file in (copy / "bench/weather/generated/scenarios").iterdir()}


def test_one_seed_writes_equal_bytes(tmp_path: Path) -> None:
    """Probed, walked and hydrated twice, each time by a service of its own."""
    first, second = written(tmp_path / "first"), written(tmp_path / "second")

    assert len(first) == 8
    assert first == second


async def test_the_committed_scenarios_are_passed(tmp_path: Path) -> None:
    """The careful agent passes all of them."""
    judged = await played(load_suite(SUITE, environ={}), tmp_path)

    assert len(judged) == 12
    assert {name: one.verdict for name, one in judged.items()} == dict.fromkeys(judged, Verdict.PASSED)
