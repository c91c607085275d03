"""Whether two texts are the same, or one gives the other back: by letters alone, in any language."""

from pytest_agentbench.core.alike import alike
from pytest_agentbench.simulation.information import values_in

_READ = 1_000
"""Characters compared at each end of a text, so that time is bounded whatever an agent says."""

_BY_CHARACTER = 400
"""Characters up to which texts are compared by character, else by word: the matcher's time grows with the square."""

SIMILARITY = 0.9
"""Ratio of `difflib.SequenceMatcher` from which two texts are the same."""

_ECHO = 5
"""Signs of the pieces that are looked for in the other party's text."""

_SHORTEST_ECHO = 24
"""Signs below which a text that takes up the other's is an answer to it."""

_ECHOED = 0.75
"""Share of its pieces from which a text gives the other back."""


def ends(text: str) -> str:
    """Give `text`, of huge texts both ends."""
    return text if len(text) <= 2 * _READ else text[:_READ] + text[-_READ:]


def normal(text: str) -> str:
    """Give `text` in lower case and with single spaces, of huge texts both ends."""
    return " ".join(ends(text).lower().split())


def similar(left: str, right: str, ratio: float = SIMILARITY) -> bool:
    """Tell whether two texts are the same but for a few characters; texts with different numbers never are."""
    return _similar(normal(left), normal(right), ratio)


def echoes(text: str, other: str, ratio: float = SIMILARITY) -> bool:
    """Tell whether `text` gives `other` back: it is the same, or most pieces of a longer text stand in the other.

    Texts with different numbers never do.
    """
    left, right = normal(text), normal(other)
    if _similar(left, right, ratio):
        return True
    if len(left) < _SHORTEST_ECHO or not values_in(left) <= values_in(right):
        return False
    theirs = {right[at : at + _ECHO] for at in range(len(right) - _ECHO + 1)}
    mine = [left[at : at + _ECHO] for at in range(len(left) - _ECHO + 1)]
    return sum(piece in theirs for piece in mine) >= _ECHOED * len(mine)


def _similar(left: str, right: str, ratio: float) -> bool:
    """Compare texts in their normal form."""
    if left == right:
        return True
    if values_in(left) != values_in(right):
        return False
    if max(len(left), len(right)) > _BY_CHARACTER:
        return alike(left.split(), right.split(), ratio)
    return alike(left, right, ratio)
