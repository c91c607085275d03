"""Which memories a message needs, by its wording; the buffer of recent messages is always there."""

import re
from typing import Literal

from notes.text import fold

Store = Literal["semantic", "conceptual", "profile"]

_RECALL = re.compile(
    r"\bqu.est-ce que (?:je|j.|nous|on) (?:\w+ ){0,3}(?:demande|dit|pose)\w*\b|"
    r"\bwhat (?:did|have) (?:i|we) (?:\w+ ){0,2}(?:ask|asked|say|said|talk|talked|discuss|"
    r"discussed|see|seen)|\bremind me\b|\bdid (?:i|we) (?:ask|talk)|"
    r"\b(?:earlier|before|previously|so far)\b.*\b(?:asked|said|talked|discussed)|\b(?:asked|"
    r"said|talked|discussed)\b.*\b(?:earlier|before|previously|so far)\b|"
    r"\b(?:did|have|had) (?:i|we) (?:\w+ )?(?:ask|asked|mention|mentioned|start|begin)\b|\bmy (?:very "
    r")?(?:first|last|previous|second) question\b|"
    r"\b(?:t'ai-je|ai-je|avons-nous|a-t-on|j'ai|on a|je t'ai) (?:\w+ )?(?:demande|parle|dit|mentionne|"
    r"evoque|pose|commence)\w*|"
    r"\bma (?:toute )?(?:premiere|derniere|seconde|deuxieme) question\b|"
    r"\bremember (?:what|when)|\bqu'ai-je (?:demande|dit)|\bqu'est-ce que j'ai demande|"
    r"\brappelle[- ](?:moi|toi)|\bde quoi avons-nous parle|"
    r"\bqu'avons-nous (?:dit|vu)|\bce qu'on a dit|\bce que (?:j'ai|nous avons) (?:demande|dit|"
    r"vu)|\b(?:ai-je|avons-nous) (?:deja )?(?:demande|parle)|"
    r"\btu (?:m'as|as) (?:dit|repondu)|\byou (?:told|said|answered)\b"
)
_OWN_INTERESTS = re.compile(
    r"\b(?:what are|what is|quels sont|quel est)\b.*\b(?:my|mes|mon) (?:main |centres? d'|principaux )?"
    r"(?:interests?|interets?|profile?)\b"
)
_CONCEPTS = re.compile(r"\bconcepts?\b|\btopics?\b|\bthemes?\b|\bsujets?\b|\bsummar|\bresum|\bso far\b|\bjusqu'ici\b")
_INTERESTS = re.compile(r"\binterest|\bpreferences?\b|\binteret|\bprofil")

_RECALL_WORDS = """
ask asked talk talked discuss discussed remind remember earlier said told conversation previously topics topic concepts
concept far summarise summarize question questions answer answered seen saw demande demander parle rappelle rappeler dit
avons resume repondu
"""
RECALLING = frozenset(_RECALL_WORDS.split())
"""Words that ask for what was said rather than naming it."""


def strategy(message: str, _recent: str = "") -> frozenset[Store]:
    """Name the long-term stores to consult: none for a message that recalls nothing."""
    folded = fold(message)
    stores: set[Store] = set()
    if _RECALL.search(folded):
        stores |= {"semantic", "conceptual"}
    if _CONCEPTS.search(folded):
        stores.add("conceptual")
    if _INTERESTS.search(folded):
        stores.add("profile")
    return frozenset(stores)


def is_recall(message: str) -> bool:
    """Whether a message asks for what was said before rather than for what the notes say."""
    return bool(_RECALL.search(fold(message)) or _OWN_INTERESTS.search(fold(message)))
