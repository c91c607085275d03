"""Whether two texts say the same: almost letter by letter, or with the persons exchanged."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from pytest_agentbench.simulation.information import content, values_in

_READ = 1_000
"""Characters compared at each end of a text, so that time is bounded whatever an agent says."""

_BY_CHARACTER = 400
"""Characters up to which texts are compared by character, else by word: the matcher's time grows with the square."""

SIMILARITY = 0.9
"""Ratio of `difflib.SequenceMatcher` from which two texts are the same."""

_PERSONS = re.compile(
    r"(?<!\w)(?:i|me|my|mine|you|your|yours|we|us|our|am|are|i['’]m|you['’]re|je|me|moi|mon|ma|mes|tu|te|toi|ton|ta|tes"
    r"|vous|votre|vos|nous|notre|nos|j['’]|m['’]|t['’])(?!\w)|(?<!\w)[jmt]['’](?=\w)"
)


def ends(text: str) -> str:
    """Give `text`, of huge texts both ends."""
    return text if len(text) <= 2 * _READ else text[:_READ] + text[-_READ:]


def normal(text: str) -> str:
    """Give `text` in lower case and with single spaces, of huge texts both ends."""
    return " ".join(ends(text).lower().split())


def similar(left: str, right: str, ratio: float = SIMILARITY) -> bool:
    """Tell whether two texts are the same but for a few characters; texts with different numbers never are."""
    left, right = normal(left), normal(right)
    if left == right:
        return True
    if values_in(left) != values_in(right):
        return False
    if max(len(left), len(right)) > _BY_CHARACTER:
        return _ratio_reached(left.split(), right.split(), ratio)
    return _ratio_reached(left, right, ratio)


def mirrors(text: str, other: str, ratio: float = SIMILARITY) -> bool:
    """Tell whether `text` gives `other` back, also with "I" and "you" exchanged and verbs that follow.

    A question that takes up a statement asks for a yes, and gives nothing back.
    """
    if similar(text, other, ratio) or similar(_impersonal(text), _impersonal(other), ratio):
        return True
    left, right = normal(text), normal(other)
    said = content(left)
    return (
        bool(said)
        and said == content(right)
        and values_in(left) == values_in(right)
        and left.endswith("?") == right.endswith("?")
    )


def _impersonal(text: str) -> str:
    return _PERSONS.sub("·", normal(text))


def _ratio_reached(left: Sequence[str], right: Sequence[str], ratio: float) -> bool:
    # what both have in whatever order bounds what a matcher can find, and making one takes longer than counting
    most = 2 * (Counter(left) & Counter(right)).total() / max(len(left) + len(right), 1)
    return most >= ratio and SequenceMatcher(None, left, right, autojunk=False).ratio() >= ratio
