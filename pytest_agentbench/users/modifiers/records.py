"""Where values stand in the initial state: the records that hold them, and what else could stand in their place."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.state import State

Place = tuple[str, ...]
"""A path in which the keys of tables and the indices of lists are `*`; it ends in `*` for such a key itself."""

_ANY = "*"
_LOOKED_AT = 20

_FEW = 4
"""How often each word of a column comes, on average, that tells of what kind a record is."""

_TELLING = 4
"""Digits from which a number may be taken for a key wherever it stands."""


def normal(value: JsonValue) -> str:
    """Give the form in which spellings of an id or an option are equal: `#W1` and `w1`, `night_box` and `night box`."""
    return " ".join(str(value).casefold().lstrip("#").replace("_", " ").split())


def is_stated(value: JsonValue, text: str) -> bool:
    """Whether a text states a value, with or without the sign before a number."""
    return states(str(value).lstrip("#"), text)


def squashed(name: str) -> str:
    """Give a name without what its spellings differ by: `orderId`, `order_id`, `Order-ID`."""
    return "".join(filter(str.isalnum, name.casefold()))


@dataclass(frozen=True, eq=False)
class Row:
    """One record: its table, its key in normal form ("" in a list), its content, its (column, normal form, value)."""

    table: Place
    key: str
    content: JsonValue
    leaves: tuple[tuple[Place, str, JsonValue], ...]

    @cached_property
    def values(self) -> frozenset[str]:
        """Every value in it, its key included, in normal form."""
        return frozenset(wanted for _, wanted, _ in self.leaves)

    @cached_property
    def parts(self) -> frozenset[str]:
        """The values of the lists and tables inside it."""
        return frozenset(wanted for column, wanted, _ in self.leaves if _ANY in column[1:])

    def columns(self, wanted: str) -> list[Place]:
        """Give the columns that hold a value in normal form."""
        return [column for column, found, _ in self.leaves if found == wanted]


class Records:
    """The records of a state; built on first use, so that one may be shared by all scenarios of a suite."""

    def __init__(self, state: State | None) -> None:
        """Take a state of nested JSON; None has no records."""
        self._given = state or {}

    def __bool__(self) -> bool:
        return bool(self._given)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every record, in the order of the state."""
        return tuple(_rows(to_json(self._given), ()))

    @cached_property
    def by_value(self) -> dict[str, list[Row]]:
        """The records in which each value stands, as key or inside."""
        found = defaultdict[str, list[Row]](list)
        for row in self.rows:
            for value in row.values:
                found[value].append(row)
        return found

    @cached_property
    def spellings(self) -> dict[str, JsonValue]:
        """Every value as the state spells it, by its normal form."""
        return {wanted: value for row in self.rows for _, wanted, value in row.leaves}

    def identified(self, value: JsonValue, names: Collection[str] = ()) -> tuple[Row, ...]:
        """Give the records that a value tells from others: those whose key it is.

        Where it is none's, those that alone in their table hold it, in a column that repeats no value, of one of the
        `names` where any are given.
        """
        wanted = normal(value)
        rows = self.by_value.get(wanted, [])
        tables = [row.table for row in rows]
        alone = [row for row in rows if tables.count(row.table) == 1]
        keyed = tuple(row for row in rows if row.key == wanted)
        return keyed or tuple(row for row in alone if any(self._tells(row, one, names) for one in row.columns(wanted)))

    def _tells(self, row: Row, column: Place, names: Collection[str]) -> bool:
        values, called = self._columns[row.table, column], squashed(column[-1])
        is_named = not names or any(called in squashed(name) or squashed(name) in called for name in names)
        return is_named and len(values) == len(set(values)) > 1

    def naming(self, row: Row) -> list[Row]:
        """Give the records that name a record by its key; a short number as a key is named by any count."""
        is_telling = row.key != "" and (len(row.key) >= _TELLING or not row.key.isdecimal())
        return [one for one in self.by_value.get(row.key, ()) if one is not row] if is_telling else []

    def beside(self, row: Row) -> list[Row]:
        """Give the records that name a record, and those that it names."""
        named = (one for value in row.values for one in self.by_value[value] if one.key == value)
        return [*self.naming(row), *(one for one in named if row in self.naming(one))]

    def elsewhere(self, value: JsonValue, within: Collection[Row], name: str = "") -> Iterator[tuple[Row, JsonValue]]:
        """Yield the other values of the columns in which a value stands in some records, each with its record.

        Where columns of the `name` are among them, these alone count.
        """
        wanted = normal(value)
        columns = {(row.table, column) for row in within for column in row.columns(wanted)}
        columns = {(table, column) for table, column in columns if squashed(column[-1]) == squashed(name)} or columns
        for row in self.rows:
            for column, other, spelled in row.leaves:
                if (row.table, column) in columns and other != wanted:
                    yield row, spelled

    def kind(self, row: Row) -> set[tuple[Place, str]]:
        """Give the words of a record that are those of many in its table, by column."""
        words = [(place, wanted) for place, wanted, value in row.leaves if len(place) == 1 and isinstance(value, str)]
        columns = {place: self._columns[row.table, place] for place, _ in words}
        return {(place, one) for place, one in words if len(set(columns[place])) * _FEW <= len(columns[place])}

    @cached_property
    def _columns(self) -> dict[tuple[Place, Place], list[str]]:
        found = defaultdict[tuple[Place, Place], list[str]](list)
        for row in self.rows:
            for column, wanted, _ in row.leaves:
                found[row.table, column].append(wanted)
        return found


def siblings(value: JsonValue, within: JsonValue) -> Iterator[JsonValue]:
    """Yield what stands beside `value` in the lists and tables of a record: other keys, other values of the same field.

    An entry whose yes-or-no fields differ is none: what is sold out is no choice beside what is not.
    """
    if not isinstance(within, dict | list):
        return
    wanted = normal(value)
    inner = list(within.values()) if isinstance(within, dict) else within
    entries: list[tuple[str, dict[str, JsonValue]]] = [("", item) for item in inner if isinstance(item, dict)]
    if isinstance(within, dict):
        entries = list(within.items()) if _is_table(within) else []
    elif any(normal(item) == wanted for item in inner if _is_plain(item)):
        yield from (item for item in inner if _is_plain(item) and normal(item) != wanted)
    for key, own in entries:
        fields = [field for field, item in own.items() if _is_plain(item) and normal(item) == wanted]
        if fields or normal(key) == wanted:
            alike = [(other, one) for other, one in entries if one is not own and _flags(one) == _flags(own)]
            yield from (other for other, _ in alike if normal(key) == wanted)
            yield from (one[field] for _, one in alike for field in fields if _is_plain(one.get(field)))
    for item in inner:
        yield from siblings(value, item)


def _is_plain(value: JsonValue) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip() != ""


def _flags(entry: dict[str, JsonValue]) -> dict[str, bool]:
    return {key: item for key, item in entry.items() if isinstance(item, bool)}


def _rows(value: JsonValue, place: Place) -> Iterator[Row]:
    """Yield the outermost records: the values of tables, and the mappings of lists."""
    if isinstance(value, list):
        yield from (_row(place, "", item) for item in value if isinstance(item, dict))
    elif isinstance(value, dict):
        is_table = _is_table(value)
        for key, item in value.items():
            yield from [_row(place, key, item)] if is_table else _rows(item, (*place, key))


def _row(table: Place, key: str, content: JsonValue) -> Row:
    leaves = [*([((_ANY,), key)] if key else []), *_leaves(content, ())]
    return Row(table, normal(key), content, tuple((column, normal(value), value) for column, value in leaves))


def _leaves(value: JsonValue, place: Place) -> Iterator[tuple[Place, JsonValue]]:
    """Yield every plain value with its place, and the keys of tables."""
    if isinstance(value, dict):
        is_table = bool(place) and _is_table(value)
        for key, item in value.items():
            if is_table:
                yield (*place, _ANY), key
            yield from _leaves(item, (*place, _ANY if is_table else key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, (*place, _ANY))
    elif _is_plain(value):
        yield place, value


def _is_table(value: dict[str, JsonValue]) -> bool:
    """Tell whether a mapping holds records by key: mappings with plain values of their own that have keys in common."""
    if not value or not all(isinstance(item, dict) for item in value.values()):
        return False
    items = list(value.values())[:_LOOKED_AT]
    has_own = all(any(not isinstance(inner, dict | list) for inner in item.values()) for item in items)
    return has_own and bool(set.intersection(*(set(item) for item in items)))
