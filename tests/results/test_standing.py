"""A suite that refuses a judge: not calibrated, no longer the one that was, or agreeing too little with the labels."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.calibration.dataset import Folder
from pytest_agentbench.cli.calibrate import add_arguments, run
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.results.calibration import objections
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.testing import ModelRequest, ModelServer
from tests.calibration.service import conversations

RUBRIC: dict[str, Any] = {
    "criteria": [
        {"id": "clear", "text": "The agent says clearly what it did.", "weight": 6},
        {"id": "fails", "text": "A call fails.", "label": "NEG", "weight": 9},
    ]
}


def judged(request: ModelRequest) -> str:
    """Play a judge: bad where a call failed."""
    system, data = request.messages[0]["content"], request.messages[1]["content"]
    quote = re.search(r"\[turn 1\] the user says\n\| (\w+)", data)
    assert quote
    verdicts: list[dict[str, Any]] = []
    for name in re.findall(r"^- `(clear|fails)`", system, re.MULTILINE):
        applies = (name == "fails") == (" failed" in data)
        cited = [{"turn": 1, "quote": quote[1]}] if applies else []
        verdicts.append(
            {"criterion": name, "applies": applies, "evidence": cited, "reason": "seen", "score": 10 * applies}
        )
    return json.dumps({"verdicts": verdicts})


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the files of a judge that was calibrated: `goal.json` where it saw that, `conversation.json`."""
    folder = tmp_path_factory.mktemp("calibrated")
    names = ("correct", "hallucinated-edit", "tool-unavailable", "bad-parse-silent")
    every = conversations().cases
    cases = tuple(case for name in names for case in [one for one in every if one.situation == name][:4])
    Folder(cases=cases).write(folder / "labelled")
    (folder / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with ModelServer(judged) as server:
        arguments = [str(folder / "rubric.yaml"), str(folder / "labelled"), "--model", "m", "--folds", "2"]
        for sees in ("goal", "conversation"):
            reach = ["--base-url", server.base_url, "--json", str(folder / f"{sees}.json"), "--sees", sees]
            run(parser.parse_args([*arguments, *reach]))
    assert {"# How the stored data differ" in request.last for request in server.requests} == {True, False}
    return folder


def told(folder: Path, judge: dict[str, Any], rubric: Any = RUBRIC) -> str:
    """Write a suite with this judge and rubric; give what is said against the judge."""
    suite = {
        "agent": "a:build",
        "judge": {"llm": {"model": "m"}, **judge},
        "rubric": rubric,
        "scenarios": [{"id": "s", "says": ["hello"]}],
    }
    file = folder / "agentbench.yaml"
    file.write_text(json.dumps(suite))
    return "\n".join(objections(load_suite(file, environ={})))


def test_a_calibrated_judge_may_decide(figures: Path, tmp_path: Path) -> None:
    """As calibrated, by any kappa or by one that it reaches; what needs no model makes no difference."""
    own = {"text": "No error.", "check": "tool_errors == 0"}
    checked = {"criteria": [*RUBRIC["criteria"], {"id": "ok", **own}, {"id": "has-to", **own, "must": True}]}

    assert told(tmp_path, {"calibration": str(figures / "goal.json")}) == ""
    assert told(tmp_path, {"calibration": str(figures / "conversation.json"), "sees": "conversation"}) == ""
    assert told(tmp_path, {"calibration": {"file": str(figures / "goal.json"), "kappa": -1}}) == ""
    assert told(tmp_path, {"calibration": str(figures / "goal.json")}, checked) == ""
    assert told(tmp_path, {}) == ""


@pytest.mark.parametrize(
    ("judge", "rubric", "said"),
    [
        ({"calibration": "none.json"}, RUBRIC, "is not calibrated: there is no"),
        ({"calibration": {"file": "FIGURES", "kappa": 1}}, RUBRIC, "kappa is 0."),
        ({"calibration": "FIGURES", "llm": {"model": "n"}}, RUBRIC, "the model was 'm' and is 'n'"),
        ({"calibration": "FIGURES", "notes": True}, RUBRIC, "is shown goal, state, notes on calls"),
        ({"calibration": "OTHERS"}, RUBRIC, "it was shown conversation, state, and is shown goal, state"),
        (
            {"calibration": "FIGURES", "sees": "conversation"},
            RUBRIC,
            "the prompt has changed, it was shown goal, state",
        ),
        ({"calibration": "FIGURES"}, {**RUBRIC, "threshold": 0.9}, "the rubric has changed"),
        ({"calibration": "FIGURES"}, RUBRIC["criteria"][:1], "the rubric has changed"),
        ({"calibration": "agentbench.yaml"}, RUBRIC, "cannot be read as figures of a judge"),
    ],
)
def test_a_judge_is_refused(figures: Path, tmp_path: Path, judge: dict[str, Any], rubric: Any, said: str) -> None:
    """With what is wrong, and what to do about it."""
    files = json.dumps(judge).replace("FIGURES", str(figures / "goal.json"))
    filled = json.loads(files.replace("OTHERS", str(figures / "conversation.json")))

    text = told(tmp_path, filled, rubric)

    assert said in text
    assert "run `agentbench calibrate RUBRIC LABELLED --model" in text
    assert ("--sees goal" in text) is (judge.get("sees") != "conversation")
    assert "-o agentbench_judge=false" in text


def test_a_judge_cannot_be_shown_goals_that_nobody_wrote_down(figures: Path, tmp_path: Path) -> None:
    """The command says which conversation has none."""
    lines = [json.loads(line) for line in (figures / "labelled" / "transcripts.jsonl").read_text().splitlines()]
    bare = [{key: value for key, value in line.items() if key not in ("goal", "initial", "final")} for line in lines]
    (tmp_path / "bare.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in bare))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    arguments = [str(figures / "rubric.yaml"), str(tmp_path / "bare.jsonl"), "--model", "m", "--sees", "goal"]

    with pytest.raises(SuiteError, match=f"the conversation '{lines[0]['id']}' has no `goal`"):
        run(parser.parse_args(arguments))
