"""A small airline of these tests: schema, rows, tools, policies, and the suite that joins them."""

from pathlib import Path

SCHEMA = """
CREATE TABLE members (member_id TEXT PRIMARY KEY, full_name TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
  tier TEXT NOT NULL CHECK (tier IN ('basic', 'gold')), referred_by TEXT REFERENCES members);
CREATE TABLE flights (flight_number TEXT PRIMARY KEY, origin TEXT NOT NULL, destination TEXT NOT NULL,
  seats INTEGER NOT NULL CHECK (seats >= 0));
CREATE TABLE cards (card_id TEXT PRIMARY KEY, member_id TEXT NOT NULL REFERENCES members, label TEXT NOT NULL);
CREATE TABLE bookings (booking_id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE,
  member_id TEXT NOT NULL REFERENCES members, state TEXT NOT NULL CHECK (state IN ('open', 'flown', 'void')),
  card_id TEXT NOT NULL REFERENCES cards, bags INTEGER NOT NULL,
  fare REAL NOT NULL, note TEXT);
CREATE TABLE legs (booking_id INTEGER NOT NULL REFERENCES bookings, place INTEGER NOT NULL,
  flight_number TEXT NOT NULL REFERENCES flights, PRIMARY KEY (booking_id, place));
"""

ROWS = """
members:
  - {member_id: M-201, full_name: Ines Duarte, email: ines.duarte@mail.example, tier: gold}
  - {member_id: M-202, full_name: Tom Weiss, email: tom.weiss@mail.example, tier: basic, referred_by: M-201}
  - {member_id: M-203, full_name: Aya Sato, email: aya.sato@mail.example, tier: basic}
flights:
  - {flight_number: QX100, origin: LIS, destination: OSL, seats: 4}
  - {flight_number: QX101, origin: OSL, destination: LIS, seats: 0}
  - {flight_number: QX200, origin: LIS, destination: ROM, seats: 9}
cards:
  - {card_id: visa_31, member_id: M-201, label: the blue card}
  - {card_id: visa_32, member_id: M-202, label: the red card}
  - {card_id: amex_33, member_id: M-202, label: the company card}
  - {card_id: visa_34, member_id: M-203, label: the old card}
bookings:
  - {booking_id: 11, code: AB12CD, member_id: M-201, state: open, card_id: visa_31, bags: 1, fare: 120.5, note: window}
  - {booking_id: 12, code: EF34GH, member_id: M-202, state: open, card_id: visa_32, bags: 0, fare: 80, note: aisle}
  - {booking_id: 13, code: IJ56KL, member_id: M-202, state: flown, card_id: amex_33, bags: 2, fare: 80}
  - {booking_id: 14, code: MN78OP, member_id: M-203, state: void, card_id: visa_34, bags: 1, fare: 99}
  - {booking_id: 15, code: QR90ST, member_id: M-202, state: open, card_id: amex_33, bags: 0, fare: 60}
legs:
  - {booking_id: 11, place: 1, flight_number: QX100}
  - {booking_id: 11, place: 2, flight_number: QX101}
  - {booking_id: 12, place: 1, flight_number: QX200}
  - {booking_id: 13, place: 1, flight_number: QX100}
  - {booking_id: 14, place: 1, flight_number: QX200}
  - {booking_id: 15, place: 1, flight_number: QX100}
"""

TOOLS = '''
import sqlite3


def _one(state: sqlite3.Connection, booking_id: int) -> dict:
    row = state.execute("SELECT * FROM bookings WHERE booking_id = ?", (booking_id,)).fetchone()
    if row is None:
        raise ValueError(f"there is no booking {booking_id}")
    return dict(row)


def find_member(email: str, *, state: sqlite3.Connection) -> str:
    """Find a member by email; gives the member id."""
    row = state.execute("SELECT member_id FROM members WHERE email = ?", (email,)).fetchone()
    if row is None:
        raise ValueError("no member has this email")
    return row[0]


def get_member(member_id: str, *, state: sqlite3.Connection) -> dict:
    """Look up a member."""
    return dict(state.execute("SELECT * FROM members WHERE member_id = ?", (member_id,)).fetchone())


def get_booking(booking_id: int, *, state: sqlite3.Connection) -> dict:
    """Look up a booking."""
    return _one(state, booking_id)


def void_booking(booking_id: int, *, state: sqlite3.Connection) -> str:
    """Void a booking and refund its fare to the card."""
    _one(state, booking_id)
    state.execute("UPDATE bookings SET state = 'void' WHERE booking_id = ?", (booking_id,))
    return "voided"


def move_payment(booking_id: int, card_id: str, *, state: sqlite3.Connection) -> str:
    """Charge a booking to another card of the member."""
    if _one(state, booking_id)["card_id"] == card_id:
        raise ValueError("it is charged to this card already")
    state.execute("UPDATE bookings SET card_id = ? WHERE booking_id = ?", (card_id, booking_id))
    return "moved"


def update_email(member_id: str, email: str, *, state: sqlite3.Connection) -> str:
    """Change the email of a member."""
    state.execute("UPDATE members SET email = ? WHERE member_id = ?", (email, member_id))
    return "changed"
'''

SUITE = """
agent: air_agent:build
environment:
  tools: air_tools
  state: {sqlite: {schema: schema.sql, rows: rows.yaml}}
  reads: [find_member, get_member, get_booking]
  writes: [void_booking, move_payment, update_email]
policies:
  - {id: who-first, text: Find the member by email before anything else., challenge: 2, category: identity,
     rule: {before: {calls: [get_booking, void_booking, move_payment, update_email], first: [find_member]}}}
  - {id: open-only, text: Void a booking or move its payment only while it is open., challenge: 3, category: bookings,
     rule: {only_if: {calls: [void_booking, move_payment],
       earlier: {calls: [get_booking], same: [booking_id], result: {state: open}}}}}
  - {id: own-card, text: Charge a booking to a card of the member., challenge: 2, category: payments,
     tools: [move_payment]}
  - {id: no-upgrades, text: Grant no upgrades., challenge: 1, category: conduct}
  - {id: one-void, text: Void one booking at most., challenge: 1, category: bookings,
     rule: {at_most: {calls: [void_booking], times: 1}}}
  - {id: ask-first, text: Ask before a booking is voided., challenge: 2, category: conduct,
     rule: {confirm_before: {calls: [void_booking]}}}
  - {id: mail-once, text: Change the email of a member once., challenge: 1, category: identity,
     rule: {at_most: {calls: [update_email], times: 1}}}
scenarios: [generated/scenarios/*.yaml]
generate: {from: policies, count: COUNT, seed: 3, levels: {min: 1, max: 8}EXTRA}
"""


def airline(folder: Path, *, count: int = 6, extra: str = "") -> Path:
    """Write the suite into a folder; give its file."""
    (folder / "schema.sql").write_text(SCHEMA, encoding="utf-8")
    (folder / "rows.yaml").write_text(ROWS, encoding="utf-8")
    (folder / "air_tools.py").write_text(TOOLS, encoding="utf-8")
    (folder / "air_agent.py").write_text("def build():\n    return lambda message: 'Hello'\n", encoding="utf-8")
    file = folder / "agentbench.yaml"
    file.write_text(SUITE.replace("COUNT", str(count)).replace("EXTRA", extra), encoding="utf-8")
    return file
