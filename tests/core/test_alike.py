"""Texts that are the same but for a little, or give each other back: as difflib says, without it where possible."""

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.text_similarity import echoes, normal, similar
from tests.tables import each

JAPANESE = "どちらまで行かれますか、今日のご予定は何でしょうか、教えてください。"
LETTERS = st.text(alphabet="abc ", max_size=12)


@given(left=LETTERS, right=LETTERS, ratio=st.sampled_from([0.5, 0.6, 0.75, 0.9]))
def test_it_says_what_the_matcher_says(left: str, right: str, ratio: float) -> None:
    """The bounds decide nothing that the matcher would decide otherwise."""
    one, other = normal(left), normal(right)
    whole = SequenceMatcher(None, one, other, autojunk=False).ratio() if one or other else 1.0

    assert similar(left, right, ratio) is (whole >= ratio)


def test_long_texts_are_compared_by_words() -> None:
    """One word in many makes no other text, whatever its length; half of them do."""
    said = [f"word{letter}" * 3 for letter in "abcdefghijklmnopqrstuvwxyz"]

    assert similar(" ".join(said), " ".join([*said[:-1], "another"]))
    assert not similar(" ".join(said), " ".join([*said[:13], *reversed(said[13:])]))


@each(
    ("said", "heard", "given_back"),
    [
        ("Wohin soll das Taxi Sie bringen?", "Guten Tag! Wohin soll das Taxi Sie bringen? Ich warte.", True),
        (JAPANESE, f"こんにちは。{JAPANESE}", True),
        ("Das Taxi soll mich nach Hause bringen.", "Wohin soll das Taxi Sie bringen?", False),
        ("Taxi Sie bringen", "Wohin soll das Taxi Sie bringen?", False),
        ("Wohin soll das Taxi 7 Sie bringen?", "Wohin soll das Taxi Sie bringen? Ich warte.", False),
    ],
    ids=["German", "Japanese", "an answer", "too short", "another number"],
)  # fmt: skip
def test_a_longer_text_that_stands_in_the_other_gives_it_back(said: str, heard: str, given_back: bool) -> None:
    """By pieces of four signs, in any script."""
    assert echoes(said, heard) is given_back
