"""Sequences that are the same but for a few items: what difflib says, told without it where bounds suffice."""

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.alike import alike

LETTERS = st.text(alphabet="abc ", max_size=12)


@given(left=LETTERS, right=LETTERS, ratio=st.sampled_from([0.5, 0.6, 0.75, 0.9]))
def test_it_says_what_the_matcher_says(left: str, right: str, ratio: float) -> None:
    """The bounds decide nothing that the matcher would decide otherwise; of nothing, no ratio is reached."""
    whole = SequenceMatcher(None, left, right, autojunk=False).ratio() if left or right else 0.0

    assert alike(left, right, ratio) is (whole >= ratio)


def test_words_are_compared_as_letters_are() -> None:
    """Any sequence of texts will do."""
    said = ["please", "cancel", "the", "order", "that", "I", "placed", "on", "monday"]

    assert alike(said, [*said[:-1], "tuesday"], 0.8)
    assert not alike(said, [*said[:-1], "tuesday"], 0.9)
