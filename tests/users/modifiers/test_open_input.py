"""Texts that nobody foresaw."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.acts import Act
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.modifier import MODIFIER_NAMES, ModifierSpec
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.users.modifiers.applying import Behaviour, Swap, apply, shown
from pytest_agentbench.users.modifiers.plan import plan
from pytest_agentbench.users.modifiers.records import normal
from tests.tables import each

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


@settings(max_examples=60)
@given(goal=st.text(max_size=60), known=st.text(max_size=60), state=st.dictionaries(st.text(max_size=6), JSON))
def test_every_modifier_fits_or_says_why(goal: str, known: str, state: dict[str, object]) -> None:
    """Whatever a scenario and its state hold, each modifier is chosen or skipped with a reason."""
    chosen, skipped = plan(SPECS, scenario(goal, known), state)

    assert {*skipped, *(behaviour.name for behaviour in chosen)} == set(MODIFIER_NAMES)
    assert all(skipped.values())


@settings(max_examples=60)
@given(value=VALUES, before=st.text(max_size=20), after=st.text(max_size=20))
def test_what_is_forgotten_is_gone(value: str, before: str, after: str) -> None:
    """No text of the view says a forgotten value, wherever it stood, and nothing is written in its place."""
    forgets = Behaviour(name="forgets_identifier", instruction="", forgets=(value,))
    view = View(goal=f"{before} {value} {after}", knows={"x": value}, known_info=value)

    seen = apply(view, [forgets])

    assert normal(value) not in normal(seen.goal).split()
    assert set(seen.goal) <= set(f"{before} {value} {after}")
    assert seen.known_info.strip() == ""
    assert seen.knows == {}


NAMES = st.sampled_from(["status", "desk", "zip", "mail", "size"])
WORDS = st.sampled_from(["open", "closed", "red", "blue", "75001", "69002", "a@x.test", "b@x.test"])


def table(*keys: str) -> st.SearchStrategy[dict[str, dict[str, str]]]:
    """Give tables whose records have the same fields."""
    fields = st.sets(NAMES, min_size=1).map(lambda names: st.fixed_dictionaries(dict.fromkeys(sorted(names), WORDS)))
    return fields.flatmap(lambda record: st.dictionaries(st.sampled_from(keys), record, min_size=1))


@st.composite
def desks(draw: st.DrawFn) -> tuple[Scenario, dict[str, Any]]:
    """Give a state of people and what is theirs, and a scenario about one of these things."""
    people, things = draw(table("p_ada_1", "p_bo_2", "p_cy_3")), draw(table("T-100", "T-200", "T-300", "T-400"))
    owned = {key: {**thing, "owner": draw(st.sampled_from(sorted(people)))} for key, thing in things.items()}
    about = draw(st.sampled_from(sorted(owned)))
    name, value = draw(st.sampled_from(sorted(things[about].items())))
    call = {"name": "change", "arguments": {"thing_id": about, name: value}}
    owner = owned[about]["owner"]
    instructions = {"reason_for_call": f"You want {value} for {about}.", "known_info": f"You are {owner}."}
    task = {"id": "s", "user_scenario": {"instructions": instructions}, "evaluation_criteria": {"actions": [call]}}
    knows = {"mail": people[owner]["mail"]} if "mail" in people[owner] else {}
    given = Scenario(id="s", title="s", task=Task.model_validate(task), knows=knows)
    return given, {"people": people, "things": owned}


@settings(max_examples=80)
@given(desk=desks(), seed=st.integers(0, 99))
def test_values_are_those_that_the_thing_can_have(desk: tuple[Scenario, dict[str, Any]], seed: int) -> None:
    """A change of mind is to what the same person's things have; a wrong value is one of the same column of others."""
    given, state = desk
    call = given.expected_calls[0].arguments
    owner = state["things"][call["thing_id"]]["owner"]
    own = {key: thing for key, thing in state["things"].items() if thing["owner"] == owner}
    # a thing with the address that the user gives may be the user's, too, as far as rows tell
    mail = given.knows.get("mail", "")
    seen = own | {key: thing for key, thing in state["things"].items() if thing.get("mail") == mail}

    for behaviour in plan(SPECS, given, state, seed=seed)[0]:
        for swap in behaviour.wrong:
            table = next((rows for rows in state.values() if swap.right in rows), None)
            others = seen if behaviour.name == "changes_mind" else {**state["things"], **state["people"]}
            values = set(table or ()) | {value for row in others.values() for value in row.values()}
            assert swap.first in values
            assert swap.first not in call.values()
            assert behaviour.name == "changes_mind" or swap.first not in {owner, *own}
            assert behaviour.name != "changes_mind" or swap.first in {*seen, *values - set(table or ())}


@each("name", MODIFIER_NAMES)
@each("word", ["thank ", "\ud800", "1 ", "a_"])
def test_long_texts_are_read_in_no_time(name: str, word: str) -> None:
    """A megabyte of one word is read like any other message."""
    swap = Swap(label="x", first="a 1", right="b 2")
    behaviour = Behaviour.model_validate(
        {"name": name, "instruction": "", "forgets": ("W1",), "wrong": (swap,), "ask": "why me", "intent": "x"}
    )
    acts = (Act(kind="inform", facts={"x": "W7"}),)
    texts = [Message(role=role, content=word * 200_000, acts=acts) for role in ("assistant", "user") * 2]

    assert shown(behaviour, Transcript(messages=tuple(texts)), scenario("", "")) is False
