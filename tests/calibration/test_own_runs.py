"""What a calibration makes of the team's own conversations, of answers that cannot be used, and of a spent budget."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.calibration.dataset import Folder, Labelled
from pytest_agentbench.testing import ModelRequest, ModelServer
from tests.calibration.service import conversations
from tests.calibration.test_command import calibrated
from tests.calibration.test_scope import answer, few
from tests.results.test_standing import RUBRIC, judged, told


def folder_of(path: Path, cases: list[Labelled]) -> str:
    """Write conversations as the team's own, half of them in French."""
    own = [
        case.model_copy(update={"id": f"own-{number}", "grade": "", "language": ("en", "fr")[number % 2]})
        for number, case in enumerate(cases)
    ]
    Folder(cases=tuple(own)).write(path)
    return str(path)


def right(count: int) -> list[Labelled]:
    """Give conversations in which the agent is right."""
    return [case for case in conversations().cases if case.situation == "correct"][:count]


def audit(request: ModelRequest, *, claims: list[dict[str, Any]]) -> str:
    """Play an auditor that sees nothing but some claims; it quotes the agent's greeting."""
    lines = request.messages[-1]["content"].splitlines()
    place = next(number for number, line in enumerate(lines) if line.endswith("the agent says"))
    turn, quote = int(lines[place].split("]")[0].rpartition(" ")[2]), lines[place + 1].removeprefix("| ")
    seen = {"turn": turn, "quote": quote}
    return json.dumps(
        {
            "claims": [{**seen, **claim} for claim in claims],
            "consents": [],
            "goal_items": [],
            "policies": [],
            "user_turns": [],
            "tool_use": {**seen, "use": "right"},
            "agent_appropriate": {**seen, "shows": True},
            "user_satisfied": {**seen, "shows": True},
        }
    )


@pytest.mark.parametrize("alarms", [0, 1])
def test_the_auditor_is_held_against_runs_in_which_the_agent_is_right(tmp_path: Path, alarms: int) -> None:
    """Its false alarms stand in the file with their upper bound, and a later calibration of a rubric keeps them."""
    folder = folder_of(tmp_path / "own", right(6))
    figures = tmp_path / "figures.json"
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    false = {"kind": "other", "values": [], "denies": False, "corrected": False, "support": "nothing", "call": None}
    asked = []

    def play(request: ModelRequest) -> str:
        if "criteri" in request.messages[0]["content"] and "`clear`" in request.messages[0]["content"]:
            return judged(request)
        asked.append(request)
        return audit(request, claims=[false] if len(asked) <= alarms else [])

    with ModelServer(play) as server:
        reach = ["--model", "m", "--base-url", server.base_url, "--json", str(figures), "--concurrency", "1"]
        text = calibrated("auditor", folder, *reach)
        calibrated(str(tmp_path / "rubric.yaml"), folder, *reach)

    found = json.loads(figures.read_text())["auditor"]
    assert (found["runs"], found["false_alarms"], found["parts"]["model"]) == (6, alarms, "m")
    assert 0 < found["upper"] < 1
    assert f"auditor: {alarms} false alarm{'' if alarms == 1 else 's'} on 6 of your own conversations" in text
    assert len(asked) == 6


def test_a_gate_counts_the_teams_own_runs_first_in_each_language(tmp_path: Path) -> None:
    """A judge that is right on what was played and in one language, and wrong in the other, may not decide."""
    failing = [case for case in conversations().cases if case.situation == "hallucinated-edit"][:2]
    agreed = [*right(4), *failing, *failing]
    own = folder_of(tmp_path / "own", [one for pair in zip(agreed, agreed, strict=True) for one in pair])
    lines = [json.loads(line) for line in (tmp_path / "own" / "transcripts.jsonl").read_text().splitlines()]
    for line in lines:
        if line["language"] == "fr":
            line["label"] = {"POS": "NEG", "NEG": "POS"}[line["label"]]
            line["agent_at_fault"] = line["label"] == "NEG"
    (tmp_path / "own" / "transcripts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    figures = tmp_path / "figures.json"
    with ModelServer(judged) as server:
        reach = ["--model", "m", "--base-url", server.base_url, "--json", str(figures), "--folds", "2"]
        calibrated(str(tmp_path / "rubric.yaml"), own, *reach, "--sees", "goal")

    said = told(tmp_path, {"calibration": {"file": str(figures), "kappa": 0.1}})

    assert "on your own in 'fr'" in said
    assert "on your own in 'en'" not in said


def test_one_bad_answer_aborts_nothing(tmp_path: Path) -> None:
    """Training conversations without reasons are left out, test conversations are unjudged; both are counted."""
    cases = tuple(few())
    Folder(cases=cases).write(tmp_path / "labelled")

    def but_for_one(task: str) -> Callable[[ModelRequest], str]:
        """Play a model that refuses one conversation in a task, however often it is asked about."""
        refused: list[str] = []

        def play(request: ModelRequest) -> str:
            system, data = request.messages[0]["content"], str(request.messages[1]["content"])
            if task in system and refused in ([], [data]):
                refused[:] = [data]
                return "I would rather not."
            return answer(request)

        return play

    with ModelServer(but_for_one("in these areas")) as server:
        reach = ["--model", "m", "--splits", "1", "--base-url", server.base_url, "--concurrency", "1"]
        learnt = calibrated("scope", str(tmp_path / "labelled"), *reach)
    with ModelServer(but_for_one("`pos-1`")) as server:
        reach = ["--model", "m", "--splits", "1", "--base-url", server.base_url, "--concurrency", "1"]
        scored = calibrated("scope", str(tmp_path / "labelled"), *reach)

    assert "conversations to learn from left out for want of a usable answer: 1" in learnt
    assert "not judged, and counted as wrong: 1 conversation" in scored
    assert "\nscope  all" in learnt
    assert "\nscope  all" in scored


def test_what_was_paid_before_the_budget_was_spent_is_kept(tmp_path: Path) -> None:
    """The conversations judged until then have figures; the rest is unjudged, and it says why."""
    cases = tuple(few())
    Folder(cases=cases).write(tmp_path / "labelled")
    with ModelServer(answer) as server:
        reach = ["--model", "m", "--splits", "1", "--base-url", server.base_url, "--concurrency", "1"]
        calibrated("spur", str(tmp_path / "labelled"), *reach)
        calls = len(server.requests)
        text = calibrated("spur", str(tmp_path / "labelled"), *reach, "--max-calls", str(calls - 2))

    assert "not judged, and counted as wrong: 2 conversations" in text
