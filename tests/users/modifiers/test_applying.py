"""What a modified user knows, and which instructions are in force when."""

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.modifiers.applying import Behaviour, apply, in_force, waiting

FORGETS = Behaviour(
    name="forgets_identifier",
    instruction="x",
    forgets=("#W1-204",),
    unknown="order id",
)
ADDS = Behaviour(
    name="adds_intent",
    instruction="x",
    intent="get a receipt",
    held_back="get a receipt",
    from_message=2,
)


def exchanged(count: int) -> tuple[Message, ...]:
    """Give a conversation in which the agent has spoken `count` times."""
    pair = (Message(role="user", content="hello"), Message(role="assistant", content="yes?"))
    return pair * count


def test_a_forgotten_value_is_nowhere_in_the_view() -> None:
    """All that the user is told loses it, and nothing marks the place; unknown info says what is lacking."""
    view = View(
        goal="You want to return order W1-204, the lamp.",
        says=("Return #w1-204 please",),
        knows={"order": "#W1-204", "card": {"order_id": "W1-204", "end": "8484"}, "orders": ["W1-204", "W7"]},
        known_info="Your order id is #W1-204. Your zip is 75001.",
        task_instructions="If asked, say w1-204.",
    )

    seen = apply(view, [FORGETS])

    assert "w1-204" not in seen.model_dump_json().lower()
    assert seen.goal == "You want to return order, the lamp."
    assert seen.knows == {"card": {"end": "8484"}, "orders": ["W7"]}
    assert "75001" in seen.known_info
    assert seen.unknown == ("order id",)


def test_other_values_that_begin_alike_stay() -> None:
    """Only the whole value is cut out."""
    view = View(known_info="Your orders are #W1-2045 and #W1-204.")

    assert apply(view, [FORGETS]).known_info == "Your orders are #W1-2045 and."


def test_a_line_that_is_the_fact_goes_whole() -> None:
    """What a scenario knows by name stands in a line of its own, which a forgotten value takes with it."""
    view = View(known_info="order: W1-204\nzip: 75001", knows={"order": "W1-204", "zip": "75001"})

    seen = apply(view, [FORGETS])

    assert (seen.known_info, seen.knows) == ("zip: 75001", {"zip": "75001"})


def test_an_intent_is_held_back_until_its_message() -> None:
    """The instruction tells it from the second message on, or when the user would close; the goal never does."""
    view = View(goal="You want to\n- pay\n- get a receipt")
    early = view.model_copy(update={"messages": exchanged(1)})
    due = view.model_copy(update={"messages": exchanged(2)})

    assert apply(early, [ADDS]).goal == apply(due, [ADDS]).goal == "You want to\n- pay"
    assert (in_force([ADDS], early), waiting([ADDS], early)) == ((), (ADDS,))
    assert in_force([ADDS], early, closing=True) == (ADDS,)
    assert in_force([ADDS], due) == (ADDS,)


def test_messages_before_the_run_do_not_count() -> None:
    """What was exchanged before the run is not part of it."""
    view = View(messages=exchanged(3), begun=4)

    assert waiting([ADDS], view) == (ADDS,)


def test_two_texts_without_the_user_between_are_one_message() -> None:
    """An agent that speaks twice in a turn has sent one message."""
    said = Message(role="assistant", content="a")

    assert waiting([ADDS], View(messages=(said, said))) == (ADDS,)


def test_a_line_and_a_list_item_are_held_back_whole() -> None:
    """A held back line leaves the lines; the mark of a held back item goes with it."""
    line = ADDS.model_copy(update={"held_back": "And a receipt?"})
    item = ADDS.model_copy(update={"held_back": "get a receipt"})

    assert apply(View(says=("Pay", "And a receipt?")), [line]).says == ("Pay",)
    assert apply(View(goal="1. pay\n2. get a receipt"), [item]).goal == "1. pay"
