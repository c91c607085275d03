"""A message cut into what it asks for: segments, each about one thing, and the clauses of introduction apart."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from support import entities, names
from support.addresses import parse_address
from support.cues import CUES
from support.hints import HINTS
from support.intents import Intent
from support.items import things
from support.text import clauses, corrects, fold, mend

_ABOUT_MYSELF = re.compile(
    r"^\W*(?:(?:hi|hello|hey|bonjour|and|et|oh|sorry|yes|oui|sure)\W+)*(?:it's |c'est )?"
    r"(?:i'm |i am |this is |my (?:full )?name|my (?:current )?(?:e-?mail|post ?code|zip)|je m'appelle|je suis|"
    r"mon (?:nom|e-?mail|mail|code postal|adresse e-?mail)|name:|nom :|postcode|zip)"
)
_LABELLED = re.compile(r"\b(?:name|nom|prenom|e-?mail|mail|post ?code|zip|code postal)\b")
_SAME_MATTER = frozenset({Intent.RETURN, Intent.CANCEL, Intent.COMPENSATE, Intent.EXCHANGE})
_MOVES_MONEY = frozenset({Intent.RETURN, Intent.EXCHANGE, Intent.COMPENSATE})
_ONE_WISH = frozenset(
    {
        (Intent.RETURN, Intent.EXCHANGE),
        (Intent.PRODUCT, Intent.EXCHANGE),
        (Intent.COMPENSATE, Intent.RETURN),
    }
)
"""What follows on what without being another request: “take it back and give me a red one”."""

_PLACES = frozenset({Intent.CHANGE_ADDRESS, Intent.CHANGE_DEFAULT_ADDRESS})
_OF_AN_ORDER = re.compile(r"\b(?:orders?|parcels?|packages?|deliver\w*|ship\w*|colis|commandes?|livr\w+|envoy\w+)\b")
_EMAIL_IS = re.compile(r"\b(?:my|the|mon|l'|une?|new)\b ?(?:\w+ )?(?:e-?mail|mail|courriel|adresse e-?mail)\b[^@]*@")
_NEARLY_SAME = 0.93
_TAKEN_FOR_EMAIL = _PLACES | {Intent.CHANGE_EMAIL, Intent.EXCHANGE}
_OF_THE_ACCOUNT = re.compile(r"\b(?:account|profile|records?|details|on file|compte|profil|coordonnees|dossier)\b")


@dataclass
class Segment:
    """A part of a message that is about one thing; `intent` None means that it does not say what it wants."""

    intent: Intent | None
    text: str
    weak: bool = False

    @property
    def order_id(self) -> str | None:
        """The order it is about; the last one named counts."""
        found = entities.order_ids(self.text)
        return found[-1] if found else None


def intent_of(clause: str) -> tuple[Intent | None, bool]:
    """Tell what a clause asks for, and whether it only hints at it."""
    folded = mend(fold(clause))
    for weak, cues in ((False, CUES), (True, HINTS)):
        cue = next((cue for cue in cues if cue.speaks(folded)), None)
        if cue:
            return cue.intent, weak
    return None, False


def segments_of(message: str, *, introducing: bool, identified: bool = False) -> tuple[list[Segment], str]:
    """Group the clauses by what they are about, and give apart those by which customers introduce themselves.

    `introducing` tells that the message answers who the customer is, so that an address in it asks for nothing;
    `identified` that this is known, so that an email address in it is a new one.
    """
    found: list[Segment] = []
    about_self = ""
    identity = False
    for clause in clauses(message):
        identity = _is_identity(clause, after_identity=identity)
        if identity:
            about_self += clause
            continue
        intent, weak = intent_of(clause)
        segment = Segment(intent, clause, weak)
        if found and _continues(found[-1], segment):
            found[-1] = _joined(found[-1], segment)
        else:
            found.append(segment)
    found = _with_unsaid(message, _without_hints(found), introducing=introducing, identified=identified)
    return found, about_self


def _is_identity(clause: str, *, after_identity: bool) -> bool:
    folded = fold(clause)
    if _ABOUT_MYSELF.match(folded) and intent_of(clause)[0] is None and not entities.order_ids(clause):
        told = names.full_name(clause, asked=False) or entities.emails(clause) or entities.postcodes(clause)
        return bool(told or _LABELLED.search(folded))
    return (
        after_identity
        and bool(
            re.fullmatch(
                r"\W*(?:and |et )?(?:my |mon )?(?:post ?code|zip|code postal)?\W*(?:is |est )?[\w ]{5,8}\W*", folded
            )
        )
        and bool(entities.postcodes(clause))
    )


def _continues(before: Segment, after: Segment) -> bool:
    """Whether `after` belongs to the same request: nothing new is asked, and no second order is named."""
    if after.intent is Intent.CHANGE_PAYMENT and before.intent in _MOVES_MONEY:
        return after.order_id in {None, before.order_id}
    if (before.intent, after.intent) in _ONE_WISH and not things(after.text):
        return after.order_id in {None, before.order_id} or before.order_id is None
    if before.intent and after.intent and before.intent is not after.intent:
        same_order = after.order_id in {None, before.order_id} or before.order_id is None
        return same_order and (before.weak or after.weak) and _same_matter(before, after)
    another = before.order_id and after.order_id and before.order_id != after.order_id
    return not another or corrects(after.text)


def _same_matter(before: Segment, after: Segment) -> bool:
    return before.intent in _SAME_MATTER and after.intent in _SAME_MATTER


def _joined(before: Segment, after: Segment) -> Segment:
    hints_at_more = after.intent is Intent.EXCHANGE and (before.weak or (before.intent, after.intent) in _ONE_WISH)
    clearer = (
        after if before.intent is None or hints_at_more or (before.weak and after.intent and not after.weak) else before
    )
    return Segment(clearer.intent, before.text + after.text, clearer.weak)


def _without_hints(segments: list[Segment]) -> list[Segment]:
    """Drop hints that something clearer explains, and give further orders the intent of the one before."""
    if any(segment.intent and not segment.weak for segment in segments):
        for segment in segments:
            if segment.weak and (segment.order_id is None or _alone_is_clear(segment, segments)):
                segment.intent = None
    previous: Intent | None = None
    for segment in segments:
        if segment.intent is None and segment.order_id and previous:
            segment.intent = previous
        previous = segment.intent or previous
    return _with_rest_joined(segments)


def _with_rest_joined(segments: list[Segment]) -> list[Segment]:
    """Add what asks for nothing to the request before it, or to the first request."""
    joined: list[Segment] = []
    for segment in segments:
        if joined and (segment.intent is None or joined[-1].intent is None):
            joined[-1] = _joined(joined[-1], segment)
        else:
            joined.append(segment)
    return joined


def _alone_is_clear(segment: Segment, segments: list[Segment]) -> bool:
    return any(other.intent and not other.weak and other.order_id == segment.order_id for other in segments)


def _with_unsaid(message: str, segments: list[Segment], *, introducing: bool, identified: bool) -> list[Segment]:
    """Add what a message asks for without saying so: an address, a second email, a payment method are there for use."""
    clear = {segment.intent for segment in segments if segment.intent and not segment.weak}
    if not clear and not any(segment.intent for segment in segments):
        intent, weak = intent_of(message)
        segments = [Segment(intent, message, weak)] if intent else segments
    if _is_of_account(message):
        for segment in segments:
            if segment.intent is Intent.CHANGE_ADDRESS:
                segment.intent = Intent.CHANGE_DEFAULT_ADDRESS
    clear = {segment.intent for segment in segments if segment.intent and not segment.weak}
    two_emails = _two_different_emails(message) or (identified and bool(_EMAIL_IS.search(fold(message))))
    place = parse_address(message)
    full_address = bool(place.street and place.postcode and place.city) and not introducing
    if two_emails and clear <= _TAKEN_FOR_EMAIL and not place.street and not things(message):
        return [Segment(Intent.CHANGE_EMAIL, message)]
    if full_address and not clear:
        return [Segment(_place_meant(message, with_email=False), message)]
    if full_address and (clear == {Intent.CHANGE_EMAIL} or (two_emails and clear <= _PLACES)):
        return [Segment(_place_meant(message, with_email=True), message), Segment(Intent.CHANGE_EMAIL, message)]
    if not clear and entities.payment_hint(message):
        hinted = next((segment.intent for segment in segments if segment.intent in _MOVES_MONEY), Intent.CHANGE_PAYMENT)
        return [Segment(hinted, message, weak=True)]
    return segments


def _two_different_emails(message: str) -> bool:
    """Whether there are two addresses, the second more than the first without its typing error."""
    found = list(dict.fromkeys(entities.emails(message)))
    return len(found) > 1 and SequenceMatcher(None, found[0], found[-1]).ratio() < _NEARLY_SAME


def _place_meant(message: str, *, with_email: bool) -> Intent:
    """Tell a parcel's address from the account's, which is the one that changes together with the email."""
    of_account = _is_of_account(message) or (with_email and not entities.order_ids(message))
    return Intent.CHANGE_DEFAULT_ADDRESS if of_account else Intent.CHANGE_ADDRESS


def _is_of_account(message: str) -> bool:
    folded = fold(message)
    of_order = entities.order_ids(message) or _OF_AN_ORDER.search(folded)
    return bool(_OF_THE_ACCOUNT.search(folded)) and not of_order
