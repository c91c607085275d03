"""Stall and echo detection."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.simulation.progress import Progress, Thresholds, echo_rate, similar
from tests.shared_data import SHARED, needs_shared

ROLES = ("user", "assistant")


def watched(*texts: str, thresholds: Thresholds | None = None) -> str | None:
    """Give the reason after the texts of user and agent in turns."""
    progress = Progress(thresholds or Thresholds())
    for index, text in enumerate(texts):
        progress.see(Message(role=ROLES[index % 2], content=text))
    return progress.stalled()


def test_an_exchange_repeated_twice_is_a_stall() -> None:
    """The same words of both parties for the third time are no progress; the second time is patience."""
    exchange = ("I want my refund.", "Could you tell me more?")

    assert watched(*exchange * 2) is None
    assert "same exchange 3 times" in str(watched(*exchange * 3))


def test_texts_that_differ_in_a_number_are_not_the_same() -> None:
    """ "Cancel W1?" and "Cancel W2?" are two questions."""
    texts = [text for n in range(4) for text in ("yes", f"Shall I cancel order W{n} for you now?")]

    assert watched(*texts) is None
    assert not similar("Shall I cancel order W1?", "Shall I cancel order W2?")


@pytest.mark.parametrize(
    "text",
    [
        "It was a pleasure talking to you, have a wonderful day!",
        "Merci infiniment, je vous souhaite une belle journée !",
    ],
)
def test_mirrored_words_are_a_stall(text: str) -> None:
    """Two texts in a row that repeat the other party's end it."""
    assert watched(text, text) is None
    assert "mirrored" in str(watched(text, text, text))


@pytest.mark.parametrize(
    "text",
    [
        "How can I help you today?",
        "I'd be happy to help!",
        "Bien sûr, je serais ravi de vous aider.",
        "Comment puis-je vous aider ?",
    ],
)
def test_a_user_who_talks_like_the_agent_is_a_stall(text: str) -> None:
    """Two offers of help in a row by the user are its echo of the agent's register."""
    assert watched(text, "I need order 5.") is None
    assert "talked like the agent" in str(watched(text, "I need order 5.", f"Sure! {text}"))


@pytest.mark.parametrize(
    "texts",
    [
        (
            "For security reasons, please verify your date of birth.",
            "Welcome to the library! How may I direct your call?",
        ),
        ("Votre demande est en cours de traitement.", "Puis-je avoir votre numéro de téléphone ?"),
        ("Nous avons bien reçu votre demande.", "Un conseiller va vous rappeler. Souhaitez-vous autre chose ?"),
    ],
)
def test_the_agent_s_part_is_heard_in_many_words(texts: tuple[str, str]) -> None:
    """Who asks for a customer's data and welcomes customers plays the agent."""
    assert "talked like the agent" in str(watched(texts[0], "I am the clerk.", texts[1], "You are the customer."))


@pytest.mark.parametrize(
    "text",
    [
        "I can help you find it: it is red.",
        "Shall we swap? “How can I help you today?” No: two seats, please.",
        "Puis-je vous aider en apportant les assiettes ?",
        "What would you like me to do next?",
        "Is there anything else you need from me?",
    ],
)
def test_a_customer_who_offers_its_own_does_not_talk_like_the_agent(text: str) -> None:
    """Quoted words, and offers of the own things, are a customer's."""
    assert watched(text, "I see.", f"Well. {text}", "Aha, a second time.") is None


def test_idling_is_a_stall_and_a_new_call_is_not() -> None:
    """Without anything new for so many turns of each party the conversation stands; a new call moves it."""
    words = ["so it goes", "well well then", "then so it", "goes well"]
    few = Thresholds(idle_turns=3, repeats=99, mirrors=99)
    texts = words * 4

    assert "no new call" in str(watched(*texts, thresholds=few))
    progress = Progress(few)
    for number, text in enumerate(texts):
        progress.see(Message(role=ROLES[number % 2], content=text))
        progress.see(Message(role="assistant", tool_calls=(ToolCall(name="look", arguments={"n": number}),)))
        assert progress.stalled() is None


BLAMED: dict[str, tuple[Blame, list[str]]] = {
    "the agent gives back what the user says": (
        Blame.AGENT,
        [
            "Book a taxi.",
            "Book a taxi.",
            "Is there anybody?",
            "Is there anybody?",
            "I will complain.",
            "You will complain.",
        ],
    ),
    "the user gives back what the agent says": (
        Blame.USER,
        [
            "Hi",
            "Where to?",
            "Where to?",
            "Name a street.",
            "Name a street.",
            "A square, then?",
            "A square, then?",
            "Well?",
        ],
    ),
    "the user says the same again instead of what it is asked for": (
        Blame.USER,
        ["Move my booking.", "What is your booking number?"] * 3,
    ),
    "the agent asks again for what it was given": (
        Blame.AGENT,
        ["Move booking B12.", *["What is your booking number?", "It is B12."] * 3, "What is your booking number?"],
    ),
    "the agent greets whatever the user says": (Blame.AGENT, ["I need a taxi.", "How can I help you?"] * 3),
    "the user evades every question": (
        Blame.USER,
        ["Hi", "Which street?", *["Well, maybe.", "Which street, please?"] * 2, *["Hmm.", "Which street is it?"] * 5],
    ),
    "the user hesitates in ever new words": (
        Blame.USER,
        [
            *("Curtains.", "Which colour?", "Let me see...", "Which colour do you want?", "Hmm.", "What colour?"),
            *("One second.", "Have you decided on a colour?", "Not yet.", "Colour?", "I can't decide.", "Which one?"),
            *("Give me a moment.", "Take your time. Which colour?", "Wait, please.", "Colour?"),
        ],
    ),
    "the agent excuses itself in ever new words": (
        Blame.AGENT,
        [
            *("Combien coûte le devis ?", "Je regarde ça.", "Merci.", "Un instant, le système est lent.", "Bien."),
            *("J'y suis presque.", "Du nouveau ?", "Encore un peu de patience.", "Vous êtes là ?", "Oui, ça arrive."),
            *("Any news?", "Still loading, bear with me.", "And now?", "Nearly done.", "Hello?", "Un instant."),
        ],
    ),
    "the user says another request instead of what it is asked for": (
        Blame.USER,
        ["I want to cancel.", *["Which member number?", "I just want to cancel."] * 3, "Which member number?"],
    ),
    "the agent promises and never does": (
        Blame.AGENT,
        ["Hi", "I check.", *["Okay. And now?", "I am still checking."] * 2, *["Fine.", "One moment, please."] * 5],
    ),
}


@pytest.mark.parametrize("kind", BLAMED)
def test_a_stall_is_blamed_on_the_party_that_does_not_do_its_part(kind: str) -> None:
    """Who mirrors, withholds or evades is to blame, else the agent."""
    blame, texts = BLAMED[kind]
    progress = Progress()
    for index, text in enumerate(texts):
        progress.see(Message(role=ROLES[index % 2], content=text))  # type: ignore[arg-type]

    assert progress.stalled() is not None
    assert progress.blame is blame


def test_a_repeated_call_is_new_where_its_result_is() -> None:
    """Waiting for a parcel is progress as long as its place changes, and none where it stays."""

    def polled(places: list[str]) -> str | None:
        progress = Progress()
        for number, place in enumerate(places):
            progress.see(Message(role="user", content="Where is it now?"))
            progress.see(Message(role="assistant", tool_calls=(ToolCall(name="track", id=f"c{number}"),)))
            progress.see(Message(role="tool", content=place, tool_call_id=f"c{number}"))
            progress.see(Message(role="assistant", content="It is on its way."))
        return progress.stalled()

    assert polled(["van 1", "van 2", "van 3", "van 4"]) is None
    assert "same exchange 3 times" in str(polled(["van 1"] * 3))


def test_taking_down_a_list_is_no_mirror() -> None:
    """An agent that reads back each item gets somewhere where it calls a tool for each."""
    progress = Progress()
    for item in ("Two leeks from the market.", "A litre of oat milk.", "One loaf of rye.", "A bag of rice."):
        progress.see(Message(role="user", content=item))
        progress.see(Message(role="assistant", tool_calls=(ToolCall(name="add", arguments={"item": item}),)))
        progress.see(Message(role="assistant", content=item))
        assert progress.stalled() is None


def test_thresholds_are_settable() -> None:
    """A patient suite waits longer."""
    assert watched(*("a b c", "d e f") * 3, thresholds=Thresholds(repeats=5)) is None


def test_the_echo_rate_is_the_share_of_user_texts_that_echo() -> None:
    """Of two answers to the agent one repeats it; without an answer there is no rate."""
    messages = [
        ("user", "Hi"),
        ("assistant", "Hello there!"),
        ("user", "Hello there!"),
        ("assistant", "Eh?"),
        ("user", "Refund W1"),
    ]
    transcript = Transcript(messages=tuple(Message(role=role, content=text) for role, text in messages))  # type: ignore[arg-type]

    assert echo_rate(transcript) == 0.5
    assert echo_rate(Transcript()) is None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=100)), max_size=12))
def test_any_conversation_is_judged_and_twice_the_same_way(talk: list[tuple[Any, str]]) -> None:
    """No text raises, and the same conversation gives the same reason."""

    def judge() -> list[str | None]:
        progress, reasons = Progress(), list[str | None]()
        for role, text in talk:
            progress.see(Message(role=role, content=text))
            reasons.append(progress.stalled())
        return reasons

    assert judge() == judge()


@pytest.mark.parametrize("unit", ["a", "ab ", "\ud800", "je vous ", "\n"])
def test_texts_of_five_megabytes_are_compared_at_once(unit: str) -> None:
    """Only both ends of a huge text are compared; the test's own time limit is the bound."""
    texts = [unit * (5_000_000 // len(unit)) + end for end in "abcdef"]

    watched(*texts)


@needs_shared
def test_recorded_conversations_that_finished_are_not_called_stalled() -> None:
    """At most 2 % of the finished recordings (τ² and IntellAgent) would have been cut short."""
    conversations = [*_tau2(), *_intellagent()]

    stalled = sum(_stalls(messages) for messages in conversations)

    assert len(conversations) > 300
    assert stalled / len(conversations) <= 0.02, f"{stalled} of {len(conversations)}"


def _stalls(messages: list[Message]) -> bool:
    progress = Progress()
    for message in messages:
        progress.see(message)
        if progress.stalled():
            return True
    return False


def _tau2() -> list[list[Message]]:
    found: list[list[Message]] = []
    for domain in ("airline", "retail", "telecom"):
        text = (SHARED / f"data/tau2/transcripts/{domain}.jsonl").read_text(encoding="utf-8")
        for recording in map(json.loads, text.splitlines()):
            if recording["termination_reason"] in {"user_stop", "agent_stop"}:
                found += [[_message(message) for message in recording["messages"]]]
    return found


def _message(message: dict[str, Any]) -> Message:
    calls = tuple(
        ToolCall(name=call["name"], arguments=call["arguments"], requestor=call.get("requestor") or "assistant")
        for call in message.get("tool_calls") or ()
    )
    requestor = message.get("requestor") or "assistant"
    return Message(role=message["role"], content=message.get("content"), tool_calls=calls, requestor=requestor)


def _intellagent() -> list[list[Message]]:
    text = (SHARED / "data/intellagent/airline_run_0_dialogs.json").read_text(encoding="utf-8")
    roles = {"Human": "user", "AI": "assistant"}
    return [
        [Message(role=roles.get(said["role"], "tool"), content=said["message"]) for said in dialog["dialog"]]  # type: ignore[arg-type]
        for dialog in json.loads(text).values()
        if any("STOP" in said["message"] for said in dialog["dialog"])
    ]
