"""Answers of an auditor, short to write down; every quote stands in the refund of `judges.served.refund_run`."""

from typing import Any

from pytest_agentbench.testing import structured

USERS = (1, "Please refund order W1.")
YES = (3, "Right, that one.")
DONE = (4, "I have refunded order W1.")
ASKED = (2, "Order W1 is a lamp for 20 dollars.")


def at(place: tuple[int, str]) -> dict[str, Any]:
    """A turn and words of it."""
    return {"turn": place[0], "quote": place[1]}


def claim(place: tuple[int, str] = DONE, **fields: Any) -> dict[str, Any]:
    """A claim, borne out by call 2 unless told otherwise."""
    given = {"kind": "effect", "values": ["W1"], "denies": False, "corrected": False, "support": "call", "call": 2}
    return {**at(place), **given, **fields}


def heard(consent: str = "given", place: tuple[int, str] = YES, call: int = 2) -> dict[str, Any]:
    """What the user had said to a call."""
    return {**at(place), "call": call, "consent": consent}


def item(status: str = "done", reason: str = "none", place: tuple[int, str] = DONE) -> dict[str, Any]:
    """Something that the user wants."""
    return {**at(place), "item": "refund W1", "status": status, "reason": reason}


def policy(name: str, status: str = "kept", place: tuple[int, str] = DONE) -> dict[str, Any]:
    """A policy, with the words that show it."""
    shown = at(place) if status != "not exercised" else {"turn": 0, "quote": ""}
    return {"policy": name, "status": status, **shown, "reason": "It did not ask."}


def user_turn(kind: str, place: tuple[int, str] = USERS) -> dict[str, Any]:
    """A turn of the user against its role."""
    return {**at(place), "kind": kind}


def seen(*, use: str = "right", appropriate: bool = True, satisfied: bool = True, **parts: Any) -> dict[str, Any]:
    """A whole answer; what is not given is empty, but for the one consent."""
    return {
        "claims": [],
        "consents": [heard()],
        "goal_items": [],
        "policies": [],
        "user_turns": [],
        "tool_use": {**at(DONE), "use": use},
        "agent_appropriate": {**at(DONE), "shows": appropriate},
        "user_satisfied": {**at(DONE), "shows": satisfied},
        **parts,
    }


def answer(**parts: Any) -> Any:
    """A whole answer as a model server gives it."""
    return structured(seen(**parts))
