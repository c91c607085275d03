"""Whom the calls of a draft belong to: rows of tables, and of answers, carry the identifier of one person.

An owner column is called the same in rows of at least two kinds (an order's `customer_id`, an address's `customer_id`).
It leads to the rows of one table that describe people, who have a name and a way to reach them or a day of birth; or some
tool takes it and lists the rows that carry it (`list_loans(member_id)`). A draft keeps to one owner. Other columns that
repeat are kept to where there is a choice.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.names import IDENTIFIERS
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Owner, Turn
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.hydration.arguments import Executed
from pytest_agentbench.generation.tools.labels import name_of
from pytest_agentbench.generation.tools.probing.reading import inner, parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.values import Card, PoolEntry

_REACHED = frozenset({"email", "mail", "phone", "tel", "telephone", "mobile", "birth", "birthday", "dob"})
"""Words of columns that only rows about people have."""
_NAMES = frozenset({"name", "nom", "surname", "firstname", "lastname", "prenom"})
"""Words of columns that hold what people are called."""
_KINDS = 2
"""Kinds of rows that carry an owner column."""
_LEAST = 3
"""Different values of a column that lead to rows of a table, from which it is the table's (fewer: all of them)."""

_ANSWER = "answer/"
"""Begins the name of a kind of rows that stand in the answers of a tool."""

Row = Mapping[str, JsonValue]


@dataclass(frozen=True)
class Table:
    """The rows of one table of people: its name, and the rows by key."""

    name: str
    rows: Mapping[str, Row] = field(default_factory=dict)


@dataclass(frozen=True)
class Owners:
    """The owner columns of a service with the rows that they lead to, and `shared`, other columns that repeat."""

    people: Mapping[str, Table] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()

    def of(self, one: Executed) -> dict[str, str]:
        """Give the owner that a call is about, by column: as its arguments say, else as the one row of its answer."""
        found = self.of_values(read_slots(one.arguments))
        rows = [row for row in rows_in(one.result)]
        for column in (*self.people, *self.shared):
            values = {str(row[column]) for row in rows if column in row and _is_key(row[column])}
            if column not in found and len(values) == 1 and len(rows) == 1:
                found[column] = values.pop()
        for column, table in self.people.items():
            if column not in found and len(rows) == 1:
                keys = {str(value) for value in rows[0].values() if _is_key(value)} & set(table.rows)
                if len(keys) == 1 and _is_person(rows[0]):
                    found[column] = keys.pop()
        return found

    def of_values(self, slots: Mapping[str, JsonValue]) -> dict[str, str]:
        """Give the owner that arguments name, by column."""
        named = {name_of(path): value for path, value in slots.items() if _is_key(value)}
        return {column: str(named[column]) for column in (*self.people, *self.shared) if column in named}

    def conflicts(self, one: Mapping[str, str], made: Iterable[Mapping[str, str]]) -> tuple[int, int]:
        """Count the people, and the other things, that are others than those of the calls made."""
        known: dict[str, set[str]] = defaultdict(set)
        for other in made:
            for column, value in other.items():
                known[column].add(value)
        against = [column for column, value in one.items() if known[column] - {value}]
        return sum(column in self.people for column in against), sum(column in self.shared for column in against)

    def owner_of(self, turns: Sequence[Turn], card: Callable[[str], Card]) -> Owner | None:
        """Give the person that all calls are about; nobody where no table describes people, None where there are two."""
        made = [
            Executed(card(one.call.name), one.call.arguments, parsed(one.answer), one.answer, number)
            for number, turn in enumerate(turns)
            for one in turn.calls
        ]
        every = [self.of(one) for one in made]
        for column, table in self.people.items():
            keys = {found[column] for found in every if column in found}
            if len(keys) > 1:
                return None
            if keys:
                key = keys.pop()
                row = table.rows.get(key, {})
                return Owner(table=table.name, key=row.get(column, key), name=_name_of(row))
        return Owner()


def owners_of(state: JsonValue, pool: Pool) -> Owners:
    """Find the owner columns of a service, in its state and in the answers of verified calls."""
    kinds: dict[str, dict[str, Row]] = defaultdict(dict)
    for name, table in (state or {}).items() if isinstance(state, Mapping) else ():
        for key, row in _keyed(table):
            kinds[name][key] = row
    for entry in pool.entries:
        for number, row in enumerate(rows_in(entry.result)):
            kinds[f"{_ANSWER}{entry.tool}"][f"{entry.id}/{number}"] = row
    carried: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for kind, rows in kinds.items():
        for row in rows.values():
            for column, value in row.items():
                if _is_identifier(column) and _is_key(value):
                    carried[column][kind].add(str(value))
    people: dict[str, Table] = {}
    shared: set[str] = set()
    tables = {kind: _by_key(rows) for kind, rows in kinds.items()}
    persons = {kind: tables[kind] for kind, rows in kinds.items() if any(map(_is_person, rows.values()))}
    listing = {column for entry in pool.entries for column in _listed_by(entry)}
    for column, by_kind in sorted(carried.items()):
        if len(by_kind) < _KINDS:
            continue
        values = set().union(*by_kind.values())
        table = next((name for name, rows in persons.items() if _leads(values, rows)), None)
        if table is not None or column in listing:
            table = table or next((name for name, rows in tables.items() if _leads(values, rows)), column)
            people[column] = Table(table.removeprefix(_ANSWER), tables.get(table, {}))
        elif words(column) != ("id",):
            shared.add(column)
    return Owners(people, frozenset(shared))


def _listed_by(entry: PoolEntry) -> Iterator[str]:
    """Yield the columns by which a call lists rows: an argument that every row carries, of which there are several."""
    rows = list(rows_in(entry.result))
    for path, value in read_slots(entry.arguments).items():
        column = name_of(path)
        if len(rows) > 1 and _is_identifier(column) and all(str(row.get(column)) == str(value) for row in rows):
            yield column


def rows_in(value: JsonValue, deep: int = 3) -> Iterator[Row]:
    """Yield the rows of an answer: the objects that hold plain values, the outer ones first."""
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


def _keyed(table: JsonValue) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a table of a state, a mapping by key or a list, with their keys."""
    if isinstance(table, Mapping):
        yield from ((str(key), row) for key, row in table.items() if isinstance(row, Mapping))
    elif isinstance(table, list):
        yield from ((str(number), row) for number, row in enumerate(table) if isinstance(row, Mapping))


def _by_key(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Give rows by their key in the table, and by every identifier that they carry first."""
    found = dict(rows)
    for row in rows.values():
        own = next((value for column, value in row.items() if _is_identifier(column) and _is_key(value)), None)
        if own is not None:
            found.setdefault(str(own), row)
    return found


def _leads(values: set[str], rows: Mapping[str, Row]) -> bool:
    hits = values & set(rows)
    return bool(hits) and len(hits) >= min(_LEAST, len(values)) and len(hits) * 2 >= len(values)


def _is_identifier(column: str) -> bool:
    return words(column)[-1:] and words(column)[-1] in IDENTIFIERS


def _is_key(value: JsonValue) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= 64) or (isinstance(value, int) and not isinstance(value, bool))


def _is_person(row: Row) -> bool:
    found = {word for column in row for word in words(column)}
    return bool(found & _NAMES) and bool(found & _REACHED)


def _name_of(row: Row) -> str:
    parts = [str(value) for column, value in row.items() if set(words(column)) & _NAMES and isinstance(value, str)]
    nested = row.get("name")
    if isinstance(nested, Mapping):
        parts = [str(value) for value in nested.values() if isinstance(value, str)]
    return " ".join(parts[:2])
