"""From a message to what it asks for: requests, each with the words that belong to it, and facts about the customer."""

import re
from dataclasses import dataclass

from support import answers, entities, names
from support.intents import Intent, intent_of
from support.text import clauses, corrects, fold

_NEW_EMAIL = re.compile(
    r"(?:\b(?:to|into|with|be|use|a|par|en|vers|pour|now|instead|becomes?|sera|devient)|"
    r"\b(?:new|nouvel\w*)(?: \S+){0,3})\W*$"
)
_OLD_EMAIL = re.compile(
    r"(?:\b(?:from|under|de|remplacer|replace|my e-?mail (?:address )?is)|"
    r"\b(?:current(?:ly)?|old|ancien\w*|actuel\w*)(?: \S+){0,3})\W*$"
)
_ABOUT_MYSELF = re.compile(
    r"^\W*(?:(?:hi|hello|hey|bonjour|and|et|oh|sorry|yes|oui|sure)\W+)*(?:it's |c'est )?"
    r"(?:i'm |i am |this is |my (?:full )?name|my (?:current )?(?:e-?mail|post ?code|zip)|je m'appelle|je suis|"
    r"mon (?:nom|e-?mail|mail|code postal|adresse e-?mail)|name:|nom :|postcode|zip)"
)
_LABELLED = re.compile(r"\b(?:name|nom|prenom|e-?mail|mail|post ?code|zip|code postal)\b")
_SAME_MATTER = frozenset({Intent.RETURN, Intent.CANCEL, Intent.COMPENSATE, Intent.EXCHANGE})
_MOVES_MONEY = frozenset({Intent.RETURN, Intent.EXCHANGE, Intent.COMPENSATE})
_WITH_ADDRESS = frozenset({Intent.CHANGE_ADDRESS, Intent.CHANGE_DEFAULT_ADDRESS})


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


@dataclass(frozen=True)
class Heard:
    """A message, understood without knowing anything about the shop."""

    text: str
    french: bool
    segments: tuple[Segment, ...]
    email: str | None
    new_email: str | None
    name: tuple[str, str] | None
    postcode: str | None
    yes: bool
    no: bool
    unknown: bool
    drops: bool

    @property
    def requests(self) -> list[Segment]:
        """The segments that ask for something."""
        return [segment for segment in self.segments if segment.intent]

    @property
    def rest(self) -> str:
        """The words that ask for nothing by themselves."""
        return " ".join(segment.text for segment in self.segments if not segment.intent)


def understand(message: str, *, french: bool, identified: bool, awaiting: str) -> Heard:
    """Read a message, given the language so far, whether the customer is known, and which value was asked for."""
    identifying = not identified and awaiting in {"email", "name", "name_only", "postcode"}
    segments, about_self = _segments(message)
    email, new_email = _emails(message, segments, identified=identified, awaiting=awaiting)
    other_address = any(segment.intent in _WITH_ADDRESS for segment in segments)
    postcodes = entities.postcodes(about_self)
    name = names.full_name(message, asked=identifying)
    if not postcodes and (identifying or (name and not other_address)):
        postcodes = entities.postcodes(message)
    return Heard(
        text=message,
        french=entities.is_french(message, before=french),
        segments=tuple(segments),
        email=email,
        new_email=new_email,
        name=name,
        postcode=postcodes[0] if postcodes else None,
        yes=answers.says_yes(message),
        no=answers.says_no(message),
        unknown=answers.does_not_know(message),
        drops=answers.drops(message),
    )


def _segments(message: str) -> tuple[list[Segment], str]:
    """Group the clauses by what they are about, and give apart those by which customers introduce themselves."""
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
    return _without_hints(found), about_self


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
    if before.intent and after.intent and before.intent is not after.intent:
        same_order = after.order_id in {None, before.order_id} or before.order_id is None
        return same_order and (before.weak or after.weak) and _same_matter(before, after)
    another = before.order_id and after.order_id and before.order_id != after.order_id
    return not another or corrects(after.text)


def _same_matter(before: Segment, after: Segment) -> bool:
    return before.intent in _SAME_MATTER and after.intent in _SAME_MATTER


def _joined(before: Segment, after: Segment) -> Segment:
    hints_at_more = before.weak and after.intent is Intent.EXCHANGE
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


def _emails(message: str, segments: list[Segment], *, identified: bool, awaiting: str) -> tuple[str | None, str | None]:
    """Tell the address that identifies the customer from the one that is to replace it."""
    found = entities.emails(message)
    if not found:
        return None, None
    if awaiting == "new_email":
        return None, found[-1]
    if not any(segment.intent is Intent.CHANGE_EMAIL for segment in segments):
        return found[-1 if corrects(message) else 0], None
    old = [email for email in found if _OLD_EMAIL.search(_before(email, message))]
    fresh = [email for email in found if email not in old]
    if len(found) == 1 and not identified and not _NEW_EMAIL.search(_before(found[0], message)):
        return found[0], None
    new = next((email for email in reversed(fresh) if _NEW_EMAIL.search(_before(email, message))), None)
    new = new or (fresh[-1] if fresh else None)
    rest = [email for email in found if email != new]
    return (rest[-1] if rest else None), new


def _before(email: str, message: str) -> str:
    place = message.find(email)
    return fold(message[:place] if place >= 0 else message)[-60:]
