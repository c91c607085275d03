"""What a language model made of generated scenarios: its answers were recorded, and are played again here."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.results.document import read
from tests.generation.adopting import adopt

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


@pytest.mark.parametrize(("suite", "calls"), [("one", 17), ("two", 14), ("three", 14)])
def test_a_language_model_as_narrator_critic_and_persona_gives_grounded_scenarios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suite: str, calls: int
) -> None:
    """Two walks each became valid scenarios in its words; of six none was lost, and no answer had to be given again.

    In the first suite it typed the data too. Who answered as the critic had not answered as anybody else.
    """
    path = laid_out(tmp_path, suite)
    if suite == "one":
        main(["generate", str(path), "--until", "graph", "--cassette", "replay"])
        assert "9 of them by types" in capsys.readouterr().out
        shutil.copy(RECORDED / "roles" / "one" / "generated" / "graph.json", tmp_path / "generated")
    adopt(path)

    status = main(["generate", str(path), "--cassette", "replay"])

    told = capsys.readouterr().out
    assert status == 0
    assert "2 of 2 scenarios" in told
    assert "lost: 0" in told
    assert f"model calls: {calls}" in told
    written = [
        yaml.safe_load(file.read_text(encoding="utf-8"))
        for file in (tmp_path / "generated" / "scenarios").glob("*.yaml")
    ]
    assert len(written) == 2
    assert all("Paris" in line or "place" in line for form in written for line in form["says"])
    assert not any(re.search(r"\d\.\d", line) for form in written for line in form["says"])


def laid_out(folder: Path, suite: str) -> Path:
    """Lay a recorded suite out, with the cards and the pool that all of them share; give its file."""
    recorded = RECORDED / "roles"
    shutil.copytree(recorded / suite, folder, dirs_exist_ok=True)
    shutil.copytree(recorded / "shared", folder / "generated", dirs_exist_ok=True)
    shutil.copytree(WEATHER, folder / "weather")
    path = folder / "weather.agentbench.yaml"
    adopt(path)
    return path
