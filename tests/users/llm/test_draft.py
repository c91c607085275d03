"""What a model wrote, taken apart: text, closing marker, strays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.users.llm.draft import read_draft


@pytest.mark.parametrize(
    ("written", "text", "closing"),
    [
        ("Thanks!\n\n###STOP###", "Thanks!", "STOP"),
        ("###TRANSFER###", "", "TRANSFER"),
        ("I do not know. ### OUT-OF-SCOPE ###", "I do not know.", "OUT-OF-SCOPE"),
        ("Merci. **###stop###**", "Merci.", "STOP"),
        ("Thanks.###OUT_OF_SCOPE###.", "Thanks.", "OUT-OF-SCOPE"),
        ("<think>The agent is done.</think>\nThanks! ###STOP###", "Thanks!", "STOP"),
        ("Please stop.", "Please stop.", None),
        ("", "", None),
    ],
)
def test_the_marker_at_the_end_closes(written: str, text: str, closing: str | None) -> None:
    """A known marker at the very end is the decision to close, and no part of the text."""
    draft = read_draft(written)

    assert (draft.text, draft.closing, draft.stray) == (text, closing, ())


@pytest.mark.parametrize("written", ["###STOP### Thank you", "Fine ###DONE###", "a ###STOP### b ###STOP###"])
def test_other_markers_are_stray_and_never_sent(written: str) -> None:
    """A marker elsewhere, or one that is none, is reported and cut out of what is sent."""
    draft = read_draft(written)

    assert draft.stray
    assert "#" not in draft.sendable


@given(st.text(max_size=200))
def test_no_text_fails_and_none_keeps_a_known_marker(written: str) -> None:
    """Whatever a model writes, what is sent holds no marker."""
    draft = read_draft(written + "###STOP###")

    assert draft.closing == "STOP"
    assert "###STOP###" not in draft.sendable
