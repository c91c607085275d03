"""Arguments and values by their names alone: what arguments are called, and where a name stands in an answer."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pytest_agentbench.core.ids import clipped, codes_in
from pytest_agentbench.core.json_values import JsonValue, same, to_json
from pytest_agentbench.core.names import IDENTIFIERS
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.language.plain import SaidReference, label_of, words_of
from pytest_agentbench.generation.tools.probing.schemas import plain

_NESTED = 5
"""Objects within objects that are looked into: schemas that refer to themselves have no end."""
_MOST = 300
"""Arguments of a tool that are told apart: eight fields that each refer to all eight are looked into less deep."""
_WHOLE_NUMBER = re.compile(r"(?<![\w.,:/-])[0-9]{1,18}(?![\w:/-]|[.,][0-9])")
"""A number by itself, neither a part of a date nor longer than tools take."""

Schema = Mapping[str, Any]


def _slots(schema: Schema, deepest: int, root: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield each argument that takes plain values or a list, by its dotted path; objects below `deepest` are whole."""
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        one = plain(inner, root)
        items = plain(one.get("items"), root)
        nested, more = (one, "") if one.get("properties") else (items, ".*")
        if nested.get("properties") and here.count(".") < deepest:
            yield from _slots(nested, deepest, root, here + more)
        else:
            yield here, one


def slots_of(spec: ToolSpec) -> dict[str, tuple[Schema, set[str]]]:
    """Give a tool's arguments by their paths, each with its schema and what it is called: short names where one has it.

    `address.zip` is *address zip*, and *zip* where no other argument is.
    """
    for deepest in range(_NESTED, 0, -1):
        slots = dict(islice(_slots(spec.parameters, deepest, spec.parameters), _MOST + 1))
        if len(slots) <= _MOST:
            break
    else:
        slots = dict(_slots(spec.parameters, 0, spec.parameters))
    whole = {path: {label_of(path, schema), label_of(path)} for path, schema in slots.items()}
    short = {path: words_of(path.replace(".*", "").split(".")[-1]) for path in slots}
    taken = [*(label for several in whole.values() for label in several), *short.values()]
    return {
        path: (schema, whole[path] | ({short[path]} if taken.count(short[path]) == 1 else set()))
        for path, schema in slots.items()
    }


def entries(value: JsonValue, one: SaidReference, label: str) -> Iterator[JsonValue]:
    """Yield what may be meant: of entry `position` of each list of `count`, the fields that are called like it."""
    last = label.rsplit(maxsplit=1)[-1] if label.split() else label
    things = {f"{one.thing} id", f"{one.thing} {last}"}
    names = [{label}, {one.thing}, things, {last}, {"id"}, set(IDENTIFIERS)]  # the closest first
    if one.count < 2:
        yield from list(_best(value, names)) or list(_alone(value, one.thing)) or _in_texts(value)
        return
    stack = [value]
    while stack:
        found = stack.pop()
        rows: list[JsonValue] = list(found) if isinstance(found, list) else []
        if isinstance(found, Mapping):
            stack += found.values()
            if all(isinstance(row, Mapping) for row in found.values()):
                rows = [{"id": key, **row} for key, row in found.items() if isinstance(row, Mapping)]
        else:
            stack += rows
        if len(rows) == one.count:
            row = rows[one.position]
            yield from _best(row, names) if isinstance(row, Mapping | list) else (row,)


def _alone(value: JsonValue, thing: str) -> Iterator[JsonValue]:
    """Yield the plain value that is the only one of a list called like a thing: `open_jobs: [J7]`, `jobs_left`."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            is_called = not {thing, f"{thing}s"}.isdisjoint(words_of(str(name)).split())
            if is_called and isinstance(item, list) and len(item) == 1 and not isinstance(item[0], Mapping | list):
                yield item[0]
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _alone(item, thing)


def _in_texts(value: JsonValue) -> Iterator[JsonValue]:
    """Yield the ids that stand in an answer's texts, of a text without any its whole numbers (*Created task 7.*)."""
    texts = [value] if isinstance(value, str) else list(value.values()) if isinstance(value, Mapping) else []
    for text in (one for one in texts if isinstance(one, str)):
        for found in list(codes_in(text).values()) or _WHOLE_NUMBER.findall(clipped(text)):
            yield int(found) if _WHOLE_NUMBER.fullmatch(found) and str(int(found)) == found else found


def _best(value: JsonValue, names: Sequence[set[str]]) -> Iterator[JsonValue]:
    """Yield what stands under the closest of the names."""
    yield from next(filter(None, (list(under(value, several)) for several in names)), [])


def under(value: JsonValue, names: set[str]) -> Iterator[JsonValue]:
    """Yield the plain values that stand under fields of these names (in words), at any depth."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if words_of(str(name)) in names and not isinstance(item, Mapping | list) and item is not None:
                yield item
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from under(item, names)


def distinct(values: Iterable[JsonValue]) -> list[JsonValue]:
    """Give values without those that equal an earlier one."""
    found: list[JsonValue] = []
    for value in values:
        if not any(same(to_json(value), to_json(one)) for one in found):
            found.append(value)
    return found
