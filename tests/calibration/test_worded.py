"""Conversations in a model's words: what code lets through, what stays plain, and the set that is kept."""

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_agentbench.calibration.labelled import Folder, Labelled, read_all
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.cli.situations import add_arguments, run
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.testing import ModelRequest, ModelServer
from tests.calibration.service import suite

WORDED = sorted((Path(__file__).parent / "worded").iterdir())


def made(folder: Path, *arguments: str) -> str:
    """Run the command on the tests' own service; give what it prints."""
    folder.mkdir(exist_ok=True)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    few = ["--only", "correct", "--only", "bad-parse-silent", "--right", "2", "--each", "2"]
    text, status = run(parser.parse_args([str(suite(folder)), *few, "--into", str(folder / "labelled"), *arguments]))
    assert status == 0
    return text


def wording(say: Callable[[str], str]) -> Callable[[ModelRequest], str]:
    """Play a model that says each line as `say` makes it of the plain one."""

    def play(request: ModelRequest) -> str:
        rough = request.messages[1]["content"]
        lines = re.findall(r"^(\d+)\. (?:user|agent): (.*)$", rough, re.MULTILINE)
        return json.dumps({"lines": [{"number": int(number), "text": say(text)} for number, text in lines]})

    return play


def texts(case: Labelled) -> list[str]:
    """What is said in a conversation."""
    return [text for role in ("user", "assistant") for _, text in case.case.transcript.texts(role)]


def test_a_model_says_every_line_and_nothing_else_changes(tmp_path: Path) -> None:
    """Calls, results, states, labels and the gold log are those of the plain conversation; any language will do."""
    plain = made(tmp_path / "plain", "--language", "en")
    with ModelServer(wording(lambda text: f"Bon, {text}")) as server:
        said = made(tmp_path / "said", "--language", "en", "--model", "m", "--base-url", server.base_url)

    before, after = (Folder.read(tmp_path / name / "labelled").cases for name in ("plain", "said"))
    assert "worded by the model: 4; in plain phrases: 0" in said
    assert "worded" not in plain
    for one, other in zip(before, after, strict=True):
        assert texts(other) == [f"Bon, {text}" for text in texts(one)]
        assert (one.wording, other.wording) == ("plain", "model")
        assert other.case.transcript.trajectory == one.case.transcript.trajectory
        kept = {"case": one.case, "wording": "plain"}
        assert other.model_copy(update=kept) == one


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (lambda text: re.sub(r"[A-Z]\d{3}", "it", text), "lacks"),
        (lambda text: f"{text} That is 771.13 in all.", "states '771.13', which stands in nothing before it"),
        (lambda _: " ", "has 1 characters"),
    ],
)
def test_what_loses_or_adds_a_value_stays_plain(tmp_path: Path, say: Callable[[str], str], why: str) -> None:
    """After it was asked for once more, with the reason; the command says how many and why."""
    with ModelServer(wording(say)) as server:
        reach = ["--language", "en", "--model", "m", "--base-url", server.base_url, "--worded", "1"]
        text = made(tmp_path, *reach)

    assert len(server.requests) == 2
    assert why in str(server.requests[1].messages[-1]["content"])
    assert "worded by the model: 0; in plain phrases: 4" in text
    assert "1 stayed plain" in text


def test_a_language_without_plain_phrases_takes_a_model(tmp_path: Path) -> None:
    """And is said by it alone: the rough conversation is an English one."""
    with pytest.raises(SuiteError, match="there are no plain phrases in 'de'"):
        made(tmp_path, "--language", "de")
    with ModelServer(wording(lambda text: f"Gut: {text}")) as server:
        made(tmp_path, "--language", "de", "--model", "m", "--base-url", server.base_url)

    cases = Folder.read(tmp_path / "labelled").cases
    assert {case.language for case in cases} == {"de"}
    assert "Say every numbered line anew in German" in server.requests[0].messages[0]["content"]


def test_the_kept_set_has_every_situation_in_a_models_words() -> None:
    """About sixty, labelled by code as the catalogue says, with the gold log of each."""
    cases = read_all(WORDED)

    assert len(cases) == 59
    assert {case.situation for case in cases} == situations().keys()
    assert {case.wording for case in cases} == {"model"}
    assert {case.language for case in cases} == {"en", "fr", "de", "es"}
    for case in cases:
        assert (case.label, case.agent_at_fault) == (
            situations()[case.situation].label,
            situations()[case.situation].agent_at_fault,
        )
        assert case.gold
