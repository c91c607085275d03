"""Arguments and values by their names alone: what arguments are called, and where a name stands in an answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pytest_agentbench.core.ids import clipped, codes_in
from pytest_agentbench.core.names import IDENTIFIERS
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.values import JsonValue, same, to_json
from pytest_agentbench.generation.language.plain import SaidReference, label_of, words_of

_NESTED = 5
"""Objects within objects that are looked into: schemas that refer to themselves have no end."""
_MOST = 300
"""Arguments of a tool that are told apart: eight fields that each refer to all eight are looked into less deep."""
_WHOLE_NUMBER = re.compile(r"(?<![\w.,:/-])[0-9]{1,18}(?![\w:/-]|[.,][0-9])")
"""A number by itself, neither a part of a date nor longer than tools take."""


def _slots(
    schema: Mapping[str, Any], deepest: int, path: str = "", root: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each argument that takes plain values or a list, by its dotted path; objects below `deepest` are whole."""
    root = schema if root is None else root
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        one = _resolved(inner, root)
        items = _resolved(one.get("items"), root)
        if one.get("properties") and here.count(".") < deepest:
            yield from _slots(one, deepest, here, root)
        elif items.get("properties") and here.count(".") < deepest:
            yield from _slots(items, deepest, f"{here}.*", root)
        else:
            yield here, one


def slots_of(spec: ToolSpec) -> dict[str, tuple[Mapping[str, Any], set[str]]]:
    """Give a tool's arguments by their paths, each with its schema and what it is called: short names where one has it.

    `address.zip` is *address zip*, and *zip* where no other argument is.
    """
    for deepest in range(_NESTED, 0, -1):
        slots = dict(islice(_slots(spec.parameters, deepest), _MOST + 1))
        if len(slots) <= _MOST:
            break
    else:
        slots = dict(_slots(spec.parameters, 0))
    whole = {path: {label_of(path, schema), label_of(path)} for path, schema in slots.items()}
    taken = {label for several in whole.values() for label in several}
    short = {path: words_of(path.replace(".*", "").split(".")[-1]) for path in slots}
    every = list(short.values())
    alone = {path: {name} if every.count(name) == 1 and name not in taken else set() for path, name in short.items()}
    return {path: (schema, whole[path] | alone[path]) for path, schema in slots.items()}


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference to a definition of the same schema."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    found: Any = root if reference else schema
    for part in reference[1:].strip("/").split("/") if isinstance(reference, str) and reference[:1] == "#" else ():
        found = found.get(part, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def entries(value: JsonValue, one: SaidReference, label: str) -> Iterator[JsonValue]:
    """Yield what may be meant: of entry `position` of each list of `count`, the fields that are called like it."""
    names = _names(label, one.thing)
    if one.count < 2:
        found = list(_best(value, names))
        yield from found or _in_texts(value)
        return
    stack = [value]
    while stack:
        found = stack.pop()
        entries: list[JsonValue] = []
        if isinstance(found, Mapping):
            stack += found.values()
            rows = [row for row in found.values() if isinstance(row, Mapping)]
            if len(rows) == len(found):
                entries = [{"id": key, **row} for key, row in found.items() if isinstance(row, Mapping)]
        elif isinstance(found, list):
            stack += found
            entries = found
        if len(entries) == one.count:
            entry = entries[one.position]
            if isinstance(entry, Mapping | list):
                yield from _best(entry, names)
            else:
                yield entry


def _names(label: str, thing: str) -> list[set[str]]:
    """Give the names that a field may have, the closest first."""
    last = label.rsplit(maxsplit=1)[-1] if label.split() else label
    return [{label}, {thing}, {f"{thing} id", f"{thing} {last}"}, {last}, {"id"}, set(IDENTIFIERS)]


def _in_texts(value: JsonValue) -> Iterator[JsonValue]:
    """Yield the ids that stand in an answer's texts, of a text without any its whole numbers (*Created task 7.*)."""
    texts = [value] if isinstance(value, str) else list(value.values()) if isinstance(value, Mapping) else []
    for text in (one for one in texts if isinstance(one, str)):
        for found in list(codes_in(text).values()) or _WHOLE_NUMBER.findall(clipped(text)):
            yield int(found) if _WHOLE_NUMBER.fullmatch(found) and str(int(found)) == found else found


def _best(value: JsonValue, names: Sequence[set[str]]) -> Iterator[JsonValue]:
    """Yield what stands under the closest of the names."""
    for several in names:
        if found := list(under(value, several)):
            yield from found
            return


def under(value: JsonValue, names: set[str]) -> Iterator[JsonValue]:
    """Yield the plain values that stand under fields of these names (in words), at any depth."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if words_of(str(name)) in names and not isinstance(item, Mapping | list) and item is not None:
                yield item
            yield from under(item, names)
    elif isinstance(value, list):
        for item in value:
            yield from under(item, names)


def distinct(values: Sequence[JsonValue] | Iterator[JsonValue]) -> list[JsonValue]:
    found: list[JsonValue] = []
    for value in values:
        if not any(same(to_json(value), to_json(one)) for one in found):
            found.append(value)
    return found
