"""Names that customers introduce themselves with."""

import re
from collections.abc import Sequence

from support.answers import does_not_know
from support.entities import EMAIL, POSTCODE
from support.lexicon import ENGLISH, FRENCH, words
from support.text import either, fold

_WORD = r"[^\W\d_]+(?:[-'’][^\W\d_]+)*"
_CAPITAL = r"[A-ZÀ-Ý][^\W\d_]*(?:[-'’][^\W\d_]+)*"
_TWO_WORDS = re.compile(rf"({_WORD})\s+({_WORD})")
_TWO_CAPITALS = re.compile(rf"(?=\b({_CAPITAL})\s+({_CAPITAL}))")
_NAME = rf"(?P<name>{_CAPITAL}\s+{_CAPITAL})"
_POSTCODE_WORDS = r"(?i:and|et|my|mon|from|at|in|i|live|de|du|à|au|habite|post ?code|zip(?: code)?|code postal|is|est)"
_PLACES = (
    re.compile(rf"\b{_NAME}(?=,?\s+(?:here|speaking|calling|writing|à l['’]appareil|ici)\b)"),
    re.compile(rf"(?<!\d\s)\b{_NAME}(?=[\s,;(]*(?:{_POSTCODE_WORDS}[\s,;:(]*)*§)"),
    re.compile(rf"(?:^|[.!?;,–—-]\s+){_NAME}(?=\s*(?:[.,;–—]|$))"),
)
"""Where a name stands without introduction; `§` stands for a postcode."""

_CUE = either(
    r"\b(?:my (?:full )?name(?: is|'s|:)|name(?:'s| is|:)|i am|i'm|im|this is|it's|under the name(?: of)?|name\s?:)\s+",
    r"\b(?:je m'appelle|je suis|mon nom(?: est|:)|c'est|au nom de|nom\s?:)\s+",
)
_FIRST = re.compile(rf"\b(?:first name|given name|prenom)\s*(?:is|est|:|=)?\s*((?!and\b|et\b|is\b){_WORD})")
_LAST = re.compile(
    rf"\b(?:last name|surname|family name|nom de famille|nom)\s*(?:is|est|:|=)?\s*((?!and\b|et\b|is\b|de\b){_WORD})"
)
_END = re.compile(r"\s*(?:[.,;§(]|$|and\b|et\b)")
_OTHER_WORDS = words(
    """
    name nom postcode code postal zip prenom first last surname full mr mrs ms madame monsieur here calling
    email mail sure sorry looking writing trying afraid not really hoping interested going and et at from the my
    customer client order then well dear first-name last-name famille est avec no idea don't
    """
)
_NOT_NAMES = FRENCH | ENGLISH | _OTHER_WORDS


def full_name(text: str, *, asked: bool) -> tuple[str, str] | None:
    """Find first and last name after “my name is” and the like; where it was asked for, anywhere in the message."""
    plain = POSTCODE.sub("§", EMAIL.sub(",", text))
    folded = fold(plain)
    first, last = _FIRST.search(folded), _LAST.search(folded)
    if first and last:
        return plain[slice(*first.span(1))], plain[slice(*last.span(1))]
    places = [match.end() for match in _CUE.finditer(folded)]
    places += [match.start("name") for pattern in _PLACES for match in pattern.finditer(plain)]
    for place in places:
        match = _TWO_WORDS.match(plain, place)
        if match and _are_names(match.groups()) and (_capitals(match) or _END.match(plain, match.end())):
            return match.group(1), match.group(2)
    return _any_name(plain) if asked else None


def _any_name(text: str) -> tuple[str, str] | None:
    """Give the first two neighbouring words with capitals that can be names, else a message that is just two words."""
    pairs = [(match.group(1), match.group(2)) for match in _TWO_CAPITALS.finditer(text) if _are_names(match.groups())]
    if pairs:
        return pairs[0]
    words = [word for word in re.findall(_WORD, text) if fold(word) not in _NOT_NAMES]
    return (words[0], words[1]) if len(words) == 2 and not does_not_know(text) else None


def _are_names(words: Sequence[str]) -> bool:
    return not any(fold(word) in _NOT_NAMES or word.endswith("ing") for word in words)


def _capitals(match: re.Match[str]) -> bool:
    return all(word[0].isupper() for word in match.groups())
