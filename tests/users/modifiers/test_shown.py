"""Whether a behaviour is seen in a finished conversation."""

from typing import Any

from pytest_agentbench.core.acts import Act, GoalItem
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.users.modifiers.applying import Behaviour, Swap, shown
from tests.tables import each

SCENARIO = Scenario(
    id="s",
    title="s",
    task=Task.model_validate(
        {"id": "s", "evaluation_criteria": {"actions": [{"name": "book", "arguments": {"cabin": "economy"}}]}}
    ),
)


def behaviour(name: Any, **fields: Any) -> Behaviour:
    """Give a behaviour without an instruction."""
    return Behaviour(name=name, instruction="", **fields)


FORGETS = behaviour("forgets_identifier", forgets=("#W1",), unknown="order")
WRONG = behaviour("wrong_value_first", wrong=(Swap(label="zip", first="75001", right="69002"),))
CHANGES = behaviour("changes_mind", wrong=(Swap(label="cabin", first="first class", right="economy"),))
ADDS = behaviour("adds_intent", intent="a receipt", from_message=2)
SECOND = behaviour("adds_intent", intent="a bag", from_message=3, nth=2)
IMPATIENT = behaviour("impatient")
ASKS = behaviour("out_of_scope")
EVERY = (FORGETS, WRONG, CHANGES, ADDS, IMPATIENT, ASKS)


def user(text: str, *kinds: Any, shows: str = "", goal: int = 0, about: tuple[Any, ...] = (), **facts: Any) -> Message:
    """Give a typed turn: acts of these kinds, the first with facts and what it is about."""
    first, *more = kinds or ("inform",)
    acts = (Act(kind=first, facts=facts, about=about), *(Act(kind=kind) for kind in more))
    items = tuple(GoalItem(text=f"item {number}") for number in range(goal))
    return Message(role="user", content=text, acts=acts, goal_items=items, shows=(shows,) if shows else ())


def agent(text: str = "…") -> Message:
    """Give a message of the agent."""
    return Message(role="assistant", content=text)


def called(cabin: str, *, wrote: bool | None = None, error: bool = False) -> tuple[Message, Message]:
    """Give a call of `book` and its answer."""
    call = ToolCall(id="1", name="book", arguments={"cabin": cabin})
    answer = Message(role="tool", tool_call_id="1", content="…", wrote=wrote, error=error)
    return Message(role="assistant", tool_calls=(call,)), answer


FIRST_CLASS, ECONOMY = user("…", "request", cabin="first_class"), user("…", "request", cabin="economy")


@each(
    ("what", "conversation", "expected"),
    [
        (FORGETS, [agent(), user("weiß nicht", shows="forgets_identifier")], True),
        (FORGETS, [agent(), user("weiß nicht")], False),
        (FORGETS, [agent(), user("?", shows="forgets_identifier"), agent(), user("oh", order="W1")], False),
        (FORGETS, [agent(), user("?", shows="forgets_identifier"), agent("#W1?"), user("oh", order="W1")], True),
        (WRONG, [agent(), user("…", zip="75001"), agent(), user("…", zip="69002")], True),
        (WRONG, [agent(), user("…", about=(75001,)), agent(), user("not 75001", zip=69002)], True),
        (WRONG, [agent(), user("…", zip="69002"), agent(), user("…", zip="75001")], False),
        (WRONG, [agent(), user("75001, or 69002")], False),
        (WRONG, [agent(), user("…", zip="75001")], False),
        (CHANGES, [agent(), FIRST_CLASS, agent(), ECONOMY], True),
        (CHANGES, [agent(), FIRST_CLASS, *called("first_class"), agent(), ECONOMY], False),
        (CHANGES, [agent(), FIRST_CLASS, *called("first class", error=True), agent(), ECONOMY], True),
        (CHANGES, [agent(), FIRST_CLASS, *called("first_class", wrote=False), agent(), ECONOMY], True),
        (ADDS, [user("…", goal=1), agent(), user("…", "inform", shows="adds_intent", goal=2)], True),
        (ADDS, [user("…"), agent(), user("…", "confirm", "request", shows="adds_intent")], True),
        (ADDS, [user("…", goal=1), agent(), user("…", "confirm", shows="adds_intent", goal=1)], False),
        (ADDS, [user("…", "request", shows="adds_intent", goal=2), agent(), user("…")], False),
        (ADDS, [user("…"), agent(), user("…", "request", shows="adds_intent_2")], False),
        (SECOND, [user("…"), agent(), user("…", "request", shows="adds_intent_2")], True),
        (SECOND, [user("…"), agent(), user("…", "request", shows="adds_intent")], False),
        (IMPATIENT, [user("はやく", shows="impatient")], True),
        (IMPATIENT, [user("Hurry up!")], False),
        (ASKS, [agent(), user("…", "ask", shows="out_of_scope"), agent(), user("…")], True),
        (ASKS, [agent(), user("…", "ask", shows="out_of_scope")], False),
        (ASKS, [agent(), *[user("…", "ask", shows="out_of_scope")] * 2, user("…")], False),
    ],
)
def test_a_behaviour_is_seen_where_turns_say_so(what: Behaviour, conversation: list[Message], expected: bool) -> None:
    """Acts with their values, goal items and what a turn says it acts out decide, in any language."""
    assert shown(what, Transcript(messages=tuple(conversation)), SCENARIO) is expected


@each("what", EVERY, ids=[one.name for one in EVERY])
def test_turns_that_say_nothing_of_themselves_are_not_measured(what: Behaviour) -> None:
    """Whatever the words of an unlabelled turn are, nobody knows whether it shows a behaviour."""
    said = Message(role="user", content="Hurry! I forgot it. 75001, economy, a receipt. What is the weather like?")

    assert shown(what, Transcript(messages=(agent(), said)), SCENARIO) is None


def test_what_labelled_turns_show_is_shown() -> None:
    """A turn without labels beside takes nothing away."""
    said = Message(role="user", content="ok")

    assert shown(IMPATIENT, Transcript(messages=(said, user("…", shows="impatient"))), SCENARIO) is True
    assert shown(IMPATIENT, Transcript(messages=(said, user("…"))), SCENARIO) is None


def test_silence_shows_nothing() -> None:
    """An empty conversation shows no behaviour."""
    assert not any(shown(one, Transcript(), SCENARIO) for one in EVERY)
    assert shown(IMPATIENT, Transcript(), SCENARIO) is False
