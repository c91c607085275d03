"""The tools of the support desk: plain typed functions over the shop's database, passed in as `state`."""

import sqlite3
import unicodedata
from typing import Literal

from support.store import (
    Row,
    charged,
    days_between,
    get,
    items_of,
    method_of,
    pay,
    require_changeable,
    require_items,
    require_status,
    rows,
    today,
)

CancelReason = Literal["no_longer_needed", "ordered_by_mistake", "arrives_too_late"]

_COUNTRIES_SERVED = ("Austria", "Belgium", "France", "Germany", "Italy", "Spain", "United Kingdom")


def find_customer_by_email(email: str, *, state: sqlite3.Connection) -> str:
    """Find a customer by the email address of the account; gives the customer id."""
    found = rows(state, "SELECT customer_id FROM customers WHERE lower(email) = lower(?)", email.strip())
    if not found:
        raise ValueError(f"no account has the email address {email!r}")
    return str(found[0]["customer_id"])


def find_customer_by_name(first_name: str, last_name: str, postcode: str, *, state: sqlite3.Connection) -> str:
    """Find a customer by first name, last name and the postcode of the account; gives the customer id."""
    wanted = _plain(first_name), _plain(last_name), _plain(postcode)
    for found in rows(state, "SELECT * FROM customers JOIN addresses ON owner = customer_id"):
        if (_plain(found["first_name"]), _plain(found["last_name"]), _plain(found["postcode"])) == wanted:
            return str(found["customer_id"])
    raise ValueError(f"no account is in the name of {first_name} {last_name} at postcode {postcode}")


def get_customer(customer_id: str, *, state: sqlite3.Connection) -> Row:
    """Look up a customer: name, email, default address and payment methods."""
    customer = get(state, "customers", "customer_id", customer_id)
    customer["address"] = _address(state, customer_id)
    sql = "SELECT payment_method_id, kind, label FROM payment_methods WHERE customer_id = ? ORDER BY payment_method_id"
    return {**customer, "payment_methods": rows(state, sql, customer_id)}


def list_orders(customer_id: str, *, state: sqlite3.Connection) -> list[Row]:
    """List a customer's orders with status, date and item names, oldest first."""
    sql = "SELECT order_id, status, ordered_on FROM orders WHERE customer_id = ? ORDER BY order_id"
    orders = rows(state, sql, get(state, "customers", "customer_id", customer_id)["customer_id"])
    return [{**order, "items": items_of(state, order["order_id"])} for order in orders]


def get_order(order_id: str, *, state: sqlite3.Connection) -> Row:
    """Look up an order: owner, status, dates, days since delivery, days late, fee, payment, address and items."""
    order = get(state, "orders", "order_id", order_id)
    del order["packing"]
    delivered = order["delivered_on"]
    return {
        **order,
        "days_since_delivery": days_between(delivered, today(state)) if delivered else None,
        "days_late": max(days_between(order["promised_on"], delivered), 0) if delivered else None,
        "total": charged(state, order_id),
        "address": _address(state, order_id),
        "items": items_of(state, order_id),
    }


def list_returns(customer_id: str, *, state: sqlite3.Connection) -> list[Row]:
    """List the items that a customer has sent back or exchanged, with the refund or charge method."""
    sql = "SELECT returns.* FROM returns JOIN orders USING (order_id) WHERE customer_id = ? ORDER BY order_id, item_id"
    return rows(state, sql, customer_id)


def list_products(*, state: sqlite3.Connection) -> list[Row]:
    """List every product with its id and its English and French name."""
    return rows(state, "SELECT * FROM products ORDER BY product_id")


def get_product(product_id: str, *, state: sqlite3.Connection) -> Row:
    """Look up a product and its variants: colour, size, price in euros, and how many are in stock."""
    product = get(state, "products", "product_id", product_id)
    sql = "SELECT item_id, colour, size, price, stock FROM variants WHERE product_id = ? ORDER BY rowid"
    return {**product, "variants": rows(state, sql, product_id)}


def cancel_order(order_id: str, reason: CancelReason, *, state: sqlite3.Connection) -> str:
    """Cancel a pending order and refund all that was paid to the method it was paid with."""
    order = get(state, "orders", "order_id", order_id)
    require_changeable(order)
    method = get(state, "payment_methods", "payment_method_id", order["payment_method_id"])
    amount = charged(state, order_id)
    with state:
        pay(state, order_id, method, "refund", amount)
        sql = "UPDATE orders SET status = 'cancelled', cancel_reason = ? WHERE order_id = ?"
        state.execute(sql, (reason, order_id))
    return f"order {order_id} is cancelled, {amount:.2f} euros go back to {method['label']}"


def change_shipping_address(
    order_id: str, street: str, city: str, postcode: str, country: str, *, state: sqlite3.Connection
) -> str:
    """Send a pending order to another address; `street` includes the house number."""
    require_changeable(get(state, "orders", "order_id", order_id))
    _set_address(state, order_id, (street, city, postcode, country))
    return f"order {order_id} ships to {street}, {postcode} {city}, {country}"


def change_default_address(
    customer_id: str, street: str, city: str, postcode: str, country: str, *, state: sqlite3.Connection
) -> str:
    """Change the address on a customer's account; orders already placed keep theirs."""
    get(state, "customers", "customer_id", customer_id)
    _set_address(state, customer_id, (street, city, postcode, country))
    return f"the address on the account is {street}, {postcode} {city}, {country}"


def change_email(customer_id: str, email: str, *, state: sqlite3.Connection) -> str:
    """Change the email address of a customer's account."""
    get(state, "customers", "customer_id", customer_id)
    taken = rows(state, "SELECT 1 FROM customers WHERE lower(email) = lower(?)", email)
    if taken:
        raise ValueError(f"the email address {email!r} is used by an account already")
    with state:
        state.execute("UPDATE customers SET email = ? WHERE customer_id = ?", (email, customer_id))
    return f"the email address of the account is {email}"


def change_payment_method(order_id: str, payment_method_id: str, *, state: sqlite3.Connection) -> str:
    """Charge a pending order to another of the customer's payment methods and refund the old one."""
    order = get(state, "orders", "order_id", order_id)
    require_changeable(order)
    if payment_method_id == order["payment_method_id"]:
        raise ValueError(f"order {order_id} is paid with {payment_method_id!r} already")
    new = method_of(state, order["customer_id"], payment_method_id)
    old = get(state, "payment_methods", "payment_method_id", order["payment_method_id"])
    amount = charged(state, order_id)
    with state:
        pay(state, order_id, new, "charge", amount)
        pay(state, order_id, old, "refund", amount)
        sql = "UPDATE orders SET payment_method_id = ? WHERE order_id = ?"
        state.execute(sql, (payment_method_id, order_id))
    return f"order {order_id} is paid with {new['label']}, {amount:.2f} euros go back to {old['label']}"


def return_items(order_id: str, item_ids: list[str], payment_method_id: str, *, state: sqlite3.Connection) -> str:
    """Take back items of a delivered order and refund their price to one of the customer's payment methods."""
    order = get(state, "orders", "order_id", order_id)
    require_status(order, "delivered")
    items = require_items(order_id, items_of(state, order_id), item_ids)
    method = method_of(state, order["customer_id"], payment_method_id)
    amount = sum(item["price"] for item in items)
    with state:
        _send_back(state, order_id, item_ids, [None] * len(item_ids), payment_method_id)
        pay(state, order_id, method, "refund", amount)
    return f"{amount:.2f} euros are refunded to {method['label']}; a return label was sent by email"


def exchange_items(
    order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str, *, state: sqlite3.Connection
) -> str:
    """Swap items of a delivered order for other variants, pairwise; the price difference goes through the method."""
    order = get(state, "orders", "order_id", order_id)
    require_status(order, "delivered")
    items = require_items(order_id, items_of(state, order_id), item_ids)
    if rows(state, "SELECT 1 FROM returns WHERE order_id = ? AND new_item_id IS NOT NULL", order_id):
        raise ValueError(f"order {order_id} had its one exchange already")
    if len(new_item_ids) != len(item_ids):
        raise ValueError(f"{len(item_ids)} items cannot be exchanged for {len(new_item_ids)}")
    new_items = [get(state, "variants", "item_id", item_id) for item_id in new_item_ids]
    for new in new_items:
        if new["stock"] < 1:
            raise ValueError(f"{new['item_id']!r} is out of stock")
    method = method_of(state, order["customer_id"], payment_method_id)
    difference = round(sum(new["price"] for new in new_items) - sum(item["price"] for item in items), 2)
    with state:
        _send_back(state, order_id, item_ids, new_item_ids, payment_method_id)
        if difference:
            pay(state, order_id, method, "charge" if difference > 0 else "refund", abs(difference))
        for new in new_items:
            state.execute("UPDATE variants SET stock = stock - 1 WHERE item_id = ?", (new["item_id"],))
    return f"the exchange is booked, price difference {difference:+.2f} euros through {method['label']}"


def refund_shipping(order_id: str, payment_method_id: str, *, state: sqlite3.Connection) -> str:
    """Refund the shipping fee of a delivered order, once, to one of the customer's payment methods."""
    order = get(state, "orders", "order_id", order_id)
    require_status(order, "delivered")
    _require_uncompensated(state, order_id)
    method = method_of(state, order["customer_id"], payment_method_id)
    with state:
        pay(state, order_id, method, "shipping_refund", order["shipping_fee"])
    return f"{order['shipping_fee']:.2f} euros of shipping are refunded to {method['label']}"


def issue_store_credit(order_id: str, amount: float, *, state: sqlite3.Connection) -> str:
    """Add euros to the store credit of an order's customer, once per order."""
    order = get(state, "orders", "order_id", order_id)
    _require_uncompensated(state, order_id)
    sql = "SELECT * FROM payment_methods WHERE customer_id = ? AND kind = 'store_credit'"
    with state:
        pay(state, order_id, rows(state, sql, order["customer_id"])[0], "credit", amount)
    return f"{amount:.2f} euros were added to the store credit"


def escalate_to_human(customer_id: str, summary: str, *, state: sqlite3.Connection) -> str:
    """Hand the conversation over to a person of the back office, with a summary of what the customer needs."""
    get(state, "customers", "customer_id", customer_id)
    with state:
        state.execute("INSERT INTO escalations VALUES (?, ?)", (customer_id, summary))
    return "a colleague will take over by email"


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "".join(letter for letter in letters.lower() if letter.isalnum())


def _address(state: sqlite3.Connection, owner: str) -> Row:
    sql = "SELECT street, city, postcode, country FROM addresses WHERE owner = ?"
    return rows(state, sql, owner)[0]


def _set_address(state: sqlite3.Connection, owner: str, address: tuple[str, str, str, str]) -> None:
    country = address[-1]
    if country not in _COUNTRIES_SERVED:
        raise ValueError(f"we do not deliver to {country}; we deliver to {', '.join(_COUNTRIES_SERVED)}")
    sql = "UPDATE addresses SET street = ?, city = ?, postcode = ?, country = ? WHERE owner = ?"
    with state:
        state.execute(sql, (*address, owner))


def _send_back(
    state: sqlite3.Connection, order_id: str, item_ids: list[str], new: list[str] | list[None], method: str
) -> None:
    for item_id, new_item_id in zip(item_ids, new, strict=True):
        state.execute("INSERT INTO returns VALUES (?, ?, ?, ?)", (order_id, item_id, new_item_id, method))


def _require_uncompensated(state: sqlite3.Connection, order_id: str) -> None:
    sql = "SELECT 1 FROM payments WHERE order_id = ? AND kind IN ('shipping_refund', 'credit')"
    if rows(state, sql, order_id):
        raise ValueError(f"order {order_id} was compensated already")
