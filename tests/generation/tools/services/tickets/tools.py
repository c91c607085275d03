"""A ticket desk: ids in prose, errors that are reported as successes, a field that is optional on paper only."""

import json


def find_person(email: str, *, state: dict) -> str:
    """Find a person by email, e.g. 'ada@example.org'; gives the id."""
    for person_id, person in state["people"].items():
        if person["email"] == email:
            return person_id
    raise ValueError("nobody has this email")


def get_person(person_id: str, *, state: dict) -> dict:
    """Look up a person, with the tickets."""
    person = state["people"][person_id]
    tickets = [{"ticket_id": key, **one} for key, one in state["tickets"].items() if one["person_id"] == person_id]
    return {**person, "person_id": person_id, "tickets": tickets}


def list_tickets(status: str = "open", verbose: bool = False, *, state: dict) -> str:
    """List tickets by status ('open', 'closed')."""
    return json.dumps(
        [{"ref": key, "title": one["title"]} for key, one in state["tickets"].items() if one["status"] == status]
    )


def close_ticket(ticket_id: str, note: str = "", *, state: dict) -> str:
    """Close an open ticket."""
    ticket = state["tickets"].get(ticket_id)
    if ticket is None:
        return f"Error: Ticket '{ticket_id}' not found"
    if ticket["status"] != "open":
        raise ValueError("the ticket is not open")
    ticket["status"] = "closed"
    return f"closed, receipt R-{ticket_id}-77"


def create_ticket(person_id: str, title: str | None = None, *, state: dict) -> str:
    """Open a new ticket for a person."""
    if not title:
        raise ValueError("title is required")
    state["people"][person_id]
    ticket_id = f"T{len(state['tickets']) + 1}"
    state["tickets"][ticket_id] = {"person_id": person_id, "title": title, "status": "open"}
    return f"opened ticket {ticket_id}"


def delete_ticket(ticket_id: str, *, state: dict) -> dict:
    """Delete a ticket."""
    if ticket_id not in state["tickets"]:
        return {}
    del state["tickets"][ticket_id]
    return {"deleted": True}
