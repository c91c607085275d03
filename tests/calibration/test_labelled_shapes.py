"""Labelled conversations of others are read by the one reader of messages, and nothing of them is dropped."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.calibration.dataset import Folder
from pytest_agentbench.checks.judges.evidence import Goal
from pytest_agentbench.core.errors import SuiteError


def written(folder: Path, *messages: object) -> Path:
    """Write one labelled conversation."""
    file = folder / "talks.jsonl"
    file.write_text(json.dumps({"label": "NEG", "messages": list(messages)}) + "\n")
    return file


def test_calls_in_blocks_are_calls(tmp_path: Path) -> None:
    """Anthropic's blocks were read for their text alone."""
    used = {"type": "tool_use", "id": "c1", "name": "look", "input": {"order_id": "W1"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "found"}
    file = written(
        tmp_path,
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": [{"type": "text", "text": "Wait"}, used]},
        {"role": "user", "content": [result]},
    )

    (one,) = Folder.read(file).cases

    (made,) = one.transcript.trajectory
    assert (made.call.name, made.call.arguments) == ("look", {"order_id": "W1"})
    assert made.result is not None
    assert made.result.content == "found"


def test_a_goal_is_read_where_somebody_wrote_it_down(tmp_path: Path) -> None:
    """With policies and effects, all of which may be left out; a key that is none of these is refused."""
    line = {"label": "POS", "messages": [{"role": "user", "content": "Where?"}]}
    file = tmp_path / "talks.jsonl"
    goal = {"wants": "Know where it is.", "tells": ["in Lyon"]}
    file.write_text(json.dumps({**line, "goal": goal}) + "\n" + json.dumps(line) + "\n")

    one, other = Folder.read(file).cases

    assert one.goal == Goal(wants="Know where it is.", tells=("in Lyon",))
    assert other.goal is None
    file.write_text(json.dumps({**line, "goal": {"calls": []}}) + "\n")
    with pytest.raises(SuiteError, match=r"talks.jsonl:1:.*calls"):
        Folder.read(file)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """With its line and its place."""
    with pytest.raises(SuiteError, match=r"talks.jsonl:1:.*messages\[0\].content\[0\]: found dict"):
        Folder.read(written(tmp_path, {"role": "user", "content": [{"type": "hologram"}]}))
