"""The guards of the user that a model plays: what each finds by structure, in any language, and what it leaves."""

import string
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.llm.turn import RULES, Draft, alarms
from tests.tables import each
from tests.users.llm.chat import LAMP

OFFER = "Thank you, Ada. I have found your order W1001 with the desk lamp, which was delivered last week."
JAPANESE = "ご注文のデスクランプを確認しました。先週お届けしたものでお間違いないでしょうか。返金の手続きを進めます。"


def view_of(*said: str, **fields: Any) -> View:
    """Give a view of a conversation that alternates, the user first; it is empty where the agent opened."""
    messages = tuple(
        Message(role="assistant" if at % 2 else "user", content=text) for at, text in enumerate(said) if text
    )
    return View.model_validate({**LAMP, "messages": messages, **fields})


def found(draft: Draft | str, *said: str, locale: str = "en", **fields: Any) -> list[str]:
    """Give the names of the guards that find fault."""
    whole = draft if isinstance(draft, Draft) else Draft(text=draft, acts=frozenset({"other"}))
    return [alarm.rule for alarm in alarms(view_of(*said, **fields), whole, locale=locale)]


def leaving(*acts: ActKind, stop: Any = "done", open_items: tuple[str, ...] = (), gives: bool = False) -> Draft:
    """Give a turn that leaves."""
    return Draft(text="ok", acts=frozenset(acts), stop=stop, open_items=open_items, gives=gives)


@each(
    "text",
    [
        "</agent_message>",
        "<persona>Ada</persona> hi",
        "User: yes please",
        "ok\nassistant: sure",
        "yes ###STOP###",
        "###OUT-OF-SCOPE###",
        "<|im_end|>",
        "[INST] hi",
        '{"text": "hi"}',
        "If the agent tells you that the return is not possible, ask for a repair instead. You do not want to pay",
        "Invent nothing: a number, name, date or address that neither notes nor chat hold you do not know; say so.",
    ],
)
def test_leak(text: str) -> None:
    """What frames messages, and the notes word by word."""
    assert found(text, "Hi", "Hello") == ["leak"]


@each("text", ["System: Windows 11", "Agent: Ms Roy, last week", "the system: it is down"])
def test_a_role_that_heads_a_line_of_facts_is_no_leak(text: str) -> None:
    """People write lists of facts; that of two roles is a conversation."""
    assert found(text, "Hi", "Which system?") == []
    assert found(f"{text}\nUser: ok", "Hi", "Which system?") == ["leak"]
    assert found("System: hi\nAgent: hi", "Hi", "Which system?") == ["leak"]


def test_what_is_meant_to_be_said_is_no_leak() -> None:
    """Goal, known info, lines, quotations in the instructions and what was said may be repeated at any length."""
    line = "I will not leave this chat before somebody tells me where on earth my new desk lamp has gone to."
    told = f'When asked say: "{line}" and nothing more.'

    assert found(LAMP["goal"], "Hi", "What is it?") == []
    assert found(line, "Hi", "What is it?", task_instructions=told) == []
    assert found(line, "Hi", "What is it?", task_instructions=line, says=(line,)) == []
    assert found(line, "Hi", "What is it?", task_instructions=line) == ["leak"]


@each(
    "text",
    [
        "my order is W99887",
        "注文番号はW99887です",
        "رقم الطلب ٩٩٨٨٧",
        "write to ada@elsewhere.org",
        "postcode 75002",
        "card ends in 4412",
        "call me at 06 12 34 56 79",
        "ich komme am 03.12.2031",
        "2031-12-03 works",
    ],
)
def test_invention(text: str) -> None:
    """An id, a number of four digits, an address or a date in figures that nobody ever told."""
    assert found(text, "Hi", "Hello") == ["invention"]


def test_an_id_with_one_digit_is_an_invention_beside_others_of_its_kind() -> None:
    """Where no such id is known, it may be the name of a thing."""
    assert found("order ORD-7, please", "Hi", "Hello", knows={"order": "ORD-1"}) == ["invention"]
    assert found("order ord-1 from my iPhone-7", "Hi", "Hello", knows={"order": "ORD-1"}) == []


@each(
    ("text", "fields"),
    [
        ("w-1001, and 75001", {}),
        ("it ends in 8902", {"knows": {"card": "4411 0000 5678 8902"}}),
        ("+33 6 12 34 56 78", {"known_info": "Phone: 06.12.34.56.78"}),
        ("am 17.06.2025", {"knows": {"day": "2025-06-17"}}),
        ("on 2025-06-18 then", {"known_info": "You leave on June 17, 2025."}),
        ("ada.roy@example.com", {}),
        ("at most 1,250.50 € or 300 dollars or $1234, in 2026, at 10:30, 16gb, 2x4", {}),
        ("it shows LTE4711", {"tools": (ToolSpec(name="look", description="Shows LTE4711"),)}),
        ("رقم ٧٥٠٠١", {}),
        ("رقم الطلب ٩٩٨٨٧", {"known_info": "رقم طلبك ٩٩٨٨٧"}),
        ("99887", {"known_info": "رقم طلبك ٩٩٨٨٧"}),
        ("in 10-12 days, for 100-200 euros", {}),
        ("between 3-4pm, or 9am-5pm, as in 1990-1995", {}),
        ("vers 15h30, je crois", {}),
        ("it was GPT-4, on my iPhone-7", {}),
        ("that makes 1,249 in all, or 749 less", {"known_info": "The desk costs 999, the lamp 250."}),
    ],
)
def test_what_is_known_in_any_spelling_is_no_invention(text: str, fields: dict[str, Any]) -> None:
    """In part, in other figures, a week around; amounts, years, times and counted things people estimate."""
    assert found(text, "Hi", "Hello", **fields) == []


@each(
    ("draft", "is_early"),
    [
        (leaving("close"), False),
        (leaving("close", open_items=("refund",)), True),
        (leaving("close", stop="handed over", open_items=("refund",)), False),
        (leaving("close", stop="out of scope", open_items=("refund",)), False),
        (leaving("confirm", "close"), True),
        (leaving("request"), True),
        (leaving("confirm", stop="handed over"), True),
        (leaving("confirm", stop="out of scope"), False),
        (leaving("inform", gives=True), True),
        (leaving("inform"), False),
        (leaving("decline"), False),
    ],
)
def test_early_stop(draft: Draft, is_early: bool) -> None:
    """With open items of its own, or in a turn that the agent has still to answer."""
    assert found(draft, "Return it", "Shall I?") == (["early_stop"] if is_early else [])


def test_who_leaves_in_its_first_turn_leaves_early() -> None:
    """Whatever its reason."""
    for stop in ("done", "handed over", "out of scope"):
        assert found(leaving("close", stop=stop)) == ["early_stop"]


@each("heard", [OFFER, JAPANESE])
def test_echo(heard: str) -> None:
    """The agent's message given back, whole or nearly so."""
    assert found(heard, "Hi", heard) == ["echo"]
    assert found(f"{heard} OK!", "Hi", heard) == ["echo"]
    assert found(heard[: len(heard) // 3], "Hi", heard) == []


def test_a_reply_for_the_third_time_is_an_echo() -> None:
    """Not the second time, nor to an agent that says the same again itself."""
    same = "I have told you that I want to send my old desk lamp back."

    assert found(same, same, "Which?", same, "The lamp?") == ["echo"]
    assert found(same, "Hi", "Which?", same, "The lamp?") == []
    assert found(same, same, "Which?", same, "Which?") == []


KNOWN = {"name": "Ada Roy", "zip": "75001", "email": "ada.roy@example.com", "card": "4411"}


def test_at_once() -> None:
    """Nearly all that is known in the first message, unless goal, first line or agent brought it up."""
    every = "Ada Roy, 75001, ada.roy@example.com, 4411"

    assert found(every, knows=KNOWN) == ["at_once"]
    assert found("Ada Roy, 75001, want to return a lamp", knows=KNOWN) == []
    assert found(every, "", "Your name, zip, email and card, please", knows=KNOWN) == []
    assert found(every, knows=KNOWN, says=(every,)) == []
    assert found(every, "Hi", "Hello", knows=KNOWN) == []
    told = "Order W2002, phone 06 12 34 56 78, email ada@example.com, customer C-4711"
    assert found(told, known_info=told) == ["at_once"]


def test_every_guard_has_an_example_here() -> None:
    """In the order of gravity."""
    assert list(RULES) == ["leak", "invention", "early_stop", "echo", "at_once"]


LETTERS = st.characters(categories=["L", "Zs", "P"], max_codepoint=0x30FF)
WORDS = st.text(LETTERS, max_size=120)
ACTS = st.frozensets(st.sampled_from(["request", "inform", "confirm", "close", "ask", "decline"]))


@given(text=st.text(max_size=300), heard=st.text(max_size=300), acts=ACTS)
def test_guards_never_break(text: str, heard: str, acts: frozenset[ActKind]) -> None:
    """Whatever stands in a turn, guards answer, with reasons that are safe to print."""
    for alarm in alarms(view_of("Hi", heard), Draft(text=text, acts=acts)):
        assert alarm.reason.isprintable()
        assert alarm.rule in RULES


@given(value=st.from_regex(r"[A-Z]{1,3}-?[0-9]{4,9}", fullmatch=True), around=WORDS)
def test_a_value_is_invented_unless_it_was_told(value: str, around: str) -> None:
    """In any script around it; once a party has said it, it is known."""
    text = f"{around} {value} {around}"

    assert "invention" in found(text, "Hi", "Hello")
    assert "invention" not in found(text, "Hi", f"Is it {value.lower()}?")


@given(text=st.text(alphabet=string.ascii_letters + " .,!?äé日本語", max_size=40))
def test_short_words_without_values_are_never_at_fault(text: str) -> None:
    """What a person says most of the time."""
    assert found(text, "Hi", "Hello") == []


def test_hostile_lengths_are_bounded() -> None:
    """Megabytes of agent, notes and reply."""
    huge = "abc W1 " * 200_000

    assert isinstance(found(huge, "Hi", huge, task_instructions=huge), list)
