"""A small hotel: rooms by night, guests, bookings; prices in euros."""

from typing import Literal

ROOMS = {
    number: {"room": number, "beds": beds, "price": price, "view": view}
    for number, beds, price, view in [
        ("101", 1, 64.0, "courtyard"),
        ("102", 2, 88.5, "garden"),
        ("204", 2, 97.0, "harbour"),
        ("305", 3, 131.0, "harbour"),
        ("306", 2, 92.0, "garden"),
    ]
}


def find_rooms(beds: int, *, state: dict) -> dict:
    """Find free rooms with at least so many beds.

    Args:
        beds: Number of beds, from 1 to 3
    """
    if not 1 <= beds <= 3:
        raise ValueError("rooms have 1 to 3 beds")
    taken = {booking["room"] for booking in state["bookings"].values()}
    rooms = [room for room in ROOMS.values() if room["beds"] >= beds and room["room"] not in taken]
    return {"count": len(rooms), "rooms": rooms}


def room_details(room: str) -> dict:
    """Describe a room: its price, its beds and its view.

    Args:
        room: Room number, for example 204
    """
    if room not in ROOMS:
        raise LookupError(f"no room {room}")
    return ROOMS[room]


def book_room(room: str, guest: str, nights: int, *, state: dict) -> dict:
    """Book a room for a guest.

    Args:
        room: Room number
        guest: Last name of the guest, for example Weiss
        nights: Number of nights, from 1 to 14
    """
    if room not in ROOMS:
        raise LookupError(f"no room {room}")
    if not 1 <= nights <= 14:
        raise ValueError("1 to 14 nights")
    if any(booking["room"] == room for booking in state["bookings"].values()):
        raise ValueError(f"room {room} is taken")
    state["last"] += 1
    reference = f"BK-{state['last']}"
    state["bookings"][reference] = {"reference": reference, "room": room, "guest": guest, "nights": nights}
    return {"reference": reference, "total": ROOMS[room]["price"] * nights}


def get_booking(reference: str, *, state: dict) -> dict:
    """Look up a booking by its reference.

    Args:
        reference: Booking reference
    """
    if reference not in state["bookings"]:
        raise LookupError(f"no booking {reference}")
    return state["bookings"][reference]


def cancel_booking(reference: str, reason: Literal["change_of_plans", "illness", "other"], *, state: dict) -> str:
    """Cancel a booking.

    Args:
        reference: Booking reference
        reason: Reason for the cancellation
    """
    if reference not in state["bookings"]:
        raise LookupError(f"no booking {reference}")
    del state["bookings"][reference]
    return f"Booking {reference} is cancelled ({reason})."
