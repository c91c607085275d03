"""A town library: books, copies, members, loans."""

from typing import Literal

BOOKS = {
    f"B{100 + n}": {"id": f"B{100 + n}", "title": title, "author": author, "year": year, "shelf": f"Room {n % 4 + 1}"}
    for n, (title, author, year) in enumerate(
        [
            ("The Silver Fox", "Anna Berg", 1998),
            ("Night Train", "Paul Ortiz", 2004),
            ("Night Garden", "Mina Sato", 2015),
            ("A Quiet Harbour", "Tom Hale", 1987),
            ("Salt and Stone", "Lena Fischer", 2011),
            ("The Paper Moon", "Anna Berg", 2001),
            ("Winter Bees", "Ivo Novak", 2019),
            ("Salt Road", "Tom Hale", 1995),
        ]
    )
}
MEMBERS = {
    f"M{n}": {"id": f"M{n}", "name": name, "branch": branch, "balance": balance}
    for n, name, branch, balance in [
        (21, "Rita Moss", "Harbour", 12.5),
        (22, "Carl Penn", "Central", 40.25),
        (23, "Joan Lark", "Harbour", 33.0),
        (24, "Udo Stein", "Hillside", 18.75),
        (25, "Ines Roca", "Central", 27.0),
    ]
}


def search_books(title: str) -> list[dict]:
    """Search for books by words of their title.

    Args:
        title: Words of the title, such as Night or Salt
    """
    words = title.lower().split()
    return [book for book in BOOKS.values() if all(word in book["title"].lower() for word in words)]


def get_book(book_id: str) -> dict:
    """Get the details of a book, such as its author and its shelf.

    Args:
        book_id: Number of the book
    """
    if book_id not in BOOKS:
        raise ValueError(f"there is no book {book_id}")
    return BOOKS[book_id]


def get_member(member_id: str) -> dict:
    """Look up a member of the library.

    Args:
        member_id: Number of the member, such as M21
    """
    if member_id not in MEMBERS:
        raise ValueError(f"there is no member {member_id}")
    return MEMBERS[member_id]


def list_loans(member_id: str, *, state: dict) -> list[dict]:
    """List the loans of a member.

    Args:
        member_id: Number of the member
    """
    if member_id not in MEMBERS:
        raise ValueError(f"there is no member {member_id}")
    return [loan for loan in state["loans"].values() if loan["member_id"] == member_id]


def renew_loan(loan_id: str, weeks: Literal[1, 2, 3] = 2, *, state: dict) -> dict:
    """Renew a loan for some weeks.

    Args:
        loan_id: Number of the loan
        weeks: How many weeks
    """
    loan = state["loans"].get(loan_id)
    if loan is None:
        raise ValueError(f"there is no loan {loan_id}")
    loan["weeks"] = loan["weeks"] + weeks
    return {"loan_id": loan_id, "weeks": loan["weeks"], "status": "renewed"}


def reserve_book(book_id: str, member_id: str, *, state: dict) -> dict:
    """Reserve a book for a member.

    Args:
        book_id: Number of the book
        member_id: Number of the member
    """
    if book_id not in BOOKS or member_id not in MEMBERS:
        raise ValueError("there is no such book or member")
    number = f"R{500 + len(state['reservations'])}"
    state["reservations"][number] = {"book_id": book_id, "member_id": member_id}
    return {"reservation": number, "branch": MEMBERS[member_id]["branch"]}
