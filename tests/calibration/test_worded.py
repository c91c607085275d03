"""Conversations in a model's words: what code lets through, what stays plain, and the set that is kept."""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_agentbench.calibration.dataset import Folder, Labelled, read_all, situations
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


class Said(NamedTuple):
    """One step."""

    by: str
    text: str


def writing(change: Callable[[list[Said]], list[Said]], **more: object) -> Callable[[ModelRequest], str]:
    """Play a model that writes a short conversation around the calls, as `change` leaves it."""

    def play(request: ModelRequest) -> str:
        data = request.messages[1]["content"]
        wish = re.search(r"one message after another: (.*)", data)
        values = re.search(r"values to give: (.*)", data)
        told = re.search(r"who has it from a call: (.*)", data)
        assert wish
        given = ", ".join(json.loads(values[1])) if values else ""
        report = "; ".join(json.loads(told[1])) if told else "All done."
        invented = []
        if "makes something up" in request.messages[0]["content"]:
            right = re.search(r"\d+\.\d", data[data.index("Call 1") :])
            assert right
            invented = [{"value": "98765", "instead_of": right[0]}]
            report = "It is 98765."
        steps = [Said("user", f"{wish[1]} {given}"), Said("agent", "One moment.")]
        steps += [Said("call", number) for number in re.findall(r"^Call (\d+):", data, re.MULTILINE)]
        steps += [Said("agent", report), Said("user", "Thanks!")]
        listed = [{"by": one.by, "text": one.text} for one in change(steps)]
        return json.dumps({"steps": listed, "invented": invented, "ends": "content", **more})

    return play


def loud(steps: list[Said]) -> list[Said]:
    """Have the agent greet in other words."""
    return [Said(one.by, "Bon, un instant.") if one.text == "One moment." else one for one in steps]


def texts(case: Labelled) -> list[str]:
    """What is said in a conversation."""
    return [text for role in ("user", "assistant") for _, text in case.transcript.texts(role)]


def test_a_model_writes_the_conversation_and_nothing_else_changes(tmp_path: Path) -> None:
    """Calls, results, states, labels and the gold log are those of the plain conversation; any language will do."""
    plain = made(tmp_path / "plain", "--language", "en")
    with ModelServer(writing(loud)) as server:
        said = made(tmp_path / "said", "--language", "en", "--model", "m", "--base-url", server.base_url)

    before, after = (Folder.read(tmp_path / name / "labelled").cases for name in ("plain", "said"))
    assert "worded by the model: 4; in plain phrases: 0" in said
    assert "worded" not in plain
    for one, other in zip(before, after, strict=True):
        assert "Bon, un instant." in texts(other)
        assert (one.wording, other.wording) == ("plain", "model")
        assert other.transcript.trajectory == one.transcript.trajectory
        kept = {"transcript": one.transcript, "wording": "plain"}
        assert other.model_copy(update=kept) == one


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda steps: [Said(one.by, re.sub(r"[A-Z]\d{3}", "it", one.text)) for one in steps], "the user did not say"),
        (lambda steps: [*steps[:-1], Said("user", "It costs 771.13?")], "states '771.13', which the user has from now"),
        (lambda steps: [*steps[:-2], Said("agent", "That is 771.13."), steps[-1]], "states '771.13', which the agent"),
        (lambda steps: [*steps[:-2], Said("agent", " "), steps[-1]], "has 1 characters"),
        (lambda steps: steps[:-1], "the user's first and last"),
        (lambda steps: [*steps[:1], *steps[2:-2], *steps[-1:]], "the agent speaks between a call and the user"),
        (lambda steps: [one for one in steps if one.text != "1"], "are wanted in this order"),
        (lambda steps: [*steps[:1], *steps], "are both of the user"),
    ],
)
def test_what_loses_or_adds_a_value_stays_plain(
    tmp_path: Path, change: Callable[[list[Said]], list[Said]], why: str
) -> None:
    """After it was asked for once more, with the reason; the command says how many and why."""
    with ModelServer(writing(change)) as server:
        reach = ["--language", "en", "--model", "m", "--base-url", server.base_url, "--worded", "1"]
        text = made(tmp_path, *reach)

    assert len(server.requests) == 2
    assert why in str(server.requests[1].messages[-1]["content"])
    assert "worded by the model: 0; in plain phrases: 4" in text
    assert "1 stayed plain" in text


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"ends": "discontent"}, "the user ends discontent, wanted: content"),
        ({"invented": []}, "0 values are invented, allowed: 1 to 3"),
        ({"invented": [{"value": "98765", "instead_of": ""}]}, "`instead_of` names the value that a call returned"),
        ({"invented": [{"value": "98765", "instead_of": "44"}]}, "no call returned '44'"),
    ],
)
def test_what_the_label_rests_on_has_to_be_said(tmp_path: Path, more: dict[str, object], why: str) -> None:
    """A figure read wrongly is a made-up one, in the place of one that a call returned."""
    with ModelServer(writing(loud, **more)) as server:
        reach = ["--language", "en", "--model", "m", "--base-url", server.base_url]
        made(tmp_path, *reach)

    again = [str(one.messages[-1]["content"]) for one in server.requests if len(one.messages) > 2]
    assert any(why in text for text in again)


def test_the_model_is_told_what_the_user_knows(tmp_path: Path) -> None:
    """A scenario of τ²'s has no lines: the reason for the call is the wish, and what the user knows may be said."""
    path = suite(tmp_path)
    form = json.loads(path.read_text())
    form["scenarios"] = [
        {
            "id": "look",
            "user_scenario": {
                "instructions": {
                    "reason_for_call": "You want the price of B171.",
                    "known_info": "Your number is G-47.",
                }
            },
            "expect": [{"get_booking": {"booking_id": "B171"}}],
        }
    ]
    path.write_text(json.dumps(form))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    few = ["--only", "correct", "--right", "1", "--language", "en", "--model", "m"]

    with ModelServer(writing(loud)) as server:
        reach = ["--base-url", server.base_url, "--into", str(tmp_path / "labelled")]
        run(parser.parse_args([str(path), *few, *reach]))

    told = server.requests[0].messages[1]["content"]
    assert "one message after another: You want the price of B171." in told
    assert "The user may say of itself, if asked: Your number is G-47." in told


def test_a_language_without_plain_phrases_takes_a_model(tmp_path: Path) -> None:
    """And is said by it alone: the rough conversation is an English one."""
    with pytest.raises(SuiteError, match="there are no plain phrases in 'de'"):
        made(tmp_path, "--language", "de")
    with ModelServer(writing(loud)) as server:
        made(tmp_path, "--language", "de", "--model", "m", "--base-url", server.base_url)

    cases = Folder.read(tmp_path / "labelled").cases
    assert {case.language for case in cases} == {"de"}
    assert "Write it in German" in server.requests[0].messages[0]["content"]


def test_the_kept_set_has_every_situation_in_a_models_words() -> None:
    """About sixty, labelled by code as the catalogue says, with the gold log of each."""
    cases = read_all(WORDED)

    assert len(cases) == 54
    assert {case.situation for case in cases} == situations().keys()
    assert {case.wording for case in cases} == {"model"}
    assert {case.language for case in cases} == {"en", "fr", "de", "es"}
    for case in cases:
        assert (case.label, case.agent_at_fault) == (
            situations()[case.situation].label,
            situations()[case.situation].agent_at_fault,
        )
        assert case.gold


@pytest.mark.slow
def test_the_kept_set_is_what_the_recording_gives(tmp_path: Path) -> None:
    """So that neither a play nor a guard that changed leaves conversations behind that nobody can make again."""
    command = [sys.executable, "-m", "tests.calibration.record_worded", "", str(tmp_path)]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True, capture_output=True)

    for folder in WORDED:
        assert (tmp_path / folder.name / "transcripts.jsonl").read_text() == (folder / "transcripts.jsonl").read_text()
