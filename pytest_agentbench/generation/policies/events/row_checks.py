"""Rows held against their schema: types, NOT NULL, CHECK, keys, uniqueness, references, the user's validators."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import shorten
from pytest_agentbench.environment.sqlite_rows import quote
from pytest_agentbench.generation.policies.events.schema import Column, EventRow, Rows, Schema, Table

Validator = Callable[[str, dict[str, Any], Rows], str | None]
"""Written by users: gets table, row and the rows accepted so far by table; gives what is wrong, or nothing."""

_PYTHON: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int,),
    "real": (int, float),
    "boolean": (bool, int),
}
_SHOWN = 120


class Ground:
    """The rows of the suite's own state, indexed once for all events, and an empty database that knows the CHECKs."""

    def __init__(self, schema: Schema, existing: Rows) -> None:
        self.schema = schema
        self.rows = existing
        self.engine = _engine(schema)
        self._known: dict[tuple[str, tuple[str, ...]], frozenset[str]] = {}

    def values(self, table: str, columns: tuple[str, ...]) -> frozenset[str]:
        """Give what stands in some columns of a table."""
        if (table, columns) not in self._known:
            self._known[table, columns] = frozenset(_value(row, columns) for row in self.rows.get(table, ()))
        return self._known[table, columns]


class RowChecker:
    """Takes rows one after the other, beside those that are there already, which are not checked."""

    def __init__(self, ground: Ground, validators: Sequence[Validator] = ()) -> None:
        self._ground = ground
        self._schema = ground.schema
        self._rows: Rows = {}
        self._validators = validators

    def faults(self, row: EventRow) -> list[str]:
        """Say what is wrong with a row, in words that a writer can act on; [] is right."""
        table = self._schema.get(row.table)
        if table is None:
            known = ", ".join(one.name for one in self._schema.tables)
            return [f"there is no table {row.table!r}; tables are {known}"]
        names = {column.name for column in table.columns}
        found = [
            f"{row.table} has no column {name!r}; it has {_listed(names)}" for name in row.values if name not in names
        ]
        for column in table.columns:
            found += [f"{row.table}.{fault}" for fault in _column_faults(column, row.values, column.name in table.key)]
        found += self._key_faults(table, row.values)
        found += self._reference_faults(table, row.values)
        if not found and self._ground.engine is not None:
            found += self._engine_faults(table, row.values)
        if not found:
            found += self._validator_faults(row)
        return found

    def take(self, row: EventRow) -> None:
        """Note a right row, so that later ones can refer to it."""
        self._rows.setdefault(row.table, []).append(dict(row.values))

    def check(self, rows: Iterable[EventRow]) -> list[str]:
        """Give the faults of rows in their order; each is taken, so that one fault is not told as many.

        Rows that refer to each other in a circle are no fault: a reference may lead to a later row.
        """
        rows = list(rows)
        late = [(row.table, row.values) for row in rows]
        found: list[str] = []
        for position, row in enumerate(rows):
            own = [fault for fault in self.faults(row) if not self._comes_later(fault, row, late[position + 1 :])]
            found += own
            self.take(row)
        return found

    def _comes_later(self, fault: str, row: EventRow, later: Sequence[tuple[str, dict[str, Any]]]) -> bool:
        table = self._schema.get(row.table)
        for link in table.references if table else ():
            if fault != _dangling(row.table, link.columns, row.values, link.table):
                continue
            wanted = _value(row.values, link.columns)
            return any(name == link.table and _value(values, link.target) == wanted for name, values in later)
        return False

    def _key_faults(self, table: Table, values: Mapping[str, Any]) -> list[str]:
        found = []
        for columns in dict.fromkeys((*((table.key,) if table.key else ()), *table.unique)):
            if any(values.get(column) is None for column in columns):
                continue
            if self._has(table.name, columns, _value(values, columns)):
                shown = ", ".join(f"{name} {_short(values[name])}" for name in columns)
                found.append(f"{table.name}: {shown} stands in another row already")
        return found

    def _reference_faults(self, table: Table, values: Mapping[str, Any]) -> list[str]:
        found = []
        for link in table.references:
            if not link.target or any(values.get(column) is None for column in link.columns):
                continue
            own = link.table == table.name and _value(values, link.columns) == _value(values, link.target)
            if not own and not self._has(link.table, link.target, _value(values, link.columns)):
                found.append(_dangling(table.name, link.columns, values, link.table))
        return found

    def _engine_faults(self, table: Table, values: Mapping[str, Any]) -> list[str]:
        """Ask SQLite for what its CHECKs say; keys and references are decided already."""
        engine = self._ground.engine
        assert engine is not None  # noqa: S101 - asked for by the caller
        columns = ", ".join(quote(name) for name in values)
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {quote(table.name)} ({columns}) VALUES ({marks})"  # noqa: S608 - names are quoted
        try:
            engine.execute("BEGIN")
            engine.execute(sql, [_stored(value) for value in values.values()])
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            return [f"{table.name} {_short(dict(values))}: {error}"]
        finally:
            engine.rollback()
        return []

    def _validator_faults(self, row: EventRow) -> list[str]:
        for validator in self._validators:
            try:
                told = validator(row.table, dict(row.values), self._all())
            except Exception as error:  # noqa: BLE001 - validators are the user's, and say no by raising too
                told = str(error) or type(error).__name__
            if told:
                return [f"{row.table}: {told}: {_short(dict(row.values))}"]
        return []

    def _all(self) -> Rows:
        names = dict.fromkeys((*self._ground.rows, *self._rows))
        return {name: [*self._ground.rows.get(name, ()), *self._rows.get(name, ())] for name in names}

    def _has(self, table: str, columns: tuple[str, ...], value: str) -> bool:
        if value in self._ground.values(table, columns):
            return True
        return any(_value(row, columns) == value for row in self._rows.get(table, ()))


def _column_faults(column: Column, values: Mapping[str, Any], is_key: bool) -> list[str]:
    value = values.get(column.name)
    if value is None:
        missing = "is missing" if column.name not in values else "must not be null"
        return [f"{column.name} {missing}"] if column.required or is_key else []
    expected = _PYTHON.get(column.type)
    if expected and (not isinstance(value, expected) or (isinstance(value, bool) and column.type != "boolean")):
        return [f"{column.name}: must be of type {column.type}, found {_short(value)}"]
    if column.told and value not in column.values:
        allowed = ", ".join(map(str, column.values))
        return [f"{column.name}: {_short(value)} is not allowed; allowed are {allowed}"]
    return []


def _engine(schema: Schema) -> sqlite3.Connection | None:
    """Open an empty database of the schema that holds rows against its CHECKs alone."""
    if not schema.ddl:
        return None
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(schema.ddl)
    connection.execute("PRAGMA foreign_keys = OFF")
    return connection


def _dangling(table: str, columns: Sequence[str], values: Mapping[str, Any], target: str) -> str:
    shown = ", ".join(f"{name} {_short(values.get(name))}" for name in columns)
    return f"{table}: {shown} refers to a row of {target} that does not exist"


def _value(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    return dumps([row.get(column) for column in columns])


def _stored(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _short(value: Any) -> str:
    return shorten(repr(value), _SHOWN)
