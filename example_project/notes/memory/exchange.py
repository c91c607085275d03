"""What is kept of a conversation: messages, and what each answer was about."""

from dataclasses import dataclass
from typing import Literal

from notes.answering import Source


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """One message of the conversation, numbered from 1."""

    number: int
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Item:
    """One of several things that an answer named, in order: an item of a list, a side of a comparison."""

    text: str
    source: Source | None = None


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A question with what it referred to filled in, its answer, and what both were about."""

    asked: str
    resolved: str
    answer: str
    subject: str
    sources: tuple[Source, ...] = ()
    items: tuple[Item, ...] = ()
    are_sides: bool = False
    """Whether the items are things asked about rather than the answer itself."""
    found: bool = True
