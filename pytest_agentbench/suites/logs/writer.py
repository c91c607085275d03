"""What an import writes, one conversation at a time: recordings with a suite around them, or drafts of scenarios."""

import json
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TextIO

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.suites.message_log import STOP_MARKERS
from pytest_agentbench.suites.record import Record

As = Literal["recordings", "drafts"]

DRAFT = "draft"
"""The tag of scenarios that nobody has read yet."""

_SUITE = """\
# Conversations recorded elsewhere, judged as they stand: `pytest --agentbench`.
# State what was right in scenarios.yaml, and in `policies` what must always hold.
agent: {transcripts: recordings.jsonl}
environment: {tools: tools.json}
scenarios: [scenarios.yaml]
"""

_DRAFTS = """\
# Drafts: what users said and which calls were made, right or wrong. Read each, correct it, and take the tag away.
"""

_RECORDED = """\
# One scenario for each recorded conversation; several recordings of one scenario are its trials.
"""


class Writer:
    """Writes into a folder; nothing that is there already is overwritten. A context manager."""

    def __init__(self, folder: Path, kind: As) -> None:
        """Raise `SuiteFaultError` where a file of the import is there already."""
        self._folder = folder
        self._kind = kind
        names = ["recordings.jsonl", "scenarios.yaml", "tools.json", "agentbench.yaml"]
        self.files = [folder / name for name in (names if kind == "recordings" else ["drafts.yaml"])]
        for file in self.files:
            if file.exists():
                raise SuiteFaultError(f"{file} is there already; delete it, or import into another folder")
        self._made_folder = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        self._seen = sqlite3.connect("")  # a file of its own that goes with the connection
        self._seen.execute("CREATE TABLE seen (id TEXT PRIMARY KEY) WITHOUT ROWID")
        self._tools: dict[str, dict[str, JsonValue]] = {}
        self._count = 0
        self._is_discarded = False
        self._recordings: TextIO | None = None
        self._scenarios = self.files[1 if kind == "recordings" else 0].open("w", encoding="utf-8")
        self._scenarios.write(_RECORDED if kind == "recordings" else _DRAFTS)
        if kind == "recordings":
            self._recordings = self.files[0].open("w", encoding="ascii")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scenarios.close()
        self._seen.close()
        if self._recordings is not None:
            self._recordings.close()
        if self._is_discarded:
            for file in self.files:
                file.unlink(missing_ok=True)
            if self._made_folder:
                self._folder.rmdir()
        elif self._recordings is not None:
            tools = [self._tools[name] for name in sorted(self._tools)]
            (self._folder / "tools.json").write_text(json.dumps(tools, indent=1) + "\n", encoding="utf-8")
            (self._folder / "agentbench.yaml").write_text(_SUITE, encoding="utf-8")

    def discard(self) -> None:
        """Leave nothing behind: nothing was read."""
        self._is_discarded = True

    def write(self, record: Record) -> None:
        """Write one conversation."""
        self._count += 1
        named = ascii_slug(record.scenario)[:80] if record.scenario else ""
        if self._recordings is None:
            name = named if named and self._is_new(named) else f"{named or 'conversation'}-{self._count}"
            self._scenario(name, record, calls=True)
            return
        name = named or f"conversation-{self._count}"
        self._recordings.write(dumps(_recording(name, record)) + "\n")
        self._note_tools(record)
        if self._is_new(name):
            self._scenario(name, record, calls=False)

    def _is_new(self, name: str) -> bool:
        cursor = self._seen.execute("INSERT OR IGNORE INTO seen VALUES (?)", (name.lower(),))
        return cursor.rowcount == 1

    def _scenario(self, name: str, record: Record, *, calls: bool) -> None:
        lines = [f"- id: {_quoted(name)}", *([f"  tags: [{DRAFT}]"] if calls else [])]
        said = [_said(text) for _, text in record.transcript.texts("user")]
        lines.append("  says:" if any(said) else "  says: []")
        lines += [f"    - {_quoted(text)}" for text in said if text]
        if calls:
            made = [
                {one.call.name: one.call.arguments}
                for one in record.transcript.trajectory
                if one.call.requestor == "assistant" and not one.failed and one.call.raw is None
            ]
            lines.append("  expect:" if made else "  expect: []")
            lines += [f"    - {_quoted(call)}" for call in made]
        self._scenarios.write("\n".join(lines) + "\n")

    def _note_tools(self, record: Record) -> None:
        for one in record.transcript.trajectory:
            if one.call.requestor != "assistant":
                continue
            tool = self._tools.setdefault(one.call.name, _tool(one.call.name))
            properties: dict[str, JsonValue] = tool["function"]["parameters"]["properties"]
            for argument in one.call.arguments:
                properties.setdefault(argument, {})


def _tool(name: str) -> dict[str, JsonValue]:
    parameters = {"type": "object", "properties": {}, "additionalProperties": True}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


def _recording(name: str, record: Record) -> dict[str, JsonValue]:
    told: dict[str, Any] = {"id": name}
    if record.label:
        told["variant"] = record.label
    if record.termination is not None:
        told["status"] = (
            f"{record.termination}: {record.stop_reason}" if record.stop_reason else str(record.termination)
        )
    if record.reward is not None:
        told["reward"] = record.reward
    return {**told, "messages": [_message(message) for message in record.transcript.messages]}


_BESIDE = {"thoughts", "output", "acts", "goal_items", "shows", "approvals", "decisions", "events"}
"""Fields of ours that stand beside those of a chat message."""


def _message(message: Message) -> dict[str, JsonValue]:
    fields = _BESIDE | ({"error", "requestor"} if message.role == "tool" else set())
    ours = message.model_dump(mode="json", include=fields, exclude_defaults=True)
    return {**message.openai(), **ours, **({"name": message.by} if message.by is not None else {})}


def _said(text: str) -> str:
    """Give what a user said, without the marker by which it closed."""
    for marker in STOP_MARKERS:
        text = text.replace(marker, "")
    return text.strip()


def _quoted(value: JsonValue) -> str:
    """Give a value as JSON that is YAML too: halves of surrogate pairs are no text, so they are replaced."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
