"""The tool that every agent here has of its own."""


def get_order(order_id: str) -> str:
    """Look an order up."""
    if order_id == "W404":
        raise LookupError(f"no order {order_id}")
    return f"Order {order_id} is shipped"
