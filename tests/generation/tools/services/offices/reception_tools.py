def find_person(name: str, *, state: dict) -> dict:
    """Find a person by name.

    Args:
        name: Full name of the person, for example Ada Roy
    """
    return next({"person": number, **one} for number, one in state["people"].items() if one["name"] == name)


def list_visits(person: str, *, state: dict) -> list[dict]:
    """List the visits that a person has announced.

    Args:
        person: Number of the person
    """
    if person not in state["people"]:
        raise LookupError(f"there is no person {person}")
    return [{"visit": number, **one} for number, one in state["visits"].items() if one["person"] == person]


def cancel_visit(visit: str, *, state: dict) -> dict:
    """Cancel a visit.

    Args:
        visit: Number of the visit
    """
    if visit not in state["visits"]:
        raise LookupError(f"there is no visit {visit}")
    state["visits"][visit]["status"] = "cancelled"
    return {"visit": visit, **state["visits"][visit]}
