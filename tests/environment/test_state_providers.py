"""State providers: SQLite databases, row files, and what is said when they do not fit."""

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.environment.json_state import JsonState, merged
from pytest_agentbench.environment.sqlite_state import SqliteState, read_rows, write_rows
from pytest_agentbench.environment.state_files import parse
from tests.environment.support import ROWS, SCHEMA, write


def provider(root: Path, schema: str = SCHEMA, rows: str | None = ROWS) -> SqliteState:
    """Write a schema and rows and give their provider."""
    write(root, schema_sql=schema)
    if rows is None:
        return SqliteState(schema=root / "schema.sql")
    write(root, rows_yaml=rows)
    return SqliteState(schema=root / "schema.sql", rows=root / "rows.yaml")


def snapshot(state: SqliteState, initial: dict[str, Any] | None = None) -> dict[str, Any]:
    """Open, read and close."""
    handle = state.open(initial or {}, "run")
    try:
        return state.snapshot(handle)
    finally:
        state.close(handle)


def test_rows_are_keyed_by_primary_key(tmp_path: Path) -> None:
    """Each table is {key: {column: value}}, with defaults filled in."""
    assert snapshot(provider(tmp_path)) == {
        "users": {"U1": {"id": "U1", "name": "Ann"}, "U2": {"id": "U2", "name": "Ben"}},
        "orders": {
            "W1": {"id": "W1", "owner": "U1", "status": "pending", "total": 9.5},
            "W2": {"id": "W2", "owner": "U2", "status": "done", "total": 3.0},
        },
    }


def test_keys_of_every_sort_are_read(tmp_path: Path) -> None:
    """Composite keys, WITHOUT ROWID, no key, a column called rowid, NULL and equal-looking keys, blobs, views."""
    schema = """
    CREATE TABLE pair (a TEXT, b INTEGER, v TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID;
    CREATE TABLE log (line TEXT);
    CREATE TABLE odd (rowid TEXT, "a ""b" BLOB);
    CREATE TABLE loose (k PRIMARY KEY, v);
    CREATE TABLE made (id INTEGER PRIMARY KEY, twice GENERATED ALWAYS AS (id * 2));
    CREATE VIEW seen AS SELECT * FROM log;
    """
    rows = """
    pair: [{a: "x|y", b: 1, v: one}]
    log: [{line: first}, {line: second}]
    odd: [{rowid: r1, 'a "b': null}]
    loose: [{k: 1}, {k: "1"}, {k: null}, {k: null}]
    made: [{id: 4}]
    """
    state = provider(tmp_path, schema, rows)
    handle = state.open({}, "run")
    handle.execute('UPDATE odd SET "a ""b" = x\'ff41\'')
    handle.execute("INSERT INTO log VALUES (CAST(x'ff' AS TEXT))")

    read = state.snapshot(handle)

    assert list(read) == ["log", "loose", "made", "odd", "pair"]
    assert read["pair"] == {"1|x\\|y": {"a": "x|y", "b": 1, "v": "one"}}
    assert read["log"] == {"1": {"line": "first"}, "2": {"line": "second"}, "3": {"line": "\\xff"}}
    assert read["odd"] == {"1": {"rowid": "r1", 'a "b': "\\xffA"}}
    assert sorted(read["loose"]) == ["1", "1~2", "null", "null~2"]
    assert read["made"] == {"4": {"id": 4, "twice": 8}}
    assert handle.execute("SELECT line FROM log").fetchone()["line"] == "first"
    state.close(handle)


def test_scenarios_insert_replace_and_patch(tmp_path: Path) -> None:
    """A list inserts or replaces whole rows; a mapping changes columns by key, or inserts."""
    state = provider(tmp_path)

    read = snapshot(
        state,
        {
            "users": [{"id": "U2", "name": "Bo"}, {"id": "U3", "name": "Cy"}],
            "orders": {"W1": {"status": "done"}, "W3": {"owner": "U3", "total": 1}},
        },
    )

    assert {key: row["name"] for key, row in read["users"].items()} == {"U1": "Ann", "U2": "Bo", "U3": "Cy"}
    assert read["orders"]["W1"] == {"id": "W1", "owner": "U1", "status": "done", "total": 9.5}
    assert read["orders"]["W3"] == {"id": "W3", "owner": "U3", "status": "pending", "total": 1.0}
    assert snapshot(state)["users"]["U2"]["name"] == "Ben"


def test_a_row_of_a_table_without_a_key_is_inserted_by_a_mapping(tmp_path: Path) -> None:
    """There is no key to name."""
    state = provider(tmp_path, "CREATE TABLE log (line TEXT);", "log: []")

    assert snapshot(state, {"log": {"1": {"line": "first"}}})["log"] == {"1": {"line": "first"}}


def test_lists_and_mappings_are_stored_as_json_text(tmp_path: Path) -> None:
    """A column may hold nested data."""
    read = snapshot(provider(tmp_path, "CREATE TABLE t (id INTEGER PRIMARY KEY, v);", "t: [{id: 1, v: [é, {a: 1}]}]"))

    assert read["t"]["1"]["v"] == '["é", {"a": 1}]'


@pytest.mark.parametrize(
    ("schema", "rows", "message"),
    [
        ("CREATE TABL x;", None, r"schema.sql: near \"TABL\": syntax error"),
        (SCHEMA, "order: []", r"rows.yaml:1:1: order: there is no table 'order'; .* \(did you mean 'orders'"),
        (
            SCHEMA,
            "users: [{id: U1, nam: x}]",
            r"rows.yaml:1:18: users\[0\].nam: .* 'nam'; .* \(did you mean 'name'",
        ),
        (SCHEMA, "users: [{id: U1, name: x}, {id: U2}]", r"users row 2 \{'id': 'U2'\}: NOT NULL constraint failed"),
        (SCHEMA, "orders: [{id: W1, owner: U9}]", r"rows.yaml: orders row \{'id': 'W1'.*refers to a row of 'users'"),
        (SCHEMA, "users: [1]", "users row 1: must be a mapping"),
        (SCHEMA, "users: 1", "users: must be a list of rows, found 1"),
        (SCHEMA, "[1]", "must be a mapping"),
        (SCHEMA, "users:\n - {id: a, id: b}", r"rows.yaml:2:\d+: users\[0\]: the key 'id' is repeated"),
        (SCHEMA, "users: [", r"rows.yaml:\d+:\d+: this is not YAML"),
        ("CREATE TABLE t (i INTEGER);", "t: [{i: 99999999999999999999}]", "t row 1 .*too large"),
    ],
)
def test_what_does_not_fit_names_file_table_and_row(
    tmp_path: Path, schema: str, rows: str | None, message: str
) -> None:
    """Each fault says where it is and, where it helps, what is allowed."""
    with pytest.raises(EnvironmentFaultError, match=message):
        snapshot(provider(tmp_path, schema, rows))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The file is named."""
    with pytest.raises(EnvironmentFaultError, match=r"gone.sql: cannot be read: No such file"):
        snapshot(SqliteState(schema=tmp_path / "gone.sql"))


def test_an_edited_row_file_is_read_again(tmp_path: Path) -> None:
    """The template is kept per content."""
    first = snapshot(provider(tmp_path))["users"]["U1"]["name"]
    second = snapshot(provider(tmp_path, rows=ROWS.replace("Ann", "Eve")))["users"]["U1"]["name"]

    assert (first, second) == ("Ann", "Eve")


def test_databases_of_many_threads_are_apart_and_roll_back(tmp_path: Path) -> None:
    """Each handle is a database of its own, usable from another thread, with working transactions."""
    state = provider(tmp_path)
    names: dict[int, str] = {}

    def work(number: int, handle: sqlite3.Connection) -> None:
        handle.execute("UPDATE users SET name = ?", (f"n{number}",))
        handle.commit()
        handle.execute("DELETE FROM orders")
        handle.rollback()
        read = state.snapshot(handle)
        names[number] = f"{read['users']['U1']['name']} {len(read['orders'])}"
        state.close(handle)

    threads = [threading.Thread(target=work, args=(number, state.open({}, "run"))) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert names == {number: f"n{number} 2" for number in range(16)}


def test_an_empty_schema_opens(tmp_path: Path) -> None:
    """A database without tables is a state too."""
    assert snapshot(provider(tmp_path, "-- nothing yet\n", None)) == {}


def test_yaml_scalars_stay_text_unless_they_are_plainly_something_else() -> None:
    """Leading zeros, times, dates, yes and no are text; numbers, true and null are not."""
    text = (
        "a: 01234\nb: 12:30\nc: no\nd: 2024-05-01\ne: 1_000\nf: 12\ng: -1.5\nh: true\ni: ~\nj: 1e3\nk: .inf\n"
        "l: 0x1F\nm: yes\nn:\no: 0\np: '1'\nq: 1.\nr: 2024-05-01T10:00:00Z\ns: 1.2.3\nt: =\nu: <<\n1: x\n"
    )

    assert parse(text, Path("x.yaml")) == {
        "a": "01234", "b": "12:30", "c": "no", "d": "2024-05-01", "e": "1_000", "f": 12, "g": -1.5, "h": True,
        "i": None, "j": 1000.0, "k": float("inf"), "l": 31, "m": "yes", "n": None, "o": 0, "p": "1", "q": 1.0,
        "r": "2024-05-01T10:00:00Z", "s": "1.2.3", "t": "=", "u": "<<", "1": "x",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["{", "[1,]", '{"a": 1, "a": 2}', "[1]", "3"])
def test_json_state_must_be_one_object(tmp_path: Path, text: str) -> None:
    """Anything else names the file."""
    (tmp_path / "s.json").write_text(text)

    with pytest.raises(EnvironmentFaultError, match=r"s\.json"):
        JsonState(file=tmp_path / "s.json").open({}, "run")


_CELL = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(
    st.characters(exclude_categories=["Cs"])
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.tuples(_CELL, _CELL), max_size=6)
)
def test_rows_are_read_as_they_were_written(rows: dict[str, tuple[object, object]]) -> None:
    """Any text, number or NULL goes through the database unchanged."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (k TEXT PRIMARY KEY, a, b)")

    write_rows(connection, {"t": [{"k": key, "a": a, "b": b} for key, (a, b) in rows.items()]}, "test")
    read = read_rows(connection)
    connection.close()

    assert read == {"t": {key: {"k": key, "a": a, "b": b} for key, (a, b) in rows.items()}}


@given(st.dictionaries(st.text(max_size=2), st.dictionaries(st.text(max_size=2), st.integers())))
def test_merging_a_state_with_itself_changes_nothing(state: dict[str, Any]) -> None:
    """Deep merge is idempotent, and everything that was merged in is there."""
    assert merged({**state}, state) == state
    assert merged({}, state) == state


@pytest.mark.parametrize(
    ("schema", "rows", "says"),
    [
        (
            "CREATE TABLE slots (id TEXT PRIMARY KEY, day TEXT)",
            "slots: [{id: S1, day: a}, {id: S1, day: b}]",
            r"rows.yaml: slots row 2: id 'S1' is there twice",
        ),
        (
            "CREATE TABLE slots (id TEXT PRIMARY KEY COLLATE NOCASE)",
            "slots: [{id: s1}, {id: S1}]",
            r"slots row 2: id 'S1' is there twice",
        ),
        (
            "CREATE TABLE pair (a TEXT, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID",
            "pair: [{a: x, b: 1}, {a: x, b: 2}, {a: x, b: '1'}]",
            r"pair row 3: a 'x', b '1' is there twice",
        ),
    ],
)
def test_a_key_that_stands_twice_is_an_error(tmp_path: Path, schema: str, rows: str, says: str) -> None:
    """The last of two rows with one key would win silently; keys are compared as the database compares them."""
    with pytest.raises(EnvironmentFaultError, match=says):
        snapshot(provider(tmp_path, schema, rows))
