"""Where values stand in the initial state: the records that hold them, and other values of the same place."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pytest_agentbench.core.state import State
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.users.kinds import humanize, kind_of
from pytest_agentbench.users.modifiers.spelling import normal

Place = tuple[str, ...]
"""A path in which the keys of tables and the indices of lists are `*`; it ends in `*` for such a key itself."""

_ANY = "*"
_LOOKED_AT = 20

_TELLING = 4
"""Digits from which a number may be taken for a key wherever it stands."""


@dataclass(frozen=True)
class Row:
    """One record: the table it stands in, its key, and every value in it, normalised."""

    table: Place
    key: str
    values: frozenset[str]


class Records:
    """The values of a state by place; built on first use, so that one may be shared by all scenarios of a suite."""

    def __init__(self, state: State | None) -> None:
        """Take a state of nested JSON; None has no records."""
        self._given = state or {}

    def __bool__(self) -> bool:
        return bool(self._given)

    @cached_property
    def _state(self) -> State:
        plain: State = to_json(self._given)
        return plain

    def holding(self, value: JsonValue) -> tuple[Row, ...]:
        """Give the records in which `value` stands, as key or inside."""
        wanted = normal(value)
        return tuple(row for row in self._rows if wanted in row.values)

    def row(self, key: JsonValue) -> Row | None:
        """Give the first record of this key."""
        return next((row for row in self._rows if normal(row.key) == normal(key)), None)

    def joined_to(self, row: Row) -> tuple[Row, ...]:
        """Give the records of other tables that have the key of `row`, or name it, or are named by it."""
        return tuple(
            other for other in self._rows if other.table != row.table and (_refers(other, row) or _refers(row, other))
        )

    def referring_to(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        """Give the records, beside `rows` themselves, that name one of them by its key."""
        named = list(rows)
        return tuple(other for other in self._rows if other not in named and any(_refers(other, row) for row in named))

    def others(self, value: JsonValue, kind: str) -> tuple[JsonValue, ...]:
        """Give the other values of the place where `value` stands, in the order of the state; () where there is none.

        A place whose name is that of `kind` goes first; identifiers, and values of one place only, need no such name.
        """
        wanted = normal(value)
        places = [place for place, values in self._places.items() if wanted in values]
        named = [place for place in places if _is_named(place, kind)]
        names = {_name(place) for place in places}
        for place in named or (places if kind.endswith("_id") or len(names) == 1 else []):
            found = tuple(other for key, other in self._places[place].items() if key != wanted)
            if found:
                return found
        return ()

    @cached_property
    def _places(self) -> dict[Place, dict[str, JsonValue]]:
        places: dict[Place, dict[str, JsonValue]] = {}
        for place, value in _leaves(self._state, ()):
            places.setdefault(place, {}).setdefault(normal(value), value)
        return places

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return tuple(
            Row(table, key, frozenset({normal(key)} | {normal(value) for _, value in _leaves(item, ())}))
            for table, key, item in _items(self._state, ())
        )


def _refers(row: Row, other: Row) -> bool:
    """Tell whether `row` names `other`; a short number as a key is named by any count."""
    key = normal(other.key)
    return (len(key) >= _TELLING or not key.isdecimal()) and bool(key) and key in row.values


def _leaves(value: JsonValue, place: Place) -> Iterator[tuple[Place, JsonValue]]:
    """Yield every scalar with its place, and the keys of tables; yes-or-no values and nulls are left out."""
    if isinstance(value, dict):
        table = _is_table(value)
        for key, item in value.items():
            if table:
                yield (*place, _ANY), key
            yield from _leaves(item, (*place, _ANY if table else key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, (*place, _ANY))
    elif value is not None and not isinstance(value, bool):
        yield place, value


def _items(value: JsonValue, place: Place) -> Iterator[tuple[Place, str, JsonValue]]:
    """Yield the outermost records: the values of tables, and the mappings of lists."""
    if isinstance(value, list):
        yield from ((place, "", item) for item in value if isinstance(item, dict))
    elif isinstance(value, dict):
        if _is_table(value):
            yield from ((place, key, item) for key, item in value.items())
        else:
            for key, item in value.items():
                yield from _items(item, (*place, key))


def _is_table(value: dict[str, JsonValue]) -> bool:
    """Tell whether a mapping holds records by key: mappings with scalars of their own that have keys in common."""
    items = list(value.values())
    if not items or not all(isinstance(item, dict) for item in items):
        return False
    looked_at = items[:_LOOKED_AT]
    if not all(any(not isinstance(inner, dict | list) for inner in item.values()) for item in looked_at):
        return False
    return bool(set.intersection(*(set(item) for item in looked_at)))


def _name(place: Place) -> str:
    return next((part for part in reversed(place) if part != _ANY), "")


def _is_named(place: Place, kind: str) -> bool:
    name = _name(place)
    return kind_of(name) == kind or humanize(name) == kind.partition(":")[2]
