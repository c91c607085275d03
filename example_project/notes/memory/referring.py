"""What a message refers to: “it”, “and the second one?”, “that note” — filled in from the last exchange."""

import re
from dataclasses import dataclass

from notes.ellipsis import code_names, substituted
from notes.memory.exchange import Exchange, Item
from notes.question import find_ordinal
from notes.text import fold, key_words, stem
from notes.wording import WEAK, counted, listed_noun

_ELLIPSIS = re.compile(
    r"^\W*(?:and|but|or|so|now|ok(?:ay)?,?|what about|how about|and what about|same "
    r"(?:question )?for|et|mais|ou|pour|et pour|qu'en est-il|"
    r"qu'en est il|et qu'en est-il|meme question pour)\b"
)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|theirs|that|this|these|those|he|she|his|her|him|there|the "
    r"same|the former|the latter|both|"
    r"ils|elle|elles|cela|celui-ci|celle-ci|celui-la|celle-la|ceux-ci|lui|leurs?|ses|la-bas|"
    r"les deux|celui|celle|ce dernier|cette derniere)\b"
    r"|(?<!faut-)(?<!a-t-)(?<!a t-)\bil\b(?! (?:faut|y a|existe|est (?:possible|necessaire|conseille|recommande)))"
    r"|\b(?:ca|c'est)\b|\b(?:son|sa)\b|\ben\b (?=(?:a|ont|faut|est|contient|reste|fait|"
    r"sont)\b)|\bl'(?=(?:a|ont|avait|utilis\w+|appell\w+|invent\w+)\b)"
    r"|-t-(?:il|elle|ils|elles|on)\b|-(?:ils|elles|elle)\b"
    r"|(?<!il )\by (?=(?:sont|est|ont|a-t-on|etait|etaient|trouve|sert)\b)"
)
_IMPERSONAL = re.compile(
    r"\bis it (?:possible|necessary|safe|ok|okay|better|true)\b|\bdoes it take to\b|\bit "
    r"is\b.*\bto\b|\bfaut-il\b|\by a-t-il\b|\best-ce qu[e']|\bqu'est-ce\b"
    r"|\bthat (?=(?:is|are|was|were|can|has|have|links?|refers?)\b)|\bthere (?:is|are|was|"
    r"were)\b|\b(?:is|are|was|were) there\b|\bc'est quoi\b|\bthis (?:week|month|year)\b"
)
_THIS_NOTE = re.compile(
    r"\b(?:that|this|the same|the|cette|ce|la meme|le meme) (?:note|file|document|page|"
    r"fichier)\b(?! (?:on|about|sur|that|which|qui|que|de|du|called|named))|\bin there\b|"
    r"\bla-dedans\b"
)
_CONDITION = re.compile(
    r"^\W*(?:and|but|so|et|mais|ou|or|alors) (?:what )?(?:if|when|without|si|s'il|quand|lorsque?|sans)\b"
)
_LEAD = re.compile(
    r"^\W*(?:(?:and|but|so|ok(?:ay)?|then|now|et|mais|alors)\b[ ,]*)*(?:(?:what|how) about|"
    r"same (?:question )?for|qu'en est-il (?:de|du|des|d')|meme question pour|for|pour|in|"
    r"with|avec|dans|on|sur)?\b\s*"
)


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A message that stands alone: the question, words that go with it, and where to look."""

    text: str
    context: str = ""
    favour: tuple[str, ...] = ()
    scope: str = ""
    item: Item | None = None
    """The thing itself, where the message asks for one that the last answer named."""


def refers(message: str) -> bool:
    """Whether a message cannot stand alone."""
    folded = _IMPERSONAL.sub(" ", fold(message))
    named = _ELLIPSIS.search(folded) or _PRONOUN.search(folded) or _THIS_NOTE.search(folded)
    return bool(named or find_ordinal(folded))


def resolve(message: str, last: Exchange | None) -> Resolved:
    """Fill in what a message refers to, from the last exchange."""
    if last is None:
        return Resolved(text=message)
    folded = _IMPERSONAL.sub(" ", fold(message))
    note = last.sources[0].path if last.sources else ""
    favour = (note, last.sources[0].title) if last.sources else ()
    own = [name for name in key_words(message) if name not in WEAK]
    ordinal = find_ordinal(folded)
    if ordinal and last.items and len(own) - len(_ordinal_words(message)) < 2:
        return _nth(message, last, ordinal)
    if _THIS_NOTE.search(folded) and note:
        return Resolved(text=message, scope=note)
    pronoun = bool(_PRONOUN.search(folded))
    if _CONDITION.match(folded):
        return Resolved(text=message, context=last.subject, favour=favour)
    if (_ELLIPSIS.search(folded) or len(own) < 2) and not _is_question(folded):
        return Resolved(text=_substituted(message, last), favour=favour)
    if pronoun or (_ELLIPSIS.search(folded) and len(own) < 2) or not own:
        return Resolved(text=message, context=last.subject, favour=favour)
    return Resolved(text=message, favour=favour if _ELLIPSIS.search(folded) else favour[:1])


def subject_of(question: str) -> str:
    """Give what a question is about: its last noun phrase after a preposition, else its words without "
    "the asked one."""
    asked_of_it = {counted(question), listed_noun(question)}
    names = [name for name in key_words(question) if name not in WEAK | asked_of_it]
    after = re.split(r"\b(?:of|about|for|from|du|des|de la|de l'|de|d'|sur|pour)\b", fold(question))
    last = [name for name in key_words(after[-1]) if name not in WEAK] if len(after) > 1 else []
    code = [name for token in code_names(question) for name in key_words(fold(token))]
    found = code or last or names or [name for name in key_words(question) if name not in WEAK]
    return " ".join(_as_written(found, question))


def _as_written(names: list[str], text: str) -> list[str]:
    """Give folded words as a text writes them, which tells names from other words."""
    written = {fold(word): word for word in re.findall(r"[^\W_]+", text)}
    return [written.get(name, name) for name in names]


def _nth(message: str, last: Exchange, ordinal: int) -> Resolved:
    at = ordinal - 1 if ordinal > 0 else len(last.items) + ordinal
    if not 0 <= at < len(last.items):
        return Resolved(text=message, context=last.subject)
    item = last.items[at]
    if last.are_sides:
        return Resolved(text=f"{last.resolved} {item.text}", context=item.text)
    return Resolved(text=message, item=item)


def _ordinal_words(message: str) -> list[str]:
    return [word for word in key_words(message) if find_ordinal(f"the {word} one") or find_ordinal(f"le {word} point")]


def _substituted(message: str, last: Exchange) -> str:
    """Put the message's own subject into the last question, in the place of its subject."""
    own = message[_LEAD.match(fold(message)).end() :] if len(fold(message)) == len(message) else message  # type: ignore[union-attr]
    own = own.strip(" ?!.,")
    alike = substituted(last.resolved, own)
    if alike:
        return alike
    replaced = {stem(name) for name in key_words(last.subject)}
    kept = [word for word in last.resolved.split() if not {stem(name) for name in key_words(word)} & replaced]
    return f"{' '.join(kept).rstrip(' ?!.')} {own}?"


def _is_question(folded: str) -> bool:
    return bool(
        re.search(
            r"\b(?:who|when|where|why|how (?!about)|which|what (?!about)|qui|quand|combien|comment|pourquoi|quel\w*|"
            r"is|are|was|were|does|do|did|can|should|est-ce)\b|-t-(?:il|elle)|^ou\b|\bd'ou\b",
            re.sub(r"^\W*(?:et |and )?qu'en est-il", "", folded),
        )
    )
