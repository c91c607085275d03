"""What the desk can do."""

from typing import Any


def get_order(state: dict[str, Any], order_id: str) -> dict[str, Any]:
    """Look an order up."""
    found: dict[str, Any] = state["orders"].get(order_id, {})
    return found


def refund(state: dict[str, Any], order_id: str) -> dict[str, Any]:
    """Refund an order."""
    state["orders"][order_id]["status"] = "refunded"
    return get_order(state, order_id)
