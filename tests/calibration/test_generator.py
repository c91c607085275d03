"""Conversations of situations, made by playing a service's scenarios rightly and wrongly."""

import os
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_agentbench.calibration.dataset import Folder, shown, situations
from pytest_agentbench.calibration.generate import Wish, generate, masked
from pytest_agentbench.calibration.situation_check import check
from pytest_agentbench.cli import main
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteError
from tests.calibration.service import conversations, suite


def test_every_situation_but_a_few_is_expressed() -> None:
    """What cannot be expressed here is listed with the reason."""
    folder = conversations().folder

    made = {case.situation for case in folder.cases}

    assert made | folder.inexpressible.keys() == situations().keys()
    assert len(made) >= 22
    assert all(folder.inexpressible.values())


def test_labels_are_those_of_the_catalogue_and_no_two_are_equal() -> None:
    """The reason is told, and masking what holds digits leaves no two the same."""
    folder = conversations().folder

    for case in folder.cases:
        assert case.label == situations()[case.situation].label
        assert case.reason
        assert case.grade == "gold"
    assert len({masked(case) for case in folder.cases}) == len(folder.cases)
    assert {case.language for case in folder.cases} == {"en", "fr"}


def test_a_wrong_action_shows_in_the_state_alone() -> None:
    """The tool says success, and the final state is the initial one."""
    folder = conversations().folder
    silent = [case for case in folder.cases if case.situation == "wrong-action-silent"]

    assert silent
    for case in silent:
        assert "no_op" in case.faults[0]
        assert case.initial == case.final
        assert not any(one.failed for one in case.transcript.trajectory)


def test_failures_are_real() -> None:
    """What was injected stands in the tool log, not only in words."""
    folder = conversations().folder

    for case in folder.cases:
        if case.situation in ("tool-unavailable", "hallucinated-edit"):
            assert any(one.failed for one in case.transcript.trajectory)


def test_conversations_have_the_goal_of_their_scenario() -> None:
    """Its effects are what a right run does; where the user asks for something else, none are known."""
    cases = conversations().cases
    right = [case for case in cases if case.situation == "correct"]
    otherwise = [case for case in cases if case.situation in ("impossible-action", "bad-params-aware")]

    assert right
    assert otherwise
    assert {shown(one, "notes").changes == one.goal.changes for one in right if one.goal} == {True}
    assert any("became" in line for one in right if one.goal for line in one.goal.changes)
    assert {one.goal.changes for one in otherwise if one.goal} == {()}
    assert "cancel_booking" not in str([one.goal for one in right])


def test_another_label_is_refused() -> None:
    """A right conversation is of none of the faulty situations, and no faulty one is right."""
    made = conversations()
    right = made.plays[next(case.id for case in made.cases if case.situation == "correct")]

    assert check(right, "correct") is None
    for name in situations():
        if name != "correct":
            assert check(right, name) is not None
    for case in made.cases:
        if case.situation != "correct":
            assert check(made.plays[case.id], "correct") is not None


def test_labels_do_not_depend_on_words() -> None:
    """Whatever is said, in whatever script, the tool log and the state decide of which situation a conversation is."""
    made = conversations()

    for case in made.cases:
        play = copy(made.plays[case.id])
        lines = [line if line.is_fixed else replace(line, text="それはできません") for line in play.lines]
        said = iter(lines)
        play.messages = [
            one.model_copy(update={"content": next(said).text}) if one.text and one.role != "tool" else one
            for one in play.messages
        ]
        play.lines = lines
        assert check(play, case.situation) is None


def test_an_honest_refusal_is_neg_and_not_the_agents_fault() -> None:
    """Two labels: the paper's, and whether the agent is to blame; they are read back as written."""
    cases = conversations().cases
    honest = [case for case in cases if case.situation in ("tool-unavailable", "impossible-action")]
    lied = [case for case in cases if case.situation == "hallucinated-edit"]

    assert honest
    assert {(case.label, case.agent_at_fault) for case in honest} == {("NEG", False)}
    assert {(case.label, case.agent_at_fault) for case in lied} == {("NEG", True)}


def test_the_gold_log_is_kept() -> None:
    """The calls of the right run, with what they gave, whatever was made of them."""
    skipped = next(case for case in conversations().cases if case.situation == "skipped-call")

    made = {one.call.name for one in skipped.transcript.trajectory}

    assert {one.name for one in skipped.gold} - made
    assert all(one.result for one in skipped.gold)


TWO_ADDRESSES = '''
def find_guest(email: str, *, state: dict) -> str:
    """Find a guest by email; gives the guest id."""
    return next(key for key, guest in state["guests"].items() if guest["email"] == email)


def change_email(guest_id: str, email: str, *, state: dict) -> str:
    """Change the email address of a guest."""
    state["guests"][guest_id]["email"] = email
    return f"the email address is {email}"
'''


def test_the_user_gives_each_value_of_one_name(tmp_path: Path) -> None:
    """Two calls have an `email`, and no answer gives either."""
    (tmp_path / "two_tools.py").write_text(TWO_ADDRESSES)
    (tmp_path / "two.json").write_text(dumps({"guests": {"G1": {"email": "old@inn.example", "age": 44}}}))
    old, new = {"email": "old@inn.example"}, {"guest_id": "G1", "email": "new@inn.example"}
    scenario = {"id": "moved", "says": ["Change my address."], "expect": [{"find_guest": old}, {"change_email": new}]}
    environment = {
        "tools": "two_tools",
        "state": {"json": "two.json"},
        "reads": ["find_guest"],
        "writes": ["change_email"],
    }
    suite_file = tmp_path / "agentbench.yaml"
    suite_file.write_text(dumps({"agent": "nobody:build", "environment": environment, "scenarios": [scenario]}))

    folder = generate(suite_file, Wish(only=["correct"], positives=3), environ=os.environ).folder

    assert folder.cases
    for case in folder.cases:
        said = "\n".join(text for _, text in case.transcript.texts("user"))
        assert "old@inn.example" in said
        assert "new@inn.example" in said


def test_files_hold_what_was_made(tmp_path: Path) -> None:
    """Writing and reading gives the same conversations, and never the fault to a judge's case."""
    folder = conversations().folder

    folder.write(tmp_path)

    read = Folder.read(tmp_path)
    assert read == folder
    assert "no_op" not in shown(read.cases[0], "signals").record("nonce")


def test_same_seed_same_conversations(tmp_path: Path) -> None:
    """What is drawn depends on the seed alone."""
    path = suite(tmp_path)
    wish = Wish(per_situation=1, positives=2, seed=5, only=("correct", "bad-params-silent", "hallucination-fallback"))

    one = generate(path, wish, environ=os.environ)
    other = generate(path, wish, environ=os.environ)

    assert one.folder == other.folder


def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    """No traceback of ours on bad input."""
    file = tmp_path / "transcripts.jsonl"
    file.write_text('{"label": "MAYBE", "messages": []}\n')

    with pytest.raises(SuiteError, match=r"transcripts\.jsonl:1"):
        Folder.read(tmp_path)


def test_the_command_writes_and_calibrates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From a suite to figures, without a model."""
    conversations().folder.write(tmp_path / "labelled")
    figures = tmp_path / "figures.json"

    status = main(["calibrate", "signals", str(tmp_path / "labelled"), "--correct", "9/10", "--json", str(figures)])

    out = capsys.readouterr().out
    assert status == 0
    assert "hard" in out
    assert "corrected" in out
    assert '"mark"' in figures.read_text()


def test_what_takes_a_model_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what is no judge is refused."""
    conversations().folder.write(tmp_path)

    assert main(["calibrate", "scope", str(tmp_path)]) == 2
    assert "--model" in capsys.readouterr().err
    assert main(["calibrate", "nothing.yaml", str(tmp_path)]) == 2
    assert "no rubric" in capsys.readouterr().err
    (tmp_path / "old.yaml").write_text("mode: default\ncriteria: [{id: done, text: Does it.}]\n")
    assert main(["calibrate", str(tmp_path / "old.yaml"), str(tmp_path), "--model", "m"]) == 2
    told = capsys.readouterr().err
    assert "old.yaml:1:1: mode: unknown key 'mode'" in told
    assert "write `formula: must`" in told
    assert main(["calibrate", "signals", str(tmp_path), "--folds", "1"]) == 2
    assert "folds" in capsys.readouterr().err
