"""Recorded conversations labelled by reading them: whether the user behaved as a modifier says.

Run as a program, it prints how the detectors agree with the labels, on the half that they were corrected on and on the
half that was scored once: `python -m tests.users.modifiers.labelled`.
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.users.modifiers.behaviour import Behaviour, Swap
from pytest_agentbench.users.modifiers.shown import shown
from tests.shared_data import SHARED

LABELS: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "labelled.json").read_text())
PARTS = ("development", "held_out")
_AT = 3


@cache
def recordings() -> dict[str, tuple[Transcript, Scenario]]:
    """Give every recorded conversation with a user, by the first eight digits of its id."""
    found: dict[str, tuple[Transcript, Scenario]] = {}
    for domain in ("airline", "retail", "telecom"):
        folder = SHARED / "data" / "tau2" / "transcripts"
        tasks = {row["task_key"]: row["task"] for row in _rows(folder / f"{domain}.tasks.jsonl")}
        for sim in _rows(folder / f"{domain}.jsonl"):
            if not sim["solo"]:
                task = Task.model_validate(tasks[sim["task_key"]])
                scenario = Scenario(id=sim["sim_id"], title=sim["sim_id"], task=task)
                found[sim["sim_id"][:8]] = (Transcript(messages=tuple(map(_message, sim["messages"]))), scenario)
    return found


def behaviour_of(name: str, row: dict[str, Any]) -> Behaviour:
    """Give the behaviour that a label is about."""
    return Behaviour.model_validate(
        {
            "name": name,
            "instruction": "",
            "from_message": _AT if name == "adds_intent" else 0,
            "wrong": tuple(Swap(**swap) for swap in row.get("wrong", ())),
            **{key: row[key] for key in ("kind", "intent", "ask", "forgets") if key in row},
        }
    )


def agreement(name: str, part: str) -> Counter[tuple[bool, bool]]:
    """Count (label, what the detector says) over the labelled conversations of one half."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for row in LABELS[name]:
        if row["part"] == part:
            transcript, scenario = recordings()[row["sim"]]
            counts[row["shown"], shown(behaviour_of(name, row), transcript, scenario)] += 1
    return counts


def wrong_ones(name: str, part: str) -> Iterator[str]:
    """Yield the ids of the conversations where label and detector differ."""
    for row in LABELS[name]:
        if row["part"] == part:
            transcript, scenario = recordings()[row["sim"]]
            if shown(behaviour_of(name, row), transcript, scenario) != row["shown"]:
                yield f"{row['sim']} ({'missed' if row['shown'] else 'false alarm'})"


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _message(raw: dict[str, Any]) -> Message:
    requestor = raw.get("requestor") or "assistant"
    calls = tuple(ToolCall.model_validate(call) for call in raw.get("tool_calls") or ())
    answers = raw.get("id") if raw["role"] == "tool" else None
    return Message(
        role=raw["role"],
        content=raw.get("content"),
        tool_calls=calls,
        tool_call_id=answers,
        requestor=requestor,
        error=bool(raw.get("error")),
    )


def table(part: str) -> str:
    """Write the agreement of one half: shown and said so, missed, false alarm, not shown and said so."""
    lines = [f"{part:20} hit  missed  false alarm  rightly no"]
    for name in LABELS:
        counts = agreement(name, part)
        cells = [counts[True, True], counts[True, False], counts[False, True], counts[False, False]]
        different = ", ".join(wrong_ones(name, part))
        lines.append(f"{name:20}{cells[0]:4}{cells[1]:8}{cells[2]:13}{cells[3]:12}  {different}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n\n".join(table(part) for part in PARTS) + "\n")
