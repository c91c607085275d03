"""What a model is shown of long answers: short, and with everything in it that has to be traced."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pytest_agentbench.generation.tools.stories.showing import shown, values_said

from pytest_agentbench.core.codec import dumps


def test_a_short_answer_is_shown_as_it_is() -> None:
    """Nothing is taken away where all fits."""
    assert shown('{"a": 1}', (), 100) == '{"a": 1}'


def test_the_entries_that_are_told_stay_in_a_long_list() -> None:
    """Of a thousand rows the one that a sentence names is still there, and how many are not is said."""
    content = json.dumps({"rows": [{"id": f"R-{n}", "note": "lorem ipsum"} for n in range(1000)]})

    text = dumps(shown(content, [*values_said(["Row R-731 is ready."]), "R-905"], 2_000))

    assert "R-905" in text
    assert "more entries" in text
    assert len(text) < 2_500


def test_what_stands_in_long_prose_is_shown_with_what_is_around_it() -> None:
    """A value in the middle of a page is cut out with its neighbourhood."""
    content = "intro " + "word " * 3_000 + "the code is XK-4711 today " + "word " * 3_000

    text = shown(content, ["XK-4711"], 1_000)

    assert isinstance(text, str)
    assert "the code is XK-4711 today" in text
    assert len(text) < 4_100


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=40),
        lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=8),
        max_leaves=60,
    ),
    st.integers(1_000_000, 9_999_999),
)
def test_whatever_is_wanted_is_shown_wherever_it_stands(value: object, wanted: int) -> None:
    """A number put anywhere into an answer is never left out."""
    content = dumps({"a": [value, [value, {"deep": [*range(50), wanted]}]]})

    assert str(wanted) in dumps(shown(content, [wanted], 200))
