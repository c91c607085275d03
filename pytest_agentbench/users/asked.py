"""Which values an agent's message asks for."""

import re
from dataclasses import dataclass
from functools import lru_cache

from pytest_agentbench.users.kinds import humanize, kinds_in
from pytest_agentbench.users.phrases import either, pattern
from pytest_agentbench.users.segments import Segment, clip, segments


@dataclass(frozen=True)
class Asked:
    """The kinds a message asks for, those it would take instead, and the segments that ask."""

    kinds: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    where: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds or self.instead)


_PLACEHOLDER = re.compile(
    r"<([A-Za-z_ ]{2,40})>|\[(your [A-Za-z_ ]{2,40})\]|\b\w{0,20}?(your_\w{2,40})\b", re.IGNORECASE
)
_LETTER = re.compile(r"[^\W\d_]")


@lru_cache(maxsize=512)  # several rules ask it of the same message
def asked(text: str, free: tuple[str, ...] = ()) -> Asked:
    """Find what `text` asks for: in questions, polite requests, and the list items that follow one.

    Left out are quotations, conditions ("once I have your email"), offers ("would you like…") and statements.
    `free` are the scenario's own kinds to look for.
    """
    kinds: list[str] = []
    instead: list[str] = []
    where: list[str] = []
    listing = False
    previous = ""
    kinds.extend(_placeholder_kinds(text, free))
    for segment in segments(text):
        body = _asking_part(segment.text)
        if segment.item and listing:
            named = _item_kinds(body, free)
            kinds.extend(named)
            where.extend([segment.text] if named else [])
            continue
        if not segment.item and _LETTER.search(segment.text):
            listing = False
        if pattern("alternatives").search(body):
            instead.extend(kinds_in(body, free))
            where.append(segment.text)
        if _requests(segment, body):
            named = kinds_in(body, free)
            listing = listing or _leads_list(segment)
            if not named and pattern("back_reference").search(body):
                named = kinds_in(previous, free)
            kinds.extend(named)
            where.extend([segment.text] if named else [])
        else:
            listing = listing or (_leads_list(segment) and _requests_something(body))
        previous = segment.text
    return Asked(
        tuple(dict.fromkeys(kinds)),
        tuple(dict.fromkeys(kind for kind in instead if kind not in kinds)),
        tuple(dict.fromkeys(where)),
    )


def _asking_part(text: str) -> str:
    """Drop the clauses that only say when, why or thanks."""
    return pattern("dropped").sub(" ", text)


def _requests(segment: Segment, body: str) -> bool:
    if _requests_something(body):
        return True
    return segment.question and bool(pattern("wh_requests").search(body)) and not _offers(body)


def _requests_something(body: str) -> bool:
    return bool(pattern("requests").search(body))


def _offers(body: str) -> bool:
    """Tell whether a question offers to do something instead of asking for a value."""
    return bool(_OFFER.search(body)) and not pattern("starts_open").match(body)


_OFFER = either(
    r"would you (?:like|prefer|rather) (?:me|us) to",
    r"do you (?:want|need) (?:me|us) to", r"(?:shall|should) (?:i|we)",
    r"(?:souhaitez|voulez)-vous que je", r"dois-je",
)  # fmt: skip


def _leads_list(segment: Segment) -> bool:
    return segment.text.rstrip("* ").endswith(":") or bool(pattern("forward_reference").search(segment.text))


def _item_kinds(body: str, free: tuple[str, ...]) -> tuple[str, ...]:
    """Give what a list item asks for; of `Your name: Ada Roy` only the part before the colon names something."""
    name, colon, value = body.partition(":")
    return kinds_in(name, free) or (kinds_in(value, free) if colon else ())


def _placeholder_kinds(text: str, free: tuple[str, ...]) -> tuple[str, ...]:
    """Give the kinds of unfilled placeholders (`<user_id>`, `[your name]`, `YOUR_ORDER_ID`): the agent lacks them."""
    inner = [next(group for group in match.groups() if group) for match in _PLACEHOLDER.finditer(clip(text))]
    return tuple(kind for name in inner for kind in kinds_in(humanize(name), free))
