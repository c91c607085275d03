"""What all APIs' requests and answers have in common: nulls that say nothing, words of their form, counts."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.llm.apis.api import Redact

_FORM = ("type", "role", "status", "stop_reason")


def decided(body: Mapping[str, Any], irrelevant: frozenset[str]) -> dict[str, JsonValue]:
    """Give the fields of a request without those that decide nothing, nulls, and an empty list of tools."""
    return {
        name: value
        for name, value in to_json(body).items()
        if name not in irrelevant and value is not None and not (name == "tools" and value == [])
    }


def bare(item: Mapping[str, JsonValue], without: Iterable[str] = ()) -> dict[str, JsonValue]:
    """Give an item without some members, and without what only some clients spell out: nulls and empty lists."""
    dropped = frozenset(without)
    return {name: value for name, value in item.items() if name not in dropped and value is not None and value != []}


def formal(
    item: JsonValue, redact: Redact, words: frozenset[str], inner: Mapping[str, Callable[[JsonValue], JsonValue]]
) -> JsonValue:
    """Redact an item but for the `words` of its form, since a secret may be an ordinary word.

    Each element of a list under a name of `inner` is redacted by what stands there. Members come in order of name.
    """
    if not isinstance(item, dict):
        return redact(item)
    kept = {name: item[name] for name in _FORM if isinstance(item.get(name), str) and item[name] in words}
    for name, redacted in inner.items():
        if isinstance(listed := item.get(name), list):
            kept[name] = [redacted(one) for one in listed]
    rest = redact({name: value for name, value in item.items() if name not in kept})
    return by_name({**rest, **kept})


def by_name(value: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give an object with its members in order of name."""
    return {name: value[name] for name in sorted(value)}


def numbers(value: JsonValue) -> JsonValue:
    """Give the numbers of a usage alone: a secret such as 1234 must not turn a count into text."""
    if isinstance(value, dict):
        counts = {name: numbers(item) for name, item in sorted(value.items())}
        return {name: item for name, item in counts.items() if item is not None}
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def dicts(value: object) -> list[dict[str, Any]]:
    """Give the objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def written(event: Mapping[str, Any], *, named: bool = True) -> bytes:
    """Write one server-sent event, under the name of its type where the API names its events."""
    head = f"event: {event['type']}\n" if named else ""
    return f"{head}data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()
