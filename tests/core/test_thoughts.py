"""What a model thinks is never what it says."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.transcript import Message, parted
from tests.tables import each


@each(
    ("text", "said", "thoughts"),
    [
        ("<think>Cancel W1?</think>Shall I cancel W1?", "Shall I cancel W1?", "Cancel W1?"),
        ("<THINKING>\nhm\n</THINKING>\n\nDone.", "Done.", "hm"),
        ("Wait. <think>no</think> Done. <think>ok</think>", "Wait.  Done.", "no\nok"),
        ("the template opened it</think>Done.", "Done.", "the template opened it"),
        ("<think>cut off", "", "cut off"),
        ("<think>a <think>b</think> c</think>Done.", "Done.", "a <think>b</think> c"),
        ("<think></think>Done.", "Done.", ""),
        ("Write <think> in your template.", "Write <think> in your template.", ""),
        ("1 < 2", "1 < 2", ""),
        (" <reasoning>Cancel W1?</reasoning>Shall I?", "Shall I?", "Cancel W1?"),
        ("<reasoning>cut off", "", "cut off"),
        ("Put it into <reasoning>why</reasoning>.", "Put it into <reasoning>why</reasoning>.", ""),
        ("why</reasoning>.", "why</reasoning>.", ""),
    ],
)
def test_thoughts_are_parted_from_what_is_said(text: str, said: str, thoughts: str) -> None:
    """Tags of all names, opened by the template, never closed, nested, empty; other text stays as it is."""
    assert parted(text) == (said, thoughts)


@given(st.lists(st.sampled_from(["<think>", "</think>", "<thinking>", "a", "secret", " ", "\n"]), max_size=12))
def test_nothing_inside_tags_is_said(parts: list[str]) -> None:
    """Whatever stands between an opening and a closing tag is in no spoken text."""
    said, _ = parted("<think>" + "".join(parts).replace("<think", "").replace("</think", "") + "HIDDEN</think>" + "x")

    assert said == "x"


def test_a_message_of_the_agent_keeps_them_apart_and_others_are_left_alone() -> None:
    """Only assistants think in tags; a user or a tool may write them."""
    thinking = Message(role="assistant", content="<think>It is W2.</think>It is W1.")

    assert (thinking.content, thinking.thoughts) == ("It is W1.", "It is W2.")
    assert thinking.openai() == {"role": "assistant", "content": "It is W1."}
    assert Message(role="assistant", content="<think>all</think>").content is None
    assert Message(role="tool", content="<think>x</think>y").content == "<think>x</think>y"
    assert Message.model_validate(thinking.model_dump()) == thinking
