"""`agentbench calibrate` with a model: recorded once, replayed without a server, bounded, and side by side."""

import argparse
from pathlib import Path

import pytest

from pytest_agentbench.calibration.dataset import Folder
from pytest_agentbench.cli.calibrate import add_arguments, run
from pytest_agentbench.core.errors import AgentBenchError, BudgetSpentError
from pytest_agentbench.testing import ModelServer
from tests.calibration.test_scope import answer, few


def calibrated(*arguments: str) -> str:
    """Run the command; give what it prints."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    text, status = run(parser.parse_args(list(arguments)))
    assert status == 0
    return text


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """Two folders of labelled conversations with equal ids."""
    cases = tuple(few())
    for name in ("one", "two"):
        Folder(cases=cases).write(tmp_path / name)
    return [str(tmp_path / name) for name in ("one", "two")]


def test_what_was_recorded_is_replayed_without_a_server(folders: list[str], tmp_path: Path) -> None:
    """The table is the same, with the ablations beside it."""
    cassette = ["--cassette", str(tmp_path / "cassette.jsonl")]
    judges = ["spur,scope,scope+veto,scope+evidence", *folders, "--model", "m", "--splits", "1", "--ablations"]

    with ModelServer(answer) as server:
        live = calibrated(*judges, *cassette, "--base-url", server.base_url)
        asked = len(server.requests)
        again = calibrated(*judges, *cassette, "--base-url", server.base_url)
    replayed = calibrated(*judges, *cassette, "--mode", "replay", "--base-url", "http://127.0.0.1:9/v1")

    assert len(server.requests) == asked
    assert live == again == replayed
    for name in ("spur", "scope-areas", "scope-weights", "scope-make_or_break", "scope+veto", "scope+evidence"):
        assert f"\n{name} " in live


def test_calls_are_bounded(folders: list[str]) -> None:
    """Nothing is asked beyond `--max-calls`."""
    with ModelServer(answer) as server, pytest.raises(BudgetSpentError):
        calibrated("spur", *folders, "--model", "m", "--max-calls", "3", "--base-url", server.base_url)

    assert len(server.requests) == 3


def test_a_model_is_named_as_in_a_suite(folders: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By its provider, whose variable is missing here; a misspelt one is told."""
    monkeypatch.delenv("GROQ_API_KEY", raising=False)

    with pytest.raises(
        AgentBenchError, match=r"no key for model 'm' at https://api\.groq\.com/openai/v1: .*GROQ_API_KEY"
    ):
        calibrated("spur", *folders, "--model", "groq:m")
    with pytest.raises(AgentBenchError, match="did you mean 'groq'"):
        calibrated("spur", *folders, "--model", "grok:m")


def test_a_mode_needs_a_cassette(folders: list[str]) -> None:
    """And says which option names one."""
    with pytest.raises(AgentBenchError, match="--cassette FILE"):
        calibrated("signals", *folders, "--mode", "replay")


def test_the_help_names_every_judge_with_plain_per_cents() -> None:
    """The auditor is one of them."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    text = " ".join(parser.format_help().split())

    assert "learns from 40 % and judges the other 60 %" in text
    assert "%%" not in text
    assert all(name in text for name in ("signals", "spur", "scope+evidence+veto", "auditor", "rubric file"))
