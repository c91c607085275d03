"""Rows that a database numbers itself are known by what else is in them, where calls may be made in any order."""

import pytest

from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.environment.fresh_values import rekeyed
from tests.growth import growth
from tests.plugin.project import Project

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER REFERENCES customers, what TEXT);
CREATE TABLE parcels (id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER REFERENCES orders, via TEXT);
CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);
"""
ROWS = "customers: [{id: 1, name: Ann}, {id: 2, name: Ben}]\n"
TOOLS = """
def order(state, customer_id: int, what: str) -> str:
    made = state.execute("INSERT INTO orders (customer_id, what) VALUES (?, ?)", (customer_id, what))
    state.execute("INSERT INTO parcels (order_id, via) VALUES (?, ?)", (made.lastrowid, "post"))
    return "ordered"

def note(state, note_id: int, text: str) -> str:
    state.execute("INSERT INTO notes VALUES (?, ?)", (note_id, text))
    return "noted"
"""
AGENT = """
ORDERS = [{"customer_id": 1, "what": "lamp"}, {"customer_id": 2, "what": "desk"}, {"customer_id": 1, "what": "sofa"}]

def build(tools, back=False, what=None):
    order, note = tools

    def reply(message):
        if message == "Note":
            for number, text in (((8, "a"), (7, "b")) if back else ((7, "a"), (8, "b"))):
                note(note_id=number, text=text)
            return "Noted."
        for number, one in enumerate(reversed(ORDERS) if back else ORDERS):
            order(**{**one, "what": what or one["what"]} if number == 1 else one)
        return "Ordered."

    return reply
"""
SUITE = """
agent: agents:build
variants: {forth: {}, back: {back: true}, wrong: {back: true, what: chair}}
environment: {tools: tools, state: {sqlite: {schema: schema.sql, rows: rows.yaml}}, writes: [order, note]}
scenarios:
  - id: any
    says: [Order]
    expect: &calls
      - order: {customer_id: 1, what: lamp}
      - order: {customer_id: 2, what: desk}
      - order: {customer_id: 1, what: sofa}
  - {id: ordered, says: [Order], match: {order: in_order}, expect: *calls}
  - id: given
    says: [Note]
    expect: [{note: {note_id: 7, text: a}}, {note: {note_id: 8, text: b}}]
"""
RIGHT = {"any-forth", "any-back", "ordered-forth", "given-forth"}


def test_new_rows_are_known_by_all_but_their_number_where_the_order_is_free(pytester: pytest.Pytester) -> None:
    """What names a row by its number follows; another value, an order asked for, or a given id still decides."""
    project = Project(pytester=pytester)
    files = {"agentbench.yaml": SUITE, "agents.py": AGENT, "tools.py": TOOLS, "schema.sql": SCHEMA, "rows.yaml": ROWS}
    for name, text in files.items():
        project.write(f"bench/{name}", text)
    project.run("--agentbench-variant", "all")

    found = {f"{one.key.scenario}-{one.key.variant}": one.verdict for one in project.document.results}
    assert {name for name, verdict in found.items() if verdict is Verdict.PASSED} == RIGHT
    assert len(found) == 9


def test_many_new_rows_are_known_in_linear_time() -> None:
    """Also rows that differ by nothing but the row of another table that they name, or by a number like their own."""

    def pair(size: int) -> None:
        forth, back = range(1, size + 1), range(size, 0, -1)
        mine, other = (
            {
                "orders": {
                    str(key): {"id": key, "what": f"lamp {name}"} for key, name in zip(forth, names, strict=True)
                },
                "parcels": {str(key): {"id": key, "order_id": key, "via": "post"} for key in forth},
                "places": {str(key): {"place": name} for key, name in zip(forth, names, strict=True)},
            }
            for names in (forth, back)
        )
        assert rekeyed(mine, other, ({}, {}), ()) == other

    assert growth(pair, 200) < 9
