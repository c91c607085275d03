"""What belongs together among the rows of a state: whose rows they are, and which ones everybody refers to."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.policies.events.schema import Rows, Schema, Table, personal

T = TypeVar("T")

Place = tuple[str, int]
"""A row: its table, and its position among the table's rows."""

_MOST_ROWS = 60
"""Rows that one cluster has at most; what is tied together further is not needed for one conversation."""

_OWNERS = 3
"""Tables whose keys say that a row is somebody's."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The rows of one subject (a customer and what is theirs); `focuses` are those that the conversation is about."""

    root: Place
    focuses: tuple[Place, ...]
    rows: tuple[Place, ...]


@dataclass(kw_only=True)
class Samples:
    """Rows of the suite's own state, as examples of what rows look like; a lookup checks those of `proven` tables, and
    finds rows by columns that are `asked` for.
    """

    schema: Schema
    rows: Rows
    proven: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    _naming: dict[str, list[Place]] = field(default_factory=dict)
    _keys: dict[str, frozenset[str]] = field(default_factory=dict)
    _nobodys: dict[str, list[Place]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index who names which key."""
        for place in [(table, at) for table, rows in self.rows.items() for at in range(len(rows))]:
            for leaf in set(_leaves(self.row(place))):
                self._naming.setdefault(leaf, []).append(place)
        self._keys = {
            name: frozenset(text for at in range(len(rows)) for text in self.key_texts((name, at)))
            for name, rows in self.rows.items()
        }

    def row(self, place: Place) -> dict[str, Any]:
        """Give a row."""
        return self.rows[place[0]][place[1]]

    @cached_property
    def roots(self) -> list[str]:
        """The tables whose rows own others: those of persons first, then those referred to most."""
        scores = {table.name: self._score(table) for table in self.schema.tables if self.rows.get(table.name)}
        owning = sorted((name for name in scores if scores[name] > 0), key=lambda name: (-scores[name], name))
        return owning or sorted(scores)

    @cached_property
    def _owner_keys(self) -> dict[str, frozenset[str]]:
        return {name: self._keys[name] for name in self.roots[:_OWNERS]}

    def referring(self, table: str) -> set[str]:
        """Give the tables whose rows refer to a table's, however indirectly."""
        tied = {one.name: {link.table for link in one.references} for one in self.schema.tables}
        reached = _reached([table], lambda one: [name for name, targets in tied.items() if one in targets])
        return set(reached) - {table}

    def is_person(self, table: str) -> bool:
        """Whether the rows of a table are persons: they have names or contacts, and no two of them the same ones.

        A parcel has a phone number too, but a person may have two parcels.
        """
        declared = self.schema.get(table)
        contacts = [one.name for one in declared.columns if personal(one.name)] if declared else []
        held = [str([row.get(name) for name in contacts]) for row in self.rows.get(table, ())]
        return bool(contacts) and len(set(held)) == len(held)

    def owned(self, root: str) -> set[str]:
        """Give the tables whose rows belong to somebody: the root, and what refers to it."""
        return {root, *self.referring(root)}

    def cluster(self, root: Place, *focuses: Place) -> Cluster:
        """Gather the rows around a root row: all that name its key, or the key of one gathered.

        Other rows of the focuses' tables, and other roots, stay out, with all that is theirs.
        """
        owned, known = self.owned(root[0]), dict.fromkeys((root, *focuses))
        own_tables = {place[0] for place in known}
        own_keys = {text for one in known for text in self.key_texts(one)}
        others: set[str] = set().union(*(self._keys[table] for table in own_tables)) - own_keys

        def belongs(place: Place) -> bool:
            """Whether a row is one of the subject's: its table is owned, or it borrows a key; it names no other."""
            if place[0] in own_tables and place not in known:
                return False
            table = self.schema.get(place[0])
            is_own = place[0] in owned or (table is not None and bool(table.key) and not self._is_shared(table))
            return is_own and not others.intersection(_leaves(self.row(place)))

        def following(place: Place) -> list[Place]:
            return [other for other in self._naming_keys_of(place) if belongs(other)]

        found = _reached(known, following, most=_MOST_ROWS)
        order = dependency_order(self.schema)
        rows = sorted(found, key=lambda one: (order.index(one[0]) if one[0] in order else len(order), one))
        return Cluster(root=root, focuses=focuses or (root,), rows=tuple(rows))

    def focuses(self, root: Place, table: str) -> list[Place]:
        """Give the rows of a table that belong to a root row."""
        if table == root[0]:
            return [root]
        owned = self.owned(root[0]) - {table}

        def following(place: Place) -> list[Place]:
            is_way = place == root or (place[0] in owned and place[0] != root[0])
            return [one for one in self._naming_keys_of(place) if one[0] != root[0]] if is_way else []

        return sorted(place for place in _reached([root], following) if place[0] == table)

    def nobodys(self, table: str) -> list[Place]:
        """Give the rows of a table of things with owners that name none: a plot that is free."""
        if table not in self._nobodys:
            owned = self.owned(self.roots[0])
            names, every = self._keys.get(self.roots[0], frozenset()), range(len(self.rows.get(table, ())))
            self._nobodys[table] = [
                (table, at)
                for at in every
                if table in owned - {self.roots[0]}
                and names.isdisjoint(_leaves(self.row((table, at))))
                and not any(place[0] in owned for place in self.linked((table, at)))
            ]
        return self._nobodys[table]

    def naming(self, rows: Rows, *places: Place) -> int:
        """Count the rows that name the keys of all of these rows."""
        keys = [set(self.key_texts(place)) for place in places]
        every = [set(_leaves(row)) for several in rows.values() for row in several]
        return sum(all(key & leaves for key in keys) for leaves in every)

    def key_texts(self, place: Place) -> list[str]:
        """Give the key of a row as others name it; a key of several columns, or one that is borrowed, is nobody's."""
        table = self.schema.get(place[0])
        if table is None or len(table.key) != 1 or table.refers_by(table.key):
            return []
        value = self.row(place).get(table.key[0])
        return [] if value is None else [_leaf(value)]

    def keyed_by_all(self, values: Iterable[Any]) -> Table | None:
        """Find the only table whose keys all of these values are: cards that the rows of members have as theirs."""
        texts = set(map(_leaf, values))
        found = [name for name, keys in self._keys.items() if keys and texts <= keys]
        table = self.schema.get(found[0]) if len(found) == 1 else None
        return table if table is not None and len(table.key) == 1 else None

    def place_of(self, table: str, column: str, value: Any) -> Place | None:
        """Find a row by the value of a column."""
        rows = self.rows.get(table, ())
        return next(((table, at) for at, row in enumerate(rows) if row.get(column) == value), None)

    def linked(self, place: Place) -> list[Place]:
        """Give the rows that a row refers to."""
        table, row = self.schema.get(place[0]), self.row(place)
        links = [link for link in (table.references if table else ()) if len(link.columns) == 1 and link.target]
        found = [self.place_of(link.table, link.target[0], row.get(link.columns[0])) for link in links]
        return [one for one in found if one is not None]

    def refers(self, place: Place, other: Place) -> list[str]:
        """Give the columns by which a row refers to another, by its schema."""
        table = self.schema.get(place[0])
        mine, theirs = self.row(place), self.row(other)
        return [
            link.columns[0]
            for link in (table.references if table else ())
            if link.table == other[0]
            and link.target
            and [mine.get(name) for name in link.columns] == [theirs.get(name) for name in link.target]
        ]

    def key_is_borrowed(self, table: Table) -> bool:
        """Whether the keys of a table are those of owners in other tables, declared or not."""
        owners = set().union(*(keys for name, keys in self._owner_keys.items() if name != table.name))
        return table.refers_by(table.key) or not owners.isdisjoint(self._key_values(table))

    def _is_shared(self, table: Table) -> bool:
        """Whether rows of this table are there for everybody: others refer to them, or they refer to nobody's."""
        is_target = any(link.table == table.name for one in self.schema.tables for link in one.references)
        return is_target or set().union(*self._owner_keys.values()).isdisjoint(self._key_values(table))

    def _key_values(self, table: Table) -> set[str]:
        return {_leaf(row.get(column)) for row in self.rows.get(table.name, ()) for column in table.key}

    def _naming_keys_of(self, place: Place) -> list[Place]:
        """Give the rows that name a row's key; a bare number is a key only where the schema says that it refers."""
        return [
            other
            for text in self.key_texts(place)
            for other in self._naming.get(text, ())
            if other != place and (_is_telling(text) or self.refers(other, place))
        ]

    def _score(self, table: Table) -> float:
        kinds = {kind for column in table.columns if (kind := personal(column.name))}
        tied = len(self.referring(table.name))
        # things have names too, and other than people they have numbers
        numbers = sum(one.type in ("integer", "real") and one.name not in table.key for one in table.columns)
        least = 0.5 * bool(numbers)
        named = 3.0 * len(kinds - {"name"}) + len(kinds & {"name"})
        return named + (table.name in self.proven) + tied - least if tied else 0.0


def _reached(start: Iterable[T], following: Callable[[T], Iterable[T]], most: int | None = None) -> list[T]:
    """Give what is reached step after step, in order; what is found last where there are `most` is still followed."""
    found = dict.fromkeys(start)
    left = list(found)
    while left and (most is None or len(found) < most):
        new = [one for one in following(left.pop(0)) if one not in found]
        left += dict.fromkeys(new)
        found |= dict.fromkeys(new)
    return list(found)


def dependency_order(schema: Schema) -> list[str]:
    """Give the tables so that each comes after those that it refers to; circles are cut at the table named first."""
    ordered: list[str] = []
    left = {table.name: {link.table for link in table.references} - {table.name} for table in schema.tables}
    while left:
        free = [name for name, needs in left.items() if not (needs & left.keys())]
        for name in free or [min(left, key=lambda one: len(left[one] & left.keys()))]:
            ordered.append(name)
            del left[name]
    return ordered


def _is_telling(text: str) -> bool:
    return len(text) > 2 and not text.replace(".", "", 1).lstrip("-").isdigit() and not text.startswith("\0")


def _leaf(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield _leaf(value)
