"""What a model is shown of a long answer: less of everything, and whole what has to be traced.

An answer that is cut off at its end hides the very values that a reader must find in it. Here lists are thinned out and
texts shortened between the values that matter, and what was left out is said.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.reading import parsed

_KEPT = (12, 5, 2, 1, 0)
"""Entries of a list that are kept beside those that matter, fewer and fewer until all fits."""
_AROUND = 80
"""Characters kept on both sides of a value that matters, in long texts."""


def shown(content: str, wanted: Iterable[JsonValue], limit: int) -> JsonValue:
    """Give an answer with at most about `limit` characters in which everything `wanted` that it says still stands."""
    if len(content) <= limit:
        return content
    marks = {mark for value in wanted if (mark := _mark(value))}
    value = parsed(content)
    if isinstance(value, str):
        return _windows(value, marks, limit)
    small: Any = value
    for kept in _KEPT:
        small = _thinned(value, marks, kept, max(limit // 8, 2 * _AROUND))
        if len(dumps(small)) <= limit:
            break
    return small


def values_said(texts: Iterable[str]) -> list[str]:
    """Give the words and numbers of sentences that somebody may want to find in an answer."""
    found = {word for text in texts for word in re.findall(r"\d+(?:[.,:]\d+)*|[^\W\d_][\w'’-]*", text)}
    return sorted(word for word in found if word[0].isdigit() or word[0].isupper())


def _mark(value: JsonValue) -> str:
    return "" if value is None or isinstance(value, bool | Mapping | list) else plain(str(value))


def _holds(value: JsonValue, marks: set[str]) -> bool:
    text = plain(value if isinstance(value, str) else dumps(value))
    return any(mark in text and re.search(rf"(?<!\w){re.escape(mark)}(?!\w)", text) for mark in marks)


def _thinned(value: JsonValue, marks: set[str], kept: int, longest: int) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _thinned(item, marks, kept, longest) for key, item in value.items()}
    if isinstance(value, list):
        places = [place for place, item in enumerate(value) if place < kept or _holds(item, marks)]
        items = [_thinned(value[place], marks, kept, longest) for place in places]
        left = len(value) - len(places)
        return [*items, f"({left} more entries)"] if left else items
    return _windows(value, marks, longest) if isinstance(value, str) else value


def _windows(text: str, marks: set[str], limit: int) -> str:
    """Give the beginning of a text and what stands around each value that matters."""
    if len(text) <= limit:
        return text
    spans = [(0, limit // 2)]
    for mark in sorted(marks):
        for match in re.finditer(rf"(?<!\w){re.escape(mark)}(?!\w)", text, re.IGNORECASE):
            spans.append((max(match.start() - _AROUND, 0), match.end() + _AROUND))
            break
    parts: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if stop > end:
            parts.append(text[max(start, end) : stop])
            end = stop
    return shorten(" … ".join(parts) + (" …" if end < len(text) else ""), 4 * limit)
