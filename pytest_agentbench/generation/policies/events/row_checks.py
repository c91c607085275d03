"""Rows held against their schema: types, NOT NULL, CHECK, keys, uniqueness, references, the user's validators."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import shorten
from pytest_agentbench.environment.sqlite_state import quote
from pytest_agentbench.generation.policies.events.schema import Column, EventRow, Reference, Rows, Schema, Table

Validator = Callable[[str, dict[str, Any], Rows], str | None]
"""Written by users: gets table, row and the rows accepted so far by table; gives what is wrong, or nothing."""

_PYTHON: dict[str, tuple[type, ...]] = {"text": (str,), "integer": (int,), "real": (int, float), "boolean": (bool, int)}
_SHOWN = 120


class RowChecker:
    """Checks the rows of an event beside those of the suite's own state (`existing`), which are not checked."""

    def __init__(self, schema: Schema, existing: Rows, validators: Sequence[Validator] = ()) -> None:
        self._schema = schema
        self._existing = existing
        self._validators = validators
        self._engine: sqlite3.Connection | None = None
        if schema.ddl:  # an empty database knows the CHECKs; keys and references are decided here
            self._engine = sqlite3.connect(":memory:", isolation_level=None)
            self._engine.executescript(schema.ddl)
            self._engine.execute("PRAGMA foreign_keys = OFF")
        self._values: dict[tuple[str, tuple[str, ...]], frozenset[str]] = {}

    def check(self, rows: Iterable[EventRow]) -> list[str]:
        """Give the faults of rows in their order, in words that a writer can act on; [] is right.

        Each row is taken, so that one fault is not told as many. Rows that refer to each other in a circle are no
        fault: a reference may lead to a later row.
        """
        left, before, found = list(rows), Rows(), list[str]()
        while left:
            row = left.pop(0)
            found += self._faults(row, before, left)
            before.setdefault(row.table, []).append(row.values)
        return found

    def _faults(self, row: EventRow, before: Rows, later: Sequence[EventRow]) -> list[str]:
        table, values = self._schema.get(row.table), row.values
        if table is None:
            known = ", ".join(sorted(one.name for one in self._schema.tables))
            return [f"there is no table {row.table!r}; tables are {known}"]
        names = ", ".join(sorted(column.name for column in table.columns))
        found = [
            *(f"{table.name} has no column {name!r}; it has {names}" for name in values if table.column(name) is None),
            *(f"{table.name}.{fault}" for one in table.columns for fault in _column_faults(one, table, values)),
            *self._twins(table, values, before),
            *(fault for link in table.references for fault in self._dangling(table, link, values, before, later)),
        ]
        return found or self._engine_faults(table, values) or self._validator_faults(table, values, before)

    def _twins(self, table: Table, values: Mapping[str, Any], before: Rows) -> Iterator[str]:
        for columns in dict.fromkeys((table.key, *table.unique) if table.key else table.unique):
            is_whole = all(values.get(column) is not None for column in columns)
            if is_whole and self._stands(table.name, columns, _value(values, columns), before):
                yield f"{table.name}: {_shown(columns, values)} stands in another row already"

    def _dangling(
        self, table: Table, link: Reference, values: Mapping[str, Any], before: Rows, later: Sequence[EventRow]
    ) -> Iterator[str]:
        if not link.target or any(values.get(column) is None for column in link.columns):
            return
        wanted = _value(values, link.columns)
        beside = [values if link.table == table.name else {}, *(one.values for one in later if one.table == link.table)]
        is_there = any(_value(one, link.target) == wanted for one in beside)
        if not is_there and not self._stands(link.table, link.target, wanted, before):
            shown = _shown(link.columns, values)
            yield f"{table.name}: {shown} refers to a row of {link.table} that does not exist"

    def _stands(self, table: str, columns: tuple[str, ...], value: str, before: Rows) -> bool:
        """Whether a value stands in some columns of a table; what the state holds is indexed once for all events."""
        if (table, columns) not in self._values:
            self._values[table, columns] = frozenset(_value(row, columns) for row in self._existing.get(table, ()))
        is_fresh = any(_value(row, columns) == value for row in before.get(table, ()))
        return is_fresh or value in self._values[table, columns]

    def _engine_faults(self, table: Table, values: Mapping[str, Any]) -> list[str]:
        """Ask SQLite for what its CHECKs say."""
        engine = self._engine
        if engine is None:
            return []
        columns, marks = ", ".join(quote(name) for name in values), ", ".join("?" * len(values))
        sql = f"INSERT INTO {quote(table.name)} ({columns}) VALUES ({marks})"  # noqa: S608 - names are quoted
        stored = [
            json.dumps(one, ensure_ascii=False) if isinstance(one, list | dict) else one for one in values.values()
        ]
        try:
            engine.execute("BEGIN")
            engine.execute(sql, stored)
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            return [f"{table.name} {_short(dict(values))}: {error}"]
        finally:
            engine.rollback()
        return []

    def _validator_faults(self, table: Table, values: Mapping[str, Any], before: Rows) -> list[str]:
        names = chain(self._existing, before) if self._validators else ()
        rows = {name: [*self._existing.get(name, ()), *before.get(name, ())] for name in names}
        for validator in self._validators:
            try:
                wrong = validator(table.name, dict(values), rows)
            except Exception as error:  # noqa: BLE001 - validators are the user's, and say no by raising too
                wrong = str(error) or type(error).__name__
            if wrong:
                return [f"{table.name}: {wrong}: {_short(dict(values))}"]
        return []


def _column_faults(column: Column, table: Table, values: Mapping[str, Any]) -> Iterator[str]:
    value, kinds = values.get(column.name), _PYTHON.get(column.type)
    if value is None:
        if column.required or column.name in table.key:
            yield f"{column.name} {'must not be null' if column.name in values else 'is missing'}"
    elif kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and column.type != "boolean")):
        yield f"{column.name}: must be of type {column.type}, found {_short(value)}"
    elif column.declared and value not in column.values:
        allowed = ", ".join(map(str, column.values))
        yield f"{column.name}: {_short(value)} is not allowed; allowed are {allowed}"


def _value(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    return dumps([row.get(column) for column in columns])


def _shown(columns: Sequence[str], values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_short(values.get(name))}" for name in columns)


def _short(value: Any) -> str:
    return shorten(repr(value), _SHOWN)
