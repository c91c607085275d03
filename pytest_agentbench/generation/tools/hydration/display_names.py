"""What people call a thing that a tool knows by an identifier or by coordinates: the name that leads to exactly it.

A user asks for the weather in Paris and not at 48.859, 2.347. Where the pool holds a call of a read that takes a name,
and its answer is that one thing, users say the name; whoever answers has to look the identifier up.
"""

import re
from collections.abc import Container, Iterator, Mapping

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.generation.tools.data_types import Card, Cards, PoolEntry, Taxonomy
from pytest_agentbench.generation.tools.flows import handed_on, is_same_value, scalars_in
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.pool import Pool

_NAME = re.compile(r"(?=.*[^\W\d_]{2})[^\W\d_][^\d_@/\\]*")
"""Words without digits: what people remember."""
_LONGEST = 60


class Handle(Model):
    """A name that a user says: `value`, with which the call `entry` of the pool finds the arguments `replaces`."""

    tool: str
    path: str
    value: JsonValue
    entry: str
    replaces: tuple[str, ...] = ()


class Handles:
    """The names of a pool's entries, found once; `lookups` are the tools that anybody knows for reads, None for all.

    Whoever hears a name must know where to look it up.
    """

    def __init__(self, pool: Pool, cards: Cards, taxonomy: Taxonomy, *, lookups: Container[str] | None = None) -> None:
        self._pool = pool
        self._lookups = lookups
        self._cards = cards
        self._taxonomy = taxonomy
        self._found: dict[str, Handle | None] = {}

    def of(self, entry: PoolEntry) -> Handle | None:
        """Give what a user says instead of arguments of a verified call, None where it says the arguments."""
        if entry.id not in self._found:
            card, slots = self._cards.get(entry.tool), read_slots(entry.arguments)
            named = self._named(card) if card and slots else ()
            self._found[entry.id] = next((handle for handle, given in named if _is_same(given, slots)), None)
        return self._found[entry.id]

    def calls(self, card: Card) -> Iterator[dict[str, JsonValue]]:
        """Yield arguments for a tool that a name in the pool leads to, where it leads to one thing."""
        return (build(given) for _, given in self._named(card))

    def _named(self, card: Card) -> Iterator[tuple[Handle, dict[str, JsonValue]]]:
        for source in self._cards.cards:
            is_known = self._lookups is None or source.tool in self._lookups
            if source.tool == card.tool or source.writes is not False or not is_known:
                continue
            for entry in self._pool.of(source.tool):
                if (handle := _name_of(entry)) is None:
                    continue
                rows = handed_on(self._taxonomy, source.tool, entry.result, card)
                given = read_slots(dict(rows[0].arguments)) if len(rows) == 1 else {}
                if given and not any(is_name(value) for value in given.values()):
                    yield handle.model_copy(update={"replaces": tuple(given)}), given


def is_name(value: JsonValue) -> bool:
    """Whether people remember a value: words without digits."""
    return isinstance(value, str) and len(value) <= _LONGEST and _NAME.fullmatch(value) is not None


def _name_of(entry: PoolEntry) -> Handle | None:
    """Give the name that a verified call asks for, where what was found is called so: `rabbit` may find a vet."""
    slots = read_slots(entry.arguments)
    path, value = next(iter(slots.items()), ("", None))
    if len(slots) != 1 or not is_name(value):
        return None
    pattern = re.compile(rf"(?<!\w){re.escape(plain(str(value)))}(?!\w)")
    texts = (text for _, text in scalars_in(entry.result) if isinstance(text, str))
    is_called = any(pattern.search(plain(text)) for text in texts)
    return Handle(tool=entry.tool, path=path, value=value, entry=entry.id) if is_called else None


def _is_same(given: Mapping[str, JsonValue], slots: Mapping[str, JsonValue]) -> bool:
    return all(path in slots and is_same_value(value, slots[path]) for path, value in given.items())
