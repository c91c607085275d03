"""Tools of a neighbourhood library of tools."""

from datetime import date, timedelta

from pytest_agentbench import tool

looked_up = set()  # a broken card service loses the session of a member that was looked up


@tool(kind="read")
def get_member(state: dict, member_id: str) -> dict:
    """Look a member up: name, open fees, inductions."""
    if member_id not in state["members"]:
        raise LookupError(f"there is no member {member_id}")
    looked_up.add(member_id)
    return {"member_id": member_id, **state["members"][member_id]}


@tool(kind="read")
def list_loans(state: dict, member_id: str) -> list:
    """List what a member has on loan, with the day it is due back."""
    return [
        {"loan_id": key, "tool_id": loan["tool_id"], "kind": state["tools"][loan["tool_id"]]["kind"]}
        | {"due": loan["due"], "extended": loan["extended"]}
        for key, loan in state["loans"].items()
        if loan["member_id"] == member_id
    ]


@tool(kind="read")
def list_reservations(state: dict, member_id: str) -> list:
    """List what a member has reserved."""
    return [
        {"reservation_id": key, "kind": state["tools"][held["tool_id"]]["kind"], "day": held["day"]}
        for key, held in state["reservations"].items()
        if held["member_id"] == member_id
    ]


@tool(kind="read")
def find_tools(state: dict, kind: str) -> list:
    """Find tools by what they are called."""
    return [{"tool_id": key, **row} for key, row in state["tools"].items() if kind.lower() in row["kind"]]


@tool(kind="write")
def extend_loan(state: dict, loan_id: str, until: str) -> dict:
    """Let a loan run until another day (YYYY-MM-DD). The first time is free, every further one costs 1.50."""
    if loan_id not in state["loans"]:
        raise LookupError(f"there is no loan {loan_id}")
    loan, day = state["loans"][loan_id], date.fromisoformat(until)
    if day > date.fromisoformat(loan["due"]) + timedelta(days=14):
        raise ValueError("a loan runs on for 14 days at most")
    for held in state["reservations"].values():
        if held["tool_id"] == loan["tool_id"] and date.fromisoformat(held["day"]) <= day:
            raise ValueError(f"somebody has reserved this tool from {held['day']}")
    fee = 1.5 if loan["extended"] else 0
    loan["due"], loan["extended"] = until, loan["extended"] + 1
    state["members"][loan["member_id"]]["fees"] += fee
    return {"loan_id": loan_id, "due": until, "fee": fee}


@tool(kind="write")
def reserve_tool(state: dict, tool_id: str, member_id: str, day: str) -> dict:
    """Reserve a tool for a member from a day on (YYYY-MM-DD)."""
    row = state["tools"][tool_id]
    if row["needs_induction"] and row["kind"] not in state["members"][member_id]["inductions"]:
        raise PermissionError(f"{member_id} has had no induction for the {row['kind']}")
    key = f"R-{len(state['reservations']) + 5}"
    state["reservations"][key] = {"tool_id": tool_id, "member_id": member_id, "day": day}
    return {"reservation_id": key, "day": day, "deposit": row["deposit"]}


@tool(kind="write")
def cancel_reservation(state: dict, reservation_id: str) -> str:
    """Cancel a reservation."""
    del state["reservations"][reservation_id]
    return "cancelled"


@tool(kind="write")
def pay_fee(state: dict, member_id: str, amount: float) -> dict:
    """Take open fees from the member's card."""
    if state["card_machine"] == "broken" and member_id in looked_up:
        raise ConnectionError("card service unreachable")
    member = state["members"][member_id]
    if amount > member["fees"]:
        raise ValueError(f"only {member['fees']:.2f} is open")
    member["fees"] -= amount
    return {"paid": amount, "open": member["fees"]}


@tool(kind="write")
def report_damage(state: dict, loan_id: str, note: str) -> str:
    """Write down that a borrowed tool is damaged. Staff looks at it when it is brought back."""
    state["loans"][loan_id]["note"] = note
    return "noted"


@tool(kind="generic")
def hand_over(reason: str) -> str:
    """Hand the conversation over to a volunteer at the desk."""
    return "a volunteer takes over"
