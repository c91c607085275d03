"""Text as the agent and its tools compare it: folded, cut into words and sentences, words cut to their stems."""

import math
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from notes.irregular import IRREGULAR
from notes.stopwords import STOPWORDS

_WORD = re.compile(r"[^\W_]+(?:[.,][0-9]+)*(?:[+#]+(?!\w))?")
_CAMEL_CASE = re.compile(r"\b[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]*)+\b")
_VERSION = re.compile(r"(?<![\w.])v?(\d+)(?:(?=\.\d+\.[\dx])|(?<=v\d)\b|(?<=v\d\d)\b)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”»)\]*_]*\s+(?=[^\s.,;:!?a-zà-ÿ])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|cf|vs|etc|approx|ca|fig|no|dr|mr|mrs|mme?|st|al|env|p\.? ex|ex)\.$", re.I
)
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)?:?\s*$")
_SPELT = str.maketrans({"œ": "oe", "æ": "ae", "’": "'", "‘": "'", "´": "'"})
_MARKS = re.compile("[\u0300-\u036f]+")
_ENDINGS = (
    "issements", "issement", "ements", "ement", "ations", "ation", "atrices", "atrice", "ateurs", "ateur", "itions",
    "ition", "nesses", "ness", "ities", "ity", "ites", "ite", "ments", "ment", "ances", "ance", "ences", "ence",
    "ings", "ing", "ables", "able", "ibles", "ible", "iques", "ique", "ical", "ically", "ives", "ive", "euses",
    "euse", "eurs", "eur", "ously", "ous", "ions", "ion", "ees", "ee", "ies", "ied", "ers", "er", "ors", "or", "ed",
    "es", "ly", "ez", "e", "s", "y",
)  # fmt: skip
"""Endings that carry inflection or word class, English and French, longest of a family first."""

_WHOLE = frozenset({"army", "body", "county", "entry", "every", "party", "ready"})
"""Words whose stem would be another word: `ready` is not about reading."""

_ROOT = 4
"""Letters that a stem keeps at least: shorter ones take unrelated words for one."""


def fold(text: str) -> str:
    """Lower-case `text`, without accents and with plain quotes."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold().translate(_SPELT)))


def words(text: str) -> list[str]:
    """Give the words of `text`, folded: letters and digits, decimals whole (`3.5`), `c++` and `c#` as they are.

    The parts of a name like `maxLines`, and the first number of a version like `4.0.0` or `v4`, follow the text, so
    that either way of writing finds the other.
    """
    folded = fold(text)
    found = _WORD.findall(folded) + _VERSION.findall(folded)
    for name in _CAMEL_CASE.findall(text):
        found += [fold(part) for part in _HUMP.split(name) if len(part) > 1]
    return found


def key_words(text: str) -> list[str]:
    """Give the words that say what `text` is about, folded, each once, in order."""
    return list(
        dict.fromkeys(word for word in words(text) if word not in STOPWORDS and (len(word) > 1 or word.isdigit()))
    )


def stems(text: str) -> list[str]:
    """Give the stems of all words of `text` that are no stop words."""
    return [stem(word) for word in words(text) if word not in STOPWORDS]


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Cut a folded word down to what its inflections share; words with digits stay whole."""
    if any(character.isdigit() for character in word):
        return word
    word = IRREGULAR.get(word, word)
    if word in _WHOLE:
        return word
    word = word.removesuffix("x") if word.endswith("eaux") else word
    while len(word) > _ROOT:
        ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= _ROOT), None)
        if ending is None:
            break
        word = word[: -len(ending)]
    if len(word) > _ROOT + 1 and word.endswith(("iz", "yz")):
        word = word[:-1]
    if len(word) > _ROOT and word[-1] == word[-2]:
        word = word[:-1]
    if len(word) == _ROOT and word[-1] == "s" and word[-2] != "s":
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word[-1] == "y" else word


def beginnings(one: str) -> list[str]:
    """Give how words with a stem may begin: the stem, whose last letter may have changed, and irregular forms."""
    irregular = [form for form, word in IRREGULAR.items() if stem(word) == one]
    return [one[:-1] if len(one) > 3 else one, *irregular]


def named_by(title: str) -> str:
    """Give what a title names, without what it adds in brackets: `level (String)`."""
    return _IN_BRACKETS.sub("", title) or title


def sentences(text: str) -> Iterator[str]:
    """Cut prose into sentences; dots of abbreviations and numbers end none."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if _ABBREVIATION.search(text[start : match.start()]):
            continue
        yield text[start : match.end()].strip()
        start = match.end()
    if text[start:].strip():
        yield text[start:].strip()


def count_tokens(text: str) -> int:
    """Count tokens without a model's tokenizer: one for every four characters begun, OpenAI's rule of thumb."""
    return math.ceil(len(text) / 4)


def first_words(text: str, count: int = 8) -> str:
    """Give the first words of `text` on one line, with an ellipsis where there are more."""
    found = text.split()
    return " ".join(found[:count]) + (" …" if len(found) > count else "")
