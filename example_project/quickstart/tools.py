"""What the desk can do, over the hall's database."""

import sqlite3
from typing import Any


def find_member(email: str, *, state: sqlite3.Connection) -> dict[str, Any]:
    """Find a member by email; gives id, name and the credits left."""
    return _one(state, "SELECT * FROM members WHERE email = lower(?)", email, f"no member has the email {email}")


def list_classes(*, state: sqlite3.Connection) -> list[dict[str, Any]]:
    """Read the timetable: every class with its free places and the hours until it starts."""
    return _rows(state, "SELECT * FROM classes ORDER BY class_id")


def list_bookings(member_id: str, *, state: sqlite3.Connection) -> list[dict[str, Any]]:
    """List a member's bookings, with the hours until each class starts."""
    sql = "SELECT * FROM bookings JOIN classes USING (class_id) WHERE member_id = ? ORDER BY booking_id"
    return _rows(state, sql, member_id)


def book_class(member_id: str, class_id: str, *, state: sqlite3.Connection) -> str:
    """Book a class for a member; costs one credit."""
    member = _one(state, "SELECT * FROM members WHERE member_id = ?", member_id, f"there is no member {member_id}")
    if member["credits"] < 1:
        raise ValueError(f"{member['name']} has no credits left")
    _take_place(state, class_id)
    count = len(_rows(state, "SELECT 1 FROM bookings")) + 1
    state.execute("INSERT INTO bookings VALUES (?, ?, ?, 'booked')", (f"B{count}", member_id, class_id))
    state.execute("UPDATE members SET credits = credits - 1 WHERE member_id = ?", (member_id,))
    state.commit()
    return f"booking B{count} is made for class {class_id}"


def cancel_booking(booking_id: str, *, state: sqlite3.Connection) -> str:
    """Cancel a booking; the credit comes back."""
    booking = _booked(state, booking_id)
    state.execute("UPDATE bookings SET status = 'cancelled' WHERE booking_id = ?", (booking_id,))
    state.execute("UPDATE classes SET free = free + 1 WHERE class_id = ?", (booking["class_id"],))
    state.execute("UPDATE members SET credits = credits + 1 WHERE member_id = ?", (booking["member_id"],))
    state.commit()
    return f"booking {booking_id} is cancelled, one credit came back"


def move_booking(booking_id: str, class_id: str, *, state: sqlite3.Connection) -> str:
    """Move a booking to another class."""
    booking = _booked(state, booking_id)
    _take_place(state, class_id)
    state.execute("UPDATE classes SET free = free + 1 WHERE class_id = ?", (booking["class_id"],))
    state.execute("UPDATE bookings SET class_id = ? WHERE booking_id = ?", (class_id, booking_id))
    state.commit()
    return f"booking {booking_id} is now for class {class_id}"


def _rows(state: sqlite3.Connection, sql: str, *values: str) -> list[dict[str, Any]]:
    cursor = state.execute(sql, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _one(state: sqlite3.Connection, sql: str, value: str, missing: str) -> dict[str, Any]:
    rows = _rows(state, sql, value)
    if not rows:
        raise ValueError(missing)
    return rows[0]


def _booked(state: sqlite3.Connection, booking_id: str) -> dict[str, Any]:
    sql = "SELECT * FROM bookings WHERE booking_id = ? AND status = 'booked'"
    return _one(state, sql, booking_id, f"there is no open booking {booking_id}")


def _take_place(state: sqlite3.Connection, class_id: str) -> None:
    wanted = _one(state, "SELECT * FROM classes WHERE class_id = ?", class_id, f"there is no class {class_id}")
    if wanted["free"] < 1:
        raise ValueError(f"class {class_id} is full")
    state.execute("UPDATE classes SET free = free - 1 WHERE class_id = ?", (class_id,))
