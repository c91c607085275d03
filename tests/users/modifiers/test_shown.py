"""Whether a behaviour is seen in a finished conversation."""

from typing import Any

import pytest

from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.users.modifiers.behaviour import Behaviour, Swap
from pytest_agentbench.users.modifiers.shown import shown
from tests.shared_data import needs_shared
from tests.users.modifiers.labelled import LABELS, PARTS, agreement

SCENARIO = Scenario(
    id="s",
    title="s",
    task=Task.model_validate(
        {"id": "s", "evaluation_criteria": {"actions": [{"name": "book", "arguments": {"cabin": "economy"}}]}}
    ),
)


def talk(*texts: str) -> Transcript:
    """Give a conversation of these texts, the agent first; `call: x` is a call of `book` with the cabin x."""
    messages: list[Message] = []
    speaker = "assistant"
    for text in texts:
        if text.startswith("call: "):
            call = ToolCall(id="1", name="book", arguments={"cabin": text.removeprefix("call: ")})
            messages.append(Message(role="assistant", tool_calls=(call,)))
            messages.append(Message(role="tool", tool_call_id="1", content="done", wrote=True))
            continue
        messages.append(Message(role="user" if speaker == "user" else "assistant", content=text))
        speaker = "assistant" if speaker == "user" else "user"
    return Transcript(messages=tuple(messages))


def behaviour(name: Any, **fields: Any) -> Behaviour:
    """Give a behaviour without an instruction."""
    return Behaviour(name=name, instruction="", **fields)


FORGETS = behaviour("forgets_identifier", kind="order_id", forgets=("#W1",))
WRONG = behaviour("wrong_value_first", wrong=(Swap(label="zip", first="75001", right="69002"),))
CHANGES = behaviour("changes_mind", wrong=(Swap(label="cabin", first="business", right="economy"),))
ADDS = behaviour("adds_intent", intent="I also want a receipt for the keyboard.", from_message=2)
IMPATIENT = behaviour("impatient")
ASKS = behaviour("out_of_scope", ask="What will the weather be like on Sunday?")


@pytest.mark.parametrize(
    ("what", "conversation", "expected"),
    [
        (FORGETS, talk("Your order number?", "I don't have it on me, sorry."), True),
        (FORGETS, talk("Votre numéro de commande ?", "Je ne l'ai pas sous la main."), True),
        (FORGETS, talk("Your order number?", "I forgot my order number. Try my email."), True),
        (FORGETS, talk("Your order number?", "I don't have it... wait, it is W1."), False),
        (FORGETS, talk("Your order number?", "I don't know it.", "Is it #W1?", "Yes, W1."), True),
        (FORGETS, talk("Your order number?", "It is W7."), False),
        (FORGETS, talk("Your order number or the date?", "I'm not sure about the exact date."), False),
        (WRONG, talk("Zip?", "75001", "Nobody there.", "Sorry, 69002."), True),
        (WRONG, talk("Zip?", "75001, no, 69002"), False),
        (WRONG, talk("Zip?", "69002", "Sure?", "Or 75001?"), False),
        (WRONG, talk("Zip?", "75001"), False),
        (CHANGES, talk("Cabin?", "Business", "It is 900. OK?", "Actually, economy instead.", "call: economy"), True),
        (CHANGES, talk("Cabin?", "Business", "call: business", "Booked.", "Actually, economy instead."), False),
        (CHANGES, talk("Cabin?", "From business to economy"), False),
        (CHANGES, talk("Cabin?", "Business", "Business or economy?", "Which is it, business or economy?"), False),
        (ADDS, talk("Yes?", "Pay", "Paid.", "And a receipt for my keyboard"), True),
        (ADDS, talk("Yes?", "Pay and a receipt for the keyboard"), False),
        (ADDS, talk("Yes?", "Pay", "Paid.", "Bye"), False),
        (IMPATIENT, talk("Yes?", "Cancel W1. Hurry up."), True),
        (IMPATIENT, talk("Oui ?", "Annulez W1. Je n'ai pas le temps."), True),
        (IMPATIENT, talk("Yes?", "Cancel W1, no rush. Thanks for the quick help."), False),
        (IMPATIENT, talk("Yes?", "Hurry " + "and another word " * 20), False),
        (ASKS, talk("Yes?", "Pay", "OK?", "Yes. What's the weather on Sunday?", "No idea.", "Fine, go on."), True),
        (ASKS, talk("Yes?", "Pay", "OK?", "What's the weather on Sunday?"), False),
        (ASKS, talk("Yes?", "Weather on Sunday?", "No.", "But the weather on Sunday?", "No.", "ok"), False),
    ],
)
def test_a_behaviour_is_seen_where_it_was(what: Behaviour, conversation: Transcript, expected: bool) -> None:
    """Words in order, before and after the agent's, decide in English and French."""
    assert shown(what, conversation, SCENARIO) is expected


def test_silence_shows_nothing() -> None:
    """An empty conversation shows no behaviour."""
    every = (FORGETS, WRONG, CHANGES, ADDS, IMPATIENT, ASKS)

    assert not any(shown(one, Transcript(), SCENARIO) for one in every)


@needs_shared
@pytest.mark.parametrize("part", PARTS)
def test_detectors_agree_with_labels(part: str) -> None:
    """Of the recorded conversations that were labelled by reading, nine in ten are read the same way."""
    counts = [agreement(name, part) for name in LABELS]
    right = sum(count[True, True] + count[False, False] for count in counts)

    assert right >= 0.9 * sum(sum(count.values()) for count in counts)
