"""Whom the calls of a draft belong to: rows of tables, and of answers, carry the identifier of one person.

An owner column stands in rows of at least two kinds, or as an argument beside them. It is one where it leads to rows of
a table that describe people, who have a name and a way to reach them or a day of birth; where some tool takes it and
lists the rows that carry it (`list_loans(member_id)`); or where it is called as people are (`guest`). A draft keeps to
one owner. Other columns that repeat are kept to where there is a choice.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Owner, Turn
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.hydration.arguments import Executed
from pytest_agentbench.generation.tools.labels import NAMES, is_identifier, is_role, name_of
from pytest_agentbench.generation.tools.probing.reading import inner, parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.choosing import distinct
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.values import Card, PoolEntry

_REACHED = frozenset({"email", "mail", "phone", "tel", "telephone", "mobile", "birth", "birthday", "dob"})
"""Words of columns that only rows about people have."""
_KINDS = 2
"""Kinds of rows, or of calls, that carry a column before it counts."""
_LEAST = 3
"""Different values of a column that lead to rows of a table, from which it is the table's (fewer: all of them)."""
_TELLING = 4
"""Characters of a key from which it is told by itself, whatever the argument is called."""
_OF_ANYTHING = ("id", "key", "code")
"""Columns that say of every kind of thing what it is."""
_ANSWER = "answer/"
"""Begins the name of a kind of rows that stand in the answers of a tool."""

Row = Mapping[str, JsonValue]
Named = dict[str, str]
"""Owners by column."""


@dataclass(frozen=True)
class Table:
    """The rows that an owner column leads to: the table's name, and the rows by key."""

    name: str
    rows: Mapping[str, Row] = field(default_factory=dict)


@dataclass(frozen=True)
class Owners:
    """The owner columns of a service with the rows that they lead to, and `shared`, other columns that repeat.

    `of_keys` says of the keys of other rows, by column and key ("" for any column), whose the rows are.
    """

    people: Mapping[str, Table] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    of_keys: Mapping[tuple[str, str], Named] = field(default_factory=dict)

    def of(self, one: Executed) -> Named:
        """Give the owners that a call is about, by column: as its arguments say, else as the one row of its answer."""
        rows = list(rows_in(one.result))
        found = self.of_values(read_slots(one.arguments))
        if not rows and isinstance(one.result, str):  # a lookup that gives nothing but the key
            named = {column: one.result for column, table in self.people.items() if one.result in table.rows}
            return {**named, **found}
        if len(rows) != 1:
            return found
        row = {column: value for column, value in rows[0].items() if _is_key(value)}
        told = {column: str(row[column]) for column in (*self.people, *self.shared) if column in row}
        for column, table in self.people.items():
            keys = {str(value) for name, value in row.items() if words(name)[-1:] == ("id",)} & set(table.rows)
            if len(keys) == 1 and _is_person(rows[0]):
                told.setdefault(column, keys.pop())
        return {**told, **found}

    def of_values(self, slots: Mapping[str, JsonValue]) -> Named:
        """Give the owners that arguments name, or whose rows they name."""
        named = {name_of(path): str(value) for path, value in slots.items() if _is_key(value)}
        found: Named = {}
        for column, value in named.items():
            found |= self.of_keys.get((column, value)) or self.of_keys.get(("", value), {})
        return {**found, **{column: named[column] for column in (*self.people, *self.shared) if column in named}}

    def conflicts(self, one: Mapping[str, str], made: Iterable[Mapping[str, str]]) -> tuple[int, int]:
        """Count the people, and the other things, that are others than those of the calls made."""
        known: dict[str, set[str]] = defaultdict(set)
        for other in made:
            for column, value in other.items():
                known[column].add(value)
        against = [column for column, value in one.items() if known[column] - {value}]
        return sum(column in self.people for column in against), sum(column in self.shared for column in against)

    def owner_of(self, turns: Sequence[Turn], card: Callable[[str], Card]) -> Owner | None:
        """Give the owner that all calls are about; nobody where none is known, None where there are two."""
        made = [
            Executed(card(one.call.name), one.call.arguments, parsed(one.answer), one.answer, number)
            for number, turn in enumerate(turns)
            for one in turn.calls
        ]
        every = [self.of(one) for one in made]
        owner = Owner()
        for column, table in self.people.items():
            keys = {found[column] for found in every if column in found}
            if len(keys) > 1:
                return None
            if keys and owner == Owner():
                key = keys.pop()
                row = table.rows.get(key, {})
                name = _name_of(row) or ("" if is_identifier(column) else key)
                owner = Owner(table=table.name, key=row.get(column, key), name=name)
        return owner

    def most_of_one(self, entries: Iterable[PoolEntry], card: Card) -> int:
        """Count the verified calls of a tool that one conversation can make: those about one owner, and about none."""
        whose = Counter[str]()
        free = 0
        for entry in distinct(entries):
            found = self.of(Executed(card, entry.arguments, entry.result, entry.content, 0))
            owner = next((found[column] for column in self.people if column in found), None)
            if owner is None:
                free += 1
            else:
                whose[owner] += 1
        return free + max(whose.values(), default=0)

    def names(self, named: Mapping[str, str]) -> Iterator[str]:
        """Yield what owners are called: nobody asks who he is."""
        for column, key in named.items():
            if column in self.people:
                yield from (key, _name_of(self.people[column].rows.get(key, {})))


def owners_of(state: JsonValue, pool: Pool) -> Owners:
    """Find the owner columns of a service, in its state and in verified calls with their answers."""
    kinds = _kinds_of(state, pool)
    tables = {kind: _by_key(rows) for kind, rows in kinds.items()}
    persons = {kind: tables[kind] for kind, rows in kinds.items() if any(map(_is_person, rows.values()))}
    listing = {column for entry in pool.entries for column in _listed_by(entry)}
    people: dict[str, Table] = {}
    shared: set[str] = set()
    for column, by_kind in sorted(_carried(kinds, pool).items()):
        if len(by_kind) < _KINDS or column in _OF_ANYTHING:
            continue
        values = set().union(*by_kind.values())
        table = next((name for name, rows in persons.items() if _leads(values, rows)), None)
        if table is not None or column in listing or is_role(column):
            table = table or next((name for name, rows in tables.items() if _leads(values, rows)), column)
            people[column] = Table(table.removeprefix(_ANSWER), tables.get(table, {}))
        elif is_identifier(column):
            shared.add(column)
    return Owners(people, frozenset(shared), _of_keys(kinds, people))


def _kinds_of(state: JsonValue, pool: Pool) -> dict[str, dict[str, Row]]:
    """Give all rows by their kind: the tables of the state, the answers of each tool."""
    kinds: dict[str, dict[str, Row]] = defaultdict(dict)
    for name, table in state.items() if isinstance(state, Mapping) else ():
        for key, row in _keyed(table):
            kinds[str(name)][key] = row
    for entry in pool.entries:
        for number, row in enumerate(rows_in(entry.result)):
            kinds[f"{_ANSWER}{entry.tool}"][f"{entry.id}/{number}"] = row
    return kinds


def _carried(kinds: Mapping[str, Mapping[str, Row]], pool: Pool) -> dict[str, dict[str, set[str]]]:
    """Give the values of each column that may own, by the kinds of rows and of calls that carry it."""
    cells = [
        (column, kind, value) for kind, rows in kinds.items() for row in rows.values() for column, value in row.items()
    ]
    cells += [
        (name_of(path), f"arguments/{entry.tool}", value)
        for entry in pool.entries
        for path, value in read_slots(entry.arguments).items()
    ]
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for column, kind, value in cells:
        if (is_identifier(column) or is_role(column)) and _is_key(value):
            found[column][kind].add(str(value))
    return found


def rows_in(value: JsonValue, deep: int = 3) -> Iterator[Row]:
    """Yield the rows of an answer: the objects that hold several plain values, the outer ones first."""
    value = inner(value)
    if isinstance(value, list):
        for item in value:
            yield from rows_in(item, deep)
    elif isinstance(value, Mapping) and deep:
        plain = [item for item in value.values() if not isinstance(item, Mapping | list)]
        if len(plain) > 1:
            yield value
        for item in value.values():
            if isinstance(inner(item), Mapping | list):
                yield from rows_in(item, deep - 1)


def _listed_by(entry: PoolEntry) -> Iterator[str]:
    """Yield the columns by which a call lists rows: an argument that every row carries, of which there are several."""
    rows = list(rows_in(entry.result))
    for path, value in read_slots(entry.arguments).items():
        column = name_of(path)
        if len(rows) > 1 and is_identifier(column) and all(str(row.get(column)) == str(value) for row in rows):
            yield column


def _of_keys(kinds: Mapping[str, Mapping[str, Row]], people: Mapping[str, Table]) -> dict[tuple[str, str], Named]:
    """Say whose the rows with each key are, where every row with it is of one owner."""
    found: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for kind, rows in kinds.items():
        for key, row in rows.items():
            whose = {column: str(row[column]) for column in people if column in row and _is_key(row[column])}
            own = [
                (column, str(value))
                for column, value in row.items()
                if is_identifier(column) and column not in people and _is_key(value)
            ][:1]
            names = own if kind.startswith(_ANSWER) else [("", key), *own]
            places = {(column, value) for column, value in names if column} | {
                ("", value) for _, value in names if _is_telling(value)
            }
            for place in places:
                for owned, owner in whose.items():
                    found[place][owned].add(owner)
    return {
        place: {column: next(iter(values)) for column, values in owned.items() if len(values) == 1}
        for place, owned in found.items()
    }


def _keyed(table: JsonValue) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a table of a state, a mapping by key or a list, with their keys."""
    if isinstance(table, Mapping):
        yield from ((str(key), row) for key, row in table.items() if isinstance(row, Mapping))
    elif isinstance(table, list):
        yield from ((str(number), row) for number, row in enumerate(table) if isinstance(row, Mapping))


def _by_key(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Give rows by their key in the table, and by the identifier that each carries first."""
    found = dict(rows)
    for row in rows.values():
        own = next((value for column, value in row.items() if is_identifier(column) and _is_key(value)), None)
        if own is not None:
            found.setdefault(str(own), row)
    return found


def _leads(values: set[str], rows: Mapping[str, Row]) -> bool:
    hits = values & set(rows)
    return bool(hits) and len(hits) >= min(_LEAST, len(values)) and len(hits) * 2 >= len(values)


def _is_telling(key: str) -> bool:
    return len(key) >= _TELLING and any(map(str.isdigit, key))


def _is_key(value: JsonValue) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= 64) or (isinstance(value, int) and not isinstance(value, bool))


def _is_person(row: Row) -> bool:
    found = {word for column in row for word in words(column)}
    return bool(found & NAMES) and bool(found & _REACHED)


def _name_of(row: Row) -> str:
    nested = row.get("name")
    if isinstance(nested, Mapping):
        return " ".join(value for value in nested.values() if isinstance(value, str))
    parts = [str(value) for column, value in row.items() if set(words(column)) & NAMES and isinstance(value, str)]
    return " ".join(parts[:2])
