"""What a request that was not recorded is closest to, and where the two part."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.cassette.file import Exchange
from pytest_agentbench.llm.cassette.key import Asked

WIDTH = 70
"""How many characters of a text are shown around the place where it differs."""


@dataclass(frozen=True)
class Candidate:
    """A recording of the same run and role, and whether it was given already."""

    exchange: Exchange
    asked: Asked
    used: bool


def nearest(asked: Asked, candidates: Sequence[Candidate]) -> Candidate:
    """Choose the recording that shares the most: first messages, then other fields; unused ones before used ones."""

    def closeness(candidate: Candidate) -> tuple[bool, bool, int, bool, int, int]:
        return (
            candidate.asked.key == asked.key,
            candidate.asked.api is asked.api,
            _shared(asked.messages, candidate.asked.messages),
            not candidate.used,
            candidate.asked.fields == asked.fields,
            -abs(len(asked.messages) - len(candidate.asked.messages)),
        )

    return max(candidates, key=closeness)


def explained(asked: Asked, candidate: Candidate, place: int, file: str) -> str:
    """Say where the nearest recording stands and how the request differs from it; both are redacted already."""
    exchange = candidate.exchange
    where = f"exchange {exchange.n} of it ({file}:{exchange.line})"
    if candidate.asked.key == asked.key:
        return f"request {place} is the same as {where}, whose recorded answers were all given before"
    return f"request {place} is nearest to {where}: {difference(candidate.asked, asked)}"


def difference(recorded: Asked, asked: Asked) -> str:
    """Say the first thing in which two requests differ: a field before the messages, then a message by its number."""
    if recorded.api is not asked.api:
        return f"a {recorded.api.noun} was recorded, a {asked.api.noun} asked"
    if recorded.fields != asked.fields:
        return _field_difference(recorded.request, asked.request, recorded.api.items)
    shared = _shared(recorded.messages, asked.messages)
    before, now = recorded.items, asked.items
    if shared == len(before):
        return (
            f"{shared} messages were recorded, {len(now)} asked; message {shared + 1} is new: {_message(now[shared])}"
        )
    if shared == len(now):
        gone = _message(before[shared])
        return f"{len(before)} messages were recorded, {shared} asked; message {shared + 1} is missing: {gone}"
    return f"message {shared + 1} differs: {_parted(before[shared], now[shared])}"


def _field_difference(recorded: Mapping[str, JsonValue], asked: Mapping[str, JsonValue], items: str) -> str:
    fields = [name for name in sorted({*recorded, *asked} - {items}) if _text(recorded, name) != _text(asked, name)]
    # a difference in the model or in a parameter says more than the tools that came with it
    fields.sort(key=lambda name: (name in {"tools", "response_format"}, name))
    parts = [
        _tools(recorded.get(name), asked.get(name))
        if name == "tools"
        else f"{printable(name)}: {_parted(recorded.get(name), asked.get(name))}"
        for name in fields[:2]
    ]
    return "; ".join(parts) + (f"; and {len(fields) - 2} more fields" if len(fields) > 2 else "")


def _tools(recorded: JsonValue, asked: JsonValue) -> str:
    before, now = _by_name(recorded), _by_name(asked)
    parts = [f"{name!r} was recorded, not asked" for name in before if name not in now]
    parts += [f"{name!r} was asked, not recorded" for name in now if name not in before]
    parts += [
        f"{name!r} {_parted(before[name], now[name])}" for name in before if name in now and before[name] != now[name]
    ]
    if not parts:
        parts = ["they come in another order"]
    return f"the tools differ: {', '.join(parts[:3])}" + (f", and {len(parts) - 3} more" if len(parts) > 3 else "")


def _by_name(tools: JsonValue) -> dict[str, JsonValue]:
    listed = tools if isinstance(tools, list) else []
    named = {}
    for tool in listed:
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        named[shorten(printable(name if isinstance(name, str) else dumps(tool)), 40)] = tool
    return named


def _parted(recorded: JsonValue, asked: JsonValue) -> str:
    """Say where two values part: the path to the first difference, and both sides of it."""
    path, before, now = next(_differences("", recorded, asked), ("", recorded, asked))
    place = f"{path} " if path else ""
    if isinstance(before, str) and isinstance(now, str):
        start = max(0, _shared(before, now) - WIDTH // 3)
        return f"{place}{_window(before, start)} was recorded, {_window(now, start)} asked"
    return f"{place}{_shown(before)} was recorded, {_shown(now)} asked"


def _differences(path: str, left: JsonValue, right: JsonValue) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in [*left, *(name for name in right if name not in left)]:
            inner = f"{path}.{printable(name)}" if path else printable(name)
            yield from _differences(inner, left.get(name), right.get(name))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differences(f"{path}[{index}]", one, other)
    elif dumps(left) != dumps(right):
        yield path, left, right


def _window(text: str, start: int) -> str:
    ahead = "…" if start else ""
    return f"'{ahead}{shorten(printable(text[start : start + WIDTH + 1]), WIDTH)}'"


def _shown(value: JsonValue) -> str:
    return "nothing" if value is None else shorten(printable(dumps(value)), WIDTH)


def _message(message: JsonValue) -> str:
    return _shown({name: message[name] for name in message if name != "role"} if isinstance(message, dict) else message)


def _text(fields: Mapping[str, JsonValue], name: str) -> str:
    return dumps(fields[name]) if name in fields else ""


def _shared(left: Iterable[str], right: Iterable[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
