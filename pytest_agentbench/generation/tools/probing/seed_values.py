"""Values to begin with: those that the recipe names for arguments, and those that stand in the suite's own state.

An identifier can rarely be guessed from a declaration; where the state can be read, arguments are tried with what
stands under their name there, and those that nothing is known of with what stands there under other names.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, zip_longest
from typing import Any

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.secret_keys import names_secret
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.tools.graph.name_match import GENERIC, words
from pytest_agentbench.generation.tools.probing.result_parser import keys_of_things
from pytest_agentbench.generation.tools.probing.schemas import slots_of
from pytest_agentbench.generation.tools.probing.strategies import as_argument
from pytest_agentbench.generation.tools.world import World
from pytest_agentbench.validation.world_values import Columns, scalars

_MOST = 8
"""Values of the state that are named for one argument."""

_LONGEST = 80
"""Characters of a text of the state that an argument may be given."""

_OF_ONE_NAME = 3
"""Values under one name that are tried for arguments of other names."""


async def state_of(world: World) -> State | None:
    """Read the state that every environment starts from, None where it cannot be read."""
    async with world.open() as opened:
        return await opened.snapshot()


def hints_of(
    toolset: Toolset, state: State | None, given: Mapping[str, tuple[JsonValue, ...]]
) -> dict[str, tuple[JsonValue, ...]]:
    """Give known values by `argument` or `tool.argument`; what the recipe names goes before what the state holds: what
    stands under the argument's name, then the keys of a table called as the argument. Keys of a table called as what
    the tool is about are for an argument that nothing else is known of, or that is only called `id`: no street, and no
    method of paying beside the number of what is paid.
    """
    hints = dict(given)
    if not state:
        return hints
    columns = Columns(state)
    for spec in toolset.of("assistant"):
        named = {key for slot in slots_of(spec) for key in _keys(state, slot.name)}
        for slot in slots_of(spec):
            name = slot.name
            if name in hints or f"{spec.name}.{name}" in hints or slot.type == "boolean" or slot.schema.get("enum"):
                continue
            own = (*columns.of(name), *_keys(state, name))[:_MOST]
            is_only_id = not any(word not in GENERIC for word in words(name))
            about = _keys(state, spec.name)[:_MOST] if slot.required and (is_only_id or not own) else ()
            about = () if named.intersection(about) else about
            # keys of a JSON state are texts, "7001", whatever the argument takes
            is_plain = slot.type in ("string", "integer", "number")
            typed = (as_argument(value, slot) if is_plain else value for value in (*own, *about))
            if known := tuple(dict.fromkeys(value for value in typed if value is not None)):
                hints[f"{spec.name}.{name}"] = known
    return hints


def values_of(state: State | None) -> tuple[JsonValue, ...]:
    """Give texts and numbers of the state, the first of each name before the second of any.

    A search by `destination` finds what stands under `to`. What a name calls a secret is tried nowhere.
    """
    columns: dict[str, list[JsonValue]] = {}
    for name, value in (*scalars(state), *_named_keys(state)) if state else ():
        if names_secret(name):
            continue
        column = columns.setdefault(name, [])
        if len(str(value)) <= _LONGEST and len(column) < _OF_ONE_NAME and value not in column:
            column.append(value)
    found = chain.from_iterable(zip_longest(*columns.values()))
    return tuple(dict.fromkeys(value for value in found if value is not None))


def samples_of(state: State | None) -> tuple[Mapping[str, Any], ...]:
    """Give the first row of each table of several, with its key under no name."""
    found: list[Mapping[str, Any]] = []
    for content in (state or {}).values():
        is_list = isinstance(content, list)
        rows = list(content.items()) if isinstance(content, Mapping) else list(enumerate(content)) if is_list else []
        if len(rows) > 1 and all(isinstance(row, Mapping) for _, row in rows):
            key, row = rows[0]
            found.append({**({"": key} if isinstance(key, str) else {}), **row})
    return tuple(found)


def _keys(state: State, name: str) -> tuple[JsonValue, ...]:
    """Give the keys of the table that an argument names, as `order_id` or `buchung` do: those of `orders`, `buchungen`.

    The table is called as the argument without `id`, with an ending of a plural.
    """
    nouns = [word for word in words(name) if word not in GENERIC]
    pairs = list(_named_keys(state)) if nouns else []
    tables = [one for one in dict.fromkeys(table for table, _ in pairs) if words(one)]
    meant = [one for one in tables if words(one)[-1] == nouns[-1]]
    meant = meant or [one for one in tables if words(one)[-1].startswith(nouns[-1])]
    return tuple(key for one in meant for table, key in pairs if table == one)


def _named_keys(state: Any) -> Iterator[tuple[str, str]]:
    """Give (name of the mapping, key) for every mapping by names of things, at whatever depth."""
    mappings: dict[str, list[Mapping[str, Any]]] = {}
    for name, item in _mappings(state):
        mappings.setdefault(name, []).append(item)
    for name, alike in mappings.items():
        often = Counter(chain.from_iterable(alike))
        # `riders: {ana: 1}` here and `riders: {ben: 2}` there: fields of a row would be the same in most
        is_by_name = len(alike) > 1 and bool(often) and 2 * max(often.values()) <= len(alike)
        for item in alike:
            keys = [str(key) for key in item] if is_by_name or _holds_rows(item) else keys_of_things(item)
            yield from ((name, key) for key in keys)


def _mappings(state: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    inside = list(state.items()) if isinstance(state, Mapping) else [("", item) for item in state]
    for name, item in inside:
        if name and isinstance(item, Mapping):
            yield str(name), item
        if isinstance(item, Mapping | list):
            yield from _mappings(item)


def _holds_rows(table: Mapping[str, Any]) -> bool:
    """Whether a mapping holds several rows, all with the same fields."""
    fields = {frozenset(row) if isinstance(row, Mapping) else None for row in table.values()}
    return len(table) > 1 and len(fields) == 1 and None not in fields
