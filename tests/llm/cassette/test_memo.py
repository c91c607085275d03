"""What was made of a value once is not made again, within limits."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.llm.cassette.record_replay import Memo

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(values, max_size=10), st.integers(0, 60))
def test_it_gives_what_would_be_made(given_values, limit):
    """Whatever was seen before, and however little is remembered, each value gets what belongs to it."""
    memo = Memo(limit)

    for value in given_values * 2:
        assert memo.made(value, lambda value=value: repr(value)) == repr(value)


def test_equal_values_are_made_once():
    """A value that was seen costs nothing again, as long as there is room for it."""
    memo, made = Memo(12), []

    for value in ("first", "first", "other", "first"):
        memo.made(value, lambda value=value: made.append(value))

    assert made == ["first", "other", "first"]
