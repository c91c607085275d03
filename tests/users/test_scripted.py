"""The scripted user in small conversations, English and French."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.users.scripted import ScriptedUser


class Talk:
    """A conversation with a scripted user: `hear` what it answers to an agent's text."""

    def __init__(self, **view: Any) -> None:
        self.view = View(**view)
        self.user = ScriptedUser()
        self.messages: list[Message] = []

    def open(self) -> str:
        return self._reply()

    def hear(self, text: str) -> str:
        self.messages.append(Message(role="assistant", content=text))
        return self._reply()

    def close(self, text: str) -> Stop:
        self.messages.append(Message(role="assistant", content=text))
        reply = self._ask()
        assert reply.stop is not None, reply
        self.closing = reply.text
        return reply.stop

    def _reply(self) -> str:
        reply = self._ask()
        assert reply.message is not None, reply
        assert reply.stop is None, reply
        self.messages.append(reply.message)
        return reply.text

    def _ask(self) -> UserTurn:
        return asyncio.run(self.user.reply(self.view.model_copy(update={"messages": tuple(self.messages)})))


def opened(**view: Any) -> Talk:
    talk = Talk(**view)
    talk.open()
    return talk


def test_lines_are_said_in_order_and_the_user_closes_after_the_last_answer() -> None:
    """Each statement of the agent brings the next line, the last one a stop."""
    talk = Talk(says=["Where is my parcel?", "And my other one?"])

    said = [talk.open(), talk.hear("It is in Lyon.")]
    end = talk.close("It arrives on Monday.")

    assert said == ["Where is my parcel?", "And my other one?"]
    assert (end.reason, end.blame, end.termination) == ("done", None, Termination.FINISHED)


def test_an_offer_of_more_help_brings_the_next_line_or_a_closing_word() -> None:
    """ "Anything else?" is no question about the scenario."""
    talk = opened(says=["Where is my parcel?", "Thanks. And the invoice?"])

    assert talk.hear("It is in Lyon. Is there anything else I can help you with?") == "Thanks. And the invoice?"
    talk.close("Sent. Can I help you with anything else?")
    assert talk.closing == "No, that is all. Thank you."


def test_a_goal_without_lines_is_said_in_the_first_person() -> None:
    """The goal is the only line where there is no script."""
    assert Talk(goal="You want to return your lamp.").open() == "I want to return my lamp."


def test_neither_line_nor_goal_is_the_scenario_s_fault() -> None:
    """A user with nothing to say stops at once."""
    reply = asyncio.run(ScriptedUser().reply(View()))

    assert reply.stop is not None
    assert reply.stop.blame is Blame.SCENARIO


KNOWS = {
    "order_id": "W1",
    "email": "ada@example.com",
    "zip": "75001",
    "firstName": "Ada",
    "lastName": "Roy",
    "dateOfBirth": "1990-02-03",
    "phone number": "555-123-2002",
    "seat preference": "aisle",
    "numéro de contrat": "C77",
}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Could you share your email address?", ["ada@example.com"]),
        ("Please provide your order number.", ["W1"]),
        ("I'll need your email and your ZIP code.", ["ada@example.com", "75001"]),
        ("May I have your full name?", ["Ada Roy"]),
        ("What is the number of your order?", ["W1"]),
        ("I can verify you by first name, last name and zip code. Could you provide these?", ["Ada", "Roy", "75001"]),
        ("Please send me:\n- your **date of birth**\n- your phone number\n- your seat preference",
         ["1990-02-03", "555-123-2002", "aisle"]),
        ("Do you have a seat preference?", ["aisle"]),
        ("Pouvez-vous me donner votre numéro de commande ?", ["W1"]),
        ("Il me faut votre adresse e-mail et votre code postal.", ["ada@example.com", "75001"]),
        ("Quel est votre nom ?", ["Ada Roy"]),
        ("Quelle est votre date de naissance ?", ["1990-02-03"]),
        ("Merci de m'indiquer votre numéro de contrat.", ["C77"]),
        ("I am missing <order_id>.", ["W1"]),
    ],
)  # fmt: skip
def test_the_values_asked_for_and_no_others_are_given(text: str, values: list[str]) -> None:
    """Every value asked for is given in one message, in either language, and none besides."""
    talk = opened(says=["Refund it, please", "Thanks"], knows=KNOWS)

    said = talk.hear(text)

    assert all(value in said for value in values), said
    others = {str(value) for value in KNOWS.values()} - set(" ".join(values).split()) - set(values)
    assert not [value for value in others if value in said], said


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for providing your email.",
        "Once I have your email, we can go on.",
        "We sent the invoice to the email address on file.",
        'The form says "what is your email?" but you can skip it.',
        "> What is your email?\n\nSomeone asked that before.",
        "If you don't know your order number, that is fine.",
        "The product name is Lamp.",
        "Isn't that great?",
    ],
)
def test_what_is_not_asked_for_is_not_given(text: str) -> None:
    """Statements, conditions, quotations and rhetorical questions bring the next line, not a value."""
    assert opened(says=["Refund it", "Next line"], knows=KNOWS).hear(text) == "Next line"


def test_a_value_is_given_again_when_asked_again_and_uses_up_no_line() -> None:
    """Answers stand beside the script."""
    talk = opened(says=["Refund it", "Next line"], knows=KNOWS)

    assert talk.hear("What is your email?") == talk.hear("Sorry, what was your email?") == "My email is ada@example.com"
    assert talk.hear("Thank you.") == "Next line"


def test_a_line_that_holds_the_value_asked_for_is_said() -> None:
    """The script's own words win over the standard answer."""
    talk = opened(says=["Refund it", "It's order W1, the blue one"], knows={"order_id": "W1"})

    assert talk.hear("What is your order number?") == "It's order W1, the blue one"


def test_unknown_info_is_said_to_be_unknown_and_an_alternative_given() -> None:
    """ "I do not remember" stands for what unknown info lists; an alternative is given when offered."""
    talk = opened(goal="You want a refund.", unknown=["You do not remember your email address"],
                  known_info="You are Yusuf Rossi in zip code 19122.")  # fmt: skip

    assert talk.hear("What is your email?") == "I do not remember my email address."
    said = talk.hear("Please give your email. If you can't recall it, you can instead share your name and zip code.")

    assert "I do not remember" in said
    assert "Yusuf Rossi" in said
    assert "19122" in said


@pytest.mark.parametrize(
    ("view", "text", "wanted"),
    [
        ({"says": ["Refund order W1", "yes"]}, "I will refund order W2. Do you confirm?", "W1"),
        ({"says": ["Refund it to my PayPal", "yes"]}, "Refund to your credit card. Shall I proceed?", "PayPal"),
        ({"goal": "You want a refund of $40."}, "I will refund $45.50. Is that correct?", "40"),
        ({"says": ["Move it to 12 Oak Street", "yes"]}, "Ship to 21 Oak Street? Please confirm (yes/no).", "12"),
        ({"says": ["Book it", "yes"], "knows": {"cabin": "economy"}}, "Cabin: business\nShall I go ahead?", "economy"),
        ({"says": ["Remboursez la commande W1", "oui"]}, "Je rembourse la commande W2. Vous confirmez ?", "W1"),
        ({"says": ["Remboursez-moi par virement", "oui"]}, "Sur votre carte bancaire. Confirmez-vous ?", "bank"),
    ],
)  # fmt: skip
def test_a_confirmation_that_differs_is_refused_even_where_the_script_says_yes(
    view: dict[str, Any], text: str, wanted: str
) -> None:
    """Another order, method, amount, address or own key brings *no* and what is wanted."""
    said = opened(**view).hear(text)

    assert said.startswith(("No,", "Non,")), said
    assert wanted in said


def test_the_scripted_yes_is_kept_for_the_confirmation_that_fits() -> None:
    """A refusal uses up no line."""
    talk = opened(says=["Refund order W1", "yes", "bye"])

    talk.hear("I will refund order W2. Do you confirm?")

    assert talk.hear("Sorry: I will refund order W1. Do you confirm?") == "yes"


def test_a_fitting_confirmation_is_answered_yes_and_a_scripted_no_is_said() -> None:
    """Without an answer in the script it is *yes*; with one, that."""
    assert opened(says=["Refund W1", "Thanks"]).hear("Refund W1. Shall I proceed?") == "Yes, please."
    assert opened(says=["Refund W1", "No, wait"]).hear("Refund W1. Shall I proceed?") == "No, wait"
    assert opened(says=["Remboursez W1"]).hear("Souhaitez-vous que je le fasse ?") == "Oui, s'il vous plaît."


BOOKING = ["Book a slot Monday, I am P100", "No thanks", "Forget it"]


@pytest.mark.parametrize(
    "again", ["Shall I book slot S1?", "Sorry, should I book slot S1 now?", "I did not get that. Shall I book slot S1?"]
)
def test_a_question_asked_again_gets_the_same_answer(again: str) -> None:
    """No stays no, and uses up no line; asked once more, the user goes on, and its no still holds after that."""
    talk = opened(says=BOOKING)

    said = [talk.hear(text) for text in ("Shall I book slot S1?", again, again, again)]

    assert said == ["No thanks", "No thanks", "Forget it", "No thanks"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Shall I book slot S1?", "Shall I book slot S2?"),
        ("Shall I book a window seat?", "Shall I book an aisle seat?"),
        ("A window seat is free. Shall I book it?", "An aisle seat is free. Shall I book it?"),
        ("Shall I book the slot and order a meal?", "Shall I book the slot?"),
        ("Slot S1 is free at 9. Shall I book slot S1?", "Slot S1 is free at 11. Shall I book slot S1?"),
    ],
)
def test_a_question_about_something_else_is_a_new_one(first: str, second: str) -> None:
    """Another object, time or extent is not what was answered before."""
    talk = opened(says=["Book something", "No thanks", "Yes, that one"])

    assert [talk.hear(first), talk.hear(second)] == ["No thanks", "Yes, that one"]


def test_a_line_in_between_takes_the_answer_back() -> None:
    """Who comes back to what was refused has changed its mind."""
    talk = opened(says=["Book a slot", "No thanks", "Well, do book S1"])

    said = [
        talk.hear(text) for text in ("Shall I book slot S1?", "All right, nothing is booked.", "Shall I book slot S1?")
    ]

    assert said == ["No thanks", "Well, do book S1", "Yes, please."]


def test_a_bare_question_is_left_to_the_script() -> None:
    """ "Do you confirm?" names nothing, so that two of them are two questions where the script answers twice."""
    talk = opened(says=["Cancel both", "yes", "no"])

    assert [talk.hear("Do you confirm?"), talk.hear("Do you confirm?")] == ["yes", "no"]
    assert talk.hear("Do you confirm?") == "no"


def test_a_french_no_stays_one() -> None:
    """*Encore* makes no new question."""
    talk = opened(says=["Je voudrais un rendez-vous", "Non merci", "Laissez tomber"])

    said = [talk.hear(text) for text in ("Dois-je réserver le créneau S1 ?", "Dois-je encore réserver le créneau S1 ?")]

    assert said == ["Non merci", "Non merci"]


def test_an_extra_that_nobody_wanted_is_declined() -> None:
    """Offers on top, of something that the goal does not mention, are refused."""
    assert (
        opened(goal="You want to return a lamp.").hear("Would you also like to add gift wrapping?") == "No, thank you."
    )


def test_a_choice_is_answered_with_the_option_that_the_goal_names() -> None:
    """ "Card or PayPal?" is answered where exactly one option is the user's."""
    talk = opened(goal="You want to pay with PayPal.", knows={"colour": "blue"})

    assert talk.hear("Would you like to pay by credit card or PayPal?") == "PayPal, please."
    assert talk.hear("Which one?\n- red\n- blue") == "blue, please."


def test_an_agent_that_is_deaf_is_told_once_more() -> None:
    """The last words are repeated once, then the user goes on, then it gives up."""
    talk = opened(says=["Refund W1", "Thanks"])

    assert talk.hear("") == "Refund W1"
    assert talk.hear("Hello! How can I help you today?") == "Thanks"
    assert talk.hear("") == "Thanks"
    end = talk.close("")

    assert (end.reason, end.termination, end.blame) == ("ignored", Termination.STALLED, None)


def test_asking_for_ever_for_the_same_value_ends_the_conversation() -> None:
    """A value is repeated once in a row; then nothing is left to do."""
    talk = opened(says=["Refund it"], knows=KNOWS)
    talk.hear("What is your email?")
    talk.hear("What is your email?")

    assert talk.close("What is your email?").termination is Termination.STALLED


@pytest.mark.parametrize(
    "text",
    ["What is your shoe size?", "What is your passport number?", "Please restart your router.", "Quelle taille ?"],
)
def test_a_question_that_cannot_be_answered_is_the_user_s_fault(text: str) -> None:
    """Blame is *user*, and the reason quotes what was asked."""
    end = opened(says=["Hello there"]).close(text)

    assert end.blame is Blame.USER
    assert text in end.reason


def test_a_hand_over_closes_and_an_offer_of_one_does_not() -> None:
    """A transfer that happens ends the conversation."""
    assert opened(says=["Hi", "More"]).close("I am transferring you to a human agent.").reason == "handed over"
    assert opened(says=["Hi", "No"]).hear("Would you like me to transfer you to a human agent?") == "No"
    assert opened(says=["Bonjour"]).close("Je vous transfère à un conseiller.").reason == "handed over"


def test_a_promise_is_waited_for() -> None:
    """ "One moment" is acknowledged and uses up no line."""
    talk = opened(says=["Where is it?", "Thanks"])

    assert talk.hear("One moment, please.") == "OK, thank you."
    assert talk.hear("It is in Lyon.") == "Thanks"


def test_a_line_may_call_the_user_s_own_tool() -> None:
    """`name(key=value)` is a call where the user has that tool, and text elsewhere; its result is followed up."""
    tool = ToolSpec(name="set_wifi", requestor="user")
    talk = opened(says=["No network", "set_wifi(on=True)"], tools=[tool])
    talk.messages.append(Message(role="assistant", content="Please turn the wifi on."))

    reply = talk._ask()

    assert reply.message is not None
    assert [(call.name, call.arguments, call.requestor) for call in reply.tool_calls] == [
        ("set_wifi", {"on": True}, "user")
    ]
    talk.messages += [reply.message, Message(role="tool", requestor="user", content="Wifi is on.")]
    assert talk._reply() == "Wifi is on."


def test_a_history_that_it_did_not_make_is_continued() -> None:
    """Lines already said are recognised by their text."""
    view = View(says=["a line", "yes", "last"], messages=[
        Message(role="user", content="a line"), Message(role="assistant", content="Really?"),
        Message(role="user", content="yes"), Message(role="assistant", content="Done."),
    ])  # fmt: skip

    reply = asyncio.run(ScriptedUser().reply(view))

    assert reply.text == "last"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=4), st.text(max_size=200), st.text(max_size=80), st.text())
def test_any_text_is_answered_and_twice_the_same_way(agent: list[str], known: str, goal: str, line: str) -> None:
    """No text raises, and the same conversation gives the same replies."""

    def play() -> list[UserTurn]:
        user, messages, replies = ScriptedUser(), list[Message](), list[UserTurn]()
        for text in ["", *agent]:
            messages += [Message(role="assistant", content=text)] if messages else []
            reply = asyncio.run(user.reply(View(says=[line], goal=goal, known_info=known, unknown=[goal],
                                                knows={known: goal}, messages=messages)))  # fmt: skip
            replies.append(reply)
            if reply.message is None:
                break
            messages.append(reply.message)
        return replies

    assert play() == play()


@pytest.mark.parametrize(
    "unit", ["a", "?", "yes ", "- your email\n", "1", "#", "You are A. ", "\ud800", "or ", "_a1", "a@", "((("]
)
def test_texts_of_five_megabytes_are_answered_at_once(unit: str) -> None:
    """Only both ends of a huge text are read, so that time stays bounded."""
    text = unit * (5_000_000 // len(unit))
    view = View(says=["hi", text], goal=text, known_info=text, unknown=[text], knows={"a": text},
                messages=[Message(role="user", content="hi"), Message(role="assistant", content=text)])  # fmt: skip

    reply = asyncio.run(asyncio.wait_for(ScriptedUser().reply(view), 20))

    assert reply.text or reply.stop


@pytest.mark.parametrize(
    ("line", "answer"), [("Hello", "Hi! How can I help you?"), ("Bonjour", "Bonjour ! Comment puis-je vous aider ?")]
)
def test_a_greeting_is_answered_by_a_greeting(line: str, answer: str) -> None:
    """A user that only wanted to say hello is content with an offer of help."""
    assert opened(says=[line]).close(answer).reason == "done"


def test_thanks_in_french_ask_for_nothing() -> None:
    """*Merci de nous avoir contactés* is a goodbye, not an instruction."""
    talk = opened(says=["Où est mon colis W12 ?"])

    assert talk.close("Il arrive lundi. Merci de nous avoir contactés.").blame is None


def test_what_was_said_before_the_run_is_no_line_of_the_script() -> None:
    """A conversation that begins in the middle leaves all lines to be said."""
    history = [Message(role="user", content="Hi"), Message(role="assistant", content="Hello, what can I do?")]
    talk = Talk(says=["Where is my parcel?"], begun=2)
    talk.messages += history

    assert talk.open() == "Where is my parcel?"


@pytest.mark.parametrize("question", ["Que souhaitez-vous que je fasse ?", "Qu'est-ce que je peux faire de W11 ?"])
def test_an_open_question_in_french_is_not_answered_by_yes(question: str) -> None:
    """*Que …* and *qu'est-ce que …* ask for more than a yes."""
    talk = opened(says=["Bonjour, c'est au sujet de W11.", "Annulez-la."])

    assert talk.hear(question) == "Annulez-la."
