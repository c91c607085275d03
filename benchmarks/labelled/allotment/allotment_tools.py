"""Tools of the office of an allotment garden."""

from datetime import date, timedelta

from pytest_agentbench import tool

TODAY = date(2026, 4, 14)
PRICES = {"rotavator": 12.0, "shredder": 8.0}


@tool(kind="read")
def get_tenant(state: dict, tenant_id: str) -> dict:
    """Look a tenant up: name, year of birth, plot, card on file."""
    if tenant_id not in state["tenants"]:
        raise LookupError(f"there is no tenant {tenant_id}")
    return {"tenant_id": tenant_id, **state["tenants"][tenant_id]}


@tool(kind="read")
def get_plot(state: dict, plot_id: str) -> dict:
    """Look a plot up: size, yearly rent, who has it, what is owed for it."""
    if plot_id not in state["plots"]:
        raise LookupError(f"there is no plot {plot_id}")
    return {"plot_id": plot_id, **state["plots"][plot_id]}


@tool(kind="read")
def list_invoices(state: dict, tenant_id: str) -> list:
    """List a tenant's invoices. Tenants of 66 and older get 20 % off the rent, not off the water; the discount is taken
    off when the invoice is paid."""
    return [{"invoice_id": key, **row} for key, row in state["invoices"].items() if row["tenant_id"] == tenant_id]


@tool(kind="read")
def list_bookings(state: dict, tenant_id: str) -> list:
    """List the machines that a tenant has booked."""
    return [{"booking_id": key, **row} for key, row in state["bookings"].items() if row["tenant_id"] == tenant_id]


@tool(kind="write")
def book_machine(state: dict, machine: str, tenant_id: str, day: str) -> dict:
    """Book the rotavator (12.00 a day) or the shredder (8.00 a day) for a day (YYYY-MM-DD). Machines are fetched from
    9:00 and brought back by 18:00. Cancelling is free until the day before."""
    if machine not in PRICES:
        raise ValueError(f"there is no machine {machine}, only rotavator and shredder")
    date.fromisoformat(day)
    if any(row["machine"] == machine and row["day"] == day for row in state["bookings"].values()):
        raise ValueError(f"the {machine} is taken on {day}")
    key = f"B-{len(state['bookings']) + 41}"
    state["bookings"][key] = {"machine": machine, "tenant_id": tenant_id, "day": day}
    return {"booking_id": key, "machine": machine, "day": day, "price": PRICES[machine]}


@tool(kind="write")
def cancel_booking(state: dict, booking_id: str) -> str:
    """Cancel the booking of a machine. Free until the day before."""
    if booking_id not in state["bookings"]:
        raise LookupError(f"there is no booking {booking_id}")
    del state["bookings"][booking_id]
    return "cancelled"


@tool(kind="write")
def pay_invoice(state: dict, invoice_id: str, amount: float) -> dict:
    """Pay an invoice from the tenant's card on file."""
    row = state["invoices"][invoice_id]
    if state["tenants"][row["tenant_id"]]["card"] == "expired":
        raise ValueError("card on file has expired, nothing was taken")
    row["paid"] += amount
    return {"invoice_id": invoice_id, "paid": amount}


@tool(kind="write")
def give_up_plot(state: dict, plot_id: str, last_day: str) -> dict:
    """End a tenancy. Notice is four weeks at least. Rent that was paid is not given back; the key deposit of 25.00 is,
    once the key is handed in."""
    if date.fromisoformat(last_day) < TODAY + timedelta(weeks=4):
        raise ValueError("notice is four weeks")
    state["plots"][plot_id]["ends"] = last_day
    return {"plot_id": plot_id, "ends": last_day}


@tool(kind="write")
def order_manure(state: dict, tenant_id: str, loads: int, day: str) -> dict:
    """Order horse manure to the gate. A load is 18.00, and the tractor is 10.00 for each delivery, however many loads.
    Deliveries come on Fridays alone."""
    if date.fromisoformat(day).weekday() != 4:
        raise ValueError(f"{day} is no Friday")
    key = f"M-{len(state['manure']) + 8}"
    state["manure"][key] = {"tenant_id": tenant_id, "loads": loads, "day": day}
    return {"order_id": key, "loads": loads, "day": day, "price": 18.0 * loads + 10.0}


@tool(kind="write")
def report_fault(state: dict, place: str, note: str) -> dict:
    """Report a fault of taps, gates, paths or huts to the site team, by the place (gate, hut, tap-1 to tap-6)."""
    if place not in state["faults"]:
        raise LookupError(f"there is no place {place}")
    state["faults"][place] = note
    return {"place": place, "reported": True}


@tool(kind="generic")
def hand_over(reason: str) -> str:
    """Hand the conversation over to the secretary. In the office Mondays and Thursdays."""
    return "the secretary takes over"
