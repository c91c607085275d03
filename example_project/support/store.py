"""Reads and bookkeeping that several tools share, over the shop's SQLite database."""

import sqlite3
from collections.abc import Sequence
from datetime import date
from typing import Any

Row = dict[str, Any]
"""One row as {column: value}."""


def rows(state: sqlite3.Connection, sql: str, *values: object) -> list[Row]:
    """Run a query and give its rows."""
    cursor = state.execute(sql, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, record, strict=True)) for record in cursor.fetchall()]


def get(state: sqlite3.Connection, table: str, key: str, value: str) -> Row:
    """Give the row of `table` whose `key` column holds `value`; raise `ValueError` if there is none."""
    found = rows(state, f"SELECT * FROM {table} WHERE {key} = ?", value)  # noqa: S608 - names come from this package
    if not found:
        raise ValueError(f"there is no {key.removesuffix('_id').replace('_', ' ')} {value!r}")
    return found[0]


def items_of(state: sqlite3.Connection, order_id: str) -> list[Row]:
    """Give an order's items with what they are, what was paid, and whether they come back already."""
    return rows(
        state,
        """
        SELECT item_id, product_id, name, name_fr, colour, size, order_items.price AS price,
               returns.item_id IS NOT NULL AS sent_back
        FROM order_items JOIN variants USING (item_id) JOIN products USING (product_id)
             LEFT JOIN returns USING (order_id, item_id)
        WHERE order_id = ? ORDER BY item_id
        """,
        order_id,
    )


def days_between(earlier: str, later: str) -> int:
    """Count the days from one ISO date to another."""
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


def today(state: sqlite3.Connection) -> str:
    """Give the shop's own date."""
    return str(rows(state, "SELECT today FROM shop")[0]["today"])


def require_status(order: Row, status: str) -> None:
    """Raise `ValueError` unless the order has this status."""
    if order["status"] != status:
        raise ValueError(f"order {order['order_id']} is {order['status']}, not {status}")


def require_changeable(order: Row) -> None:
    """Raise `ValueError` unless the order is pending and not being packed."""
    require_status(order, "pending")
    if order["packing"]:
        raise ValueError(f"order {order['order_id']} is being packed and is locked")


def require_items(order_id: str, items: list[Row], item_ids: Sequence[str]) -> list[Row]:
    """Pick the named items of an order; raise `ValueError` for none, for strangers and for what was sent back."""
    if not item_ids:
        raise ValueError("no items were given")
    by_id = {item["item_id"]: item for item in items}
    for item_id in item_ids:
        if item_id not in by_id:
            raise ValueError(f"item {item_id!r} is not in order {order_id}")
        if by_id[item_id]["sent_back"]:
            raise ValueError(f"item {item_id!r} of order {order_id} was already sent back")
    return [by_id[item_id] for item_id in item_ids]


def method_of(state: sqlite3.Connection, customer_id: str, payment_method_id: str) -> Row:
    """Give a customer's payment method; raise `ValueError` if it is someone else's or has expired."""
    method = get(state, "payment_methods", "payment_method_id", payment_method_id)
    if method["customer_id"] != customer_id:
        raise ValueError(f"payment method {payment_method_id!r} does not belong to customer {customer_id}")
    if method["expired"]:
        raise ValueError(f"{method['label']} has expired")
    return method


def pay(state: sqlite3.Connection, order_id: str, method: Row, kind: str, amount: float) -> None:
    """Book a payment, and move the balance of a gift card or store credit; raise `ValueError` if it is too low."""
    amount = round(amount, 2)
    if method["balance"] is not None:
        balance = round(method["balance"] + (-amount if kind == "charge" else amount), 2)
        if balance < 0:
            raise ValueError(f"the {method['label']} holds {method['balance']:.2f} euros, {amount:.2f} are needed")
        sql = "UPDATE payment_methods SET balance = ? WHERE payment_method_id = ?"
        state.execute(sql, (balance, method["payment_method_id"]))
    count = len(rows(state, "SELECT 1 FROM payments WHERE order_id = ?", order_id))
    state.execute(
        "INSERT INTO payments VALUES (?, ?, ?, ?, ?)",
        (f"{order_id}-{count + 1}", order_id, method["payment_method_id"], kind, amount),
    )


def charged(state: sqlite3.Connection, order_id: str) -> float:
    """Sum what the customer has paid for an order, refunds taken off."""
    sql = "SELECT SUM(CASE kind WHEN 'charge' THEN amount ELSE -amount END) AS total FROM payments WHERE order_id = ?"
    return round(float(rows(state, sql, order_id)[0]["total"] or 0.0), 2)
