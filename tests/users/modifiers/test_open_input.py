"""Texts that nobody foresaw."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.modifier import MODIFIER_NAMES, ModifierSpec
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.users.modifiers.applying import apply
from pytest_agentbench.users.modifiers.behaviour import Behaviour, Swap
from pytest_agentbench.users.modifiers.plan import plan
from pytest_agentbench.users.modifiers.shown import shown
from pytest_agentbench.users.modifiers.spelling import mentions, spelled

SPECS = [ModifierSpec(name=name) for name in MODIFIER_NAMES]
VALUES = st.from_regex(r"[\w#@.+ -]{0,6}\d[\w#@.+ -]{0,6}", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


def scenario(goal: str, known: str) -> Scenario:
    """Give a scenario that says little."""
    instructions = {"reason_for_call": goal, "known_info": known}
    return Scenario(
        id="s", title="s", task=Task.model_validate({"id": "s", "user_scenario": {"instructions": instructions}})
    )


@settings(max_examples=150)
@given(goal=st.text(max_size=60), known=st.text(max_size=60), state=st.dictionaries(st.text(max_size=6), JSON))
def test_every_modifier_fits_or_says_why(goal: str, known: str, state: dict[str, object]) -> None:
    """Whatever a scenario and its state hold, each modifier is chosen or skipped with a reason."""
    chosen, skipped = plan(SPECS, scenario(goal, known), state)

    assert {*skipped, *(behaviour.name for behaviour in chosen)} == set(MODIFIER_NAMES)
    assert all(skipped.values())


@settings(max_examples=150)
@given(value=VALUES, before=st.text(max_size=20), after=st.text(max_size=20))
def test_what_is_forgotten_is_gone(value: str, before: str, after: str) -> None:
    """No text of the view says a forgotten value, wherever it stood."""
    forgets = Behaviour(name="forgets_identifier", instruction="", forgets=(value,))
    view = View(goal=f"{before} {value} {after}", knows={"x": value}, known_info=value)

    seen = apply(view, [forgets])

    assert not any(mentions(text, value) for text in (seen.goal, seen.known_info))
    assert not spelled(value).search(value) or seen.knows == {}


@pytest.mark.parametrize("name", MODIFIER_NAMES)
@pytest.mark.parametrize("word", ["thank ", "I don't have ", "\ud800", "1 ", "a_", "so i can "])
def test_long_texts_are_read_in_no_time(name: str, word: str) -> None:
    """A megabyte of one word is read like any other message."""
    swap = Swap(label="x", first="a 1", right="b 2")
    behaviour = Behaviour.model_validate(
        {
            "name": name,
            "instruction": "",
            "forgets": ("W1",),
            "kind": "order_id",
            "wrong": (swap,),
            "ask": "why me",
            "intent": "x",
        }
    )
    texts = [Message(role=role, content=word * 200_000) for role in ("assistant", "user") * 2]

    assert shown(behaviour, Transcript(messages=tuple(texts)), scenario("", "")) in {True, False}
