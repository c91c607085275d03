def list_bills(person: str, *, state: dict) -> list[dict]:
    """List the bills of a person.

    Args:
        person: Number of the person
    """
    if person not in state["people"]:
        raise LookupError(f"there is no person {person}")
    return [{"bill": number, **one} for number, one in state["bills"].items() if one["person"] == person]


def pay_bill(bill: str, *, state: dict) -> dict:
    """Pay a bill.

    Args:
        bill: Number of the bill
    """
    if bill not in state["bills"]:
        raise LookupError(f"there is no bill {bill}")
    state["bills"][bill]["status"] = "paid"
    return {"bill": bill, **state["bills"][bill]}
