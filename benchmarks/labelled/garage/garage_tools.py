from pytest_agentbench import tool


def _find(table, key, what):
    if key not in table:
        raise LookupError(f"no {what} {key}")
    return table[key]


@tool(kind="read")
def get_appointment(state: dict, appointment_id: str) -> dict:
    """Look an appointment up."""
    return {"appointment_id": appointment_id, **_find(state["appointments"], appointment_id, "appointment")}


@tool(kind="read")
def list_free_slots(state: dict, date: str) -> list:
    """Free times of a day, date as YYYY-MM-DD."""
    return state["slots"].get(date, [])


@tool(kind="read")
def check_part(state: dict, part_number: str) -> dict:
    """Name, price in euros and stock of a part."""
    return {"part_number": part_number, **_find(state["parts"], part_number, "part")}


@tool(kind="read")
def get_invoice(state: dict, invoice_id: str) -> dict:
    """Look an invoice up."""
    return {"invoice_id": invoice_id, **_find(state["invoices"], invoice_id, "invoice")}


@tool(kind="read")
def read_fault_codes(state: dict, plate: str) -> list:
    """Fault codes that the workshop tester stored for a car."""
    raise RuntimeError("tester bridge: serial port not configured")


@tool(kind="write")
def book_appointment(state: dict, plate: str, service: str, date: str, time: str) -> dict:
    """Book a new appointment."""
    if time not in state["slots"].get(date, []):
        raise ValueError(f"{date} {time} is not free")
    state["slots"][date].remove(time)
    key = f"A{400 + len(state['appointments'])}"
    state["appointments"][key] = {"plate": plate, "service": service, "date": date, "time": time, "status": "booked"}
    return {"appointment_id": key, **state["appointments"][key]}


@tool(kind="write")
def move_appointment(state: dict, appointment_id: str, date: str, time: str) -> dict:
    """Move an appointment to another day and time."""
    one = _find(state["appointments"], appointment_id, "appointment")
    if time not in state["slots"].get(date, []):
        raise ValueError(f"{date} {time} is not free")
    state["slots"][date].remove(time)
    one["date"], one["time"] = date, time
    return {"appointment_id": appointment_id, **one}


@tool(kind="write")
def cancel_appointment(state: dict, appointment_id: str) -> dict:
    """Cancel an appointment."""
    one = _find(state["appointments"], appointment_id, "appointment")
    one["status"] = "cancelled"
    return {"appointment_id": appointment_id, **one}


@tool(kind="write")
def order_part(state: dict, part_number: str, quantity: int, appointment_id: str) -> dict:
    """Order a part for an appointment."""
    part = _find(state["parts"], part_number, "part")
    _find(state["appointments"], appointment_id, "appointment")
    if quantity > part["stock"]:
        raise ValueError(f"only {part['stock']} of {part_number} in stock")
    part["stock"] -= quantity
    state["orders"].append({"part_number": part_number, "quantity": quantity, "appointment_id": appointment_id})
    return {"ordered": quantity, "part_number": part_number, "total": round(quantity * part["price"], 2)}


@tool(kind="write")
def discount_invoice(state: dict, invoice_id: str, amount: float) -> dict:
    """Take an amount in euros off an invoice."""
    one = _find(state["invoices"], invoice_id, "invoice")
    one["total"] = round(one["total"] - amount, 2)
    return {"invoice_id": invoice_id, **one}


@tool(kind="write")
def pay_invoice(state: dict, invoice_id: str, method: str) -> dict:
    """Take the payment of an invoice; method is card or transfer."""
    one = _find(state["invoices"], invoice_id, "invoice")
    if one["status"] == "paid":
        raise ValueError(f"{invoice_id} is paid already")
    one["status"], one["method"] = "paid", method
    return {"invoice_id": invoice_id, **one}


@tool(kind="generic")
def transfer_to_human(reason: str) -> str:
    """Hand the customer over to the workshop manager."""
    return "transferred"
