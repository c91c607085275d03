"""What a language model made of generated scenarios: its answers were recorded, and are played again here."""

import shutil
from pathlib import Path

import pytest

from pytest_agentbench.results.document import read

RECORDED = Path(__file__).parent / "recorded"
WEATHER = Path(__file__).parents[2] / "example_project" / "weather"


def test_a_language_model_as_the_agent_passes_generated_scenarios(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It saw user lines and tool schemas alone; ten scenarios of the weather service, written without a model."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    shutil.copytree(RECORDED / "agent", pytester.path, dirs_exist_ok=True)
    shutil.copytree(WEATHER, pytester.path / "weather")

    pytester.runpytest_inprocess("--agentbench", "-p", "agentbench", "--agentbench-cassette=replay")

    results = read(pytester.path / ".agentbench" / "results.json").results
    assert len(results) == 10
    assert sum(result.passed for result in results) == 10
