"""Rows against schemas: every way in which a row can be wrong is found and said, in SQLite, JSON states and circles."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.generation.policies.events.rows import RowMaker, RowsError
from pytest_agentbench.generation.policies.events.samples import Samples, dependency_order
from pytest_agentbench.generation.policies.events.schema import (
    EventRow,
    RowChecker,
    inferred_schema,
    rows_of,
    sqlite_schema,
)
from tests.tables import each

DDL = """
CREATE TABLE people (id TEXT PRIMARY KEY, mail TEXT NOT NULL UNIQUE, age INTEGER CHECK (age > 17));
CREATE TABLE bills (bill_id TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people (id),
  state TEXT NOT NULL CHECK (state IN ('due', 'paid')), total REAL NOT NULL, lines TEXT);
"""
PEOPLE = {"people": [{"id": "p1", "mail": "a@x.example", "age": 30}], "bills": []}
BILL = {"bill_id": "b1", "person": "p1", "state": "due", "total": 2.5}


def faults(table, **values):
    """Give what is said about one row beside one person."""
    return RowChecker(sqlite_schema(DDL), PEOPLE).check([EventRow(table=table, values=values)])


@each(
    ("change", "said"),
    [
        ({"bill_id": None}, "bill_id must not be null"),
        ({"state": "open"}, "allowed are due, paid"),
        ({"total": "much"}, "must be of type real"),
        ({"person": "p9"}, "refers to a row of people that does not exist"),
        ({"colour": "red"}, "has no column 'colour'"),
        ({"total": None}, "total must not be null"),
    ],
)
def test_a_wrong_row_is_refused_with_its_reason(change, said):
    """Keys, fixed values, types, references, columns and NOT NULL are held."""
    found = faults("bills", **{**BILL, **change})

    assert len(found) >= 1
    assert said in "; ".join(found)


def test_a_right_row_has_no_faults():
    """Nullable columns may be missing."""
    assert faults("bills", **BILL) == []


def test_uniqueness_checks_and_unknown_tables_are_held():
    """A second mail, a CHECK of the database's own, and a table that is not there."""
    assert "stands in another row already" in faults("people", id="p2", mail="a@x.example", age=20)[0]
    assert "CHECK constraint failed" in faults("people", id="p2", mail="b@x.example", age=3)[0]
    assert faults("payments", id=1) == ["there is no table 'payments'; tables are bills, people"]


def test_validators_of_the_user_have_the_last_word():
    """What one returns or raises is the reason; it sees the rows so far."""
    seen = []

    def one(table, row, rows):
        seen.append(len(rows["people"]))
        return "no bills under 3" if row["total"] < 3 else None

    def other(table, row, rows):
        raise ValueError("never")

    row = EventRow(table="bills", values=BILL)
    schema = sqlite_schema(DDL)

    assert RowChecker(schema, PEOPLE, [one]).check([row])[0].startswith("bills: no bills under 3: ")
    assert RowChecker(schema, PEOPLE, [other]).check([row])[0].startswith("bills: never: ")
    assert seen == [1]


def test_circles_are_put_in_some_order_and_may_refer_to_later_rows():
    """Two tables that refer to each other are no fault as long as both rows come."""
    schema = sqlite_schema(
        "CREATE TABLE a (id TEXT PRIMARY KEY, b TEXT REFERENCES b);"
        "CREATE TABLE b (id TEXT PRIMARY KEY, a TEXT REFERENCES a);"
    )
    pair = [EventRow(table="a", values={"id": "a1", "b": "b1"}), EventRow(table="b", values={"id": "b1", "a": "a1"})]

    assert sorted(dependency_order(schema)) == ["a", "b"]
    assert RowChecker(schema, {}).check(pair) == []
    assert len(RowChecker(schema, {}).check(pair[:1])) == 1


def test_a_schema_with_a_circle_gives_rows():
    """Rows of tables in a circle are made anew together."""
    schema = sqlite_schema(
        "CREATE TABLE teams (team_id TEXT PRIMARY KEY, lead TEXT REFERENCES staff);"
        "CREATE TABLE staff (staff_id TEXT PRIMARY KEY, team_id TEXT NOT NULL REFERENCES teams, email TEXT UNIQUE);"
    )
    rows = {
        "teams": [{"team_id": "T-10", "lead": "S-77"}],
        "staff": [{"staff_id": "S-77", "team_id": "T-10", "email": "a@x.example"}],
    }
    samples = Samples(schema=schema, rows=rows)

    made = RowMaker(samples=samples).make(samples.cluster(("staff", 0), ("teams", 0)), Random(1))

    by_table = {row.table: row.values for row in made.values()}
    assert by_table["teams"]["lead"] == by_table["staff"]["staff_id"] != "S-77"
    assert by_table["staff"]["team_id"] == by_table["teams"]["team_id"] != "T-10"


def test_json_states_have_their_schema_inferred_and_nested_keys_told_anew():
    """Mappings by key, lists of keys within rows, and references by value."""
    state = {
        "users": {"user_a1": {"user_id": "user_a1", "email": "a@x.example", "orders": ["#W100"]}},
        "orders": {"#W100": {"order_id": "#W100", "user_id": "user_a1", "items": [{"sku": "lamp-3", "n": 1}]}},
    }
    samples = Samples(schema=inferred_schema(state), rows=rows_of(state))

    made = RowMaker(samples=samples).make(samples.cluster(("users", 0), ("orders", 0)), Random(2))

    users, orders = (next(row.values for row in made.values() if row.table == name) for name in ("users", "orders"))
    assert users["orders"] == [orders["order_id"]] != ["#W100"]
    assert orders["user_id"] == users["user_id"] != "user_a1"
    assert orders["items"] == [{"sku": "lamp-3", "n": 1}]


def test_a_validator_that_accepts_nothing_ends_in_a_reason_not_in_rows():
    """The twin gives up with what was said."""
    samples = Samples(schema=sqlite_schema(DDL), rows={**PEOPLE, "bills": [{**BILL, "lines": None}]})
    maker = RowMaker(samples=samples, validators=[lambda *_: "not today"])

    with pytest.raises(RowsError, match="not today"):
        maker.make(samples.cluster(("people", 0), ("bills", 0)), Random(0))


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["bill_id", "person", "state", "total", "lines", "x"]),
        st.none() | st.text() | st.integers() | st.floats() | st.lists(st.integers()),
    )
)
def test_whatever_a_row_holds_the_answer_is_a_list_of_reasons(values):
    """No value makes the checker raise."""
    assert all(isinstance(one, str) for one in faults("bills", **values))
