"""A REST-like catalogue with server-made uuids three levels deep, ids hidden in `data`, and arguments in `params`."""

import uuid
from typing import Any

from pydantic import BaseModel, Field


class Shelf(BaseModel):
    """A new shelf."""

    label: str
    size: int = Field(10, ge=1, le=100)


class NewBook(BaseModel):
    """A new book on a shelf."""

    shelf_id: str
    title: str
    pages: int | None = None


class BookRef(BaseModel):
    """A book on a shelf."""

    shelf_id: str
    book_id: str


def create_shelf(params: Shelf, *, state: dict) -> dict:
    """Create a shelf."""
    made = _new(state)
    state["shelves"][made] = {"id": made, "label": params.label, "books": {}}
    return {"data": {"id": made, "label": params.label}}


def list_shelves(*, state: dict) -> dict:
    """List the shelves."""
    return {"data": [{"id": one["id"], "label": one["label"]} for one in state["shelves"].values()]}


def create_book(params: NewBook, *, state: dict) -> dict:
    """Put a new book on a shelf."""
    shelf = _shelf(state, params.shelf_id)
    made = _new(state)
    shelf["books"][made] = {"id": made, "title": params.title, "loans": {}}
    return {"data": {"id": made, "title": params.title}}


def get_book(params: BookRef, *, state: dict) -> dict:
    """Look up a book."""
    book = _book(state, params.shelf_id, params.book_id)
    return {"data": {"title": book["title"], "loans": list(book["loans"])}}


def lend_book(params: BookRef, reader: str, *, state: dict) -> str:
    """Lend a book to a reader."""
    book = _book(state, params.shelf_id, params.book_id)
    loan = _new(state)
    book["loans"][loan] = reader
    return f"Lent. The loan is {loan}."


def return_loan(loan_id: str, *, state: dict) -> str:
    """Take a lent book back."""
    for shelf in state["shelves"].values():
        for book in shelf["books"].values():
            if loan_id in book["loans"]:
                del book["loans"][loan_id]
                return "returned"
    raise ValueError(f"404: loan {loan_id} not found")


def search_books(query: str, limit: int = 10, *, state: dict) -> list[dict[str, Any]]:
    """Search books by title."""
    found = [
        {"book": book["title"], "shelf": shelf["label"]}
        for shelf in state["shelves"].values()
        for book in shelf["books"].values()
        if query.lower() in book["title"].lower()
    ]
    return found[:limit]


def _new(state: dict) -> str:
    state["made"] += 1
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"library-{state['made']}"))


def _shelf(state: dict, shelf_id: str) -> dict:
    if shelf_id not in state["shelves"]:
        raise ValueError(f"404: shelf {shelf_id} not found")
    return state["shelves"][shelf_id]


def _book(state: dict, shelf_id: str, book_id: str) -> dict:
    books = _shelf(state, shelf_id)["books"]
    if book_id not in books:
        raise ValueError(f"404: book {book_id} not found")
    return books[book_id]
