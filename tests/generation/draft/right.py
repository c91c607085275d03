"""Right drafts over the services, with the rules they are planned by: what is accepted, and what is spoilt by tests."""

import asyncio
from pathlib import Path
from typing import Any

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.generation.draft import Draft, Owner, PolicyPart, WrongRun
from tests.generation.drafting import Do, From, Say, drafted, suite_of

LIBRARY: tuple[dict[str, Any], ...] = (
    {
        "id": "one-week",
        "text": "A loan is renewed by two weeks at most.",
        "rule": {"never": {"calls": ["renew_loan"], "where": {"weeks": {"$gt": 2}}}},
    },
    {
        "id": "look-up-first",
        "text": "Look up the member before a book is reserved.",
        "rule": {"before": {"calls": ["reserve_book"], "first": ["get_member"], "same": ["member_id"]}},
    },
    {
        "id": "ask-first",
        "text": "Ask before a book is reserved.",
        "rule": {"confirm_before": {"calls": ["reserve_book"]}},
    },
    {"id": "kind", "text": "Be kind."},
)
"""Rules of the library."""

MEMBER = Owner(key="M21")


def library(folder: Path) -> Suite:
    """Give the library with its rules."""
    return suite_of(folder, "library", LIBRARY)


def make(suite: Suite, name: str, turns: list[Say], **more: Any) -> Draft:
    """Plan one draft."""
    return asyncio.run(drafted(suite, name, turns, **more))


def renewing(suite: Suite, name: str = "renew") -> Draft:
    """List a member's loans and renew the second one."""
    turns = [
        Say(calls=[Do("list_loans", {"member_id": "M21"})]),
        Say(calls=[Do("renew_loan", {"loan_id": From(0, "1.loan_id", "loan", 1, 2), "weeks": 1})]),
    ]
    return make(suite, name, turns, owner=MEMBER, policies=(PolicyPart(policy="one-week"),))


def refusing(suite: Suite, name: str = "refuse") -> Draft:
    """Ask for a renewal that is too long."""
    over = Do("renew_loan", {"loan_id": "L301", "weeks": 3})
    turns = [Say(calls=[Do("list_loans", {"member_id": "M21"})], refused=[over])]
    draft = make(suite, name, turns, owner=MEMBER)
    call = draft.turns[0].refused[0]
    wrong = WrongRun(kind="forbidden", change="renews by three weeks all the same", turn=0, call=call)
    part = PolicyPart(policy="one-week", event="requested", wrong_runs=(wrong,))
    said = ("two weeks",)  # how long it may be, without which an agent that does nothing would pass
    return draft.model_copy(update={"policies": (part,), "forbidden": (call.call,), "communicate": said})


def reserving(suite: Suite, name: str = "reserve") -> Draft:
    """Reserve a book for a member who is looked up and says yes."""
    turns = [
        Say(calls=[Do("get_member", {"member_id": "M21"}, asked=False), Do("search_books", {"title": "Quiet"})]),
        Say(
            "confirm",
            calls=[Do("reserve_book", {"book_id": From(1, "0.id", "book"), "member_id": "M21"})],
        ),
    ]
    draft = make(suite, name, turns, owner=MEMBER)
    return draft.model_copy(
        update={
            "policies": (
                PolicyPart(
                    policy="look-up-first",
                    wrong_runs=(WrongRun(kind="skipped", change="does not look up the member", number=0),),
                ),
                PolicyPart(
                    policy="ask-first",
                    wrong_runs=(
                        WrongRun(kind="unasked", change="does not ask", turn=1),
                        WrongRun(kind="declined", change="the user says no", turn=1),
                    ),
                ),
                PolicyPart(policy="kind"),
            )
        }
    )


def declining(suite: Suite, name: str = "decline") -> Draft:
    """Ask for a reservation, and say no to it when asked."""
    turns = [
        Say(calls=[Do("get_member", {"member_id": "M21"})], wanted=[(0, "branch")]),
        Say("decline", refused=[Do("reserve_book", {"book_id": "B102", "member_id": "M21"})]),
    ]
    draft = make(suite, name, turns, owner=MEMBER)
    wrong = WrongRun(kind="declined", change="reserves it although the user says no", turn=1)
    part = PolicyPart(policy="ask-first", event="declined", wrong_runs=(wrong,))
    return draft.model_copy(update={"policies": (part,)})


def reading(suite: Suite, name: str = "read") -> Draft:
    """Find a book by its title, and ask for its shelf."""
    turns = [
        Say(calls=[Do("search_books", {"title": "Night"})]),
        Say(calls=[Do("get_book", {"book_id": From(0, "1.id", "book", 1, 2)})], wanted=[(0, "author"), (0, "shelf")]),
    ]
    return make(suite, name, turns, owner=Owner(role="reader"))


def hotel(folder: Path) -> Suite:
    """Give the hotel."""
    return suite_of(folder, "hotel")


def booking(suite: Suite, name: str = "book") -> Draft:
    """Find rooms and book the second one."""
    turns = [
        Say(calls=[Do("find_rooms", {"beds": 2})]),
        Say(
            calls=[
                Do("book_room", {"room": From(0, "rooms.1.room", "room", 1, 3), "guest": "Weiss", "nights": 3}),
            ],
            wanted=[(0, "total")],
        ),
    ]
    return make(suite, name, turns, owner=Owner(role="guest"))


def colis(folder: Path) -> Suite:
    """Give the parcel service."""
    return suite_of(folder, "colis")


def reporting(suite: Suite, name: str = "report") -> Draft:
    """List the parcels of a depot and report the second one, in French."""
    turns = [
        Say(calls=[Do("lister_colis", {"depot": "D12"})]),
        Say(calls=[Do("signaler_probleme", {"numero": From(0, "1.numero", "colis", 1, 2), "motif": "retard"})]),
    ]
    return make(suite, name, turns, owner=Owner(role="agent"), language="fr")
