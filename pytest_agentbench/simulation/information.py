"""What a text adds to a conversation: values, words and facts that nobody has given before, in any language."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from pytest_agentbench.core.acts import Act

_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"(?<!\w)[^\W\d]*\d\w*")
_DIGIT = re.compile(r"\d")
_STEM = 5
"""Letters of a word that are compared, so that "confirm" and "confirmation" are one word."""


class Known:
    """Everything said so far; tells whether a text adds to it."""

    def __init__(self) -> None:
        self._words: set[str] = set()

    def adds(self, text: str, *, words: int) -> bool:
        """Take notice of `text`; tell whether it holds an unseen value or enough unseen words.

        Enough are `words` of them, or more than half of all that it says.
        """
        said, values = words_in(text), values_in(text)
        unseen, new_values = said - self._words, values - self._words
        self._words |= unseen | new_values
        return bool(new_values) or len(unseen) >= words or (bool(said) and 2 * len(unseen) > len(said))

    def adds_facts(self, acts: Iterable[Act]) -> bool:
        """Take notice of the facts that the user gave; tell whether one is new."""
        facts = {f"fact {name}: {value!r}" for act in acts for name, value in act.facts.items()} - self._words
        self._words |= facts
        return bool(facts)


@lru_cache(maxsize=512)  # a message is held against those before and after it
def words_in(text: str) -> frozenset[str]:
    """Give the beginnings of the words of `text`, values left out; in scripts without spaces, its pairs of signs."""
    found: set[str] = set()
    for word in _WORD.findall(text):
        if _DIGIT.search(word):
            continue
        if any(map(_is_unspaced, word)):
            found.update(word[at : at + 2] for at in range(max(len(word) - 1, 1)))
        else:
            found.add(word[:_STEM])
    return frozenset(found)


@lru_cache(maxsize=512)
def values_in(text: str) -> frozenset[str]:
    """Give the words of `text` that hold a digit."""
    return frozenset(_VALUE.findall(text)) if _DIGIT.search(text) else frozenset()


@lru_cache(maxsize=4096)
def _is_unspaced(char: str) -> bool:
    """Whether a letter is of a script that sets no spaces between words."""
    return unicodedata.east_asian_width(char) in "WF" or "\u0e00" <= char <= "\u0eff" or "\u1780" <= char <= "\u17ff"
