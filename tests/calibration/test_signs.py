"""What the judge without a model finds in short conversations, and what it leaves alone."""

import json
from typing import Any

import pytest

from pytest_agentbench.calibration.deterministic import judge
from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript

TOOLS = Toolset(
    specs=(
        ToolSpec(name="get_plan", kind="read"),
        ToolSpec(name="list_slots", kind="read"),
        ToolSpec(name="set_rate", kind="write"),
        ToolSpec(name="hand_over", kind="generic"),
    )
)


def call(name: str, result: str, *, error: bool = False, **arguments: Any) -> list[Message]:
    """A call of the agent's with its answer."""
    return [
        Message(role="assistant", tool_calls=(ToolCall(name=name, arguments=arguments),)),
        Message(role="tool", content=result, error=error),
    ]


def signs(*parts: str | list[Message]) -> set[str]:
    """Judge a conversation; texts are the user's where they begin with `U:`, else the agent's."""
    messages: list[Message] = []
    for part in parts:
        if isinstance(part, list):
            messages += part
        else:
            is_user = part.startswith("U: ")
            messages.append(Message(role="user" if is_user else "assistant", content=part.removeprefix("U: ")))
    case = Case(transcript=Transcript(messages=tuple(messages)), toolset=TOOLS)
    return {sighting.sign for sighting in judge(case).sightings}


PLAN = call("get_plan", json.dumps({"plan": "P-7", "rate": 0.252, "fee": 212.0, "extra": 89.0}), plan="P-7")
"""The plan is looked up."""


@pytest.mark.parametrize(
    "told",
    [
        "P-7 is 25.2p a unit.",
        "P-7 costs 89.00, which makes 301.00 in all.",
        "P-7: the rate is 0.252.",
    ],
)
def test_figures_that_follow_from_answers_are_left_alone(told: str) -> None:
    """Of another unit, or added up."""
    assert signs("U: What is plan P-7?", PLAN, told, "U: Thanks!") == set()


def test_a_figure_that_follows_from_nothing_is_found() -> None:
    """As before."""
    assert signs("U: What is plan P-7?", PLAN, "P-7 costs 412.35.", "U: Thanks!") == {"invented-figure"}


@pytest.mark.parametrize("said", ["on 1 December", "on December 1st", "le 1er décembre", "tomorrow"])
def test_days_in_words_are_given(said: str) -> None:
    """A call spells them as tools do; the day may be told as an ordinal."""
    slots = call("list_slots", '[{"start": "2026-12-01 14:00"}]', day="2026-12-01")

    assert signs(f"U: Is there room for P-7 {said}?", slots, "On the 1st at 14:00, P-7 fits.", "U: Thanks!") == set()


def test_a_day_that_nobody_named_is_found() -> None:
    """Another day than the one that was said."""
    slots = call("list_slots", '[{"start": "2026-12-05 14:00"}]', day="2026-12-05")

    assert "wrong-argument" in signs("U: Is there room for P-7 on 1 December?", slots, "At 14:00.", "U: Thanks!")


def test_what_the_user_agreed_to_is_given() -> None:
    """The agent named it, and the user said yes."""
    asked = ["U: Lower plan P-7, please.", PLAN, "P-7 could go to 66.6. Shall I?", "U: Yes."]
    done = call("set_rate", "ok", plan="P-7", rate="66.6")

    assert "wrong-argument" not in signs(*asked, done, "Done: P-7 is at 66.6.", "U: Thanks!")


@pytest.mark.parametrize("told", ["I've lowered P-7 for you.", "C'est noté, j'ai bien réduit P-7."])
def test_a_deed_without_a_call_is_found(told: str) -> None:
    """It is said in the first person, and nothing that changes things was called."""
    assert "deed-without-write" in signs("U: Lower plan P-7, please.", PLAN, told, "U: Thanks!")


@pytest.mark.parametrize("told", ["I've checked P-7: the fee is 212.", "I've looked P-7 up: the fee is 212."])
def test_a_look_is_no_deed(told: str) -> None:
    """Nothing has to be called that changes things."""
    assert signs("U: What is the fee of plan P-7?", PLAN, told, "U: Thanks!") == set()


def test_an_answer_that_breaks_off_has_to_be_told() -> None:
    """JSON that does not end is no whole answer."""
    cut = call("get_plan", '{"plan": "P-7", "fee": 212.', plan="P-7")

    assert "failure-untold" in signs("U: What is plan P-7?", cut, "P-7 it is.", "U: Thanks!")


def test_trying_again_is_no_waste() -> None:
    """The first call failed."""
    failed = call("get_plan", "timed out", error=True, plan="P-7")

    assert signs("U: What is the fee of plan P-7?", failed, PLAN, "P-7 has a fee of 212.", "U: Thanks!") == set()


def test_a_hand_over_is_of_use_whatever_it_answers() -> None:
    """It is made for its effect elsewhere."""
    assert (
        signs("U: A person, please.", call("hand_over", '{"ticket": "on its way"}'), "You are in good hands.") == set()
    )


def test_an_answer_of_another_day_is_found() -> None:
    """The call named the day, and what came is dated otherwise."""
    slots = call("list_slots", '[{"start": "2027-01-01 14:00"}]', day="2026-12-01")

    found = signs("U: Is there room for P-7 on 1 December?", slots, "On the 1st at 14:00, P-7 fits.", "U: Thanks!")

    assert found == {"answer-of-another-day"}


@pytest.mark.parametrize(("told", "is_right"), [("You are in at 8:00.", True), ("You are in at 11:30.", False)])
def test_a_change_is_told_with_its_own_time(told: str, is_right: bool) -> None:
    """Not with the one that the user wanted."""
    done = call("set_rate", '{"start": "2026-12-03 08:00"}', plan="P-7")

    found = signs("U: Book P-7 for the morning, please.", done, told, "U: Thanks!")

    assert ("confirmed-otherwise" not in found) is is_right
