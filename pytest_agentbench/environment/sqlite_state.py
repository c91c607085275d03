"""State in a SQLite database in memory, one per run, copied from a template built once per process."""

import sqlite3
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.seams import Isolation
from pytest_agentbench.core.state import State
from pytest_agentbench.environment.rows import parse, read_text
from pytest_agentbench.environment.sqlite_rows import Table, check_references, read_rows, tables, write_rows


class SqliteState:
    """Opens a database from `schema` (a .sql file) and `rows` (a .yaml or .json file {table: [rows]}).

    The handle is a `sqlite3.Connection` that any thread may use, with `sqlite3.Row` rows and foreign keys on. A call
    that raises is rolled back, any other is committed, unless the tool did so itself.
    """

    isolation: Isolation = "per_run"
    snapshots_are_json = True
    """That nobody need copy a snapshot to have it as plain JSON."""

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

    def tables(self) -> dict[str, Table]:
        """Give the tables that each run begins with; raise `EnvironmentFaultError` where they cannot be made."""
        connection = sqlite3.connect(":memory:")
        try:
            if image := self._made().image:
                connection.deserialize(image)
            return tables(connection)
        finally:
            connection.close()

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

    def rows(self) -> State:
        """Give what the database holds, read once."""
        with self._reading:
            if self._rows is None:
                connection = sqlite3.connect(":memory:")
                try:
                    if self.image:
                        connection.deserialize(self.image)
                    self._rows = read_rows(connection)
                finally:
                    connection.close()
            return self._rows


def _schema_version(connection: sqlite3.Connection) -> int:
    """Give a number that changes with each table that is made, altered or dropped."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return int(cursor.execute("PRAGMA main.schema_version").fetchone()[0])


_BUILDING = threading.Lock()


@lru_cache(maxsize=64)
def _template(schema_file: Path | None, schema: str, rows_file: Path | None, rows: str) -> _Template:
    """Build the database once per content; the texts decide, the paths are for messages."""
    connection = sqlite3.connect(":memory:")
    try:
        try:
            connection.executescript(schema)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            raise EnvironmentFaultError(f"{schema_file}: {error}") from error
        connection.execute("PRAGMA foreign_keys = OFF")
        if rows_file is not None:
            write_rows(connection, parse(rows, rows_file) or {}, str(rows_file))
            check_references(connection, str(rows_file))
        connection.commit()
        is_empty = connection.execute("PRAGMA page_count").fetchone()[0] == 0
        return _Template(b"" if is_empty else connection.serialize(), _schema_version(connection))
    finally:
        connection.close()
