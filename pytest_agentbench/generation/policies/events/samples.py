"""What belongs together among the rows of a state: whose rows they are, and which ones everybody refers to."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.policies.events.schema import Rows, Schema, Table, personal

Place = tuple[str, int]
"""A row: its table, and its position among the table's rows."""

_MOST_ROWS = 60
"""Rows that one cluster has at most; what is tied together further is not needed for one conversation."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The rows of one subject (a customer and what is theirs); `focuses` are those that the conversation is about."""

    root: Place
    focuses: tuple[Place, ...]
    rows: tuple[Place, ...]


@dataclass(kw_only=True)
class Samples:
    """The rows of the suite's own state, as examples of what rows look like."""

    schema: Schema
    rows: Rows
    _naming: dict[str, list[Place]] = field(default_factory=dict)
    _tied: dict[str, list[str]] = field(default_factory=dict)
    _key_sets: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index who names which key."""
        for place, row in self._all():
            for leaf in set(_leaves(row)):
                self._naming.setdefault(leaf, []).append(place)
        for table in self.schema.tables:
            for link in table.references:
                if table.name not in self._tied.setdefault(link.table, []):
                    self._tied[link.table].append(table.name)

    def row(self, place: Place) -> dict[str, Any]:
        """Give a row."""
        return self.rows[place[0]][place[1]]

    @property
    def roots(self) -> list[str]:
        """The tables whose rows own others: those of persons first, then those referred to most."""
        scores = {table.name: self._score(table) for table in self.schema.tables if self.rows.get(table.name)}
        return sorted((name for name in scores if scores[name] > 0), key=lambda name: (-scores[name], name)) or sorted(
            scores
        )

    def referring(self, table: str) -> set[str]:
        """Give the tables whose rows refer to a table's, however indirectly."""
        found: set[str] = set()
        open_tables = [table]
        while open_tables:
            for name in self._tied.get(open_tables.pop(), ()):
                if name not in found and name != table:
                    found.add(name)
                    open_tables.append(name)
        return found

    def is_person(self, table: str) -> bool:
        """Whether the rows of a table are persons: they have names or contacts, and no two of them the same ones.

        A parcel has a phone number too, but a person may have two parcels.
        """
        declared = self.schema.get(table)
        contacts = [one.name for one in declared.columns if personal(one.name)] if declared else []
        told = [tuple(row.get(name) for name in contacts) for row in self.rows.get(table, ())]
        return bool(contacts) and len(set(map(str, told))) == len(told)

    def owned(self, root: str) -> set[str]:
        """Give the tables whose rows belong to somebody: the root, and what refers to it."""
        return {root, *self.referring(root)}

    def cluster(self, root: Place, *focuses: Place) -> Cluster:
        """Gather the rows around a root row: all that name its key, or the key of one gathered.

        Other rows of the focuses' tables, and other roots, stay out, with all that is theirs.
        """
        owned = self.owned(root[0])
        known = dict.fromkeys((root, *focuses))
        own_tables = {place[0] for place in known}
        found = dict(known)
        left = list(found)
        while left and len(found) < _MOST_ROWS:
            for place in self._naming_keys_of(left.pop(0)):
                is_other = place[0] in own_tables and place not in known
                if place not in found and not is_other and self._belongs(place, owned, tuple(known)):
                    found[place] = None
                    left.append(place)
        return Cluster(root=root, focuses=focuses or (root,), rows=tuple(sorted(found, key=self._order)))

    def focuses(self, root: Place, table: str) -> list[Place]:
        """Give the rows of a table that belong to a root row."""
        if table == root[0]:
            return [root]
        found: list[Place] = []
        seen, left = {root}, [root]
        while left:
            for place in self._naming_keys_of(left.pop(0)):
                if place in seen or place[0] == root[0]:
                    continue
                seen.add(place)
                if place[0] == table:
                    found.append(place)
                elif place[0] in self.owned(root[0]):
                    left.append(place)
        return sorted(set(found))

    def key_texts(self, place: Place) -> list[str]:
        """Give the key of a row as others name it; a key of several columns, or one that is borrowed, is nobody's."""
        table = self.schema.get(place[0])
        if table is None or len(table.key) != 1 or any(table.key[0] in link.columns for link in table.references):
            return []
        return [_leaf(self.row(place)[table.key[0]])] if self.row(place).get(table.key[0]) is not None else []

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

    def _naming_keys_of(self, place: Place) -> list[Place]:
        return [
            other
            for text in self.key_texts(place)
            for other in self._naming.get(text, ())
            if other != place and (_is_telling(text) or self._refers(other, place))
        ]

    def _refers(self, other: Place, place: Place) -> bool:
        """Whether a row refers to another by its schema; a bare number is a key only where it is declared to be."""
        table, target = self.schema.get(other[0]), self.schema.get(place[0])
        if table is None or target is None:
            return False
        return any(
            link.table == place[0]
            and [self.row(other).get(name) for name in link.columns]
            == [self.row(place).get(name) for name in link.target]
            for link in table.references
        )

    def _belongs(self, place: Place, owned: set[str], known: tuple[Place, ...]) -> bool:
        """Whether a row is one of the subject's: its table is owned, or it borrows a key; it names no other."""
        leaves = set(_leaves(self.row(place)))
        own = {text for one in known for text in self.key_texts(one)}
        if any(leaves & (self._keys(table) - own) for table in {one[0] for one in known}):
            return False
        if place[0] in owned:
            return True
        table = self.schema.get(place[0])
        return table is not None and bool(table.key) and not self.key_is_shared(table)

    def key_is_borrowed(self, table: Table) -> bool:
        """Whether the keys of a table are those of owners in other tables, declared or not."""
        if any(column in link.columns for link in table.references for column in table.key):
            return True
        owners = {text for name in self.roots[:3] if name != table.name for text in self._keys(name)}
        return any(_leaf(row.get(column)) in owners for row in self.rows.get(table.name, ()) for column in table.key)

    def _keys(self, table: str) -> frozenset[str]:
        if table not in self._key_sets:
            rows = self.rows.get(table, ())
            texts = (text for at in range(len(rows)) for text in self.key_texts((table, at)))
            self._key_sets[table] = frozenset(texts)
        return self._key_sets[table]

    def key_is_shared(self, table: Table) -> bool:
        """Whether rows of this table are there for everybody: others refer to them, or they refer to nobody's."""
        return bool(self._tied.get(table.name)) or self._stands_alone(table)

    def _stands_alone(self, table: Table) -> bool:
        owner_keys = {text for name in self.roots[:3] for text in self._keys(name)}
        values = {_leaf(row.get(column)) for row in self.rows.get(table.name, ()) for column in table.key}
        return not (values & owner_keys)

    def _score(self, table: Table) -> float:
        kinds = {kind for column in table.columns if (kind := personal(column.name))}
        tied = len(self.referring(table.name))
        # things have names too
        return (3.0 * len(kinds - {"name"}) + len(kinds & {"name"}) + tied) if tied else 0.0

    def _order(self, place: Place) -> tuple[int, Place]:
        names = dependency_order(self.schema)
        return names.index(place[0]) if place[0] in names else len(names), place

    def _all(self) -> Iterator[tuple[Place, dict[str, Any]]]:
        for table, rows in self.rows.items():
            for at, row in enumerate(rows):
                yield (table, at), row


def dependency_order(schema: Schema) -> list[str]:
    """Give the tables so that each comes after those that it refers to; circles are cut at the table named first."""
    ordered: list[str] = []
    left = {table.name: {link.table for link in table.references} - {table.name} for table in schema.tables}
    while left:
        free = [name for name, needs in left.items() if not (needs & left.keys())]
        for name in free or [min(left, key=lambda one: (len(left[one] & left.keys()), list(left).index(one)))]:
            ordered.append(name)
            del left[name]
    return ordered


def _is_telling(text: str) -> bool:
    return len(text) > 2 and not text.replace(".", "", 1).lstrip("-").isdigit() and not text.startswith("\0")


def _leaf(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _leaves(value: Any) -> Iterable[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield _leaf(value)
