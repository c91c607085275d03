"""Drafts spoilt by hand, one fault each: what acceptance is there to refuse."""

from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.generation.draft import Draft, Owner, PlannedCall, Wanted
from tests.generation.draft import right


def turn(draft: Draft, place: int, **update: Any) -> Draft:
    """Change a turn."""
    turns = list(draft.turns)
    turns[place] = turns[place].model_copy(update=update)
    return draft.model_copy(update={"turns": tuple(turns)})


def call(draft: Draft, place: int, number: int, *, refused: bool = False, **update: Any) -> Draft:
    """Change a call of a turn."""
    key = "refused" if refused else "calls"
    calls: list[PlannedCall] = list(getattr(draft.turns[place], key))
    calls[number] = calls[number].model_copy(update=update)
    return turn(draft, place, **{key: tuple(calls)})


def arguments(draft: Draft, place: int, number: int, *, refused: bool = False, **new: Any) -> Draft:
    """Change arguments of a call, and nothing that is said."""
    key = "refused" if refused else "calls"
    wanted = getattr(draft.turns[place], key)[number].call
    changed = wanted.model_copy(update={"arguments": {**wanted.arguments, **new}})
    return call(draft, place, number, refused=refused, call=changed)


def stated(draft: Draft, place: int, argument: str, **update: Any) -> Draft:
    """Change what is said for an argument."""
    states = [one.model_copy(update=update) if one.argument == argument else one for one in draft.turns[place].states]
    return turn(draft, place, states=tuple(states))


def unsaid(draft: Draft, place: int, argument: str) -> Draft:
    """Leave out what is said for an argument."""
    return turn(draft, place, states=tuple(one for one in draft.turns[place].states if one.argument != argument))


def said_otherwise(draft: Draft, place: int, argument: str, value: Any) -> Draft:
    """Say another value for an argument than its call has."""
    return stated(draft, place, argument, value=value)


def pointed(draft: Draft, place: int, **update: Any) -> Draft:
    """Change what is pointed at."""
    references = [one.model_copy(update=update) for one in draft.turns[place].references]
    return turn(draft, place, references=tuple(references))


def unpointed(draft: Draft, place: int) -> Draft:
    """Point at nothing."""
    return turn(draft, place, references=())


def both(draft: Draft, place: int, number: int, argument: str, value: Any) -> Draft:
    """Change a value in the call and in what is said."""
    return stated(arguments(draft, place, number, **{argument: value}), place, argument, value=value)


def without_turn(draft: Draft, place: int) -> Draft:
    """Leave a turn out."""
    return draft.model_copy(update={"turns": tuple(one for at, one in enumerate(draft.turns) if at != place)})


def besides(draft: Draft, place: int, number: int, **update: Any) -> Draft:
    """Make a call once more, changed, that nobody asks for."""
    more = draft.turns[place].calls[number].model_copy(update={"asked": False, **update})
    return turn(draft, place, calls=(*draft.turns[place].calls, more))


def _renewing(suite: Suite) -> Iterator[tuple[str, Draft]]:
    draft = right.renewing(suite)
    first = draft.turns[1].calls[0]
    yield "the other loan is renewed", arguments(draft, 1, 0, loan_id="L301")
    yield "a stranger's loan is renewed", arguments(draft, 1, 0, loan_id="L303")
    yield "another number of weeks than is said", arguments(draft, 1, 0, weeks=2)
    yield "another number is said than of weeks", said_otherwise(draft, 1, "weeks", 2)
    yield "the number of weeks is not said", unsaid(draft, 1, "weeks")
    yield "who asks is not said", unsaid(draft, 0, "member_id")
    yield "the words point at the first loan", pointed(draft, 1, position=0)
    yield "the words point at one of five", pointed(draft, 1, count=5)
    yield "no words point at a loan", unpointed(draft, 1)
    yield "the words point at an answer that is not there", pointed(draft, 1, source=4)
    yield "somebody else's affairs", draft.model_copy(update={"owner": Owner(key="M24")})
    yield "a stranger's loans, said", both(draft, 0, 0, "member_id", "M22")
    yield "longer than the rule allows", both(draft, 1, 0, "weeks", 3)
    yield "a value that the tool does not take", both(draft, 1, 0, "weeks", 7)
    yield "renewed twice", besides(draft, 1, 0)
    yield (
        "another loan besides",
        besides(draft, 1, 0, call=first.call.model_copy(update={"arguments": {"loan_id": "L301", "weeks": 1}})),
    )
    yield "the lookup is left out", without_turn(draft, 0)
    yield "an argument that is not there", arguments(draft, 1, 0, reason="holiday")
    yield "a tool that is not there", call(draft, 1, 0, call=first.call.model_copy(update={"name": "extend_loan"}))
    yield "the label of another argument", stated(draft, 1, "weeks", label="months")
    yield "the write is nobody's wish", call(draft, 1, 0, asked=False)
    yield "the user says no", turn(draft, 1, act="decline")
    yield "the answer is not what it was", call(draft, 0, 0, answer="[]")
    yield (
        "a path that leads elsewhere",
        call(
            draft,
            1,
            0,
            origins={**first.origins, "loan_id": first.origins["loan_id"].model_copy(update={"path": "0.loan_id"})},
        ),
    )


def _refusing(suite: Suite) -> Iterator[tuple[str, Draft]]:
    draft = right.refusing(suite)
    short = said_otherwise(arguments(draft, 0, 0, refused=True, weeks=1), 0, "weeks", 1)
    yield "what is allowed is refused", short.model_copy(update={"forbidden": ()})
    yield "what is allowed is forbidden", short
    yield "the refused value is not said", unsaid(draft, 0, "weeks")
    yield (
        "what is refused is expected",
        turn(draft, 0, calls=(*draft.turns[0].calls, *draft.turns[0].refused), refused=()),
    )
    yield "nobody reads anything", turn(draft, 0, calls=())
    yield "somebody else asks", draft.model_copy(update={"owner": Owner(key="M25")})


def _reserving(suite: Suite) -> Iterator[tuple[str, Draft]]:
    draft = right.reserving(suite)
    yield "nobody says yes", turn(draft, 1, act="request")
    yield "the user says no, and it is done", turn(draft, 1, act="decline")
    yield "the member is not looked up", turn(draft, 0, calls=draft.turns[0].calls[1:])
    yield "another book is reserved", arguments(draft, 1, 0, book_id="B103x")
    yield "for another member", arguments(draft, 1, 0, member_id="M22")
    yield "no book is pointed at", unpointed(draft, 0)
    yield "the title is not said", unsaid(draft, 0, "title")
    yield "another title is said", said_otherwise(draft, 0, "title", "Salt")
    yield (
        "who asks is not said",
        turn(draft, 0, states=tuple(one for one in draft.turns[0].states if one.label != "member id")),
    )
    yield "reserved twice", besides(draft, 1, 0)


def _declining(suite: Suite) -> Iterator[tuple[str, Draft]]:
    draft = right.declining(suite)
    yield "the user says yes, and it is not done", turn(draft, 1, act="confirm")
    yield (
        "the fact does not stand in the answer",
        turn(draft, 0, wanted=(Wanted(label="branch", text="Central", path="branch"),)),
    )
    yield "the fact stands elsewhere", turn(draft, 0, wanted=(Wanted(label="branch", text="Harbour", path="name"),))


def _reading(suite: Suite) -> Iterator[tuple[str, Draft]]:
    draft = right.reading(suite)
    yield "the other book is read", arguments(draft, 1, 0, book_id="B101")
    yield "no book is pointed at", unpointed(draft, 1)
    yield "a day near today is to be told", draft.model_copy(update={"communicate": ("2026-03-01",)})


def _booking(suite: Suite) -> Iterator[tuple[str, Draft]]:
    draft = right.booking(suite)
    yield "another guest", arguments(draft, 1, 0, guest="Keller")
    yield "another number of nights", arguments(draft, 1, 0, nights=4)
    yield "the nights are not said", unsaid(draft, 1, "nights")
    yield "the first room is pointed at", pointed(draft, 1, position=0)
    yield "another room", arguments(draft, 1, 0, room="306")
    yield "a guest who is a day near today", both(draft, 1, 0, "guest", "2026-02-03")


def _reporting(suite: Suite) -> Iterator[tuple[str, Draft]]:
    draft = right.reporting(suite)
    yield "another reason", arguments(draft, 1, 0, motif="casse")
    yield "the reason is not said", unsaid(draft, 1, "motif")
    yield "another parcel", arguments(draft, 1, 0, numero="FR1041")
    yield "a reason that is a day near today", both(draft, 1, 0, "motif", "2025-12-24")
    yield "another depot is said", said_otherwise(draft, 0, "depot", "D15")


SPOILT = {
    right.library: (_renewing, _refusing, _reserving, _declining, _reading),
    right.hotel: (_booking,),
    right.colis: (_reporting,),
}
"""Spoilt drafts by the suite that they are planned in."""
