def list_tickets(person: str, *, state: dict) -> list[dict]:
    """List the tickets of a person at the helpdesk.

    Args:
        person: Number of the person
    """
    if person not in state["people"]:
        raise LookupError(f"there is no person {person}")
    return [{"ticket": number, **one} for number, one in state["tickets"].items() if one["person"] == person]


def close_ticket(ticket: str, *, state: dict) -> dict:
    """Close a ticket.

    Args:
        ticket: Number of the ticket
    """
    if ticket not in state["tickets"]:
        raise LookupError(f"there is no ticket {ticket}")
    state["tickets"][ticket]["status"] = "closed"
    return {"ticket": ticket, **state["tickets"][ticket]}
