"""Which of the email addresses in a message is the customer's own, and which is to replace it."""

import re

from support import entities
from support.text import corrects, fold

_NEW_BEFORE = re.compile(
    r"(?:\b(?:to|into|with|be|use|using|a|par|en|vers|pour|now|instead|becomes?|read|want|sera|devient|prefer|like)|"
    r"\b(?:new|nouvel\w*|from now on|desormais|dorenavant)(?: \S+){0,5})\W*$"
)
_NEW_AFTER = re.compile(
    r"^\W*(?:\w+ ){0,3}?(?:on file|from now on|instead|in future|going forward|now on|is (?:my|the) new|desormais)\b"
)
_OLD_BEFORE = re.compile(
    r"(?:\b(?:from|under|de|remplacer|replace|not|have (?:\w+ ){0,4}is|my e-?mail (?:address )?is)|"
    r"\b(?:current(?:ly)?|old|ancien\w*|actuel\w*|existing|so far|at the moment|previous)(?: \S+){0,3})\W*$"
)
_OLD_AFTER = re.compile(
    r"^ (?:is|was|est|etait) (?:(?:the|my|what|l'|mon)\b[^@]*\b)?"
    r"(?:been using|current|old|used|using|at the moment|so far|have (?:now|on file)|ancien\w*|actuel\w*|no longer)\b"
)
_SENTENCE_END = re.compile(r"[.;!?](?=\s)|\n")


def own_and_new(message: str, *, changes: bool, identified: bool, asked_new: bool) -> tuple[str | None, str | None]:
    """Give the address that identifies the customer and the one that is to replace it, if the message `changes` it."""
    found = entities.emails(message)
    if not found:
        return None, None
    if asked_new:
        return None, found[-1]
    if not changes:
        return found[-1 if corrects(message) else 0], None
    old = [email for email in found if _is_old(email, message)]
    if len(found) == 1 and not identified and not _is_new(found[0], message):
        return found[0], None
    fresh = [email for email in found if email not in old] or (found if identified else [])
    new = next((email for email in reversed(fresh) if _is_new(email, message)), fresh[-1] if fresh else None)
    rest = [email for email in found if email != new]
    return (rest[-1] if rest else None), new


def _is_old(email: str, message: str) -> bool:
    before, after = _around(email, message)
    return bool(_OLD_BEFORE.search(before) or _OLD_AFTER.search(after))


def _is_new(email: str, message: str) -> bool:
    before, after = _around(email, message)
    return bool(_NEW_BEFORE.search(before) or _NEW_AFTER.search(after))


def _around(email: str, message: str) -> tuple[str, str]:
    """Give what stands before and after an address, as far as its sentence goes."""
    before, _, after = fold(message).partition(email.lower())
    return _SENTENCE_END.split(before[-80:])[-1], _SENTENCE_END.split(after[:80])[0]
