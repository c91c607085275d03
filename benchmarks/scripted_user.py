"""How well the scripted user answers in recorded τ² conversations: recall of values asked for, rate of unasked ones.

Run `python benchmarks/scripted_user.py [FOLDER OF TRANSCRIPTS]`. Every recorded user text that follows an agent's
text, after the opening one, is a turn: a fresh scripted user of the task, made as a run makes it, is given the same
history, and its reply is compared with the recorded one. The values of known info, and whether the agent's message
names their kind, are found here by rules of their own, not by the scripted user's. A name of several words is said
where each of its words is; a value that the agent's own message states needs no repeating (a yes answers it), so it is
neither asked for nor unasked; an *email address* names no zip code.

- *gives*: the recorded reply holds a value of known info that the agent's message does not state
- *asked*: it does, and the agent's message names the kind of each of these values
- *recall*: share of *asked* turns where the scripted reply holds all these values; *recall, all*: of *gives* turns
- *leak*: share of all turns where the scripted reply holds a value of known info that neither message holds and whose
  kind the agent's message does not name; *more*: the same, whatever the agent's message names
"""

import asyncio
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.simulation.views import user_view
from pytest_agentbench.suites.known_info import known_values
from pytest_agentbench.tau2.tasks import task_to_scenario
from pytest_agentbench.users.knowledge import wants_of
from pytest_agentbench.users.scripted import ScriptedUser

DOMAINS = ("airline", "telecom", "retail")
TRANSCRIPTS = Path(__file__).resolve().parents[1] / "../shared/data/tau2/transcripts"

_TOKEN = re.compile(r"[\w.+@-]*[\w@]")
_NAME = re.compile(r"(?:You are|[Nn]ame is|called) (?:an? [\w ]*called )?((?!You\b)[A-Z][a-z]+(?: [A-Z][a-z]+)?)")
_NAMED_BY = (
    (r"[\w.]+@[\w.]+", r"e-?mail"),
    (r"\d{3}-\d{3}-\d{4}", r"number"),
    (r"\d{5}", r"zip|postal|(?<!mail )address"),
    (r"[a-z]+_[a-z]+_\d+", r"user.?id|user.?name|profile|your id"),
    (r"[A-Z0-9]{6}", r"reservation|confirmation|booking"),
    (r"[A-Z][a-z]+(?: [A-Z][a-z]+)?", r"name"),
)


@dataclass
class Figures:
    """Counts over the turns of one part of the recordings."""

    turns: int = 0
    gives: int = 0
    gives_met: int = 0
    asked: int = 0
    asked_met: int = 0
    leaks: int = 0
    more: int = 0

    @property
    def recall(self) -> float:
        """Share of turns, of those where the values given had been asked for, in which all of them are given."""
        return self.asked_met / self.asked if self.asked else 0.0

    @property
    def leak(self) -> float:
        """Share of turns in which a value is given that was neither asked for nor given by the recorded user."""
        return self.leaks / self.turns if self.turns else 0.0

    def row(self) -> str:
        """Give the figures as one line of the table."""
        return (
            f"{self.turns:6} {self.gives:6} {self.asked:6} {self.recall:8.3f}"
            f" {self.gives_met / max(self.gives, 1):12.3f}"
            f" {self.leak:7.4f} {self.more / max(self.turns, 1):7.4f}"
        )


def measure(transcripts: Path, parts: tuple[str, ...] = ("development", "held out")) -> dict[str, Figures]:
    """Replay the non-solo recordings; half of retail, chosen by a hash of the task id, is the held-out part."""
    return asyncio.run(_measure(transcripts, parts))


async def _measure(transcripts: Path, parts: tuple[str, ...]) -> dict[str, Figures]:
    figures: dict[str, Figures] = {}
    for domain, recording, scenario, tools in _recordings(transcripts):
        part = "held out" if domain == "retail" and _is_held_out(recording["task_id"]) else "development"
        if part not in parts:
            continue
        rows = [figures.setdefault(name, Figures()) for name in (part, f"{part}: {domain}")]
        values = _values(user_view(scenario, (), begun=0, tools=tools).known_info)
        for view, recorded in _turns(recording["messages"], scenario, tools):
            user = ScriptedUser(
                scenario.says,
                wants=wants_of(scenario, tools),
                known=known_values(scenario, tools),
                asks_for=scenario.communicate_info,
            )
            reply = await user.reply(view)
            for row in rows:
                _count(row, values, view.messages[-1].text, recorded, reply.text)
    return figures


def _is_held_out(task_id: str) -> bool:
    return int(hashlib.sha256(f"retail:{task_id}".encode()).hexdigest(), 16) % 2 == 1


def _recordings(transcripts: Path) -> Iterator[tuple[str, dict[str, Any], Scenario, Toolset]]:
    for domain in DOMAINS:
        listed = json.loads((transcripts.parent / "domains" / domain / "tools.json").read_text(encoding="utf-8"))
        tools = Toolset(specs=tuple(ToolSpec.model_validate(entry["function"]) for entry in listed["agent"]))
        tasks = {row["task_key"]: task_to_scenario(row["task"]) for row in _rows(transcripts / f"{domain}.tasks.jsonl")}
        for recording in _rows(transcripts / f"{domain}.jsonl"):
            scenario = tasks[recording["task_key"]]
            if not recording["solo"] and isinstance(scenario, Scenario):
                yield domain, recording, scenario, tools


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def _turns(messages: list[dict[str, Any]], scenario: Scenario, tools: Toolset) -> Iterator[tuple[View, str]]:
    history: list[Message] = []
    opened = False
    for message in messages:
        text, calls = message.get("content") or "", message.get("tool_calls") or ()
        if message["role"] == "user":
            if text and not calls:
                if opened and history[-1].role == "assistant":
                    yield user_view(scenario, history, begun=0, tools=tools), text
                opened = True
            made = tuple(ToolCall(name=call["name"], requestor="user") for call in calls)
            history.append(Message(role="user", content=text, tool_calls=made))
        elif message["role"] == "assistant" and text and not calls:
            history.append(Message(role="assistant", content=text))
        elif message["role"] == "assistant" and calls:  # the user does not see them, but is told that some were made
            made = tuple(ToolCall(name=one["name"], arguments=one["arguments"], id=one["id"]) for one in calls)
            history.append(Message(role="assistant", tool_calls=made))
        elif message["role"] == "tool":
            asked_by, of = message.get("requestor") or "assistant", message.get("id")
            named = {} if asked_by == "user" else {"tool_call_id": of, "error": bool(message.get("error"))}
            history.append(Message(role="tool", requestor=asked_by, content=text, **named))


def _values(known_info: str) -> set[str]:
    tokens = _TOKEN.findall(known_info)
    coded = {token for token in tokens if "@" in token or "_" in token or (len(token) > 3 and re.search(r"\d", token))}
    return coded | set(_NAME.findall(known_info))


def _count(row: Figures, values: set[str], agent: str, recorded: str, said: str) -> None:
    given = {value for value in values if _says(recorded, value) and not _says(agent, value)}
    ours = {value for value in values if _says(said, value)}
    unasked = {value for value in ours - given if not (_says(recorded, value) or _says(agent, value))}
    row.turns += 1
    if given:
        row.gives += 1
        row.gives_met += given <= ours
        if all(_is_kind_named(value, agent) for value in given):
            row.asked += 1
            row.asked_met += given <= ours
    row.more += bool(unasked)
    row.leaks += any(not _is_kind_named(value, agent) for value in unasked)


def _says(text: str, value: str) -> bool:
    return all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in value.split())


def _is_kind_named(value: str, agent: str) -> bool:
    kinds = [words for shape, words in _NAMED_BY if re.fullmatch(shape, value)]
    return any(re.search(words, agent, re.IGNORECASE) for words in kinds)


def main() -> None:
    """Print the table."""
    transcripts = Path(sys.argv[1]) if len(sys.argv) > 1 else TRANSCRIPTS
    lines = [f"{'':24}{'turns':>6} {'gives':>6} {'asked':>6} {'recall':>8} {'recall, all':>12} {'leak':>7} {'more':>7}"]
    lines += [f"{name:24}{figures.row()}" for name, figures in sorted(measure(transcripts).items())]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
