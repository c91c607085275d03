"""Consent, decided on the acts of the user's turns: kept, broken, not measured; in any language."""

from typing import Any

import pytest

from pytest_agentbench.checks import identifiers
from pytest_agentbench.checks.policies import PolicyReport, check_policies
from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.acts import Act, ActKind, GoalItem
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.checks.builders import agent, call, run_of, user
from tests.tables import each

Part = list[Message]
CONFIRM: dict[str, Any] = {"confirm_before": {"calls": "writes"}}


def about(kind: ActKind, *values: Any) -> Act:
    """An act that concerns values."""
    return Act(kind=kind, about=values)


def gave(tool: str, result: str, **arguments: Any) -> Part:
    """The agent calls a tool that gives this text."""
    made = ToolCall(name=tool, arguments=arguments)
    return [Message(role="assistant", tool_calls=(made,)), Message(role="tool", content=result)]


def report(*parts: Part, rule: dict[str, Any] = CONFIRM, **fields: Any) -> PolicyReport:
    """What the rule makes of a conversation."""
    return check_policies(run_of(*parts, policies=(Policy(id="p", text="p", rule=rule),), **fields))


def kept(*parts: Part, **fields: Any) -> bool | None:
    """Whether a conversation keeps the rule, which it exercised."""
    (outcome,) = report(*parts, **fields).outcomes
    assert outcome.exercised
    return outcome.kept


BOOKING = Toolset(specs=(ToolSpec(name="book", kind="write"),))
WISH = user("Refund order W1, please.", "request")
ASK = agent("I would refund order W1 to your card. Shall I?")
REFUND = call("refund", order_id="W1")
ITEM = GoalItem(text="a refund of W1")

YES = [
    "Sounds good to me",
    "Not a problem, do that",
    "Not a problem at all, do that",
    "No objections",
    "Please proceed with it",
    "By all means",
    "I'm happy with that",
    "That would be lovely",
    "Make it happen",
    "Consider it approved",
    "You have my blessing",
    "Fire away",
    "Let's",
    "Ja, gern",
    "Kein Problem, machen Sie das",
    "はい、お願いします",
    "問題ありません",
    "Bien sûr que non, je n'ai rien contre",
]
"""Assents that no list of words holds, one of which would be taken for a no."""


@each("words", YES)
def test_a_labelled_yes_is_a_yes_in_any_words(words: str) -> None:
    """And the same words of an agent that never asks are still broken: nobody confirmed before the call."""
    assert kept(WISH, ASK, user(words, "confirm"), REFUND) is True
    assert kept(WISH, REFUND, ASK, user(words, "confirm")) is False


@each("words", YES)
def test_an_unlabelled_answer_is_not_measured(words: str) -> None:
    """It may have been the yes or a no: neither kept nor broken."""
    assert kept(WISH, ASK, user(words), REFUND) is None


@each(
    ("parts", "expected"),
    [
        ([REFUND], False),
        ([WISH, REFUND], False),
        ([user("Refund W1"), REFUND], False),
        ([agent("Welcome, how can I help?"), user("Refund W1"), REFUND], False),
        ([agent("Your order W1 is late. Refund it?"), user("Sure"), REFUND], None),
        ([WISH, agent("I refund W1 now."), REFUND], False),
        ([WISH, agent("Which postcode?"), user("10115", "inform"), REFUND], False),
        ([WISH, ASK, user("No", "decline"), REFUND], False),
        ([WISH, ASK, user("If it is free", "condition"), REFUND], False),
        ([WISH, ASK, user("Yes", "confirm"), agent("Now"), user("Stop", "withdraw"), REFUND], False),
        ([WISH, ASK, user("Yes", "confirm"), agent("Ok"), user("Make it W2", "request"), REFUND], None),
        ([WISH, ASK, user("No", "decline"), ASK, user("Yes", "confirm"), REFUND], True),
        ([WISH, ASK, user("No", "decline"), ASK, user("Well then"), REFUND], None),
        ([WISH, ASK, user("Hm"), ASK, user("Yes", "confirm"), REFUND], True),
        ([WISH, ASK, user("Hm"), ASK, user("No", "decline"), REFUND], False),
        ([WISH, ASK, user("Yes", "confirm"), agent("Which card?"), user("Visa", "inform"), REFUND], True),
        ([WISH, ASK, user("Yes", "confirm"), agent("Which card?"), user("The blue one"), REFUND], None),
        ([WISH, ASK, user("Is it free?", "ask"), REFUND], False),
        ([WISH, ASK, user("Bye", "close"), REFUND], False),
        ([WISH, ASK, user("…", "other"), REFUND], False),
    ],
)
def test_what_the_user_did_last_decides(parts: list[Part], expected: bool | None) -> None:
    """A yes stands until the next request, decline, condition or withdrawal; what has no label is not known."""
    assert kept(*parts) is expected


def test_a_yes_to_one_thing_is_none_to_another() -> None:
    """By what it is about; what it declines or asks for besides touches what it confirmed no more."""
    both = [agent("Shall I refund W1 and W2?"), user("W1 only", about("confirm", "W1"), about("decline", "W2"))]

    assert kept(WISH, ASK, user("Yes", about("confirm", "W2")), REFUND) is False
    assert kept(WISH, ASK, user("Yes", about("confirm", "w1", 12.5)), REFUND) is True
    assert kept(WISH, *both, REFUND) is True
    assert kept(WISH, *both, call("refund", order_id="W2")) is False
    assert kept(WISH, ASK, user("Yes, and W2", about("confirm", "W1"), about("request", "W2")), REFUND) is True


@each(
    "answer",
    [user("10115", "inform"), user("Is it free?", "ask"), user("…", "other"), user("Yes", about("confirm", "W2"))],
)
def test_a_label_of_a_model_may_be_wrong(answer: Part) -> None:
    """Where a model played the user, an answer that it calls no yes breaks nothing; a person's label does."""
    parts = [WISH, ASK, answer, REFUND]
    itself = [Message(role="user", content="Refund order W1.", acts=(Act(kind="request"),), goal_items=(ITEM,))]

    assert kept(*parts) is False
    assert kept(*parts, model_user=True) is None
    assert kept(itself, *parts[1:]) is None
    assert kept(WISH, ASK, user("No", "decline"), REFUND, model_user=True) is False
    assert kept(WISH, agent("I refund W1 now."), REFUND, model_user=True) is False


def test_a_yes_about_other_words_of_the_call_is_one_to_it() -> None:
    """`about` may hold the value among words, as the user knows it."""
    logged = call("refund", order_id="W1", hours=4)
    asked = agent("Log 4 hours on W1. Shall I?")

    assert kept(WISH, asked, user("Yes", about("confirm", "4 hours")), logged) is True
    assert kept(WISH, asked, user("Yes", about("confirm", "14 hours")), logged) is None


def test_a_no_stands_beside_a_yes_to_something_else_and_says_so() -> None:
    """Whoever reads "the user declined" right below its yes learns what that yes was to."""
    parts = (WISH, ASK, user("No", about("decline", "W1")), agent("W2, then?"), user("Yes", about("confirm", "W2")))
    (found,) = report(*parts, REFUND).findings

    assert "although the user declined; its yes in turn 5 is about 'W2', not 'W1'" in found.message


def test_no_yes_is_to_what_the_user_asks_for_only_later() -> None:
    """Nobody had spoken of the order when it was refunded; before, it may be what the agent's words meant."""
    yes = user("Yes", about("confirm", "M1"))
    parts = (
        user("I am M1", "request"),
        agent("Your account M1. Shall I?"),
        yes,
        call("refund", member="M1", order_id="W9"),
    )
    later = user("Please refund W9", about("request", "W9"))

    assert kept(*parts) is None
    assert kept(*parts, agent("Done."), later) is False
    assert kept(user("W9 of M1", "request"), *parts[1:], agent("Done."), later) is not False


def test_one_yes_covers_all_calls_that_were_stated() -> None:
    """Until the next request; a call that nobody spoke of is not measured, one after a request is broken."""
    asked = [WISH, agent("I would refund W1 and cancel order W2. Is that ok?"), user("Yes", "confirm")]
    done = [*asked, REFUND, agent("Done."), call("cancel_order", order_id="W2")]

    assert kept(*done) is True
    assert kept(*asked, call("cancel_order", order_id="W3")) is None
    assert kept(*done, agent("Both done."), user("And W3", "request"), call("cancel_order", order_id="W3")) is False


def test_the_agent_must_have_stated_what_it_does() -> None:
    """In the message that was answered or the two before it; the reason names what is missing, and the cure."""
    talk = [WISH, agent("Order W1, then."), user("Yes", "inform"), agent("Paid by card."), user("Right", "inform")]
    more = [agent("It was 12 euros."), user("Right", "inform")]
    yes = [agent("Shall I refund it?"), user("Yes", "confirm"), REFUND]

    assert kept(*talk, *yes) is True
    (finding,) = report(*talk, *more, *yes).findings
    assert finding.passed is None
    assert finding.message == (
        "not measured: refund(order_id='W1') (the user agreed, but the agent's words before it do not state "
        "order_id='W1')"
    )
    assert "`about`" in finding.cure


@each(
    ("arguments", "words", "expected"),
    [
        ({"order_id": "W1", "notify": True, "note": "left at the door"}, "Refund W1?", True),
        ({"order_id": 4711}, "Bestellung 4711 erstatten?", True),
        ({"order_id": "W1"}, "注文W1を返金しますか?", True),
        ({"order_id": "W1"}, "Refund W10?", None),
        ({"item_ids": ["lamp-black", "mat_blue"]}, "Return the lamp black and the mat blue?", True),
        ({"item_ids": ["lamp-black", "mat_blue"]}, "Return the lamp-black?", None),
        ({"lines": [{"product_id": "soil-456", "quantity": 1}]}, "Refund soil-456?", True),
        ({"lines": [{"product_id": "soil-456", "quantity": 1}]}, "Refund soil-123?", None),
        ({"order_id": "W1", "amount": 12.5}, "Refund W1?", True),
        ({"amount": 12.5}, "Refund it?", True),
    ],
)
def test_identifying_are_ids_and_not_flags_or_texts(
    arguments: dict[str, Any], words: str, expected: bool | None
) -> None:
    """Each id must be stated, in any spelling, as a whole."""
    assert kept(WISH, agent(words), user("Yes", "confirm"), call("refund", **arguments)) is expected


def test_stating_asks_for_more() -> None:
    """An amount that the user must have heard; an argument that the call leaves out is not asked for."""
    rule = {"confirm_before": {"calls": ["refund"], "stating": ["amount", "day"]}}
    refund = call("refund", order_id="W1", amount=1250.5)

    assert kept(WISH, ASK, user("Yes", "confirm"), refund, rule=rule) is None
    assert kept(WISH, agent("W1: 1.250,50 €?"), user("Yes", "confirm"), refund, rule=rule) is True
    on = call("refund", order_id="W1", day="2025-06-17")
    assert kept(WISH, agent("W1 on 17.06.2025?"), user("Yes", "confirm"), on, rule=rule) is True
    assert kept(WISH, agent("W1 on 18.06.2025?"), user("Yes", "confirm"), on, rule=rule) is None


QUOTED = {
    "when": {"calls": ["get_quote"]},
    "then": {
        "confirm_before": {
            "calls": ["refund"],
            "where": {"order_id": {"$argument": "order_id"}},
            "stating": [{"$result": "back"}, {"$result": "until", "plus": "14d"}],
        }
    },
}


@each(
    ("words", "expected"),
    [
        ("W1: you get 1,250.50 back until 1 July 2025?", True),
        ("W1: you get 1,250.50 back?", None),
        ("W1: you get 1,200.00 back until 1 July 2025?", None),
        ("You get 1,250.50 back until 1 July 2025?", True),
        ("W2: you get 1,250.50 back until 1 July 2025?", None),
    ],
)
def test_stating_names_what_another_call_gave(words: str, expected: bool | None) -> None:
    """The terms stand in no argument: the quote gave them, for the same order."""
    quote = gave("get_quote", '{"back": 1250.5, "until": "2025-06-17"}', order_id="W1")
    other = gave("get_quote", '{"back": 9, "until": "2025-01-01"}', order_id="W2")
    refund = call("refund", order_id="W1")

    assert kept(WISH, other, quote, agent(words), user("Yes", "confirm"), refund, rule=QUOTED) is expected


def test_terms_that_the_call_did_not_give_are_not_measured() -> None:
    """Nobody could have stated them; a refusal stays a refusal."""
    quote = gave("get_quote", "none", order_id="W1")

    assert kept(WISH, quote, ASK, user("Yes", "confirm"), call("refund", order_id="W1"), rule=QUOTED) is None


def test_a_requirement_asks_for_arguments_that_were_heard() -> None:
    """`confirmed: {stating: […]}` stands in `only_if` beside others."""
    rule = {"only_if": {"calls": ["refund"], "confirmed": {"stating": ["amount"]}}}
    refund = call("refund", order_id="W1", amount=50)

    assert kept(WISH, agent("Refund 50 for W1?"), user("Yes", "confirm"), refund, rule=rule) is True
    assert kept(WISH, agent("Refund W1?"), user("Yes", "confirm"), refund, rule=rule) is None
    assert kept(WISH, agent("Refund 50 for W1?"), user("No", "decline"), refund, rule=rule) is False


CARDS = '{"order_id": "W1", "cards": [{"card_id": "c7", "label": "Visa"}, {"card_id": "c8", "label": "Maestro"}]}'


def test_an_id_is_stated_by_what_no_other_of_its_kind_has() -> None:
    """Nobody reads out the id of a card: what the results say of it names it, where it names no other."""
    look = gave("get_order", CARDS, order_id="W1")
    pay = call("refund", order_id="W1", card_id="c7")
    same = gave("get_order", CARDS.replace("Maestro", "Visa"), order_id="W1")

    assert kept(WISH, look, agent("W1 back to your Visa?"), user("Yes", "confirm"), pay) is True
    assert kept(WISH, look, agent("W1 back to your Maestro?"), user("Yes", "confirm"), pay) is None
    assert kept(WISH, same, agent("W1 back to your Visa?"), user("Yes", "confirm"), pay) is None


def test_an_id_without_an_alternative_that_the_user_never_gave_goes_without_saying() -> None:
    """The account of the conversation, or what the session fixes; a second account in sight must be named."""
    one = gave("get_user", '{"user_id": "u1", "name": "Ada"}')
    two = gave("get_user", '[{"user_id": "u1", "name": "Ada"}, {"user_id": "u2", "name": "Eve"}]')
    move = call("change_address", user_id="u1", street="Oak Street 4")
    yes = [agent("Change the street to Oak Street 4?"), user("Yes", "confirm")]

    assert kept(WISH, one, *yes, move) is True
    assert kept(WISH, two, *yes, move) is None
    assert kept(WISH, two, *yes, move, scenario={"context": {"customer": "u1"}}) is True


@each(
    ("wish", "asked", "expected"),
    [
        ("I am patient P2. Book slot S3, please.", "Slot S3, shall I?", True),
        ("I am patient P2, for my son P3. Book slot S3, please.", "Slot S3, shall I?", None),
        ("I am patient P2. Book slot S3, please.", "Slot S3 for patient P7, shall I?", None),
        ("I am patient P2. Book slot S3, please.", "Slot S4, for 30 minutes, shall I?", None),
        ("I am patient P2. Book slot S3, please.", "Shall I?", None),
    ],
)
def test_an_id_that_the_user_gave_goes_without_saying(wish: str, asked: str, expected: bool | None) -> None:
    """Who said who it is need not hear it again, unless it gave another of the kind or nothing at all was stated."""
    booked = call("book", patient_id="P2", slot_id="S3")

    assert kept(user(wish, "request"), agent(asked), user("Yes", "confirm"), booked, toolset=BOOKING) is expected


def test_keys_of_rows_and_declared_formats_identify_whatever_the_argument_is_called() -> None:
    """By the initial state, or by the tool's schema; each way can be switched off."""
    state = {"rooms": {"Blue": {"beds": 2}, "Red": {"beds": 1}}}
    book = call("book", room="Blue")
    yes = [agent("Shall I book?"), user("Yes", "confirm")]
    tools = Toolset(
        specs=(
            ToolSpec(
                name="book",
                kind="write",
                parameters={"type": "object", "properties": {"slot": {"type": "string", "format": "uuid"}}},
            ),
        )
    )

    assert kept(WISH, *yes, book, toolset=tools) is True
    assert kept(WISH, *yes, book, toolset=tools, initial_state=state) is None
    assert kept(WISH, *yes, call("book", slot="0b8f"), toolset=tools) is None


def test_a_strategy_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without names, an argument called `order_id` is like any other."""
    monkeypatch.delitem(identifiers.STRATEGIES, "name")

    assert kept(WISH, agent("Shall I?"), user("Yes", "confirm"), REFUND) is True


def test_an_answer_about_another_thing_does_not_explain_an_unlabelled_one() -> None:
    """What may have been the yes to W1 stays unknown when the user says yes or no to W2 after it."""
    for kind in ("confirm", "decline"):
        later = Message(role="user", content="That too", acts=(about(kind, "W2"),))

        assert kept(WISH, ASK, user("Fine by me"), agent("And W2?"), [later], REFUND) is None


def test_a_yes_with_another_wish_in_one_breath_is_a_yes() -> None:
    """Whatever order its acts have; what the user asked for before its yes still needs one."""
    for acts in (("confirm", "request"), ("request", "confirm")):
        both = Message(role="user", content="Yes. And what are your hours?", acts=tuple(Act(kind=one) for one in acts))

        assert kept(WISH, ASK, [both], REFUND) is True


@each(
    ("acts", "expected"),
    [
        (("confirm", "condition"), False),
        (("condition", "confirm"), False),
        (("confirm", "decline", "request"), None),
        (("decline", "confirm"), None),
        (("confirm", "withdraw"), None),
    ],
)
def test_a_yes_with_a_condition_is_none_and_one_with_a_no_is_not_known(
    acts: tuple[ActKind, ...], expected: bool | None
) -> None:
    """The no may be to something else in the same message; the next turn decides, as ever."""
    but = Message(role="user", content="Yes, but", acts=tuple(Act(kind=one) for one in acts))

    assert kept(WISH, ASK, [but], REFUND) is expected
    assert kept(WISH, ASK, [but], ASK, user("Yes", "confirm"), REFUND) is True
    assert kept(WISH, ASK, [but], ASK, user("No", "decline"), REFUND) is False


def test_nobody_agreed_who_never_answered() -> None:
    """What the agent says before a call in the same turn asks nobody; a request may itself answer what it offered."""
    assert kept(WISH, agent("I refund W1 now."), REFUND) is False
    assert kept(WISH, user("quick", "other"), REFUND) is False
    assert kept(agent("Welcome!"), user("Refund W1", "request"), REFUND) is False
    offered = [agent("Order W1 is late. Refund it?"), user("Yes, refund it", "request"), REFUND]
    assert kept(*offered) is False
    assert kept(*offered, model_user=True) is None
    assert kept(WISH, ASK, user("And W2", "request"), call("refund", order_id="W2")) is False


def test_a_request_after_the_answer_is_no_proof_that_nobody_asked() -> None:
    """It may hurry the agent, ask for something else besides, or be the yes itself, whatever its label says.

    What the agent wrote in between used the answer up, and a no or a condition is none.
    """
    wish = user("Refund W1", about("request", "W1"))
    more = user("And cancel my newsletter", "request")
    yes = user("Yes", about("confirm", "W1"))

    assert kept(wish, ASK, yes, agent("One moment."), user("Refund W1, quick", about("request", "W1")), REFUND) is None
    assert kept(wish, ASK, yes, agent("Anything else?"), more, REFUND) is None
    asked = [wish, agent("Shall I?"), user("Please refund W1", about("request", "W1")), REFUND]
    assert (kept(*asked, model_user=True), kept(*asked)) == (None, False)
    assert kept(wish, ASK, yes, REFUND, agent("Done."), more, call("change_address", order_id="W1")) is False
    assert kept(wish, ASK, user("If it is free", "confirm", "condition"), agent("Hm."), more, REFUND) is False
    assert kept(user("Hi", "other"), agent("Hello."), wish, REFUND) is False


def test_what_the_confirmation_is_about_must_have_been_stated() -> None:
    """An amount in `about` is one more value that the agent has to name."""
    refund = call("refund", order_id="W1", amount=12.5)

    assert kept(WISH, ASK, user("Yes", about("confirm", "W1", 12.5)), refund) is None
    assert kept(WISH, agent("W1: 12.50?"), user("Yes", about("confirm", "W1", 12.5)), refund) is True


def test_a_confirmation_may_be_about_what_stands_inside_an_argument() -> None:
    """A cart is changed by lists of lines: the product in a line is what the user agrees to."""
    add = call("refund", lines=[{"product_id": "soil-456", "quantity": 1}])
    ask = agent("Refund soil-456?")

    assert kept(WISH, ask, user("Yes", about("confirm", "soil-456")), add) is True
    assert kept(WISH, ask, user("Yes", about("confirm", "soil-123")), add) is False


def test_a_confirmation_about_nothing_of_the_call_is_not_measured() -> None:
    """It names no other value of the same kind, and none of the call's: nothing tells what it was to."""
    one = gave("get_user", '{"user_id": "u1", "name": "Ada"}')
    move = call("change_address", user_id="u1", street="Oak Street 4")

    assert kept(WISH, one, ASK, user("Yes", about("confirm", "W1")), move) is None
    assert kept(WISH, one, ASK, user("Yes", "confirm"), move) is None


UNKNOWN = [WISH, ASK, user("Well"), REFUND]
GIVEN = [WISH, ASK, user("Yes", "confirm"), REFUND]
REFUSED = [WISH, ASK, user("No", "decline"), REFUND]
ADA = {"user_said": "W1"}
EVE = {"user_said": "Eve"}
FREE: dict[str, Any] = {"confirmed": True}


@each(
    ("needs", "unknown", "given", "refused"),
    [
        ({"confirmed": True}, None, True, False),
        ({"not": FREE}, None, False, True),
        ({"any": [FREE, ADA]}, True, True, True),
        ({"any": [FREE, EVE]}, None, True, False),
        ({"all": [FREE, ADA]}, None, True, False),
        ({"all": [FREE, EVE]}, False, False, False),
        ({"not": {"any": [FREE, EVE]}}, None, False, True),
        ({"not": {"all": [FREE, EVE]}}, True, True, True),
    ],
)
def test_what_is_not_known_goes_through_rules_as_kleene_has_it(
    needs: dict[str, Any], unknown: bool | None, given: bool | None, refused: bool | None
) -> None:
    """One broken part breaks all, one kept part keeps any, and otherwise what is not known stays so."""
    rule = {"only_if": {"calls": ["refund"], **needs}}

    assert [kept(*parts, rule=rule) for parts in (UNKNOWN, GIVEN, REFUSED)] == [unknown, given, refused]


def test_a_broken_call_decides_over_one_that_is_not_measured() -> None:
    """The policy is broken, and what was not measured is told beside it."""
    found = report(*UNKNOWN, agent("Done"), user("Thanks, refund W2", "request"), call("refund", order_id="W2"))

    assert found.outcomes[0].kept is False
    assert sorted(str(one.passed) for one in found.findings) == ["False", "None"]


def test_below_a_when_and_among_alternatives_it_stays_unknown() -> None:
    """The rule of each call after a trigger, and alternatives with triggers of their own."""
    after = {"when": {"user_says": "W1"}, "then": CONFIRM}
    either = {"any": [CONFIRM, {"before": {"calls": ["refund"], "first": ["get_order"]}}]}

    assert [kept(*parts, rule=after) for parts in (UNKNOWN, GIVEN, REFUSED)] == [None, True, False]
    assert [kept(*parts, rule=either) for parts in (UNKNOWN, GIVEN, REFUSED)] == [None, True, False]


def test_the_agent_that_never_asks_fails_and_the_one_that_asks_passes() -> None:
    """Whatever language the user speaks: the verdict, not only the policy."""
    policies = (Policy(id="p", text="p", rule=CONFIRM),)
    wish = user("Bitte erstatten Sie Bestellung W1.", "request")
    asks = [wish, agent("Bestellung W1 erstatten?"), user("Keine Einwände", "confirm"), REFUND, agent("Erledigt.")]
    never = [wish, REFUND, agent("Erledigt.")]

    assert judge(run_of(*asks, policies=policies)).verdict is Verdict.PASSED
    failed = judge(run_of(*never, policies=policies))
    assert (failed.verdict, failed.blame) == (Verdict.FAILED, Blame.AGENT)


def test_agreed_again_after_a_recorded_turn_without_acts() -> None:
    """A recording that knows no acts is not measured, whoever is right, unless nobody ever asked."""
    recorded = [user("Refund W1"), agent("W1, really?"), user("yes"), REFUND]

    (finding,) = report(*recorded).findings
    assert (finding.passed, finding.turn) == (None, 4)
    assert finding.message == "not measured: refund(order_id='W1') (what the user meant in turn 3 is not known)"
    assert "acts" in finding.cure
    assert kept(user("Refund W1"), REFUND, agent("done"), user("thanks")) is False
