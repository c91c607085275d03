"""A small service of the tests' own: bookings in a JSON state, played by the generator."""

import json
import os
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from pytest_agentbench.calibration.generate import Generated, Wish, generate

TOOLS = '''
def find_guest(email: str, *, state: dict) -> str:
    """Find a guest by email; gives the guest id."""
    for key, guest in state["guests"].items():
        if guest["email"] == email:
            return key
    raise ValueError(f"no guest has the email {email!r}")


def get_booking(booking_id: str, *, state: dict) -> dict:
    """Look up a booking: room, price, nights and status."""
    if booking_id not in state["bookings"]:
        raise ValueError(f"there is no booking {booking_id!r}")
    return {"booking_id": booking_id, **state["bookings"][booking_id]}


def get_room(room_id: str, *, state: dict) -> dict:
    """Look up a room: beds, floor area and price."""
    if room_id not in state["rooms"]:
        raise ValueError(f"there is no room {room_id!r}")
    return {"room_id": room_id, **state["rooms"][room_id]}


def cancel_booking(booking_id: str, *, state: dict) -> str:
    """Cancel a booking and refund its price."""
    booking = state["bookings"].get(booking_id)
    if booking is None or booking["status"] == "cancelled":
        raise ValueError(f"booking {booking_id!r} cannot be cancelled")
    booking["status"] = "cancelled"
    return f"booking {booking_id} is cancelled, {booking['price']:.2f} are refunded"
'''

STATE = {
    "guests": {f"G{n}1": {"email": f"guest{n}@inn.example", "name": f"Guest {n}"} for n in range(1, 6)},
    "bookings": {
        f"B{n}7{n}": {
            "room_id": f"R{n}0{n}",
            "price": 80.5 + 13 * n,
            "nights": 10 + n,
            "status": "open",
            "guest": f"G{n}1",
        }
        for n in range(1, 6)
    },
    "rooms": {f"R{n}0{n}": {"beds": n, "area": 20.5 + n, "rate": 60.25 + n} for n in range(1, 6)},
}


def suite(folder: Path) -> Path:
    """Write the suite and give its file."""
    scenarios = []
    for n in range(1, 6):
        booking, room = f"B{n}7{n}", f"R{n}0{n}"
        look = {"get_booking": {"booking_id": booking}}
        scenarios += [
            {
                "id": f"cancel-{n}",
                "says": [f"Please cancel booking {booking}, I am guest{n}@inn.example."],
                "expect": [
                    {"find_guest": {"email": f"guest{n}@inn.example"}},
                    look,
                    {"cancel_booking": {"booking_id": booking}},
                ],
            },
            {"id": f"look-{n}", "says": [f"What does booking {booking} cost?"], "expect": [look]},
            {"id": f"room-{n}", "says": [f"How large is room {room}?"], "expect": [{"get_room": {"room_id": room}}]},
        ]
    (folder / "inn_tools.py").write_text(TOOLS)
    (folder / "inn.json").write_text(json.dumps(STATE))
    form = {
        "agent": "nobody:build",
        "environment": {
            "tools": "inn_tools",
            "state": {"json": "inn.json"},
            "reads": ["find_guest", "get_booking", "get_room"],
            "writes": ["cancel_booking"],
        },
        "scenarios": scenarios,
    }
    path = folder / "agentbench.yaml"
    path.write_text(json.dumps(form))
    return path


@cache
def conversations() -> Generated:
    """Give two conversations of each situation, eight right ones; made once."""
    path = suite(Path(mkdtemp(prefix="agentbench-inn-")))
    return generate(path, Wish(per_situation=2, positives=8, seed=3), environ=os.environ)
