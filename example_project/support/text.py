"""Text as the agent compares it: folded, spelling mistakes mended, cut into clauses."""

import re
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache

from support.lexicon import SPELLINGS

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_CLAUSE_END = re.compile(
    r"[.!?;\n]+(?=\s|$)|[,–—:](?=\s)|\s(?=(?:and|also|then|plus|but|et|puis|ensuite|mais|ainsi)\b)|\s[-+&]\s"
)
CORRECTION = re.compile(
    r"\b(?:wait|hold on|hang on|oops|typo|meant|mix\w* (?:\w+ )?up|confus\w+|wrong number|should have been|"
    r"actually|sorry|i mean|i meant|rather|make (?:that|it)|scratch that|correction|instead|only|"
    r"just|no|not|en fait|pardon|plutot|attend\w*|je voulais dire|je veux dire|finalement|desole\w*|non|seulement)\b"
)


def either(*alternatives: str) -> re.Pattern[str]:
    """Compile a pattern that matches any of the alternatives."""
    return re.compile("|".join(alternatives))


def fold(text: str) -> str:
    """Lower-case `text` and drop accents, character by character, so that positions stay the same."""
    return "".join(_fold_character(character) for character in text)


def mend(folded: str) -> str:
    """Replace misspelt words by the word of the lexicon that they are closest to."""
    return _WORD.sub(lambda match: _mend_word(match.group()), folded)


def clauses(text: str) -> Iterator[str]:
    """Cut a message at sentence ends, commas and conjunctions; joined again, the clauses are the message."""
    start = 0
    for match in _CLAUSE_END.finditer(fold(text)):
        if text[start : match.end()].strip():
            yield text[start : match.end()]
            start = match.end()
    if text[start:].strip():
        yield text[start:]


def corrects(text: str) -> bool:
    """Whether `text` takes something back: “no wait”, “I mean”, “plutôt”."""
    return bool(CORRECTION.search(fold(text)))


def _fold_character(character: str) -> str:
    if character in "’‘`´":
        return "'"
    return unicodedata.normalize("NFKD", character)[0].lower()[:1] or character


@cache
def _mend_word(word: str) -> str:
    """Take transposed letters first, then the closest word with the same first letter if it is very close."""
    if len(word) < 5 or word in SPELLINGS:
        return word
    candidates = [known for known in SPELLINGS if known[0] == word[0]]
    for known in candidates:
        if sorted(known) == sorted(word):
            return known
    best = max(candidates, key=lambda known: SequenceMatcher(None, word, known).ratio(), default=word)
    return best if SequenceMatcher(None, word, best).ratio() >= 0.88 else word
