"""The tables that rows are made for: read from SQLite DDL, from JSON Schema, or inferred from the rows of a state."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.names import words_of
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.sqlite_rows import quote, tables

ColumnType = Literal["text", "integer", "real", "boolean", "json", "any"]

Rows = dict[str, list[dict[str, Any]]]
"""Rows by table."""

OUTER_KEY = "_key"
"""Stands for the key of a mapping whose rows do not hold it; it is never written into a row."""

_FEW = 8
"""Distinct values up to which a text column of a state is one of a fixed set, if each stands twice on average."""
_CHECK_IN = re.compile(r"(?P<column>\w+)\s+IN\s*\((?P<values>[^()]*)\)", re.IGNORECASE)
_LITERAL = re.compile(r"'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)")


class Column(Model):
    """A column: `values` are the only ones that it may hold (() admits all), `told` says that the schema lists them."""

    name: str
    type: ColumnType = "any"
    required: bool = False
    values: tuple[Any, ...] = ()
    told: bool = False


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


class EventRow(Model):
    """One row for the initial state; `symbol` is the entity that it makes real (C1: the first row of customers).

    `bindings` are columns that hold another entity's key, by that entity's symbol.
    """

    table: str
    values: dict[str, Any]
    symbol: str = ""
    bindings: dict[str, str] = {}


class Schema(Model):
    """All tables; `ddl` is the SQL that they were read from, "" where there is none."""

    tables: tuple[Table, ...] = ()
    ddl: str = ""

    def get(self, name: str) -> Table | None:
        """Find a table."""
        return next((one for one in self.tables if one.name == name), None)

    def named(self, words: Sequence[str]) -> Table | None:
        """Find the table whose name has these words, in the singular or the plural, and which has one key column."""
        wanted = [singular(word) for word in words]
        fitting = [
            one
            for one in self.tables
            if len(one.key) == 1 and [singular(word) for word in words_of(one.name)] == wanted
        ]
        return fitting[0] if len(fitting) == 1 else None

    def keyed_by(self, column: str) -> Table | None:
        """Find the table whose one key column has this name and refers to no other table, if there is one."""
        fitting = [one for one in self.tables if one.key == (column,)]
        own = [one for one in fitting if not any(column in link.columns for link in one.references)]
        return next(iter(own or fitting), None)


_PERSONAL: tuple[tuple[str, frozenset[str]], ...] = (
    ("email", frozenset(("email", "mail", "courriel"))),
    ("phone", frozenset(("phone", "tel", "telephone", "mobile"))),
    ("birth", frozenset(("birth", "birthday", "birthdate", "dob", "naissance"))),
    ("first_name", frozenset(("first", "firstname", "given", "prenom"))),
    ("last_name", frozenset(("last", "lastname", "surname", "family"))),
    ("name", frozenset(("name", "fullname", "nom"))),
)
"""Words of column names by which a column holds something of a person, the telling ones first."""


def personal(column: str) -> str:
    """Give what a column holds of a person by its name: *email*, *phone*, *birth*, a name, or "" for anything else."""
    words = set(words_of(column))
    return next((kind for kind, known in _PERSONAL if words & known), "")


def singular(word: str) -> str:
    """Give a word of an identifier as it stands for one thing: `categories` as *category*, `orders` as *order*."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def sqlite_schema(ddl: str) -> Schema:
    """Read SQLite DDL; raise `sqlite3.Error` where it is none."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(ddl)
        found = tables(connection)
        keys = {name: table.key for name, table in found.items()}
        return Schema(tables=tuple(_sqlite_table(connection, name, keys) for name in found), ddl=ddl)
    finally:
        connection.close()


def json_schema(document: Mapping[str, Any]) -> Schema:
    """Read `{properties: {table: …}}`, each a list (`items`) or a mapping by key (`additionalProperties`) of rows.

    The key of a row is `x-key`, else its first required property that ends in `id`; `x-references` maps a property to
    a table.
    """
    made: list[Table] = []
    forms = {
        name: (form.get("items") or form.get("additionalProperties"), "items" not in form)
        for name, form in document.get("properties", {}).items()
        if isinstance(form, Mapping)
    }
    rows = {name: (row, keyed) for name, (row, keyed) in forms.items() if isinstance(row, Mapping)}
    keys = {name: _json_key(row) for name, (row, _) in rows.items()}
    for name, (row, keyed) in rows.items():
        required = set(row.get("required", ()))
        columns = tuple(
            Column(
                name=column,
                type=_json_type(form),
                required=column in required,
                values=tuple(form.get("enum", ())),
                told="enum" in form,
            )
            for column, form in row.get("properties", {}).items()
        )
        links = tuple(
            Reference(columns=(column,), table=target, target=keys.get(target, ()))
            for column, target in row.get("x-references", {}).items()
        )
        made.append(Table(name=name, columns=columns, key=keys[name], references=links, keyed=keyed))
    return Schema(tables=tuple(made))


def inferred_schema(state: Mapping[str, Any]) -> Schema:
    """Infer tables from a state: mappings from key to row, and lists of rows; what is neither is left out.

    A column that every row has is required; one whose texts all are keys of one other table refers to it.
    """
    rows = rows_of(state, with_keys=True)
    keys = {name: _inferred_key(name, own, state[name]) for name, own in rows.items()}
    values = {
        name: {row.get(key[0]) for row in rows[name] if isinstance(row.get(key[0]), str | int)}
        for name, key in keys.items()
        if len(key) == 1
    }
    made = []
    for name, own in rows.items():
        names = list(dict.fromkeys(column for row in own for column in row))
        columns = tuple(_inferred_column(column, own, keys[name]) for column in names)
        links = tuple(
            Reference(columns=(column,), table=target, target=keys[target])
            for column in names
            if (target := _target(column, name, own, keys, values)) is not None
        )
        keyed = isinstance(state[name], Mapping)
        made.append(Table(name=name, columns=columns, key=keys[name], references=links, keyed=keyed))
    return Schema(tables=tuple(made))


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


def _held(content: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Give the columns that hold the key under which each row stands."""
    first = next(iter(content.values()))
    return [column for column in first if all(str(row.get(column)) == str(key) for key, row in content.items())]


def _sqlite_table(connection: sqlite3.Connection, name: str, keys: Mapping[str, tuple[str, ...]]) -> Table:
    sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0] or ""
    allowed = {
        one["column"].lower(): tuple(_literals(one["values"])) for one in _CHECK_IN.finditer(re.sub("--.*", "", sql))
    }
    information = connection.execute(f"PRAGMA table_xinfo({quote(name)})").fetchall()
    columns = tuple(
        Column(
            name=row[1],
            type=_affinity(row[2]),
            required=bool(row[3]) and row[4] is None,
            values=allowed.get(row[1].lower(), ()),
            told=row[1].lower() in allowed,
        )
        for row in information
        if row[6] == 0
    )
    links: dict[int, list[tuple[int, str, str, str | None]]] = {}
    for number, place, table, source, target, *_ in connection.execute(f"PRAGMA foreign_key_list({quote(name)})"):
        links.setdefault(number, []).append((place, table, source, target))
    references = []
    for _, parts in sorted(links.items(), reverse=True):
        parts.sort()
        table = next((known for known in keys if known.lower() == parts[0][1].lower()), parts[0][1])
        target = tuple(one[3] for one in parts if one[3]) or keys.get(table, ())
        references.append(Reference(columns=tuple(one[2] for one in parts), table=table, target=target))
    unique = tuple(
        tuple(row[2] for row in connection.execute(f"PRAGMA index_info({quote(index[1])})") if row[2])
        for index in connection.execute(f"PRAGMA index_list({quote(name)})").fetchall()
        if index[2] and not index[4]
    )
    return Table(name=name, columns=columns, key=keys[name], unique=unique, references=tuple(references))


def _literals(text: str) -> list[Any]:
    found: list[Any] = []
    for string, number in _LITERAL.findall(text):
        found.append((float(number) if "." in number else int(number)) if number else string.replace("''", "'"))
    return found


def _affinity(declared: str) -> ColumnType:
    """Give the type of a declaration by SQLite's rules of affinity (sqlite.org/datatype3, §3.1)."""
    upper = declared.upper()
    if "BOOL" in upper:
        return "boolean"
    if "INT" in upper:
        return "integer"
    if any(part in upper for part in ("CHAR", "CLOB", "TEXT", "DATE", "TIME")):
        return "text"
    if "JSON" in upper:
        return "json"
    return "real" if any(part in upper for part in ("REAL", "FLOA", "DOUB", "NUM", "DEC")) else "any"


def _json_type(form: Mapping[str, Any]) -> ColumnType:
    names: dict[str, ColumnType] = {"string": "text", "integer": "integer", "number": "real", "boolean": "boolean"}
    declared = form.get("type")
    return "any" if not isinstance(declared, str) else names.get(declared, "json")


def _json_key(row: Mapping[str, Any]) -> tuple[str, ...]:
    given = row.get("x-key")
    if given:
        return (given,) if isinstance(given, str) else tuple(given)
    return tuple(name for name in row.get("required", ()) if name.lower().endswith("id"))[:1]


def _inferred_key(name: str, rows: Sequence[Mapping[str, Any]], content: Any) -> tuple[str, ...]:
    """Find the column that holds the mapping's key, else the first column whose values all differ and end in id."""
    if isinstance(content, Mapping):
        return (OUTER_KEY,) if OUTER_KEY in rows[0] else tuple(_held(content)[:1])
    singular = name.removesuffix("s")
    for column in sorted(rows[0], key=lambda one: (one not in ("id", f"{singular}_id"), list(rows[0]).index(one))):
        values = [row.get(column) for row in rows]
        is_id = column.lower() == "id" or column.lower().endswith(("_id", "number"))
        if is_id and all(isinstance(one, str | int) for one in values) and len(set(values)) == len(values):
            return (column,)
    return ()


def _inferred_column(name: str, rows: Sequence[Mapping[str, Any]], key: tuple[str, ...]) -> Column:
    values = [row[name] for row in rows if row.get(name) is not None]
    kinds = {_type_of(value) for value in values}
    kind: ColumnType = kinds.pop() if len(kinds) == 1 else "real" if kinds == {"integer", "real"} else "any"
    distinct = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    few = kind == "text" and name not in key and len(distinct) <= _FEW and len(values) >= 2 * len(distinct)
    required = len(values) == len(rows)
    return Column(name=name, type=kind, required=required, values=distinct if few and len(distinct) > 1 else ())


def _type_of(value: Any) -> ColumnType:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    return "integer" if isinstance(value, int) else "real" if isinstance(value, float) else "json"


def _target(
    column: str,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    keys: Mapping[str, tuple[str, ...]],
    values: Mapping[str, set[Any]],
) -> str | None:
    """Find the one other table whose keys a column holds; a number needs the name of the key too."""
    own = {row[column] for row in rows if isinstance(row.get(column), str | int) and not isinstance(row[column], bool)}
    if not own or any(isinstance(row.get(column), list | dict) for row in rows):
        return None
    fitting = [
        table
        for table, known in values.items()
        if table != name and own <= known and (column == keys[table][0] or all(isinstance(one, str) for one in own))
    ]
    return fitting[0] if len(fitting) == 1 else None


def schema_of(suite: Suite, state: Mapping[str, Any]) -> Schema:
    """Read the schema of a suite's state: its DDL where it has one, else what its rows are like."""
    spec = suite.environment.state
    ddl = spec.options.get("schema") if spec is not None and spec.kind == "sqlite" else None
    if ddl is None:
        return inferred_schema(state)
    try:
        return sqlite_schema((suite.root / ddl).read_text(encoding="utf-8"))
    except (OSError, sqlite3.Error) as error:
        raise SuiteFaultError(f"{ddl}: {error}") from error


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
