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


def entries(value: JsonValue, one: SaidReference) -> Iterator[JsonValue]:
    """Yield what may be meant: of entry `position` of each list of `count`, the fields called like its label."""
    last = one.label.rpartition(" ")[2]
    things = {f"{one.thing} id", f"{one.thing} {last}"}
    numbers = {f"{one.thing} {word}" for word in IDENTIFIERS}
    names = [{one.label}, {one.thing}, things, {last}, numbers, {"id"}, set(IDENTIFIERS)]  # the closest first
    if one.count < 2:
        yield from list(_best(value, names)) or list(_alone(value, one.thing)) or _in_texts(value)
        return
    stack: list[tuple[str, JsonValue]] = [("", value)]
    others: list[JsonValue] = []
    is_found = False
    while stack:
        called, found = stack.pop()
        rows: list[JsonValue] = list(found) if isinstance(found, list) else []
        if isinstance(found, Mapping):
            stack += ((words_of(str(name)), item) for name, item in found.items())
            if _are_alike(list(found.values())):
                rows = [{"id": key, **row} for key, row in found.items() if isinstance(row, Mapping)]
        elif _are_alike(rows):  # what stands in alike entries is no list of things, but their fields
            stack += ((words_of(str(name)), item) for row in rows for name, item in row.items())
        else:
            stack += (("", row) for row in rows)
        if len(rows) != one.count:
            continue
        row = rows[one.position]
        best = list(_best(row, names)) if isinstance(row, Mapping | list) else [row]
        if isinstance(row, Mapping | list) or not {one.thing, f"{one.thing}s"}.isdisjoint({called, *called.split()}):
            yield from best
            is_found = is_found or bool(best)
        else:
            others += best  # plain values are things of another name, where any are called so
    if not is_found:
        yield from others


def _are_alike(rows: Sequence[JsonValue]) -> bool:
    """Whether these are things of one kind: records that have a field in common."""
    fields = [set(row) for row in rows if isinstance(row, Mapping)]
    return len(fields) == len(rows) > 0 and bool(set.intersection(*fields))


def _are_things(record: Mapping[str, JsonValue]) -> bool:
    """Whether a record holds things by their keys, of which none is a part of it; parts may all have an `id`."""
    fields = [set(item) for item in record.values() if isinstance(item, Mapping)]
    return len(fields) == len(record) > 1 and bool(set.intersection(*fields) - {"id"})


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
    texts = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
    for text in (one for one in texts if isinstance(one, str)):
        for found in list(codes_in(text).values()) or _WHOLE_NUMBER.findall(clipped(text)):
            yield int(found) if _WHOLE_NUMBER.fullmatch(found) and str(int(found)) == found else found


def _best(value: JsonValue, names: Sequence[set[str]]) -> Iterator[JsonValue]:
    """Yield what stands under the closest of the names."""
    yield from next(filter(None, (list(under(value, several)) for several in names)), [])


def under(value: JsonValue, names: set[str]) -> Iterator[JsonValue]:
    """Yield the plain values that stand under fields of these names (in words), at any depth."""
    if isinstance(value, Mapping):
        yield from (item for called, item in fields_of(value) if item is not None and not called.isdisjoint(names))
        value = list(_lists_of(value))
    for item in value if isinstance(value, list) else ():
        yield from under(item, names)


def fields_of(record: Mapping[str, JsonValue], around: str = "") -> Iterator[tuple[set[str], JsonValue]]:
    """Yield the plain values of a record and of those within it, each with what it is called.

    The `id` within a `trainee` is an *id* and a *trainee id*.
    """
    apart = _are_things(record)
    for name, item in record.items():
        if isinstance(item, Mapping):
            yield from fields_of(item, str(name)) if not apart else ()
        elif not isinstance(item, list):
            yield {words_of(str(name)), words_of(f"{around} {name}")}, item


def _lists_of(record: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    apart = _are_things(record)
    for item in record.values():
        if isinstance(item, list) or apart:
            yield item
        elif isinstance(item, Mapping):
            yield from _lists_of(item)


def distinct(values: Iterable[JsonValue]) -> list[JsonValue]:
    """Give values without those that equal an earlier one."""
    found: list[JsonValue] = []
    for value in values:
        if not any(same(to_json(value), to_json(one)) for one in found):
            found.append(value)
    return found
