"""Likeness: whether two texts are the same but for little, or one gives the other back, in any language and script.

One threshold holds for all of it. Texts are compared by their letters, and never by what they mean.
"""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

SAME = 0.85
"""Share from which two sequences, or two texts, are the same."""

_READ = 1_000
"""Characters compared at each end of a text, so that time is bounded whatever anybody says."""

_BY_CHARACTER = 400
"""Characters up to which texts are compared by character, else by word: the matcher's time grows with the square."""

_PIECE = 4
"""Signs of the pieces of a text."""

SHORTEST = 24
"""Signs below which a text that comes again is an answer, or manners."""

_VALUE = re.compile(r"(?<!\w)[^\W\d]*\d\w*")
_DIGIT = re.compile(r"\d")


def _alike(left: Sequence[str], right: Sequence[str], ratio: float) -> bool:
    """Tell whether `difflib.SequenceMatcher(left, right).ratio()` reaches `ratio`; of nothing it is never reached.

    What both have bounds what a matcher can find, and hardly any two texts come near: the bounds are tried from the
    quickest on (lengths, items of one that the other holds at all, items of both in whatever order).
    """
    both = max(len(left) + len(right), 1)
    if 2 * min(len(left), len(right)) / both < ratio:
        return False
    if 2 * sum(map(set(right).__contains__, left)) / both < ratio:
        return False
    if 2 * (Counter(left) & Counter(right)).total() / both < ratio:
        return False
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= ratio


def similar(left: str, right: str, ratio: float = SAME) -> bool:
    """Tell whether two texts are the same but for a few characters; texts with different numbers never are."""
    return _similar(normal(left), normal(right), ratio)


def echoes(text: str, other: str, ratio: float = SAME) -> bool:
    """Tell whether `text` gives `other` back: it is the same, or a longer text of which most pieces stand in the other.

    Texts with other numbers never do.
    """
    left, right = normal(text), normal(other)
    if _similar(left, right, ratio):
        return True
    if len(left) < SHORTEST or not values_in(left) <= values_in(right):
        return False
    mine, theirs = pieces(left), pieces(right)
    return len(mine & theirs) >= ratio * len(mine)


def ends(text: str) -> str:
    """Give `text`, of huge texts both ends."""
    return text if len(text) <= 2 * _READ else text[:_READ] + text[-_READ:]


def normal(text: str) -> str:
    """Give `text` in lower case and with single spaces, of huge texts both ends."""
    return " ".join(ends(text).lower().split())


@lru_cache(maxsize=512)  # a message is held against those before and after it
def pieces(text: str) -> frozenset[str]:
    """Give all that stands in a text in normal form, as runs of four signs; of a shorter one the text."""
    return frozenset(text[at : at + _PIECE] for at in range(max(len(text) - _PIECE + 1, 1))) if text else frozenset()


@lru_cache(maxsize=512)
def values_in(text: str) -> frozenset[str]:
    """Give the words of `text` that hold a digit."""
    return frozenset(_VALUE.findall(text)) if _DIGIT.search(text) else frozenset()


def _similar(left: str, right: str, ratio: float) -> bool:
    """Compare texts in their normal form."""
    if left == right:
        return True
    if values_in(left) != values_in(right):
        return False
    if max(len(left), len(right)) > _BY_CHARACTER:
        return _alike(left.split(), right.split(), ratio)
    return _alike(left, right, ratio)
