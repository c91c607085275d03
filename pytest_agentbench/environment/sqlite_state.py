"""State in a SQLite database in memory, one per run, copied from a template built once per process."""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from operator import is_
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError, SuiteError
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.misfit import Misfit
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.protocols import Isolation
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import shorten
from pytest_agentbench.environment.state_files import parse_document, read_text


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its columns, the columns of its primary key in order, and the name its rowid goes by ("" if none)."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    rowid: str

    @property
    def quoted(self) -> str:
        """The name as SQL."""
        return quote(self.name)

    @property
    def has_key(self) -> str:
        """The condition, as SQL, that a row has a certain key."""
        return " AND ".join(f"{quote(name)} = ?" for name in self.key)

    def key_in(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Give the key that a row names, () where it does not name all of it."""
        return tuple(row[name] for name in self.key) if all(name in row for name in self.key) else ()


def quote(name: str) -> str:
    """Give a name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def tables(connection: sqlite3.Connection) -> dict[str, Table]:
    """Give the ordinary tables of the main database by name; views and virtual tables are left out."""
    cursor = _cursor(connection)
    shadow = {row[1] for row in cursor.execute("PRAGMA main.table_list") if row[2] in ("virtual", "shadow")}
    names = cursor.execute(
        "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1"
    ).fetchall()
    return {name: _table(cursor, name) for (name,) in names if name not in shadow}


def write_rows(connection: sqlite3.Connection, data: object, source: str) -> None:
    """Write `{table: [rows]}` (inserted, or replacing the row with that key) or `{table: {key: {column: value}}}`.

    The second form changes the named columns of the row with that key and inserts it where there is none. A key that
    stands twice in one list is an error: one of the two rows would be lost.
    Lists and mappings as values are stored as JSON text. Raise `EnvironmentFaultError` naming `source`, table and row.
    """
    if not isinstance(data, Mapping):
        raise EnvironmentFaultError(f"{source}: must be a mapping {{table: [rows]}}, found {_shown(data)}")
    known = tables(connection)
    for name, rows in data.items():
        table = known.get(name)
        if table is None:
            raise EnvironmentFaultError(f"{source}: {_no_table(name, known)}")
        if isinstance(rows, list):
            written: set[tuple[Any, ...]] = set()
            for number, row in enumerate(rows, start=1):
                _insert_once(connection, table, _checked(table, row, f"{source}: {name} row {number}"), written)
        elif isinstance(rows, Mapping):
            for key, row in rows.items():
                _patch(connection, table, str(key), _checked(table, row, f"{source}: {name}.{key}"))
        elif rows is not None:
            raise EnvironmentFaultError(f"{source}: {name}: must be a list of rows, found {_shown(rows)}")


def unknown_names(known: Mapping[str, Table], data: Mapping[str, Any]) -> Iterator[Misfit]:
    """Give the tables and columns of what `write_rows` writes that are not there."""
    for name, rows in data.items():
        table = known.get(name)
        if table is None:
            yield Misfit(path=(name,), message=_no_table(name, known), hint=suggestion(name, known), at_key=True)
            continue
        keyed = rows.items() if isinstance(rows, Mapping) else enumerate(rows if isinstance(rows, list) else ())
        for key, row in keyed:
            for column in row if isinstance(row, Mapping) else ():
                if column not in table.columns:
                    hint = suggestion(str(column), table.columns)
                    yield Misfit(path=(name, key, column), message=_no_column(column, table), hint=hint, at_key=True)


def _no_table(name: object, known: Mapping[str, Table]) -> str:
    return f"there is no table {name!r}; tables are {', '.join(known) or 'none'}"


def _no_column(name: object, table: Table) -> str:
    return f"there is no column {name!r}; {table.name} has {', '.join(table.columns)}"


def refused_rows(connection: sqlite3.Connection, known: Mapping[str, Table], data: Mapping[str, Any]) -> list[Misfit]:
    """Give what the database refuses of what `write_rows` writes: each row is tried, and all is taken back."""
    found = [*unknown_names(known, data)]
    if found:
        return found
    try:
        for name, rows in data.items():
            for key, row in rows.items() if isinstance(rows, Mapping) else enumerate(rows or ()):
                try:
                    write_rows(connection, {name: {key: row} if isinstance(rows, Mapping) else [row]}, "state")
                except EnvironmentFaultError as error:
                    said = f"the database refuses this row: {error.__cause__}" if error.__cause__ else str(error)
                    is_empty = getattr(error.__cause__, "sqlite_errorname", "") == "SQLITE_CONSTRAINT_NOTNULL"
                    hint = "give it a value: the column is NOT NULL and has no default" if is_empty else ""
                    found.append(Misfit(path=(name, key), message=said, hint=hint))
        for name in data if not found else ():
            check_references(connection, "state", known[name])
    except EnvironmentFaultError as error:
        found.append(Misfit(path=(), message=str(error).removeprefix("state: ")))
    finally:
        connection.rollback()
    return found


def check_references(connection: sqlite3.Connection, source: str, only: Table | None = None) -> None:
    """Raise `EnvironmentFaultError` naming the first row, of all tables or of one, whose foreign key leads nowhere."""
    of = f"({only.quoted})" if only else ""
    for name, rowid, parent, _ in _cursor(connection).execute(f"PRAGMA foreign_key_check{of}"):
        row = ""
        table = tables(connection).get(name)
        if rowid is not None and table is not None and table.rowid:
            found = _select(connection, table, f"WHERE {table.rowid} = ?", (rowid,)).fetchall()
            row = f" row {_shown(dict(zip(table.columns, found[0][1:], strict=False)))}" if found else ""
        raise EnvironmentFaultError(f"{source}: {name}{row}: refers to a row of {parent!r} that does not exist")


def read_rows(connection: sqlite3.Connection, like: State | None = None) -> State:
    """Read everything as {table: {primary key as text: {column: value}}}; blobs and broken UTF-8 become text.

    Columns of a composite key are joined by `|`; a table without primary key is keyed by rowid. Tables and rows that
    are as in `like` are that state's own.
    """
    decode, connection.text_factory = connection.text_factory, lambda raw: raw.decode("utf-8", "backslashreplace")
    try:
        state: State = {}
        for table in tables(connection).values():
            rows: dict[str, Any] = {}
            known = (like or {}).get(table.name) or {}
            for found in _ordered(connection, table, "", ()):
                values = _key_of(table, found)
                key = _free(_key_text(values), rows)
                row = known.get(key)
                if row is None or not _is_row(row, table, found):
                    row = {name: to_json(value) for name, value in zip(table.columns, found[1:], strict=True)}
                rows[key] = row
            is_known = len(rows) == len(known) and all(map(is_, rows.values(), known.values()))
            state[table.name] = known if known and is_known and [*rows] == [*known] else rows
        return state
    finally:
        connection.text_factory = decode


def _ordered(connection: sqlite3.Connection, table: Table, where: str, wanted: tuple[Any, ...]) -> sqlite3.Cursor:
    order = ", ".join(quote(column) for column in table.key) or table.rowid
    return _select(connection, table, f"{where} ORDER BY {order}", wanted)


def _key_of(table: Table, found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give the key of a row as selected, whose first value is the rowid."""
    return tuple(found[1 + table.columns.index(column)] for column in table.key) or (found[0],)


def _is_row(row: dict[str, Any], table: Table, found: tuple[Any, ...]) -> bool:
    """Whether a row that is known is the one selected: 1 and 1.0 differ, and what had to be made text is not known."""
    values = found[1:]
    return (
        (*row.values(),) == values
        and all(map(is_, map(type, row.values()), map(type, values)))
        and (*row.keys(),) == table.columns
    )


def _key_text(values: tuple[Any, ...]) -> str:
    texts = ["null" if value is None else str(to_json(value)) for value in values]
    if len(texts) == 1:
        return texts[0]
    return "|".join(text.replace("\\", "\\\\").replace("|", "\\|") for text in texts)


def _free(key: str, taken: Mapping[str, object]) -> str:
    """Tell apart keys that are equal as text only (1 and '1', or two NULLs), so that no row is lost."""
    number, free = 1, key
    while free in taken:
        number, free = number + 1, f"{key}~{number + 1}"
    return free


def _select(connection: sqlite3.Connection, table: Table, rest: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
    columns = ", ".join([table.rowid or "NULL", *(quote(column) for column in table.columns)])
    sql = f"SELECT {columns} FROM main.{table.quoted} {rest}"  # noqa: S608 - names are quoted
    return _cursor(connection).execute(sql, values)


def _table(cursor: sqlite3.Cursor, name: str) -> Table:
    information = cursor.execute(f"PRAGMA main.table_xinfo({quote(name)})").fetchall()
    columns = tuple(row[1] for row in information if row[6] != 1)
    key = tuple(row[1] for row in sorted((row for row in information if row[5]), key=lambda row: int(row[5])))
    lowered = {column.lower() for column in columns}
    rowid = next((alias for alias in ("rowid", "_rowid_", "oid") if alias not in lowered), "")
    if rowid:
        try:
            cursor.execute(f"SELECT {rowid} FROM main.{quote(name)} LIMIT 0")  # noqa: S608 - names are quoted
        except sqlite3.OperationalError:
            rowid = ""  # WITHOUT ROWID
    return Table(name=name, columns=columns, key=key, rowid=rowid)


def _checked(table: Table, row: object, place: str) -> tuple[dict[str, Any], str]:
    if not isinstance(row, Mapping):
        raise EnvironmentFaultError(f"{place}: must be a mapping {{column: value}}, found {_shown(row)}")
    if unknown := [name for name in row if name not in table.columns]:
        raise EnvironmentFaultError(f"{place}: {_no_column(unknown[0], table)}")
    return {str(name): _stored(value) for name, value in row.items()}, place


def _insert_once(
    connection: sqlite3.Connection,
    table: Table,
    checked: tuple[dict[str, Any], str],
    written: set[tuple[Any, ...]],
) -> None:
    """Insert a row unless one with its key, as the database compares keys, is among those `written`; add it there."""
    row, place = checked
    if written.intersection(_with_key(connection, table, row)):
        key = ", ".join(f"{name} {_shown(row[name])}" for name in table.key)
        raise EnvironmentFaultError(f"{place}: {key} is there twice")
    _insert(connection, table, checked)
    written.update(_with_key(connection, table, row))


def _with_key(connection: sqlite3.Connection, table: Table, row: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Give the keys, as stored, of the rows that have the key of `row`, if it names one."""
    if not (key := table.key_in(row)):
        return []
    columns = ", ".join(quote(name) for name in table.key)
    sql = f"SELECT {columns} FROM main.{table.quoted} WHERE {table.has_key}"  # noqa: S608 - names are quoted
    try:
        return _cursor(connection).execute(sql, key).fetchall()
    except (sqlite3.Error, OverflowError, UnicodeEncodeError):
        return []  # a value that SQLite cannot hold: inserting it says so


def _insert(connection: sqlite3.Connection, table: Table, checked: tuple[dict[str, Any], str]) -> None:
    row, place = checked
    if not row:
        _execute(connection, f"INSERT INTO main.{table.quoted} DEFAULT VALUES", (), row, place)
        return
    if key := table.key_in(row):
        sql = f"DELETE FROM main.{table.quoted} WHERE {table.has_key}"  # noqa: S608 - names are quoted
        _execute(connection, sql, key, row, place)
    columns, marks = ", ".join(quote(name) for name in row), ", ".join("?" * len(row))
    sql = f"INSERT INTO main.{table.quoted} ({columns}) VALUES ({marks})"  # noqa: S608 - names are quoted
    _execute(connection, sql, tuple(row.values()), row, place)


def _patch(connection: sqlite3.Connection, table: Table, key: str, checked: tuple[dict[str, Any], str]) -> None:
    row, place = checked
    names = [quote(name) for name in table.key] or [table.rowid]
    where, wanted = (f"WHERE CAST({names[0]} AS TEXT) = ?", (key,)) if len(names) == 1 else ("", ())
    keys = [_key_of(table, one) for one in _ordered(connection, table, where, wanted)]
    found = [values for values in keys if _key_text(values) == key]
    if not found:
        if len(table.key) == 1:
            row = {table.key[0]: key, **row}
        elif table.key and not table.key_in(row):
            raise EnvironmentFaultError(f"{place}: no row has this key; give {', '.join(table.key)} to insert it")
        _insert(connection, table, (row, place))
    elif row:
        change = ", ".join(f"{quote(name)} = ?" for name in row)
        where = " AND ".join(f"{name} IS ?" for name in names)
        sql = f"UPDATE main.{table.quoted} SET {change} WHERE {where}"  # noqa: S608 - names are quoted
        _execute(connection, sql, (*row.values(), *found[0]), row, place)


def _execute(
    connection: sqlite3.Connection, sql: str, values: tuple[Any, ...], row: Mapping[str, Any], place: str
) -> None:
    try:
        connection.execute(sql, values)
    except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
        raise EnvironmentFaultError(f"{place} {_shown(dict(row))}: {error}") from error


def _stored(value: Any) -> Any:
    """Give a value that SQLite can hold."""
    if value is None or isinstance(value, str | int | float | bytes):
        return value
    plain = to_json(value)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, list | dict) else plain


def _cursor(connection: sqlite3.Connection) -> sqlite3.Cursor:
    """Give a cursor of plain tuples, whatever row type the tools' handle has."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor


def _shown(value: object) -> str:
    return shorten(repr(value), 200)


class SqliteState:
    """Opens a database from `schema` (a .sql file) and `rows` (a .yaml or .json file {table: [rows]}).

    The handle is a `sqlite3.Connection` that any thread may use, with `sqlite3.Row` rows and foreign keys on. A call
    that raises is rolled back, any other is committed, unless the tool did so itself.
    """

    isolation: Isolation = "per_run"
    snapshots_are_json = True
    """That nobody need copy a snapshot to have it as plain JSON."""
    takes_turns = True
    """That the calls of a run have one connection, and so one transaction, between them."""

    def __init__(self, *, schema: Path | None = None, rows: Path | None = None) -> None:
        self._schema = schema
        self._rows = rows

    def open(self, initial: dict[str, Any], run: str) -> sqlite3.Connection:
        """Give a fresh database with the scenario's rows; raise `EnvironmentFaultError` naming file, table and row."""
        template = self._made()
        connection = sqlite3.connect(":memory:", check_same_thread=False, factory=_Database)
        try:
            if template.image:
                connection.deserialize(template.image)
            connection.template = template
            if initial:
                write_rows(connection, initial, "the scenario's state")
                check_references(connection, "the scenario's state")
                connection.commit()
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        connection.row_factory = sqlite3.Row
        return connection

    def _made(self) -> "_Template":
        with _BUILDING:  # runs that begin together wait for one template
            return _template(
                self._schema, read_text(self._schema) if self._schema else "", self._rows,
                read_text(self._rows) if self._rows else "",
            )  # fmt: skip

    def refused(self, states: Iterable[Mapping[str, Any]]) -> Iterator[list[Misfit]]:
        """Give what the database refuses of each state; raise `EnvironmentFaultError` where it cannot be made."""
        with self._made().opened() as connection:
            known = tables(connection)
            yield from (refused_rows(connection, known, data) for data in states)

    def snapshot(self, handle: sqlite3.Connection) -> State:
        """Read every table as {table: {primary key: {column: value}}}."""
        template = handle.template if isinstance(handle, _Database) else None
        if template is None:
            return read_rows(handle)
        is_new = handle.total_changes == 0 and _schema_version(handle) == template.schema_version
        return template.rows() if is_new else read_rows(handle, template.rows())

    def close(self, handle: sqlite3.Connection) -> None:
        """Drop the database."""
        handle.close()

    def version(self, handle: sqlite3.Connection) -> int:
        """Give the number of rows changed so far and not put back."""
        return handle.total_changes - (handle.put_back if isinstance(handle, _Database) else 0)

    def save(self, handle: sqlite3.Connection) -> tuple[bytes, int]:
        """Give the database and its version, to put back; changes that a call left open are committed first."""
        handle.commit()
        return handle.serialize(), self.version(handle)

    def restore(self, handle: sqlite3.Connection, saved: tuple[bytes, int]) -> None:
        """Put the database back."""
        image, version = saved
        handle.rollback()
        handle.deserialize(image)
        if isinstance(handle, _Database):
            handle.put_back = handle.total_changes - version

    def settle(self, handle: sqlite3.Connection, failed: bool) -> bool:
        """End the transaction that a call left open; say whether changes were taken back."""
        if not handle.in_transaction:
            return False
        if failed:
            handle.rollback()
        else:
            handle.commit()
        return failed


class _Database(sqlite3.Connection):
    """A connection that knows how many changes were put back: SQLite counts them on."""

    put_back = 0
    template: "_Template | None" = None


@dataclass(eq=False)
class _Template:
    """The database that runs begin with, and its rows: states share those that are the same."""

    image: bytes
    schema_version: int
    _rows: State | None = None
    _reading: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """Open a copy of the database."""
        with closing(sqlite3.connect(":memory:")) as connection:
            if self.image:
                connection.deserialize(self.image)
            yield connection

    def rows(self) -> State:
        """Give what the database holds, read once."""
        with self._reading:
            if self._rows is None:
                with self.opened() as connection:
                    self._rows = read_rows(connection)
            return self._rows


def _schema_version(connection: sqlite3.Connection) -> int:
    """Give a number that changes with each table that is made, altered or dropped."""
    return int(_cursor(connection).execute("PRAGMA main.schema_version").fetchone()[0])


_BUILDING = threading.Lock()


@lru_cache(maxsize=64)
def _template(schema_file: Path | None, schema: str, rows_file: Path | None, rows: str) -> _Template:
    """Build the database once per content; the texts decide, the paths are for messages."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.executescript(schema)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            raise EnvironmentFaultError(f"{schema_file}: {error}") from error
        connection.execute("PRAGMA foreign_keys = OFF")
        if rows_file is not None:
            document = parse_document(rows, rows_file)
            data = document.value or {}
            if misfits := [*unknown_names(tables(connection), data)] if isinstance(data, dict) else []:
                problems = [document.problem(one.path, one.message, one.hint, at_key=True) for one in misfits]
                raise EnvironmentFaultError(str(SuiteError(problems)))
            write_rows(connection, data, str(rows_file))
            check_references(connection, str(rows_file))
        connection.commit()
        is_empty = connection.execute("PRAGMA page_count").fetchone()[0] == 0
        return _Template(b"" if is_empty else connection.serialize(), _schema_version(connection))
