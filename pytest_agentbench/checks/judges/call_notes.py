"""What can be said of each call without knowing which were expected: how it went, where its values come from, its use.

A judge reads these notes beside the conversation. They state what stands there and leave the verdict to the judge.
"""

import json
import re
from collections.abc import Iterable, Iterator

from pytest_agentbench.checks.effects import is_write_tool
from pytest_agentbench.core.json_values import JsonValue, decoded, leaves
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import CallRecord, Transcript

_LONGEST = 80
"""Characters of a value that a note shows."""

_WORDED = 4
"""Words from which a text is the agent's own wording, of which no origin can be told."""

REPEATED, IDLE, EMPTY = "the same as call", "nothing that it returned is said or used", "gave nothing"
FROM_NOWHERE = "stands in nothing that was said or returned before"
"""What notes say of a call that serves nothing, gave nothing, or has a value from nowhere."""

_EMPTY: tuple[JsonValue, ...] = ("", None, {}, [])
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?!\w)")
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def call_notes(transcript: Transcript, toolset: Toolset) -> tuple[str, ...]:
    """Give one note for each call of the agent's; calls are counted as judges see them, the user's included."""
    return tuple(_notes(transcript, toolset))


def _notes(transcript: Transcript, toolset: Toolset) -> Iterator[str]:
    seen: dict[str, int] = {}
    records = transcript.trajectory
    for number, record in enumerate(records, start=1):
        if record.call.requestor != "assistant":
            continue
        writes = is_write_tool(record, toolset)
        mark = json.dumps([record.call.name, record.call.arguments], sort_keys=True, default=str)
        parts = [f"call {number}: {_how(record, toolset)}", *_origins(transcript, toolset, record)]
        if mark in seen:
            parts.append(f"{REPEATED} {seen[mark]}, with no write in between")
        given = [leaf for leaf in _texts(_value(record)) if len(leaf.strip()) > 1]
        if given and not writes and not record.failed:  # an answer that holds no value is never idle
            later = [text for index, text in transcript.texts("assistant") if index > record.message]
            later += [leaf for one in records[number:] for leaf in _texts(one.call.arguments)]
            if not any(map(_Lookup(later).holds, given)):
                parts.append(f"{IDLE} afterwards")
        if writes and not record.failed:
            seen.clear()
        seen.setdefault(mark, number)
        yield "; ".join(parts)


def _how(record: CallRecord, toolset: Toolset) -> str:
    name, spec = printable(record.call.name), toolset.get(record.call.name)
    if spec is None and toolset.specs:
        return f"{name} is no tool of the agent's"
    reads = spec is not None and spec.kind == "read"
    kind = ", a write," if is_write_tool(record, toolset) else ", a read," if reads else ""
    if record.result is None:
        return f"{name}{kind} has no recorded answer"
    if record.failed:
        return f"{name}{kind} failed"
    return f"{name}{kind} {EMPTY}" if _value(record) in _EMPTY else f"{name}{kind} was answered"


def _origins(transcript: Transcript, toolset: Toolset, record: CallRecord) -> Iterator[str]:
    """Say of each value of a call where it was said or returned before."""
    said = _Lookup([text for index, text in transcript.texts("user") if index < record.message])
    earlier = [
        (number, _Lookup([one.result.content, *_texts(_value(one))]))
        for number, one in enumerate(transcript.trajectory, start=1)
        if one.message < record.message and one.result
    ]
    spec = toolset.get(record.call.name)
    schemas = spec.parameters.get("properties", {}) if spec else {}
    for name, value in record.call.arguments.items():
        schema = schemas.get(name)
        listed = [f"{one}" for one in schema.get("enum", ())] if isinstance(schema, dict) else []
        for leaf in _texts(value):
            if len(leaf.split()) >= _WORDED:
                continue
            sources = [number for number, known in earlier if known.holds(leaf)]
            if said.holds(leaf):
                origin = "was said by the user"
            elif sources:
                origin = f"was returned by call {sources[-1]}"
            else:
                origin = _LISTED if leaf in listed else FROM_NOWHERE
            yield f"{printable(name)} {shorten(printable(leaf), _LONGEST)!r} {origin}"


_LISTED = "is one that the tool lists"


class _Lookup:
    """Texts to look whole values up in: numbers as numbers, the rest as words that follow each other."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = _squeezed("\n".join(texts))
        self._numbers = {value for found in _NUMBER.findall(self._text) for value in _readings(found)}

    def holds(self, leaf: str) -> bool:
        """Whether a value stands there."""
        if _NUMBER.fullmatch(leaf) and self._numbers & _readings(leaf):
            return True
        # a mark that joins words makes them one value: `W1006` does not stand in `W1006-1`
        return re.search(rf"(?<![\w@+-])(?<!\w\.){re.escape(_squeezed(leaf))}(?![\w@+]|[.-]\w)", self._text) is not None


def _readings(text: str) -> set[float]:
    """Give what a number may mean: a comma groups thousands, or stands before decimals."""
    spelled = {text.replace(",", ".")} | ({text.replace(",", "")} if _THOUSANDS.fullmatch(text) else set())
    return {float(one) for one in spelled if one.count(".") <= 1}


def _value(record: CallRecord) -> JsonValue:
    value = decoded(record.answer)
    return record.answer.strip() if value is record.answer else value


def _texts(value: JsonValue) -> Iterator[str]:
    """Give texts and numbers inside a value, as texts."""
    return (text for leaf in leaves(value) if (text := f"{leaf}").strip())


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split())
