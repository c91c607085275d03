"""The tools of a wine club: people, the cases they ordered, and tastings."""

from typing import Any, Literal

Reason = Literal["too_expensive", "moved_away", "ordered_twice"]


def find_customer_by_email(email: str, *, state: dict[str, Any]) -> str:
    """Find a customer of the club by email; gives the customer id."""
    for customer_id, one in state["customers"].items():
        if one["email"] == email:
            return str(customer_id)
    raise LookupError(f"nobody has the email {email}")


def list_orders(customer_id: str, *, state: dict[str, Any]) -> list[dict[str, Any]]:
    """List the cases that a customer ordered."""
    if customer_id not in state["customers"]:
        raise LookupError(f"there is no customer {customer_id}")
    return [{"case_id": key, **one} for key, one in state["cases"].items() if one["customer_id"] == customer_id]


def get_case(case_id: str, *, state: dict[str, Any]) -> dict[str, Any]:
    """Look up a case: whose it is, wine, bottles, price, status."""
    if case_id not in state["cases"]:
        raise LookupError(f"there is no case {case_id}")
    return {"case_id": case_id, **state["cases"][case_id]}


def cancel_case(case_id: str, reason: Reason, *, state: dict[str, Any]) -> str:
    """Cancel a case that is not sent yet."""
    case = get_case(case_id, state=state)
    if case["status"] != "waiting":
        raise ValueError(f"case {case_id} is {case['status']}")
    state["cases"][case_id].update(status="cancelled", reason=reason)
    return f"case {case_id} is cancelled"


def change_bottles(case_id: str, bottles: int, *, state: dict[str, Any]) -> str:
    """Change how many bottles, 1 to 60, a case that is not sent yet has."""
    case = get_case(case_id, state=state)
    if case["status"] != "waiting":
        raise ValueError(f"case {case_id} is {case['status']}")
    if not 1 <= bottles <= 60:
        raise ValueError("a case has 1 to 60 bottles")
    state["cases"][case_id]["bottles"] = bottles
    return f"case {case_id} has {bottles} bottles"


def refund_case(case_id: str, amount: float, *, state: dict[str, Any]) -> str:
    """Pay back part of the price of a case that was sent."""
    case = get_case(case_id, state=state)
    if case["status"] != "sent":
        raise ValueError(f"case {case_id} is {case['status']}")
    if not 0 < amount <= case["price"]:
        raise ValueError(f"at most {case['price']} can be paid back for case {case_id}")
    state["refunds"].append({"case_id": case_id, "amount": amount})
    return f"{amount} is paid back for case {case_id}"


def list_tastings(*, state: dict[str, Any]) -> list[dict[str, Any]]:
    """List the tastings, with the seats that are left."""
    return [{"tasting_id": key, **one} for key, one in state["tastings"].items()]


def book_tasting(customer_id: str, tasting_id: str, seats: int, *, state: dict[str, Any]) -> str:
    """Book seats at a tasting."""
    if customer_id not in state["customers"]:
        raise LookupError(f"there is no customer {customer_id}")
    if tasting_id not in state["tastings"]:
        raise LookupError(f"there is no tasting {tasting_id}")
    if not 1 <= seats <= state["tastings"][tasting_id]["seats"]:
        raise ValueError(f"{tasting_id} has {state['tastings'][tasting_id]['seats']} seats left")
    state["tastings"][tasting_id]["seats"] -= seats
    state["bookings"].append({"customer_id": customer_id, "tasting_id": tasting_id, "seats": seats})
    return f"{seats} seats at {tasting_id} are booked"
