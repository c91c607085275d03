"""A tool hire desk over a JSON state: machines, customers, rentals."""


def _row(state: dict, table: str, key: str) -> dict:
    if key not in state[table]:
        raise ValueError(f"there is no {table[:-1]} {key}")
    return state[table][key]


def get_customer(customer_id: str, *, state: dict) -> dict:
    """Look up a customer."""
    return _row(state, "customers", customer_id)


def get_machine(machine_id: str, *, state: dict) -> dict:
    """Look up a machine."""
    return _row(state, "machines", machine_id)


def get_rental(rental_id: str, *, state: dict) -> dict:
    """Look up a rental."""
    return _row(state, "rentals", rental_id)


def rent_machine(customer_id: str, machine_id: str, days: int, *, state: dict) -> dict:
    """Rent a machine to a customer for some days."""
    number = f"R{len(state['rentals']) + 1}"
    rental = {"customer_id": customer_id, "machine_id": machine_id, "days": days, "status": "open", "deposit": 150}
    state["rentals"][number] = rental
    return {"rental_id": number, "deposit": 150}


def extend_rental(rental_id: str, days: int, *, state: dict) -> dict:
    """Extend a rental by some days."""
    _row(state, "rentals", rental_id)["days"] += days
    return {"rental_id": rental_id, "fee": 18 * days}


def cancel_rental(rental_id: str, *, state: dict) -> dict:
    """Cancel a rental and pay its deposit back."""
    _row(state, "rentals", rental_id)["status"] = "cancelled"
    return {"rental_id": rental_id, "refund": 150}


def pay_deposit_back(rental_id: str, amount: int, *, state: dict) -> str:
    """Pay a part of the deposit back."""
    _row(state, "rentals", rental_id)["deposit"] -= amount
    return "paid"


def call_supervisor(rental_id: str, *, state: dict) -> str:
    """Hand a case over to the supervisor."""
    _row(state, "rentals", rental_id)
    return "the supervisor will call"
