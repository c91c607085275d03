"""Values to begin with: those that the recipe names for arguments, and those that stand in the suite's own state.

An identifier can rarely be guessed from a declaration; where the state can be read, arguments are tried with what
stands under their name there.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.graph.names import GENERIC, words
from pytest_agentbench.generation.tools.probing.reading import keys_of_things
from pytest_agentbench.generation.tools.probing.schemas import slots_of
from pytest_agentbench.generation.tools.probing.strategies import as_argument
from pytest_agentbench.generation.tools.world import World
from pytest_agentbench.validation.values import Columns

_MOST = 8
"""Values of the state that are named for one argument."""


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


def _keys(state: State, name: str) -> tuple[JsonValue, ...]:
    """Give the keys of the table that an argument names, as `order_id` or `buchung` do: those of `orders`, `buchungen`.

    The table is called as the argument without `id`, with an ending of a plural.
    """
    nouns = [word for word in words(name) if word not in GENERIC]
    pairs = list(_named_keys(state)) if nouns else []
    tables = [one for one in dict.fromkeys(table for table, _ in pairs) if words(one)]
    meant = [one for one in tables if words(one)[-1].startswith(nouns[-1])]
    return tuple(key for one in meant for table, key in pairs if table == one)


def _named_keys(state: Any) -> Iterator[tuple[str, str]]:
    """Give (name of the mapping, key) for every mapping by names of things, at whatever depth."""
    inside = list(state.items()) if isinstance(state, Mapping) else [("", item) for item in state]
    for name, item in inside:
        if name and isinstance(item, Mapping):
            yield from ((str(name), key) for key in keys_of_things(item))
        if isinstance(item, Mapping | list):
            yield from _named_keys(item)
