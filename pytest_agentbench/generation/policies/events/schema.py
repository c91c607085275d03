"""The tables that rows are made for: read from SQLite DDL, or inferred from the rows of a state."""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.names import words_of
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import shorten
from pytest_agentbench.environment.sqlite_state import quote, tables

ColumnType = Literal["text", "integer", "real", "boolean", "json", "any"]

Rows = dict[str, list[dict[str, Any]]]
"""Rows by table."""

_CODE = re.compile(r"(?!\d{1,4}[-:/.]\d{1,2}(?:[-:/.]\d|$|\D{0,3}$))(?=\D*\d)(?=[^a-zA-Z]*[a-zA-Z])[\w./:-]{2,40}")
"""A word of letters and digits, and no date."""

OUTER_KEY = "_key"
"""Stands for the key of a mapping whose rows do not hold it; it is never written into a row."""

_ENDING = 3
"""Letters that a language may add to a word for several, at most."""
_FEW = 8
"""Distinct values up to which a text column of a state is one of a fixed set, if each stands twice on average."""
_CHECK_IN = re.compile(r"(?P<column>\w+)\s+IN\s*\((?P<values>[^()]*)\)", re.IGNORECASE)
_LITERAL = re.compile(r"'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)")

_AFFINITIES: tuple[tuple[ColumnType, tuple[str, ...]], ...] = (
    ("boolean", ("BOOL",)),
    ("integer", ("INT",)),
    ("text", ("CHAR", "CLOB", "TEXT", "DATE", "TIME")),
    ("json", ("JSON",)),
    ("real", ("REAL", "FLOA", "DOUB", "NUM", "DEC")),
    ("any", ("",)),
)
"""Parts of declared types, in the order of SQLite's rules of affinity (sqlite.org/datatype3, §3.1)."""

_TYPES: tuple[tuple[ColumnType, type], ...] = (("boolean", bool), ("text", str), ("integer", int), ("real", float))

_PERSONAL: tuple[tuple[str, frozenset[str]], ...] = (
    ("email", frozenset(("email", "mail", "courriel"))),
    ("phone", frozenset(("phone", "tel", "telephone", "mobile"))),
    ("birth", frozenset(("birth", "birthday", "birthdate", "dob", "naissance"))),
    ("first_name", frozenset(("first", "firstname", "given", "prenom"))),
    ("last_name", frozenset(("last", "lastname", "surname", "family"))),
    ("name", frozenset(("name", "fullname", "nom"))),
)
"""Words of column names by which a column holds something of a person, the telling ones first."""


class Column(Model):
    """A column: `values` are the only ones that it may hold (() admits all), `declared` where the schema lists them."""

    name: str
    type: ColumnType = "any"
    required: bool = False
    values: tuple[Any, ...] = ()
    declared: bool = False


class Reference(Model):
    """That `columns` hold the key columns `target` of a row of `table`."""

    columns: tuple[str, ...]
    table: str
    target: tuple[str, ...]


class Table(Model):
    """A table: its key, and what else must stand once; `keyed` tables are mappings from key to row in JSON."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    references: tuple[Reference, ...] = ()
    keyed: bool = False

    def column(self, name: str) -> Column | None:
        """Find a column."""
        return next((one for one in self.columns if one.name == name), None)

    def refers_by(self, columns: Collection[str]) -> bool:
        """Whether one of these columns holds a part of another row's key."""
        return any(name in link.columns for link in self.references for name in columns)


class EventRow(Model):
    """One row for the initial state; `symbol` is the entity that it makes real (C1: the first row of customers).

    `description` says what that is, `bindings` are columns that hold another entity's key, by that entity's symbol.
    """

    table: str
    values: dict[str, Any]
    symbol: str = ""
    description: str = ""
    bindings: dict[str, str] = {}


class Schema(Model):
    """All tables; `ddl` is the SQL that they were read from, "" where there is none."""

    tables: tuple[Table, ...] = ()
    ddl: str = ""

    def get(self, name: str) -> Table | None:
        """Find a table."""
        return next((one for one in self.tables if one.name == name), None)

    def named(self, words: Sequence[str]) -> Table | None:
        """Find the table with one key column whose name has these words, in the singular or the plural.

        What a language adds to a word for several is short: *buchung* and `buchungen`, *curso* and `cursos`.
        """
        wanted, stem = list(map(_singular, words)), "_".join(words)
        keyed = [(one, words_of(one.name)) for one in self.tables if len(one.key) == 1]
        fitting = [one for one, name in keyed if list(map(_singular, name)) == wanted]
        if not fitting and len(stem) > _ENDING:
            longer = [(one, "_".join(name)) for one, name in keyed]
            fitting = [one for one, name in longer if name.startswith(stem) and len(name) - len(stem) <= _ENDING]
        return fitting[0] if len(fitting) == 1 else None

    def keyed_by(self, column: str) -> Table | None:
        """Find the table whose one key column has this name and refers to no other table, if there is one."""
        fitting = [one for one in self.tables if one.key == (column,)]
        return next(iter([one for one in fitting if not one.refers_by(one.key)] or fitting), None)


def personal(column: str) -> str:
    """Give what a column holds of a person by its name: *email*, *phone*, *birth*, a name, or "" for anything else."""
    words = set(words_of(column))
    return next((kind for kind, known in _PERSONAL if words & known), "")


def _singular(word: str) -> str:
    """Give a word of an identifier as it stands for one thing: `categories` as *category*, `orders` as *order*."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def schema_of(suite: Suite, state: Mapping[str, Any]) -> Schema:
    """Read the schema of a suite's state: its DDL where it has one, else what its rows are like.

    Where DDL declares no reference at all, rows tell which column refers to which table.
    """
    spec = suite.environment.state
    ddl = spec.options.get("schema") if spec is not None and spec.kind == "sqlite" else None
    if ddl is None:
        return inferred_schema(state)
    try:
        schema = sqlite_schema((suite.root / ddl).read_text(encoding="utf-8"))
    except (OSError, sqlite3.Error) as error:
        raise SuiteFaultError(f"{ddl}: {error}") from error
    if any(table.references for table in schema.tables):
        return schema
    found = _references(rows_of(state), {table.name: table.key for table in schema.tables})
    own = [one.model_copy(update={"references": found.get(one.name, ())}) for one in schema.tables]
    return schema.model_copy(update={"tables": tuple(own)})


def sqlite_schema(ddl: str) -> Schema:
    """Read SQLite DDL; raise `sqlite3.Error` where it is none."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(ddl)
        keys = {name: table.key for name, table in tables(connection).items()}
        return Schema(tables=tuple(_sqlite_table(connection, name, keys) for name in keys), ddl=ddl)
    finally:
        connection.close()


def _sqlite_table(connection: sqlite3.Connection, name: str, keys: Mapping[str, tuple[str, ...]]) -> Table:
    sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0] or ""
    checks = _CHECK_IN.finditer(re.sub("--.*", "", sql))
    allowed = {one["column"].lower(): tuple(map(_literal, _LITERAL.findall(one["values"]))) for one in checks}

    def pragma(what: str, of: str = name) -> list[Any]:
        return connection.execute(f"PRAGMA {what}({quote(of)})").fetchall()

    columns = tuple(
        Column(
            name=row[1],
            type=next(kind for kind, parts in _AFFINITIES if any(part in row[2].upper() for part in parts)),
            required=bool(row[3]) and row[4] is None,
            values=allowed.get(row[1].lower(), ()),
            declared=row[1].lower() in allowed,
        )
        for row in pragma("table_xinfo")
        if row[6] == 0
    )
    links: dict[int, list[Any]] = {}
    for number, *part in pragma("foreign_key_list"):
        links.setdefault(number, []).append(part)  # place, table, column, target
    references = []
    for _, parts in sorted(links.items(), reverse=True):
        parts.sort()
        table = next((known for known in keys if known.lower() == parts[0][1].lower()), parts[0][1])
        target = tuple(one[3] for one in parts if one[3]) or keys.get(table, ())
        references.append(Reference(columns=tuple(one[2] for one in parts), table=table, target=target))
    indexes = [index[1] for index in pragma("index_list") if index[2] and not index[4]]
    unique = tuple(tuple(row[2] for row in pragma("index_info", index) if row[2]) for index in indexes)
    return Table(name=name, columns=columns, key=keys[name], unique=unique, references=tuple(references))


def _literal(found: tuple[str, str]) -> Any:
    text, number = found
    return (float(number) if "." in number else int(number)) if number else text.replace("''", "'")


def inferred_schema(state: Mapping[str, Any]) -> Schema:
    """Infer tables from a state: mappings from key to row, and lists of rows; what is neither is left out.

    A column that every row has is required; one whose texts all are keys of one other table refers to it.
    """
    rows = rows_of(state, with_keys=True)
    keys = {name: _inferred_key(name, own, state[name], rows) for name, own in rows.items()}
    references = _references(rows, keys)
    found = []
    for name, own in rows.items():
        names = dict.fromkeys(column for row in own for column in row)
        columns = {column: [row[column] for row in own if row.get(column) is not None] for column in names}
        found.append(
            Table(
                name=name,
                columns=tuple(_inferred_column(*one, len(own), keys[name]) for one in columns.items()),
                key=keys[name],
                references=references[name],
                keyed=isinstance(state[name], Mapping),
            )
        )
    return Schema(tables=tuple(found))


def _references(rows: Rows, keys: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[Reference, ...]]:
    """Find the columns of each table whose values are keys of one other table."""
    values = {
        name: {row[key[0]] for row in rows.get(name, ()) if isinstance(row.get(key[0]), str | int)}
        for name, key in keys.items()
        if len(key) == 1
    }
    found = {}
    for name, own in rows.items():
        columns = dict.fromkeys(column for row in own for column in row)
        held = {column: [row[column] for row in own if row.get(column) is not None] for column in columns}
        targets = {column: _target(held[column], column, {**values, name: set()}, keys) for column in columns}
        found[name] = tuple(
            Reference(columns=(column,), table=target, target=keys[target])
            for column, target in targets.items()
            if target
        )
    return found


def rows_of(state: Mapping[str, Any], *, with_keys: bool = False) -> Rows:
    """Give the rows of a state by table.

    `with_keys` adds the key of a mapping as the column `OUTER_KEY` to rows that do not hold it themselves.
    """
    found: Rows = {}
    for name, content in state.items():
        rows = list(content.values()) if isinstance(content, Mapping) else content
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
            found[name] = [dict(row) for row in rows]
            if with_keys and isinstance(content, Mapping) and not _held(content):
                found[name] = [{OUTER_KEY: key, **row} for key, row in content.items()]
    return found


def state_of_rows(rows: Sequence[EventRow], schema: Schema, existing: Rows) -> dict[str, Any]:
    """Give rows as a scenario's `state`: mappings by key where the table is one, else lists, whole for JSON states."""
    state: dict[str, Any] = {}
    for row in rows:
        table = schema.get(row.table)
        if table is not None and table.keyed and len(table.key) == 1:
            state.setdefault(row.table, {})[str(row.values[table.key[0]])] = _inner(row.values)
        else:
            before = [] if schema.ddl else [_inner(one) for one in existing.get(row.table, ())]
            state.setdefault(row.table, before).append(_inner(row.values))
    return state


def _inner(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give a row without the key that it stands under."""
    return {name: value for name, value in values.items() if name != OUTER_KEY}


def _held(content: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Give the columns that hold the key under which each row stands."""
    first = next(iter(content.values()))
    return [column for column in first if all(str(row.get(column)) == str(key) for key, row in content.items())]


def _inferred_key(
    name: str, rows: Sequence[Mapping[str, Any]], content: Any, names: Collection[str] = ()
) -> tuple[str, ...]:
    """Find the column that holds the mapping's key, else the first whose values all differ and that is called an id,
    else the first that holds a code in each of several rows, `{no: K-1, name: ...}`, and is not called as one of the
    other tables `names` is.
    """
    if isinstance(content, Mapping):
        return (OUTER_KEY,) if OUTER_KEY in rows[0] else tuple(_held(content)[:1])
    usual = ("id", f"{name.removesuffix('s')}_id")
    coded: list[str] = []
    for column in sorted(rows[0], key=lambda one: one not in usual):
        values = [row.get(column) for row in rows]
        if not all(isinstance(one, str | int) for one in values) or len(set(values)) < len(values):
            continue
        if column.lower() == "id" or column.lower().endswith(("_id", "number")):
            return (column,)
        is_other = any(_singular(column) == _singular(one) != _singular(name) for one in names)
        if len(values) > 1 and not is_other and all(isinstance(one, str) and _CODE.fullmatch(one) for one in values):
            coded.append(column)
    return tuple(coded[:1])


def _inferred_column(name: str, values: Sequence[Any], rows: int, key: tuple[str, ...]) -> Column:
    kinds = {next((kind for kind, one in _TYPES if isinstance(value, one)), "json") for value in values}
    kind: Any = kinds.pop() if len(kinds) == 1 else "real" if kinds == {"integer", "real"} else "any"
    distinct = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    is_fixed = kind == "text" and name not in key and 1 < len(distinct) <= _FEW and len(values) >= 2 * len(distinct)
    return Column(name=name, type=kind, required=len(values) == rows, values=distinct if is_fixed else ())


def _target(
    held: Sequence[Any], column: str, values: Mapping[str, set[Any]], keys: Mapping[str, tuple[str, ...]]
) -> str | None:
    """Find the one table of `values` whose keys a column holds; a number needs the name of the key too."""
    if any(isinstance(value, list | dict) for value in held):
        return None
    own = {value for value in held if isinstance(value, str | int) and not isinstance(value, bool)}
    are_texts = all(isinstance(one, str) for one in own)
    fitting = [table for table, known in values.items() if own <= known and (are_texts or column == keys[table][0])]
    return fitting[0] if own and len(fitting) == 1 else None


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
