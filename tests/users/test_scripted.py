"""The scripted user in small conversations: what it answers to what, what it meant by it, and how it ends."""

import asyncio
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.acts import Act, Line
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.scenario import EvaluationCriteria, ExpectedCall, Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, asking
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.suites.language import language_of, shipped_languages
from pytest_agentbench.users.knowledge import wants_of
from pytest_agentbench.users.scripted import ScriptedUser
from tests.tables import each

REASONS = {"reason": {"enum": ["ordered_by_mistake", "no_longer_needed"]}}
TOOLS = Toolset(
    specs=(
        ToolSpec(name="refund", kind="write", parameters={"type": "object", "properties": REASONS}),
        ToolSpec(name="look", kind="read"),
    )
)
EXPECTED = {"order_id": "W1", "amount": 12.5}


class Talk:
    """A conversation with a scripted user: `hear` what it answers to an agent's text."""

    def __init__(
        self,
        *says: object,
        expect: dict[str, Any] | Sequence[dict[str, Any]] | None = None,
        tool: str = "refund",
        language: str = "en",
        asks_for: Sequence[str] = (),
        askable: Sequence[str] = (),
        is_open: bool = True,
        required: Sequence[str] = (),
        **view: Any,
    ) -> None:
        expected = [expect] if isinstance(expect, dict) else expect or []
        calls = [ExpectedCall(name=tool, arguments=one) for one in expected]
        task = Task(id="a", evaluation_criteria=EvaluationCriteria(actions=calls))
        scenario = Scenario(id="a", title="a", task=task, says=tuple(map(Line.model_validate, says)))
        self.view = View(**view)
        wants = wants_of(scenario, TOOLS)
        given = {"wants": wants, "asks_for": asks_for, "askable": askable, "is_open": is_open, "expected": calls}
        given["required"] = required
        self.user = ScriptedUser(scenario.says, **given, language=language_of(language))
        self.messages: list[Message] = []
        self.turn = UserTurn()

    def open(self) -> str:
        return self._reply()

    def hear(self, text: str) -> str:
        self.messages.append(Message(role="assistant", content=text))
        return self._reply()

    def done(self, *values: str | float) -> None:
        """Let the agent have written with these values."""
        self.view = self.view.model_copy(update={"done": (*self.view.done, *values)})

    def close(self, text: str) -> Stop:
        self.hear(text)
        assert self.turn.stop is not None, self.turn
        return self.turn.stop

    @property
    def meant(self) -> list[tuple[str, tuple[Any, ...]]]:
        """What the last turn meant, and about what."""
        return [(act.kind, act.about) for act in self.turn.acts or ()]

    def _reply(self) -> str:
        view = self.view.model_copy(update={"messages": (*self.view.messages, *self.messages)})
        self.turn = asyncio.run(self.user.reply(view))
        if self.turn.message is not None:
            self.messages.append(self.turn.message)
        return self.turn.text


def opened(*says: object, **fields: Any) -> Talk:
    talk = Talk(*says, **fields)
    talk.open()
    return talk


def test_lines_are_said_in_order_and_the_user_closes_after_the_last_answer() -> None:
    """Each notice of the agent brings the next line, the last one the end."""
    talk = Talk("Where is my parcel?", "And my other one?")

    said = [talk.open(), talk.hear("It is in Lyon.")]
    end = talk.close("It arrives on Monday.")

    assert said == ["Where is my parcel?", "And my other one?"]
    assert (end.reason, end.blame, end.termination) == ("done", None, Termination.FINISHED)


def test_the_first_line_is_a_request_and_others_mean_what_their_file_says() -> None:
    """A plain yes or no is one as a whole line only; any other line is unlabelled."""
    talk = Talk("Refund W1", "Yes!", "Yes, but tomorrow", {"condition": "If it is free"}, {"close": "Bye"})
    meant = []
    for text in ("", "Hm.", "Hm.", "Hm.", "Hm."):
        _ = talk.hear(text) if text else talk.open()
        meant.append(None if talk.turn.acts is None else [act.kind for act in talk.turn.acts])

    assert meant == [["request"], ["confirm"], None, ["condition"], ["close"]]


def test_a_goal_without_lines_is_said_as_it_stands() -> None:
    """The goal is the only line where there is no script."""
    assert Talk(goal="I want to return my lamp.").open() == "I want to return my lamp."


def test_neither_line_nor_goal_is_the_scenario_s_fault() -> None:
    """A user with nothing to say stops at once."""
    talk = opened()

    assert talk.turn.stop is not None
    assert talk.turn.stop.blame is Blame.SCENARIO


KNOWS = {"order_id": "W1", "email": "ada@example.com", "zip": "75001", "firstName": "Ada", "numéro de contrat": "C77"}


@each(
    ("text", "given"),
    [
        ("Could you share your email address?", ["email"]),
        ("Please provide your order number.", ["order_id"]),
        ("I'll need your e-mail and your ZIP code.", ["email", "zip"]),
        ("What is the number of your order?", ["order_id"]),
        ("What is your first name?", ["firstName"]),
        ("Quel est le numéro de votre contrat ?", ["numéro de contrat"]),
        ("Which order do you mean?", ["order_id"]),
    ],
)
def test_every_fact_that_a_question_names_is_given_in_one_turn(text: str, given: list[str]) -> None:
    """Names of values are found by their words, however the key is spelled, and nothing else is given."""
    talk = opened("Hi", knows=KNOWS)

    talk.hear(text)

    assert [(act.kind, list(act.facts)) for act in talk.turn.acts or ()] == [("inform", given)]
    assert all(str(KNOWS[name]) in talk.turn.text for name in given)


@each(
    ("language", "text"),
    [
        ("de", "Wie lautet Ihre Bestellnummer?"),
        ("fr", "Quel est le numéro de votre commande ?"),
        ("es", "¿Cuál es su número de pedido?"),
        ("ja", "注文番号を教えてください。"),
        ("ar", "ما هو رقم الطلب؟"),
        ("it", "Qual è il numero del Suo ordine?"),
        ("pt", "Qual é o número do pedido?"),
        ("zh", "请问您的订单号是多少？"),
    ],
)
def test_a_fact_is_asked_for_in_the_words_of_a_language(language: str, text: str) -> None:
    """Each language file has a few words for the words of names."""
    talk = opened("…", knows={"order_id": "W1"}, language=language)

    talk.hear(text)

    assert [act.facts for act in talk.turn.acts or ()] == [{"order_id": "W1"}]


def test_a_thing_that_is_not_there_is_no_question_for_its_number() -> None:
    """*No order* is no *order no*."""
    talk = opened("My lamp is broken", "It is by the door", knows={"order_id": "W1"})

    assert talk.hear("I see no order of a lamp here.") == "It is by the door"


def test_a_word_with_the_sign_for_day_asks_for_no_date() -> None:
    """A greeting in Japanese says *this day*."""
    talk = opened("…", "…", knows={"date": "2031-12-03"}, language="ja")

    assert "2031" not in talk.hear("本日はどのようなご用件でしょうか？")
    assert "2031" in talk.hear("ご希望の日付を教えてください。")


def test_another_name_of_a_value_is_as_good() -> None:
    """`also` gives names that no rule could know."""
    talk = opened("Hi", knows={"locator": "AB12"}, also={"locator": ("booking reference",)})

    assert "AB12" in talk.hear("May I have your booking reference?")


def test_a_fact_is_not_told_again_where_it_is_stated() -> None:
    """A question that states the value asks for something else."""
    talk = opened("Refund W1", {"confirm": "Do that"}, knows={"email": "ada@example.com"}, expect=EXPECTED)

    assert talk.hear("Your email is ada@example.com. Shall I refund W1?") == "Do that"


def test_a_question_that_states_a_value_does_not_ask_for_the_second_of_that_name() -> None:
    """*Shall I pay with card_1?* is answered with the yes alone, whatever is to be paid with another card later."""
    knows = {"method id": "card_1", "method id 2": "card_2"}
    lines = ("Refund W1 to card_1", {"confirm": "Do that"}, "Refund W2 to card_2")
    also = dict.fromkeys(knows, ("method id",))
    talk = opened(*lines, knows=knows, also=also, expect={"order_id": "W1", "method_id": "card_1"})
    assert talk.hear("I would refund order W1, method id card_1. Shall I?") == "Do that"
    assert talk.hear("It is done.") == "Refund W2 to card_2"
    asked = opened("Two refunds, please", knows=knows)
    assert asked.hear("To which method id goes the first, to which method id 2 the second?").count("card_") == 2


def test_a_line_that_holds_what_is_asked_for_is_said_in_its_place() -> None:
    """A user never replaces a line of the author's by one of its own."""
    talk = opened("Hi", "It is W1, the lamp", knows={"order_id": "W1"})

    assert talk.hear("What is your order number?") == "It is W1, the lamp"


@each(
    "text",
    [
        "Shall I refund W1?",
        "I will refund W1. Please confirm.",
        "注文W1を返金します。よろしいですか。",
        "هل أسترد الطلب W1؟",
        "I would pay back 12,50 €; is that right?",
        "I would pay back twelve point five euros?",
    ],
)
def test_what_states_a_wanted_value_gets_the_plain_yes(text: str) -> None:
    """With or without a question mark, in any script; the act says about which values."""
    talk = opened("Refund my lamp", expect=EXPECTED)

    assert talk.hear(text) == "Yes, please."
    assert talk.meant[0][0] == "confirm"
    assert set(talk.meant[0][1]) <= {"W1", 12.5}


def test_a_question_may_be_about_what_was_said_before() -> None:
    """The agent's two messages before it may state what it asks about."""
    talk = opened("Refund my lamp", expect=EXPECTED, knows={"zip": "75001"})
    assert talk.hear("It is order W1. What is your zip code?") == "My zip is 75001. Yes, please."
    talk = opened("Refund my lamp", "It is broken", expect=EXPECTED)
    talk.messages.append(Message(role="assistant", content="I found it: W1."))
    talk.messages.append(Message(role="user", content="Good"))

    assert talk.hear("Shall I go ahead?") == "Yes, please."
    assert talk.meant == [("confirm", ("W1",))]


@each(
    ("expect", "text", "said"),
    [
        (EXPECTED, "Shall I refund W2?", "No, it should be W1."),
        (EXPECTED, "Shall I refund W1, and W2 as well?", "My order id is W1."),
        ({"reason": "ordered_by_mistake"}, "Reason: no longer needed. OK?", "No, it should be ordered by mistake."),
        ({"reason": "ordered_by_mistake"}, "Was it ordered by mistake, or is it no longer needed?",
         "My reason is ordered by mistake."),
        ({"email": "new@x.org"}, "Shall I set it to old@x.org?", "No, it should be new@x.org."),
    ],
)  # fmt: skip
def test_what_contradicts_a_wanted_value_gets_it_instead(expect: dict[str, Any], text: str, said: str) -> None:
    """Another id of the same shape, another choice of the schema; a list of choices gets the wanted one."""
    talk = opened("Please help with W1 of new@x.org", expect=expect)

    assert talk.hear(text) == said
    assert [act.facts for act in talk.turn.acts or ()] == [expect if len(expect) == 1 else {"order_id": "W1"}]


def test_an_id_that_the_user_cannot_know_is_never_said() -> None:
    """It knows what it says and knows and what the agent said; else its own line answers, or a plain no."""
    talk = opened("A city bike", {"decline": "No, the cheaper one"}, "yes", expect={"bike_id": "B10"})
    said = [talk.hear("Shall I take B11?"), talk.hear("So B12?"), talk.hear("There is B10. Or B12, shall I?")]

    assert said == ["No, the cheaper one", "No, thank you.", "yes"]
    assert talk.hear("And B11, shall I?") == "No, it should be B10."
    assert opened("A city bike", "yes", expect={"bike_id": "B10"}).hear("You have B12 now.") == "yes"


def test_a_wanted_value_that_is_contradicted_gets_no_yes() -> None:
    """Not from the script either, however often the question comes."""
    talk = opened("Take P1", {"confirm": "yes"}, expect={"plot": "P1"})

    assert {talk.hear("I take P4. Shall I?") for _ in range(5)} == {"No, it should be P1."}
    assert talk.hear("So I take P4.") == "No, it should be P1."
    assert talk.hear("I take P1. Shall I?") == "yes"


def test_a_request_with_about_is_meant_until_it_was_agreed_to_whatever_is_expected() -> None:
    says = {"request": "Take P4", "about": ["P4"]}, {"request": "Then take P1."}

    talk = opened(*says, expect={"plot": "P1"})
    assert talk.hear("I take P4. Shall I?") == "Yes, please."
    assert talk.meant == [("confirm", ("P4",))]
    assert [talk.hear(text) for text in ("P4 is taken.", "I take P4. Shall I?")] == [
        "Then take P1.",
        "No, it should be P1.",
    ]


def test_a_statement_gets_the_next_line_and_a_request_comes_before_a_plain_yes() -> None:
    """What the user did not speak of yet may be only an offer; its script says what it wants to be done."""
    talk = opened("What have I got?", {"request": "Cancel it."}, "yes", expect={"booking": "R7"})

    assert [talk.hear(text) for text in ("I see R7.", "Shall I cancel it?")] == ["Cancel it.", "yes"]

    talk = opened("What have I got?", {"request": "Cancel it."}, expect={"booking": "R7"})
    assert [talk.hear(text) for text in ("R7. Cancel it?", "R7, sure?")] == ["Cancel it.", "Yes, please."]


def test_numbers_that_the_user_spoke_of_count_in_a_question() -> None:
    """They are too short to be found by chance; expected or not, and not in a statement."""
    for expect in ({"member": "M3", "hours": 4}, None):
        talk = opened("Log 4 hours for M3", expect=expect)
        assert talk.hear("Log 4 hours for Cy. Shall I?") == "Yes, please."
        assert talk.meant == [("confirm", (4,))]
    assert opened("Log it", expect={"member": "M3", "hours": 4}).hear("Log 4 hours?") != "Yes, please."


def test_whoever_sees_no_calls_leaves_when_all_is_said() -> None:
    """The question stays open: nobody can tell whether the agent needed its answer."""
    talk = opened("Take P1", "yes", expect={"plot": "P1"}, calls=None)
    assert talk.hear("Take P1. Shall I?") == "yes"
    end = talk.close("P1 is yours. Anything else?")

    assert (end.termination, end.blame, end.unanswered) == (
        Termination.FINISHED, None, "P1 is yours. Anything else?"
    )  # fmt: skip
    assert opened("Take P1", expect={"plot": "P1"}, calls=None).close("P1 is yours.").unanswered == ""


def test_a_list_that_holds_what_is_meant_gets_the_line_that_says_which() -> None:
    """Others of its kind stand in a list that the user asked for; its next line names the one, so nothing is denied."""
    talk = Talk("List my orders.", {"request": "Refund W1."}, expect={"order_id": "W1"})
    talk.open()

    said = talk.hear("Your orders: W1, status open; W2, status sent.")

    assert said == "Refund W1."


def test_the_script_s_own_answer_comes_first() -> None:
    """A confirm or decline line says it in the author's words, about what the question states."""
    talk = opened("Refund W1", {"confirm": "Not a problem, do that"}, expect=EXPECTED)
    assert talk.hear("Shall I refund W1?") == "Not a problem, do that"
    assert talk.meant == [("confirm", ("W1",))]

    talk = opened("Refund W1", "And W2", {"decline": "Leave it", "about": "W2"}, expect=EXPECTED)
    assert talk.hear("Shall I refund W2?") == "Leave it"
    assert talk.meant == [("decline", ("W2",))]
    assert talk.hear("Shall I refund W1?") == "Yes, please."
    assert talk.hear("Done.") == "And W2"


def test_reads_are_no_wishes() -> None:
    """What is only looked up needs no yes."""
    talk = opened("Where is it?", "And when?", expect=EXPECTED, tool="look")

    assert talk.hear("W1 is in Lyon. More?") == "And when?"


def test_a_yes_is_given_until_it_is_done_and_anew_after_another_request() -> None:
    """An agent may ask twice; a notice or an offer about what was done gets no further yes."""
    talk = opened("Refund W1", expect=EXPECTED)
    assert talk.hear("Shall I refund W1?") == "Yes, please."
    assert talk.hear("W1, the whole amount, to your card: are you sure?") == "Yes, please."
    talk.done("W1", 12.5)
    assert talk.close("W1 is refunded. Would you like to join our newsletter?").reason == "done"

    talk = opened("Refund W1", "To my other card, please", expect=EXPECTED)
    assert talk.hear("Shall I refund W1?") == "Yes, please."
    assert talk.hear("To which card?") == "To my other card, please"
    assert talk.hear("So, W1 to your other card?") == "Yes, please."


def test_what_was_done_is_not_agreed_to_again() -> None:
    """A report of what the user asked for is no question, though nobody had asked it for a yes."""
    talk = opened("Refund W1", expect=EXPECTED)
    talk.done("W1", 12.5)

    assert talk.close("I have refunded 12.50 for W1.").reason == "done"


def test_a_report_of_another_write_is_no_question() -> None:
    """An agent that did something else and says that it did what was wanted gets no yes to that."""
    talk = opened("Refund W1", expect=EXPECTED)
    talk.done("W2", 3)

    assert talk.close("Order W1 is refunded.").reason == "done"


def test_a_report_of_what_was_done_gets_the_next_line() -> None:
    """What is still wanted of the same thing is asked for by the script, not agreed to before anybody asks."""
    talk = opened("Move Paris to Tokyo", {"request": "And Tokyo to Paris"}, expect=({"a": "Tokyo"}, {"a": "Tokyo"}))
    talk.done("Tokyo")

    assert talk.hear("Tokyo is done.") == "And Tokyo to Paris"


def test_a_second_write_of_the_same_thing_is_agreed_to_once_more() -> None:
    """A value is wanted as often as it is expected: each write of it gets a yes, with a question mark or without."""
    for again in ("And shall I close W1 now?", "Next I close W1."):
        talk = opened("Refund and close W1", expect=({"order_id": "W1"}, {"order_id": "W1"}))
        assert talk.hear("I refund W1 first.") == "Yes, please."
        talk.done("W1")
        assert talk.hear(again) == "Yes, please."
        talk.done("W1")
        assert talk.close("W1 is closed. Anything else?").reason == "done"


def test_who_was_told_all_it_asked_for_closes() -> None:
    """Where no write is expected, what the agent has to say is what the user wants."""
    talk = opened("When are you open, and till when?", asks_for=["9 am", "6 pm"])

    assert "don't have that" in talk.hear("From 9 am. Which shop do you mean?")
    assert talk.close("From 9 am to 6 pm everywhere. Is there anything else?").reason == "done"


def test_the_same_question_gets_the_same_answer() -> None:
    """An agent that asks again has not heard, or a yes was no answer: what it stands for is said with it."""
    talk = opened("Refund W1", expect=EXPECTED)

    again = "Yes, please. My order id is W1."
    assert [talk.hear("Shall I refund W1?") for _ in range(3)] == ["Yes, please.", again, again]
    assert [act.kind for act in talk.turn.acts or ()] == ["confirm", "inform"]

    talk = opened("Refund W1", "Thanks", expect=EXPECTED, knows={"colour": "red"})
    assert talk.hear("Which colour?") == talk.hear("Which colour?") == "My colour is red."


def test_a_request_for_approval_is_decided_about_once() -> None:
    """An answer that is given again to words brings no second decision with it."""
    call = ApprovalRequest(tool="refund", arguments=EXPECTED, id="1")
    talk = opened("Refund W1, please", expect=EXPECTED)
    talk.messages.append(asking([call]))
    decided = talk.open() and talk.turn
    said = talk.hear(talk.messages[1].text)

    assert [one.kind for one in decided.decisions] == ["approve"]
    assert said.startswith("Yes, please.")
    assert not talk.turn.decisions


def test_a_question_that_a_yes_does_not_answer_gets_the_next_line() -> None:
    """It names what is wanted and asks for something else; what its author wrote next may answer it."""
    talk = opened("Refund W1", {"inform": "By card."}, expect=EXPECTED)
    asked = "W1 it is. Which way?"

    assert talk.hear(asked) == "Yes, please."
    assert talk.hear(asked).startswith("Yes, please. ")
    assert talk.hear(asked) == "By card."


def test_what_the_script_informs_of_answers_before_a_plain_yes() -> None:
    """A choice between values is answered by the line that says one of them, not by a yes."""
    says = ("Pay I-901", {"inform": "By card."}, {"confirm": "Yes, charge it."})
    talk = opened(*says, expect={"invoice_id": "I-901", "method": "card"})

    assert talk.hear("Card or transfer?") == "By card."
    assert talk.hear("I-901 by card: shall I?") == "Yes, charge it."


@each(
    "line",
    [
        "Sure, but make it C7.",
        {"other": "Sure, but make it C7."},
        {"withdraw": "Sure, but make it C7.", "about": "B5"},
        {"request": "Make it C7, please."},
    ],
)
def test_a_line_that_changes_what_is_wanted_comes_before_a_yes(line: Any) -> None:
    """A question about the first wish also states who asks; a yes would agree to what its author takes back next."""
    says = ("Lease B5 to me, M31.", line, {"confirm": "Yes, please.", "about": "C7"})
    talk = opened(*says, expect={"plot": "C7", "number": "M31"})

    changed = talk.hear("Plot B5 has 120 square metres. Shall I lease B5 to you (M31)?")

    assert "C7" in changed
    assert talk.hear("C7 instead, for M31: shall I?") == "Yes, please."


@each(
    ("line", "asked"),
    [
        ({"inform": "Make it 2026-12-13, please."}, "Shall I lend C11 to M201 until 10 December 2026?"),
        ({"inform": "Make it 2026-12-13, please."}, "Shall I lend C11 to M201?"),
        ({"ask": "What does that cost again?"}, "Shall I lend C11 to M201 until 13 December 2026?"),
    ],
)
def test_a_fact_or_a_question_of_the_authors_comes_before_a_yes(line: Any, asked: str) -> None:
    """A yes of its own making would agree to a question that lacks what the next line gives, or hide what it asks."""
    says = ("I want to borrow C11 until 2026-12-10, I am M201.", line, {"confirm": "Yes, go ahead."})
    talk = opened(*says, expect={"member": "M201", "costume": "C11", "due": "2026-12-13"})

    assert talk.hear(asked) == next(iter(line.values()))
    assert talk.hear("C11 for M201 until 13 December 2026: shall I?") == "Yes, go ahead."


def test_a_line_that_is_left_comes_before_the_same_yes_again() -> None:
    """ "What can I do for you?" after a yes that nobody needed is for the request that comes next."""
    says = ("Extend L903.", {"other": "Fine, thanks."}, {"request": "Then return L901."})
    talk = opened(*says, expect=[{"loan": "L903"}, {"loan": "L901"}], askable=("loan",), is_open=False)
    talk.done("L903")
    talk.view = talk.view.model_copy(update={"calls": 1, "tried": 1})
    heard = [talk.hear(text) for text in ("L903 is extended, L901 is yours too.", *3 * ("What can I do for you?",))]

    assert "Then return L901." in heard


def test_an_offer_of_another_thing_gets_no_yes() -> None:
    """Who asks for C302 and is refused did not ask for C301, whatever number the offer repeats."""
    talk = opened("I want to borrow C302 for 3 days.", expect=[])

    talk.hear("May I lend you C301, the pirate coat, for 3 days instead?")

    assert [kind for kind, _ in talk.meant] == ["decline"]


def test_a_code_beside_what_is_wanted_changes_no_wish() -> None:
    """A second request comes when the first is done, whatever card or paper the question speaks of."""
    talk = opened("Refund order W1, please.", "And refund W2 as well.", expect=[{"order": "W1"}, {"order": "W2"}])

    assert talk.hear("I will refund order W1 to card C5, on A4 paper. Shall I?") == "Yes, please."


def test_a_question_for_what_nobody_knows_gets_no_yes() -> None:
    """The yes would be to what was said before: nobody can go on with it, and the scenario lacks the PIN."""
    talk = opened("Refund W1.", expect={"order_id": "W1"}, required=("order_id", "pin"))
    talk.hear("Order W1: I can refund that. Who are you?")

    assert [act.kind for act in (talk.hear("And your PIN, please?") and talk.turn.acts) or ()] == ["other"]


@each(
    ("says", "text", "is_open"),
    [
        ("Refund W1.", "Please tell me your PIN.", True),
        ("Refund W1.", "Please state the card number to go on.", True),
        ("Refund W1.", "Please tell me the order ID.", False),
        ("Refund W1.", "I cannot do that.", False),
        ("Refund W1.", "Your PIN 4071 is right.", False),
        ("Refund W1, my pin is 4071.", "Please tell me your PIN.", False),
        ("Refund W1, I am M2.", "Please tell me the member.", False),
    ],
)
def test_a_demand_for_what_nobody_knows_stays_open(says: str, text: str, is_open: bool) -> None:
    """It is a question without its mark where it names what a call takes and the scenario does not hold."""
    expect = {"order_id": "W1", "member": "M2"}
    talk = opened(says, expect=expect, required=("order_id", "pin", "card_number", "member"))

    assert bool(talk.close(text).unanswered) is is_open


def test_ids_of_its_own_words_are_agreed_to_where_nothing_is_expected() -> None:
    """A wrong agent is shown only where its question gets a yes; the author's lines come first."""
    talk = opened("Refund W9", "Really?")

    assert talk.hear("Shall I refund W9?") == "Really?"
    assert talk.hear("Yes. Shall I refund W9?") == "Yes, please."


CLOSINGS = [
    "Please arrive ten minutes early.",
    "You are welcome. Goodbye!",
    "Your refund is on its way; it takes five days.",
    "Keep your receipt until the parcel has arrived.",
    "Don't forget to bring an ID card.",
    "Let me know if you need anything else.",
    "I have sent you a confirmation by e-mail.",
    "See https://example.com/help?topic=refunds for details.",
    "Merci et bonne journée !",
    "N'hésitez pas à nous rappeler.",
    "Bitte bringen Sie Ihren Ausweis mit.",
    "Gern geschehen, auf Wiederhören.",
    "Gracias por llamar. ¡Que tenga un buen día!",
    "ご利用ありがとうございました。",
    "شكرا لتواصلك معنا.",
    "感谢您的来电，再见。",
]


@each("text", CLOSINGS)
def test_a_notice_an_instruction_or_a_farewell_ends_the_run(text: str) -> None:
    """Once its lines are said, whatever asks for nothing finishes the run, in any language."""
    talk = opened("Refund W1 of 2024-05-06, 75001", expect=EXPECTED, knows={"zip": "75001", "date": "2024-05-06"})
    talk.hear("Shall I refund W1?")

    assert talk.close(text) == Stop(reason="done")


def test_the_third_question_without_an_answer_is_a_stall_of_the_scenario() -> None:
    """What the scenario does not say is nobody's fault but its own; the cure is named."""
    talk = opened("Refund my lamp")
    said = [talk.hear("Which colour?"), talk.hear("Which shop?")]
    end = talk.close("Which year?")

    assert said == ["I don't have that. That is all I can tell you."] * 2
    assert (end.termination, end.blame) == (Termination.STALLED, Blame.SCENARIO)
    assert "a yes as `{confirm: …}`, or let the agent do without: " in end.reason
    assert end.reason.endswith("'Which colour?' / 'Which shop?' / 'Which year?'")


def test_a_no_with_the_right_value_is_no_no_to_that_value() -> None:
    """The script corrects itself once; the corrected question, asked in the same words as before, gets a yes."""
    script = ("Refund W1 to my card.", {"decline": "No, I meant store credit", "about": "W1"})
    talk = opened(*script, expect={"order_id": "W1", "method": "store_credit"})
    question = "I would refund W1 to store credit. Shall I?"

    assert talk.hear(question) == "No, I meant store credit"
    assert talk.hear(question) == "Yes, please."
    assert talk.meant == [("confirm", ("W1", "store_credit"))]


@each(
    ("expect", "question"),
    [
        (None, "Refund W1, shall I?"),
        ({"order_id": "W1", "method": "store_credit"}, "Refund W1, shall I?"),
        ({"order_id": "W1", "method": "store_credit"}, "Refund W1 to card_2, shall I?"),
    ],
)
def test_a_no_stands_where_not_all_that_is_wanted_is_asked(expect: dict[str, Any] | None, question: str) -> None:
    """Who asks the same again has not heard."""
    talk = opened("Refund W1", {"decline": "No, leave it", "about": "W1"}, expect=expect)

    assert [talk.hear(question), talk.hear(question)] == ["No, leave it", "No, leave it"]


@each("kind", ["decline", "withdraw"])
@each("question", ["Okay, anything else?", "What do you need?"])
def test_a_no_is_not_taken_back(kind: str, question: str) -> None:
    """After its own no the user agrees to nothing: it leaves, and says no again to the same."""
    talk = opened("Cancel R3", {kind: "No, leave it."})
    assert talk.hear("Shall I cancel R3?") == "No, leave it."
    assert talk.close(question).blame is None

    talk = opened("Cancel R3", {kind: "No, leave it."})
    assert talk.hear("Shall I cancel R3?") == "No, leave it."
    assert talk.hear("So R3 goes away now, yes?") != "Yes, please."
    assert talk.meant == [("decline", ("R3",))]


def test_what_the_user_had_said_is_said_again() -> None:
    """By its whole name at once, else to who insists; with a yes where the same comes again: it may ask for one."""
    talk = opened("Rent me B1", expect={"bike": "B1"})
    assert [talk.hear("Which bike?") for _ in range(2)] == ["My bike is B1.", "Yes, please. My bike is B1."]
    assert talk.meant == [("confirm", ("B1",)), ("inform", ())]

    talk = opened("Refund order W1", expect={"order_id": "W1"})
    assert "don't have that" in talk.hear("Shall I go on with your order?")
    assert talk.hear("Which order, please?") == "My order id is W1."


def test_an_id_without_a_name_is_asked_for_in_vain() -> None:
    """What only the user's words hold has no name by which an agent could ask for it."""
    talk = opened("What is left on T-5520?")
    for _ in range(2):
        assert "don't have that" in talk.hear("Your card number, please?")

    assert talk.close("Your card number, please?").blame is Blame.SCENARIO


def test_a_fact_whose_name_holds_no_word_is_never_asked_for() -> None:
    """Nothing that an agent says names it."""
    talk = opened("Hello", knows={"…": "secret"})

    assert "secret" not in talk.hear("Your name, please?")


def test_a_name_of_many_words_with_synonyms_is_looked_for_in_no_time() -> None:
    """Every word has five others, which together would be billions."""
    talk = opened("Hello", "More", knows={" ".join(["id"] * 20): "X1"})

    assert talk.hear("Anything else?") == "More"


def test_what_the_scenario_declares_unknown_is_no_fault_of_its_own() -> None:
    """A user that does not know its order number says so as often as it is asked."""
    talk = opened("Refund my lamp", unknown=["order number"])

    for text in ("What is the order number?", "And your order number is?", "I need it: which order number?"):
        assert talk.hear(text) == "I don't have that. That is all I can tell you."
    assert talk.turn.stop is None


@each("language", shipped_languages())
def test_it_speaks_the_language_of_its_file(language: str) -> None:
    """Yes, no and the rest are those of the language; agents need not understand another."""
    talk = opened("…", expect=EXPECTED, language=language)
    phrases = language_of(language)

    assert talk.hear("… ?") == phrases.unknown
    assert talk.hear("W1 ?") == phrases.yes
    assert talk.hear("W2 ?") == phrases.no.format(value="W1")


def test_a_line_may_call_the_user_s_own_tool() -> None:
    """`name(key=value)` is a call where the user has that tool, and text elsewhere; its result is told."""
    tool = ToolSpec(name="set_wifi", requestor="user")
    talk = opened("No network", "set_wifi(on=True)", tools=[tool])

    talk.hear("Please turn the wifi on.")

    assert [(call.name, call.arguments, call.requestor) for call in talk.turn.tool_calls] == [
        ("set_wifi", {"on": True}, "user")
    ]
    talk.messages.append(Message(role="tool", requestor="user", content="Wifi is on."))
    assert talk._reply() == "Wifi is on."


def test_a_history_that_it_did_not_make_is_continued() -> None:
    """Lines already said are recognised by their text."""
    view = View(says=["a line", "yes", "last"], messages=[
        Message(role="user", content="a line"), Message(role="assistant", content="Really?"),
        Message(role="user", content="yes"), Message(role="assistant", content="Done."),
    ])  # fmt: skip

    assert asyncio.run(ScriptedUser().reply(view)).text == "last"


def test_what_was_said_before_the_run_is_no_line_of_the_script() -> None:
    """A conversation that begins in the middle leaves all lines to be said."""
    history = (Message(role="user", content="Hi"), Message(role="assistant", content="Hello, what can I do?"))

    assert Talk("Where is my parcel?", begun=2, messages=history).open() == "Where is my parcel?"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=4), st.text(max_size=200), st.text(max_size=80), st.text())
def test_any_text_is_answered_and_twice_the_same_way(agent: list[str], known: str, goal: str, line: str) -> None:
    """No text raises, and the same conversation gives the same replies."""

    def play() -> list[UserTurn]:
        talk = Talk(line, goal=goal, known_info=known, unknown=[goal], knows={known: goal}, expect={known: goal})
        turns = []
        for text in ["", *agent]:
            talk.hear(text) if talk.messages else talk.open()
            turns.append(talk.turn)
            if talk.turn.stop is not None or talk.turn.message is None:
                break
        return turns

    assert play() == play()


@each("unit", ["a", "?", "yes ", "- your email\n", "1", "#", "W1 ", "\ud800", "_a1", "a@", "(((", "a ", "_"])
def test_texts_of_a_megabyte_are_answered_at_once(unit: str) -> None:
    """Only both ends of a huge text are read, so that time stays bounded."""
    text = unit * (1_000_000 // len(unit))
    talk = opened("hi", text, goal=text, known_info=text, unknown=[text], knows={"a": text}, expect={"a": "W1"})

    talk.hear(text)

    assert talk.turn.text or talk.turn.stop


def test_an_act_is_kept_with_its_facts() -> None:
    """Facts keep their type; the message of the turn carries them."""
    talk = opened("Hi", knows={"zip": 75001})

    talk.hear("What is your zip?")

    assert talk.messages[-1].acts == (Act(kind="inform", facts={"zip": 75001}),)


def test_a_condition_that_is_next_is_the_answer_to_its_question() -> None:
    """Its author's words come before a plain yes; asked about something else it waits."""
    line = {"condition": "Yes, if it is under 20.", "about": "W1"}

    talk = opened("Refund W1, please.", line, expect=EXPECTED)

    assert talk.hear("Shall I refund W1 with 12.50?") == "Yes, if it is under 20."
    assert talk.meant == [("condition", ("W1",))]
