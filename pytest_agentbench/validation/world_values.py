"""Values of a world: the scalars inside JSON, by the key they stand under, and other values that could stand there."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from pytest_agentbench.core.json_values import JsonValue, is_number, same
from pytest_agentbench.core.text import flat

Scalar = str | int | float
"""A value that can be looked for; True, False and null say too little."""

_LONGEST = 20_000
"""Characters up to which a text is read as JSON."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_TRIES = 40
"""Digits that are changed in search of a figure that is not known."""

_NUMBER_AT_END = re.compile(r"\d(?=\D*$)")


def scalars(value: JsonValue, key: str = "") -> Iterator[tuple[str, Scalar]]:
    """Yield (nearest key, scalar) for every text and number inside `value`; JSON inside texts is read too."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from scalars(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from scalars(item, key)
    elif isinstance(value, str):
        inner = _json(value)
        if inner is not None:
            yield from scalars(inner, key)
        elif value.strip():
            yield key, value
    elif is_number(value):
        yield key, value


def _keys_of(value: JsonValue, *, are_rows: bool = False) -> Iterator[tuple[str, str]]:
    """Yield (name, key) of every table: a mapping of rows, or of plain values by key; the rows of a table are none."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            inner = list(item.values()) if isinstance(item, Mapping) else []
            holds_rows = bool(inner) and all(isinstance(row, Mapping) for row in inner)
            is_plain = (
                bool(inner) and not are_rows and not any(isinstance(one, Mapping | list | tuple) for one in inner)
            )
            yield from ((str(name), str(key)) for key in item) if holds_rows or is_plain else ()
            yield from _keys_of(item, are_rows=holds_rows)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _keys_of(item)


class Columns:
    """The distinct values that stand under each key of a state."""

    def __init__(self, state: JsonValue) -> None:
        self._values: dict[str, list[Scalar]] = {}
        self._keys: dict[str, dict[str, None]] = {}
        for key, value in (*scalars(state), *_keys_of(state)):
            if key not in self._keys.setdefault(_text(value), {}):
                self._keys[_text(value)][key] = None
                self._values.setdefault(key, []).append(value)

    def of(self, key: str) -> Sequence[Scalar]:
        """Give the values under `key`, or under its singular where `key` names a list."""
        return self._values.get(key) or self._values.get(singular(key)) or ()

    def holds(self, value: Scalar) -> bool:
        """Whether the value stands anywhere."""
        return _text(value) in self._keys

    def others(self, value: Scalar, key: str) -> list[Scalar]:
        """Give the values that stand where `value` does, those under `key` alone where it stands there too."""
        found = self._keys.get(_text(value), {})
        places = [place for place in found if place in (key, singular(key))] or list(found) or [key, singular(key)]
        text = _text(value)
        if isinstance(value, str):
            return [
                one for place in places for one in self._values.get(place, ()) if isinstance(one, str) and one != text
            ]
        return [
            one
            for place in places
            for one in self._values.get(place, ())
            if not isinstance(one, str) and _text(one) != text
        ]


def another(value: JsonValue, key: str, schema: Mapping[str, JsonValue], columns: Columns, random: Random) -> JsonValue:
    """Give a value that could stand for `value` and is another: of the schema's list, of the state, else a near one.

    Inside lists and mappings the first part that can be changed is. None where nothing can.
    """
    if isinstance(value, list | Mapping) and value:
        is_list = isinstance(value, list)
        items = schema.get("items") if is_list else None
        parts = dict(enumerate(value)) if is_list else dict(value)
        for place, item in parts.items():
            for _ in range(5):  # another value may be one that stands beside already
                inner = key if is_list else ""
                other = another(item, inner or str(place), items if isinstance(items, Mapping) else {}, columns, random)
                if other is not None and not any(same(other, beside) for beside in parts.values()):
                    changed = {**parts, place: other}
                    return list(changed.values()) if is_list else changed
        return None
    if isinstance(value, bool):
        return not value
    if listed := [item for item in schema.get("enum", ()) if not same(item, value)]:
        return random.choice(listed)
    if not isinstance(value, str | int | float):
        return None
    others = columns.others(value, key)
    return random.choice(others) if others else near(value)


def near(value: JsonValue) -> JsonValue:
    """Give a value of the same look that is another: the next number, another last digit, one more word or letter."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, list):
        return [near(value[0]), *value[1:]] if value else ["other"]
    if isinstance(value, Mapping):
        first = next(iter(value), None)
        return {**value, first: near(value[first])} if first is not None else {"other": 1}
    if isinstance(value, int | float):
        return value + 1
    text = str(value)
    if found := _NUMBER_AT_END.search(text):
        return f"{text[: found.start()]}{(int(found[0]) + 7) % 10}{text[found.end() :]}"
    if "@" in text:
        return f"other.{text}"
    return f"{text} other" if " " in text else f"{text}x"


def misread(text: str, known: str, random: Random) -> str | None:
    """Give a text with one digit of a figure changed, so that the figure stands nowhere in `known`; None where none is.

    `known` is flat. Figures of one digit stay as they are: such a one stands somewhere by accident.
    """
    figures = [found.span() for found in _FIGURE.finditer(text) if sum(map(str.isdigit, found[0])) > 1]
    for _ in range(_TRIES if figures else 0):
        start, end = random.choice(figures)
        place = random.choice([one for one in range(start, end) if text[one].isdigit()])
        digit = random.choice([one for one in "123456789" if one != text[place]])
        changed = text[:place] + digit + text[place + 1 :]
        if flat(changed[start:end]).lstrip("0") not in known:
            return changed
    return None


def beyond(value: JsonValue) -> list[JsonValue]:
    """Give values of the same look that are beyond what there is: `W91013` for `W1013`, 1200 and -1012 for 12."""
    if is_number(value):
        return [value * 100, -abs(value) - 1000]
    if not isinstance(value, str):
        return []
    place = next((place for place, char in enumerate(value) if char.isdigit()), None)
    return [f"{value}-{value}" if place is None else f"{value[:place]}9{value[place:]}"]


def cut_short(value: str) -> str:
    """Give the first part of a value, up to a mark that parts it or its half."""
    end = max(value.rfind(mark) for mark in ".-_ ")
    return value[: end if end >= len(value) // 2 else len(value) // 2]


def leaves(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield (dotted path, leaf) of a value: what holds nothing further, empty lists and mappings included."""
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple) and value:
        for place, item in enumerate(value):
            yield from leaves(item, f"{path}[{place}]")
    else:
        yield path, value


def singular(key: str) -> str:
    """Give the name of one item of a list named `key` (`item_ids`: `item_id`)."""
    return key[:-1] if key.endswith("s") and not key.endswith("ss") else key


def _json(text: str) -> JsonValue:
    if not text.lstrip().startswith(("{", "[")) or len(text) > _LONGEST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(value: Scalar) -> str:
    return value if isinstance(value, str) else repr(float(value))


def shape_of(values: Sequence[JsonValue], *, is_open: bool = False) -> dict[str, Any]:
    """Give the JSON Schema of mappings and lists as they were seen; what else was seen may be anything.

    If it `is_open`, there may be other keys.
    """
    mappings = [one for one in values if isinstance(one, dict)]
    lists = [one for one in values if isinstance(one, list)]
    nothing = sum(one is None for one in values)
    if len(mappings) + len(lists) + nothing < len(values) or nothing == len(values):
        return {}
    ways: list[dict[str, Any]] = [{"type": "null"}] if nothing else []
    if mappings:
        names = dict.fromkeys(name for one in mappings for name in one)
        known = {name: shape_of([one[name] for one in mappings if name in one], is_open=is_open) for name in names}
        ways.append({"type": "object", "properties": known, **({} if is_open else {"additionalProperties": False})})
    if lists:
        items = [item for one in lists for item in one]
        ways.append({"type": "array", **({"items": shape_of(items, is_open=is_open)} if items else {})})
    return ways[0] if len(ways) == 1 else {"anyOf": ways}
