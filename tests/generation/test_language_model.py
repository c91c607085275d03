"""What a language model made of generated scenarios: its answers were recorded, and are played again here."""

import asyncio
import re
import shutil
from pathlib import Path

import pytest
import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.generation.tools.saved import load
from pytest_agentbench.generation.tools.stories.critic import summary_faults
from pytest_agentbench.generation.tools.values import Cards
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.results.document import read
from pytest_agentbench.testing import ModelServer
from tests.generation.adopting import adopt
from tests.generation.answering import Again
from tests.generation.record_critic import cases, judged

RECORDED = Path(__file__).parent / "recorded"
WEATHER = Path(__file__).parents[2] / "example_project" / "weather"
ABOUT = re.compile(r"Paris|Saint-Lô|Bar-le-Duc|Nancy|Caen|Aurillac|Dunkerque|Versailles|Évreux|d[eé]part\w+ \d\d")
"""What the pool of the recorded suites knows."""


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


@pytest.mark.parametrize(("suite", "count", "calls"), [("one", 2, 16), ("two", 2, 24), ("three", 5, 68)])
def test_a_language_model_as_narrator_critic_and_persona_gives_grounded_scenarios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suite: str, count: int, calls: int
) -> None:
    """Each walk became a valid scenario in its words: none was lost, and no answer had to be given again.

    In the first suite it typed the data too, in the second users speak French. No two conversations of a suite begin
    with the same place.
    """
    again = Again(RECORDED / "roles" / suite / "generated" / "cassette.jsonl")
    with ModelServer(again) as server:
        path = laid_out(tmp_path, suite, server.base_url)
        if suite == "one":
            main(["generate", str(path), "--until", "graph"])
            assert "9 of them by types" in capsys.readouterr().out
            shutil.copy(RECORDED / "roles" / "one" / "generated" / "graph.json", tmp_path / "generated")
        adopt(path)

        status = main(["generate", str(path)])

    told = capsys.readouterr().out
    assert status == 0, told
    assert again.left == 0
    assert f"{count} of {count} scenarios" in told
    assert "lost: 0" in told
    assert f"model calls: {calls}" in told
    written = [
        yaml.safe_load(file.read_text(encoding="utf-8"))
        for file in (tmp_path / "generated" / "scenarios").glob("*.yaml")
    ]
    assert len(written) == count
    assert len({found[0] for form in written if (found := ABOUT.search(form["says"][0]))}) == count
    assert not any(re.search(r"\d[.,]\d", line) for form in written for line in form["says"])


def test_a_language_model_as_critic_tells_sound_stories_from_others() -> None:
    """It accepts eight sound stories and none of eight with a slip that rules do not see; its texts hold no fault."""
    said = asyncio.run(judged(Mode.REPLAY))

    assert {case.name: said[case.name].is_coherent for case in cases()} == {case.name: case.sound for case in cases()}
    cards = load(RECORDED / "roles" / "shared" / "cards.json", Cards)
    assert cards is not None
    accepted = [(said[case.name], case.story) for case in cases() if case.sound]
    assert [str(fault) for critique, story in accepted for fault in summary_faults(critique, story, cards)] == []


def laid_out(folder: Path, suite: str, base_url: str) -> Path:
    """Lay a recorded suite out, with the cards and the pool that all of them share; give its file."""
    recorded = RECORDED / "roles"
    shutil.copytree(recorded / suite, folder, dirs_exist_ok=True)
    shutil.copytree(recorded / "shared", folder / "generated", dirs_exist_ok=True)
    shutil.copytree(WEATHER, folder / "weather")
    path = folder / "weather.agentbench.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("http://127.0.0.1:8910/v1", base_url), encoding="utf-8")
    adopt(path)
    return path
