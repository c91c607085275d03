"""The committed scenarios of the weather service are what the command in its README writes, byte for byte."""

import shutil
from pathlib import Path

import pytest

from pytest_agentbench.cli import main

pytestmark = pytest.mark.real

PROJECT = Path(__file__).parents[2] / "example_project"
SCENARIOS = Path("bench/weather/generated/scenarios")


def test_the_committed_scenarios_are_written_again(tmp_path: Path) -> None:
    """Probed, walked and hydrated anew in a copy, all 50 come out as they are committed, and nothing else."""
    copy = tmp_path / "example_project"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("__pycache__", "generated", ".agentbench"))

    status = main(["generate", str(copy / "weather_generated.agentbench.yaml")])

    committed = {file.name: file.read_bytes() for file in (PROJECT / SCENARIOS).iterdir()}
    written = {file.name: file.read_bytes() for file in (copy / SCENARIOS).iterdir()}
    assert status == 0
    assert len(committed) == 50
    assert written == committed
