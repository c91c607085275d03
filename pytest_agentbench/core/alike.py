"""Whether two sequences are the same but for a few items."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher


def alike(left: Sequence[str], right: Sequence[str], ratio: float) -> bool:
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
