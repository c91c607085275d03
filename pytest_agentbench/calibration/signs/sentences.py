"""What a text asserts, in English and French: its clauses without questions, denials, conditions and intentions."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator

_SENTENCE = re.compile(r"[^.!?…\n]+(?:[.](?=\S)[^.!?…\n]*)*[.!?…]*")
_CLAUSE = re.compile(r"[,;:–—()]\s|\s(?:so|and|but|while|although|mais|et|donc|car|tandis que)\s")
_DENIED = re.compile(
    r"\b(?:not|never|no longer|cannot|unable|unfortunately|nothing|none|nobody|without|fail(?:s|ed)?|refused|declined|rejected|no"
    r"|pas|jamais|aucune?|rien|impossible|malheureusement|sans|échoué|refusée?|ne peu\w+|ne)\b|n['’]t\b|\bn['’](?=\w)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:if|once|when|after|before|would|could|should|may|might|can|shall|unless|until|whether|please|must|need|want|to be|being|about to|going to|will|try|tried"
    r"|si|quand|lorsque|une fois|dès que|après|avant|pourr\w+|pouv\w+|peu[xt]\w*|voul\w+|veuillez|souhait\w+|faut|faudr\w+|doi[st]|dev\w+|va|vais|allons|vont|afin|être)\b|['’]ll\b",
    re.IGNORECASE,
)


def sentences(text: str) -> Iterator[str]:
    """Give the sentences of a text, each with its end mark."""
    return (match[0].strip() for match in _SENTENCE.finditer(text) if match[0].strip())


def asserted(text: str) -> Iterator[str]:
    """Give the clauses that say how things are: no question, nothing denied, conditional, possible or to come."""
    for sentence in sentences(text):
        if sentence.endswith("?"):
            continue
        for clause in _CLAUSE.split(sentence):
            if clause and not _DENIED.search(clause) and not _OPEN.search(clause):
                yield clause.strip()


def intended(text: str) -> Iterator[str]:
    """Give the clauses that are neither a question nor denied nor hang on a condition."""
    for sentence in sentences(text):
        if sentence.endswith("?") or _CONDITION.search(sentence):
            continue
        yield from (clause.strip() for clause in _CLAUSE.split(sentence) if clause and not _DENIED.search(clause))


_CONDITION = re.compile(
    r"\b(?:if|once|when|after|unless|until|whether|please|would you|let me know|si|quand|lorsque|une fois|dès que|après|veuillez|dites-moi|souhait\w+|voulez)\b",
    re.IGNORECASE,
)


def denies(text: str) -> bool:
    """Whether a text says of something that it is not so."""
    return _DENIED.search(_COURTESIES.sub("", text)) is not None


_COURTESIES = re.compile(
    r"\b(?:no|not a|without(?: any| a)?) (?:problem|issue|trouble|worr\w+|hassle|difficult\w+)s?\b|\b(?:don['’]t|do not) (?:worry|hesitate|mention)\b|\bno worries\b"
    r"|\b(?:pas|aucun|sans)(?: de| le moindre| aucun)? (?:problème|souci|difficulté|inquiétude)s?\b|\bn['’]hésitez pas\b|\bne vous inquiétez pas\b|\bpas du tout\b",
    re.IGNORECASE,
)
