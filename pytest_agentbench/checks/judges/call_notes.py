"""What can be said of each call without knowing which were expected: how it went, where its values come from, its use.

A judge reads these notes beside the conversation. They state what stands there and leave the verdict to the judge.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import CallRecord, Transcript
from pytest_agentbench.core.values import JsonValue, decoded, leaves

_LONGEST = 80
"""Characters of a value that a note shows."""

_WORDED = 4
"""Words from which a text is the agent's own wording, of which no origin can be told."""

_EMPTY: tuple[JsonValue, ...] = ("", None, {}, [])
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?!\w)")
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def call_notes(transcript: Transcript, toolset: Toolset) -> tuple[str, ...]:
    """Give one note for each call of the agent's; calls are counted as judges see them, the user's included."""
    numbered = list(enumerate(transcript.trajectory, start=1))
    return tuple(_Noting(transcript, toolset, numbered).notes())


@dataclass(frozen=True)
class _Noting:
    transcript: Transcript
    toolset: Toolset
    numbered: Sequence[tuple[int, CallRecord]]

    def notes(self) -> Iterator[str]:
        seen: dict[str, int] = {}
        for number, record in self.numbered:
            if record.call.requestor != "assistant":
                continue
            mark = json.dumps([record.call.name, record.call.arguments], sort_keys=True, default=str)
            parts = [f"call {number}: {self._how(record)}", *self._origins(record)]
            if mark in seen:
                parts.append(f"the same as call {seen[mark]}, with no write in between")
            if self._is_idle(number, record):
                parts.append("nothing that it returned is said or used afterwards")
            if self._writes(record) and not record.failed:
                seen.clear()
            seen.setdefault(mark, number)
            yield "; ".join(parts)

    def _how(self, record: CallRecord) -> str:
        name = printable(record.call.name)
        spec = self.toolset.get(record.call.name)
        if spec is None and self.toolset.specs:
            return f"{name} is no tool of the agent's"
        kind = ", a write," if self._writes(record) else ", a read," if spec is not None and spec.kind == "read" else ""
        if record.result is None:
            return f"{name}{kind} has no recorded answer"
        if record.failed:
            return f"{name}{kind} failed"
        return f"{name}{kind} gave nothing" if _value(record) in _EMPTY else f"{name}{kind} was answered"

    def _writes(self, record: CallRecord) -> bool:
        spec = self.toolset.get(record.call.name)
        return bool(record.result and record.result.wrote) or (spec is not None and spec.kind == "write")

    def _origins(self, record: CallRecord) -> Iterator[str]:
        said = _Known([text for index, text in self.transcript.texts("user") if index < record.message])
        earlier = [
            (number, _Known([one.result.content, *_texts(_value(one))]))
            for number, one in self.numbered
            if one.message < record.message and one.result
        ]
        for name, value in record.call.arguments.items():
            listed = self._listed(record.call.name, name)
            for leaf in _texts(value):
                if len(leaf.split()) < _WORDED:
                    shown = f"{printable(name)} {shorten(printable(leaf), _LONGEST)!r}"
                    yield f"{shown} {_origin(leaf, said, earlier, is_listed=leaf in listed)}"

    def _listed(self, tool: str, argument: str) -> list[str]:
        """Give the values that a tool's schema lists for an argument."""
        spec = self.toolset.get(tool)
        schema = spec.parameters.get("properties", {}).get(argument, {}) if spec else {}
        listed = schema.get("enum", ()) if isinstance(schema, dict) else ()
        return [f"{value}" for value in listed]

    def _is_idle(self, number: int, record: CallRecord) -> bool:
        """Whether no value of a read's answer is said or passed on afterwards; what holds no value is never idle."""
        if self._writes(record) or record.failed or record.result is None:
            return False
        given = [leaf for leaf in _texts(_value(record)) if len(leaf.strip()) > 1]
        later = [text for index, text in self.transcript.texts("assistant") if index > record.message]
        later += [leaf for other, one in self.numbered if other > number for leaf in _texts(one.call.arguments)]
        known = _Known(later)
        return bool(given) and not any(known.holds(leaf) for leaf in given)


def _origin(leaf: str, said: "_Known", earlier: "Sequence[tuple[int, _Known]]", *, is_listed: bool) -> str:
    if said.holds(leaf):
        return "was said by the user"
    sources = [number for number, known in earlier if known.holds(leaf)]
    if sources:
        return f"was returned by call {sources[-1]}"
    return "is one that the tool lists" if is_listed else "stands in nothing that was said or returned before"


class _Known:
    """Texts to look whole values up in: numbers as numbers, the rest as words that follow each other."""

    def __init__(self, texts: Sequence[str]) -> None:
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
    content = record.result.content if record.result else ""
    value = decoded(content)
    return content.strip() if value is content else value


def _texts(value: JsonValue) -> Iterator[str]:
    """Give texts and numbers inside a value, as texts."""
    return (text for leaf in leaves(value) if (text := f"{leaf}").strip())


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split())
