"""Which value of an answer a user asks to be told: a short one, under a name of its own, that is said in one way."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation.draft import Wanted
from pytest_agentbench.generation.tools.flows import found_at, is_same_value
from pytest_agentbench.generation.tools.labels import label_of, labels_of
from pytest_agentbench.generation.tools.probing.reading import inner

_DEEPEST = 2
"""Objects within an answer that are looked into: what lies deeper has no short name."""
_TEXT = re.compile(r"[^\W_][\w .'’@&/-]{1,38}[^\W_]")
_DATED = re.compile(r"\d{4}-\d{2}|\d{1,2}:\d{2}|T\d{2}")
_LEAST = 10
"""Smaller numbers are often written as words."""
_DECIMALS = 2
"""Decimals beyond which people round."""
_SHORTEST = 3
"""Letters of a word of a name: shorter ones are short for something."""


def wanted_of(result: JsonValue, known: list[JsonValue]) -> Iterator[Wanted]:
    """Yield what a user may ask to be told of an answer; `known` are values that are in use already.

    Two values of one name are left out, and so is a value that stands in the answer twice: it would be told by chance.
    """
    found = list(_scalars(inner(result), "", 0))
    labels = labels_of(path for path, _ in found)
    names = Counter(labels.values())
    texts = Counter(plain(str(value)) for _, value in found)
    used = {plain(str(value)) for value in known}
    for path, value in found:
        text, label = spoken_form(value), labels[path]
        if text is None or names[label] > 1 or texts[plain(str(value))] > 1 or plain(text) in used:
            continue
        if all(word.isalpha() and len(word) >= _SHORTEST for word in label.split()) and plain(label) != plain(text):
            yield Wanted(label=label, text=text, path=path)


def spoken_form(value: JsonValue) -> str | None:
    """Give a value as any agent would write it; None where agents differ (dates, codes with `_`, long decimals)."""
    if is_number(value):
        text = f"{value:.10f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        return text if value >= _LEAST and len(text.partition(".")[2]) <= _DECIMALS else None
    if not isinstance(value, str) or "_" in value or _DATED.search(value) or not _TEXT.fullmatch(value):
        return None
    return value


def said_at(result: JsonValue, path: str) -> str | None:
    """Give how what stands at a path is said; None where nothing stands there, or agents differ."""
    found = next(found_at(result, path), None)
    return None if found is None else spoken_form(found.value)


def stands_at(value: JsonValue, path: str, result: JsonValue) -> bool:
    """Whether a value stands at a path of a result, whole or within the text there."""
    found = [one.value for one in found_at(result, path)]
    return any(is_same_value(one, value) or (isinstance(one, str) and str(value) in one) for one in found)


def _scalars(value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, JsonValue]]:
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return
    for key, item in value.items():
        where = f"{path}.{key}" if path else str(key)
        if isinstance(item, Mapping):
            yield from _scalars(item, where, depth + 1)
        elif not isinstance(item, list) and label_of(str(key)):
            yield where, item
