"""Whether two texts say the same: almost letter by letter, or with the persons exchanged."""

import re
from functools import lru_cache

from pytest_agentbench.core.alike import alike
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
    return _similar(normal(left), normal(right), ratio)


def mirrors(text: str, other: str, ratio: float = SIMILARITY) -> bool:
    """Tell whether `text` gives `other` back, also with "I" and "you" exchanged and verbs that follow.

    A question that takes up a statement asks for a yes, and gives nothing back.
    """
    left, right = normal(text), normal(other)
    if _similar(left, right, ratio) or _similar(_impersonal(left), _impersonal(right), ratio):
        return True
    if left.endswith("?") != right.endswith("?"):
        return False
    said = content(left)
    return bool(said) and said == content(right) and values_in(left) == values_in(right)


@lru_cache(maxsize=512)  # each message is compared with the one before and the one after it
def _impersonal(text: str) -> str:
    return _PERSONS.sub("·", text)


def _similar(left: str, right: str, ratio: float) -> bool:
    """Compare texts in their normal form."""
    if left == right:
        return True
    if values_in(left) != values_in(right):
        return False
    if max(len(left), len(right)) > _BY_CHARACTER:
        return alike(left.split(), right.split(), ratio)
    return alike(left, right, ratio)
