"""Stall and echo detection."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.checks.verdict import echo_rate
from pytest_agentbench.core.acts import Act, GoalItem
from pytest_agentbench.core.termination import Thresholds
from pytest_agentbench.core.text_similarity import similar
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.simulation.stall import Progress
from tests.shared_data import SHARED, needs_shared
from tests.tables import each

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


@each(
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


Said = tuple[str, tuple[Act, ...] | None]
GIVES = (Act(kind="inform", facts={"booking": "B12"}),)
YES = (Act(kind="confirm", about=("B12",)),)
NO = (Act(kind="decline", about=("B12",)),)
WISH = (Act(kind="request"),)

BLAMED: dict[str, tuple[Blame, list[Said]]] = {
    "the agent gives back what the user says": (
        Blame.AGENT,
        [said for text in ("Book a taxi.", "Is there anybody?", "I will complain.") for said in [(text, WISH)] * 2],
    ),
    "the user gives back what the agent says": (
        Blame.USER,
        [("Hi", None)]
        + [said for text in ("Where to?", "A square, then?", "Well?", "And now?") for said in [(text, None)] * 2],
    ),
    "the user takes up most of what the agent says": (
        Blame.USER,
        [("Hi", None)]
        + [
            (f"{lead}{text}", None)
            for text in ("Wohin soll das Taxi Sie heute bringen?", "Welche Strasse meinen Sie dort genau?") * 2
            for lead in ("", "Ja: ")
        ],
    ),
    "the agent asks again for what it was given": (
        Blame.AGENT,
        [("Move booking B12.", WISH), *[("What is your booking number?", None), ("It is B12.", GIVES)] * 3],
    ),
    "the agent asks again for a yes": (
        Blame.AGENT,
        [("予約を変更してください", WISH), *[("B12を変更しますか?", None), ("問題ありません", YES)] * 3],
    ),
    "the agent does nothing with a yes": (
        Blame.AGENT,
        [("Buchung B12 verschieben", WISH), *[("B12 verschieben?", None), ("Nur zu", YES)] * 3],
    ),
    "the agent asks again for what the user took back": (
        Blame.AGENT,
        [("Verschiebe B12", WISH), *[("B12 verschieben?", None), ("Doch nicht", NO)] * 3],
    ),
    "the user says no to what the agent came up with": (
        Blame.UNCLEAR,
        [("Verschiebe es", WISH), *[("B12 verschieben?", None), ("Das andere", NO)] * 3],
    ),
    "the user asks again for what the agent refuses": (
        Blame.UNCLEAR,
        [("Bitte erstatten Sie mir alles.", WISH), ("Das ist leider nicht möglich.", None)] * 3,
    ),
    "a refusal in Japanese": (
        Blame.UNCLEAR,
        [("返金してください", WISH), ("申し訳ありませんが、できません", None)] * 3,
    ),
    "the user says yes to another question": (
        Blame.UNCLEAR,
        [("Move booking B12.", WISH), *[("Which day is it?", None), ("Yes, please.", YES)] * 3],
    ),
    "the user gives again what the agent itself offered": (
        Blame.UNCLEAR,
        [
            *[("Book a table.", WISH), ("There is B12.", None), ("B12, then.", GIVES)],
            *[("How many will come?", None), ("My booking is B12.", GIVES)] * 3,
        ],
    ),
    "nobody says what the user meant": (Blame.USER, [("Refund me.", None), ("Which order?", None)] * 3),
    "the user has nothing to give": (
        Blame.SCENARIO,
        [("Hi", WISH), *[("Which order?", None), ("I don't have that.", (Act(kind="other"),))] * 3],
    ),
    "both say goodbye for ever": (Blame.USER, [("さようなら", None)] * 3),
}


@each("kind", BLAMED)
def test_the_fault_of_a_stall_is_told_by_structure_and_acts(kind: str) -> None:
    """The agent's only where it parrots, or goes on as before although it was given what it asked for."""
    blame, talk = BLAMED[kind]
    progress = Progress()
    for index, (text, acts) in enumerate(talk):
        role = ROLES[index % 2]
        progress.see(Message(role=role, content=text, acts=acts if role == "user" else None))

    assert progress.stalled() is not None
    assert progress.blame is blame
    assert ("cannot be told" in str(progress.stalled())) is (blame is Blame.UNCLEAR)
    assert ("did not say what it meant" in str(progress.stalled())) is ("nobody" in kind)


GERMAN = [
    ("Guten Tag, ich brauche Hilfe mit meiner Bestellung.", "Gern, um welche Bestellung geht es?"),
    ("Um die letzte.", "Ich sehe nach. Einen Moment, bitte."),
    ("Danke.", "Ich habe sie gefunden, sie ist unterwegs."),
    ("Wann kommt sie an?", "Voraussichtlich am Freitag."),
    ("Kann ich die Adresse noch ändern?", "Leider nicht mehr, sie ist schon beim Zusteller."),
    ("Schade. Gibt es keinen anderen Weg?", "Sie können beim Zusteller einen Ablageort wählen."),
    ("Das ist gut.", "Freut mich. Kann ich sonst noch etwas für Sie tun?"),
    ("Nein, danke.", "Auf Wiedersehen!"),
]
JAPANESE = [
    ("こんにちは、注文について質問があります", "どのご注文でしょうか"),
    ("先週のものです", "お調べします、少々お待ちください"),
    ("お願いします", "見つかりました、配送中です"),
    ("いつ届きますか", "金曜日の予定です"),
    ("住所を変更できますか", "申し訳ありません、もうできません"),
    ("ほかの方法はありますか", "配達員に置き場所を指定できます"),
    ("それはいいですね", "ほかにご用件はありますか"),
    ("ありません、ありがとう", "失礼いたします"),
]


@each("talk", [GERMAN, JAPANESE], ids=["German", "Japanese"])
@each("labelled", [True, False])
def test_a_right_agent_in_any_language_is_never_called_stalled(talk: list[tuple[str, str]], labelled: bool) -> None:
    """Small talk, waiting, a refusal and a farewell without a call."""
    progress = Progress()
    for text, answer in talk:
        progress.see(Message(role="user", content=text, acts=(Act(kind="ask"),) if labelled else None))
        progress.see(Message(role="assistant", content=answer))
        assert progress.stalled() is None


def test_a_new_fact_is_progress() -> None:
    """Whatever the words: the same sentence with another fact moves the conversation."""
    progress = Progress(Thresholds(idle_turns=2, repeats=99))
    for name in "abcdef":
        progress.see(Message(role="assistant", content="Und weiter?"))
        progress.see(Message(role="user", content="Bitte.", acts=(Act(kind="inform", facts={name: "x"}),)))
        assert progress.stalled() is None


def test_a_step_of_the_goal_is_progress() -> None:
    """Whatever the words: a goal item that is done by now, or that was not there before, moves the conversation."""
    progress = Progress(Thresholds(idle_turns=2, repeats=99))
    wishes = tuple(f"wish {letter}" for letter in "abcdef")
    for done in range(len(wishes)):
        progress.see(Message(role="assistant", content="Und weiter?"))
        items = tuple(GoalItem(text=wish, done=place < done) for place, wish in enumerate(wishes))
        progress.see(Message(role="user", content="Bitte.", goal_items=items))
        assert progress.stalled() is None


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
    transcript = Transcript(messages=tuple(Message(role=role, content=text) for role, text in messages))

    assert echo_rate(transcript) == 0.5
    assert echo_rate(Transcript()) is None


@settings(max_examples=50, deadline=None)
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


@each("unit", ["a", "ab ", "\ud800", "je vous ", "\n"])
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
        [Message(role=roles.get(said["role"], "tool"), content=said["message"]) for said in dialog["dialog"]]
        for dialog in json.loads(text).values()
        if any("STOP" in said["message"] for said in dialog["dialog"])
    ]
