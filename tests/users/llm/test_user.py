"""The user that a model plays: what it says and means, how it leaves, what is asked again, what is a fault."""

import asyncio
import json
from typing import Any

import pytest

from pytest_agentbench.core.acts import Act, GoalItem
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.conversation import Stop, UserFault, UserTurn, View
from pytest_agentbench.core.errors import ProviderError
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message, asking
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.llm.reply import ChatReply
from pytest_agentbench.users.llm.user import LlmUser
from pytest_agentbench.users.modifiers.applying import Behaviour, Swap
from tests.tables import each
from tests.users.llm.chat import LAMP, PlayedChat, calling, saying, turn

STATUS = ToolSpec(name="check_status", description="Shows the status bar.", requestor="user")
OPEN = [{"item": "refund for the lamp", "done": False}]
DONE = [{"item": "refund for the lamp", "done": True}]


def view_of(*said: str, **fields: Any) -> View:
    """Give what the user knows in a conversation that alternates, the user first."""
    roles = ("user", "assistant")
    messages = tuple(Message.model_validate({"role": roles[at % 2], "content": text}) for at, text in enumerate(said))
    return View.model_validate({**LAMP, "messages": messages, **fields})


def reply(user: LlmUser, *said: str, **fields: Any) -> UserTurn:
    """Let the user reply to a conversation that alternates, the user first."""
    return asyncio.run(user.reply(view_of(*said, **fields)))


def test_a_turn_says_what_it_means() -> None:
    """Words, acts with facts, goal items; the model is asked by a schema, from an opening on."""
    given = {"kind": "inform", "facts": [{"name": "zip", "value": "75001"}]}
    chat = PlayedChat(turn("hi, lamp's broken\nwant my money back", "request", given, goal=OPEN))

    said = reply(LlmUser(chat))

    assert said == UserTurn(
        text="hi, lamp's broken\nwant my money back",
        acts=(Act(kind="request"), Act(kind="inform", facts={"zip": "75001"})),
        goal_items=(GoalItem(text="refund for the lamp"),),
    )
    assert [message["role"] for message in chat.asked[0]] == ["system", "user"]
    assert chat.forms[0] is not None
    assert chat.forms[0]["json_schema"]["name"] == "TypedTurn"


@each(("stop", "text"), [("done", "no that's all"), ("done", ""), ("handed over", "ok")])
def test_a_stop_leaves(stop: str, text: str) -> None:
    """Its words are said first; without any it just leaves. Who is handed over leaves its goal open."""
    goal = DONE if stop == "done" else OPEN

    said = reply(LlmUser(PlayedChat(turn(text, "close", stop=stop, goal=goal))), "Return it", "Done.")

    assert (said.text, said.stop) == (text, Stop(reason=stop))


def test_a_scenario_without_an_answer_is_blamed_on_the_user() -> None:
    """Out of scope closes with blame user and says what could not be answered."""
    chat = PlayedChat(turn("", "other", stop="out of scope", goal=OPEN))

    said = reply(LlmUser(chat), "Return it", "What is the serial number?")

    assert said.stop is not None
    assert said.stop.blame is Blame.USER
    assert "What is the serial number?" in said.stop.reason


def test_facts_may_come_as_a_mapping() -> None:
    """Where no server holds a model to the schema it writes them so."""
    act = {"kind": "inform", "facts": {"zip": 75001}}

    (meant,) = reply(LlmUser(PlayedChat(turn("75001", act))), "Hi", "Zip?").acts or ()

    assert meant == Act(kind="inform", about=("75001",), facts={"zip": 75001})


def test_a_turn_without_acts_is_unlabelled() -> None:
    """Whoever names none has not said what it meant; a turn that only leaves meant nothing else."""
    said = reply(LlmUser(PlayedChat(turn("hm, well"))), "Hi", "Zip?")

    assert (said.text, said.acts) == ("hm, well", None)


# what an answer is about


ASKS = "Refund 12.50 for order W1001 of Ada Roy, or for W2002?"
KNOWS: dict[str, Any] = {"name": "Ada Roy", "order_id": "W1001", "zip": "75001"}


@each(
    ("act", "about"),
    [
        ("confirm", (12.5, "Ada Roy", "W1001", "W2002")),
        ("condition", (12.5, "Ada Roy", "W1001", "W2002")),
        ("request", ("75001",)),
        ("close", ("75001",)),
        ({"kind": "confirm", "facts": [{"name": "order", "value": "W1001"}]}, ("W1001",)),
        ({"kind": "decline", "facts": [{"name": "order", "value": "w2002"}]}, ("W2002",)),
    ],
)
def test_code_says_what_an_act_is_about(act: str | dict[str, Any], about: tuple[Any, ...]) -> None:
    """A yes or no: what is known of the message answered, and ids of its kind; others: what the own words name."""
    user = LlmUser(PlayedChat(turn("ok, 75001", act)), wants=(12.5,))

    said = reply(user, "Refund it", ASKS, knows=KNOWS)

    assert said.acts is not None
    assert said.acts[0].about == about


def test_what_an_act_is_about_needs_no_language() -> None:
    """In any script: what counts is the values."""
    user = LlmUser(PlayedChat(turn("はい、お願いします", "confirm")), language="ja")

    said = reply(user, "返品したいです", "注文W1001を返金しますか?")

    assert said.acts == (Act(kind="confirm", about=("W1001",)),)


# answers that are no typed turn


def test_an_answer_in_prose_is_repaired_once() -> None:
    """The model is shown its answer and what is wanted."""
    chat = PlayedChat("I want to return a lamp.", turn("I want to return a lamp.", "request"))

    said = reply(LlmUser(chat))

    assert said == UserTurn(text="I want to return a lamp.", acts=(Act(kind="request"),))
    assert {"role": "assistant", "content": "I want to return a lamp."} in chat.asked[1]


@each("second", ["Again: a lamp.", '{"text": "Again: a lamp.", "acts": [{"kind": "thank"}]}'])
def test_prose_twice_is_said_without_a_label(second: str) -> None:
    """Nobody reads off the words what they mean, nor that they leave."""
    said = reply(LlmUser(PlayedChat("A lamp. Bye.", second)), "Return it", "Done.")

    assert said == UserTurn(text="Again: a lamp.")
    assert said.acts is None


def test_an_act_that_there_is_not_is_repaired() -> None:
    """The model is told which there are."""
    chat = PlayedChat(turn("Thanks", "thank"), turn("Thanks", "other"))

    assert reply(LlmUser(chat), "Return it", "Done.").acts == (Act(kind="other"),)
    assert "'withdraw'" in chat.asked[1][-1]["content"]


CUT_OFF = ChatReply(content="I wan", finish_reason="length")
REFUSED = ChatReply(content=None, refusal="I cannot do that.")
FILTERED = ChatReply(content="", finish_reason="content_filter")
EMPTY = turn("")
LONG = turn("x" * 5_000)


@each("unusable", [CUT_OFF, REFUSED, FILTERED, EMPTY, LONG], ids=range(5))
def test_an_unusable_answer_is_given_again(unusable: ChatReply | str) -> None:
    """Refused, cut off, filtered, empty or too long: asked once more."""
    chat = PlayedChat(unusable, turn("I want to return a lamp.", "request"))

    assert reply(LlmUser(chat)).text == "I want to return a lamp."
    assert all(message.get("content") for message in chat.asked[1])


@each("unusable", [REFUSED, FILTERED, EMPTY, LONG], ids=range(4))
def test_unusable_twice_closes_with_blame_user(unusable: ChatReply | str) -> None:
    """Nobody can go on without a turn, and it is not the agent's fault."""
    said = reply(LlmUser(PlayedChat(unusable, unusable)))

    assert said.stop is not None
    assert said.stop.blame is Blame.USER
    assert said.stop.reason.startswith("no usable reply of the simulated user: ")


def test_nothing_at_all_is_asked_for_twice() -> None:
    """The repair of the form was the second chance."""
    chat = PlayedChat("", '{"acts": []}')

    stop = reply(LlmUser(chat)).stop

    assert stop is not None
    assert stop.blame is Blame.USER
    assert len(chat.asked) == 2


@each("tools", [(), (STATUS,)], ids=["form", "tools"])
def test_cut_off_twice_names_the_key_to_raise(tools: tuple[ToolSpec, ...]) -> None:
    """The limit of tokens is nobody's who speaks: the provider is to blame, and the message says what to set."""
    with pytest.raises(ProviderError, match="`max_tokens`"):
        reply(LlmUser(PlayedChat(CUT_OFF, CUT_OFF)), tools=tools)


def test_an_answer_without_end_is_not_sent_back_whole() -> None:
    """Megabytes are shortened before the model is asked again."""
    chat = PlayedChat("x" * 5_000_000, turn("Yes, please.", "confirm"))

    reply(LlmUser(chat), "Return it", "Which lamp?")

    assert sum(len(message["content"]) for message in chat.asked[1]) < 50_000


# users with tools of their own


def test_a_user_with_tools_speaks_by_one() -> None:
    """Its tools go to the model with `say`, whose arguments are the typed turn; no form is asked for beside them."""
    chat = PlayedChat(saying("no bars at all", "inform", goal=OPEN))

    said = reply(LlmUser(chat), "No network", "What does it say?", tools=(STATUS,))

    assert said == UserTurn(
        text="no bars at all", acts=(Act(kind="inform"),), goal_items=(GoalItem(text="refund for the lamp"),)
    )
    assert chat.tools[0][0] == STATUS.openai()
    assert chat.tools[0][1]["function"]["name"] == "say"
    assert set(chat.tools[0][1]["function"]["parameters"]["properties"]) >= {"text", "acts", "goal", "stop"}
    assert chat.forms == [None]
    assert "`say`" in chat.asked[0][0]["content"]


def test_tools_of_the_user_are_called() -> None:
    """A call comes back as the user's; what is said beside it is not."""
    both = ChatReply(
        content="Let me look.", calls=(*saying("one sec").calls, *calling("check_status", '{"line": 1}').calls)
    )

    said = reply(LlmUser(PlayedChat(both)), "No network", "What does it say?", tools=(STATUS,))

    assert said.text == ""
    assert [(one.name, one.arguments, one.requestor) for one in said.tool_calls] == [
        ("check_status", {"line": 1}, "user")
    ]


def test_what_it_said_is_a_call_in_its_history() -> None:
    """With the ids of both kinds of calls answered, and what the agent said as the next message."""
    chat = PlayedChat(calling("check_status"), saying("no bars", "inform"), saying("still none", "inform"))
    user = LlmUser(chat)
    messages: tuple[Message, ...] = (Message(role="assistant", content="What does it say?"),)

    for heard in ("no signal", "Switch it off and on."):
        said = asyncio.run(user.reply(View(goal="You have no network.", messages=messages, tools=(STATUS,))))
        assert said.message is not None
        result = [Message(role="tool", content=heard, tool_call_id=one.id, requestor="user") for one in said.tool_calls]
        messages = (*messages, said.message, *(result or [Message(role="assistant", content=heard)]))
    asyncio.run(user.reply(View(goal="You have no network.", messages=messages, tools=(STATUS,))))

    shown = [
        (one["role"], [made["function"]["name"] for made in one.get("tool_calls", ())], one.get("tool_call_id"))
        for one in chat.asked[2][1:]
    ]
    assert shown == [
        ("user", [], None),
        ("assistant", ["check_status"], None),
        ("tool", [], "call_1"),
        ("assistant", ["say"], None),
        ("tool", [], "said_3"),
        ("user", [], None),
    ]
    told = json.loads(chat.asked[2][4]["tool_calls"][0]["function"]["arguments"])
    assert (told["text"], told["acts"]) == ("no bars", [{"kind": "inform", "facts": []}])


def test_a_tool_called_say_is_the_users_own() -> None:
    """It speaks by another name then."""
    own = ToolSpec(name="say", description="Says it aloud.", requestor="user")
    chat = PlayedChat(calling("say_", turn("Hello", "other")))

    assert reply(LlmUser(chat), tools=(own,)).text == "Hello"


BAD_CALLS = [
    calling("no_such_tool"),
    calling(""),
    calling("check_status", "{no json"),
    calling("check_status", "[1]"),
    calling("say", "{no json"),
    calling("say", '{"acts": []}'),
    ChatReply(calls=(*saying("a").calls, *saying("b").calls)),
]


@each("bad", BAD_CALLS, ids=range(len(BAD_CALLS)))
def test_a_call_that_cannot_be_made_is_repaired_once(bad: ChatReply) -> None:
    """Each call is answered with the reason; the second time the user is to blame."""
    chat = PlayedChat(bad, saying("no bars", "inform"))

    assert reply(LlmUser(chat), "No network", "Well?", tools=(STATUS,)).text == "no bars"
    assert [one["role"] for one in chat.asked[1][-len(bad.calls) - 1 :]] == ["assistant", *["tool"] * len(bad.calls)]
    stopped = reply(LlmUser(PlayedChat(bad, bad)), "No network", "Well?", tools=(STATUS,)).stop
    assert stopped is not None
    assert stopped.blame is Blame.USER


def test_prose_of_a_user_with_tools_is_repaired_once_then_said() -> None:
    """As of any other user; a typed turn that stands in the text counts at once."""
    chat = PlayedChat("no bars", saying("no bars", "inform"))

    assert reply(LlmUser(chat), "No network", "Well?", tools=(STATUS,)).acts == (Act(kind="inform"),)
    assert "`say`" in chat.asked[1][-1]["content"]
    assert reply(LlmUser(PlayedChat("no bars", "no bars")), "Hi", "Well?", tools=(STATUS,)) == UserTurn(text="no bars")
    written = PlayedChat(turn("no bars", "inform"))
    assert reply(LlmUser(written), "Hi", "Well?", tools=(STATUS,)).acts == (Act(kind="inform"),)


# faults


def test_a_turn_at_fault_is_given_again_with_the_reason() -> None:
    """The model sees what it gave and why that was not sent; a good second turn leaves no fault."""
    chat = PlayedChat(turn("It is W99887.", "inform"), turn("dunno, the lamp one", "inform"))
    user = LlmUser(chat)

    said = reply(user, "Return it", "Which order?")

    assert said.text == "dunno, the lamp one"
    assert user.faults == []
    assert json.loads(chat.asked[1][-2]["content"])["text"] == "It is W99887."
    assert "w99887" in chat.asked[1][-1]["content"]


def test_a_fault_that_stays_is_kept_and_said() -> None:
    """The conversation goes on with the second turn, and the fault names rule, reason and turn."""
    user = LlmUser(PlayedChat(turn("It is W99887.", "inform"), turn("Sorry, W99886.", "inform")))

    said = reply(user, "Return it", "Which order?")

    assert said.text == "Sorry, W99886."
    assert [(type(fault), fault.rule, fault.turn) for fault in user.faults] == [(UserFault, "invention", 3)]


def test_an_early_stop_that_stays_closes_with_a_fault() -> None:
    """A user that insists on leaving leaves."""
    early = turn("yes please, bye", "confirm", "close", stop="done", goal=OPEN)
    user = LlmUser(PlayedChat(early, early))

    said = reply(user, "Return it", "Shall I?")

    assert said.stop == Stop(reason="done")
    assert [(fault.rule, fault.message) for fault in user.faults] == [
        ("early_stop", "the user leaves in a turn that agrees to something")
    ]


def test_the_less_faulty_turn_counts() -> None:
    """A second turn with more faults than the first, or an unusable one, does not replace it."""
    worse = turn("###DONE### It is W99886.", "inform")
    for second in (worse, turn("")):
        user = LlmUser(PlayedChat(turn("It is W99887.", "inform"), second))

        assert reply(user, "Return it", "Which order?").text == "It is W99887."
        assert len(user.faults) == 1


# modifiers


def test_a_behaviour_that_comes_later_is_a_note_behind_the_message() -> None:
    """The prompt stays what it was, and so does all that was sent before."""
    behaviour = Behaviour(name="adds_intent", instruction="Also ask for a chair.", intent="a chair", from_message=1)
    chat = PlayedChat(*(turn(text, "request") for text in ("Return a lamp.", "And a chair.", "Thanks")))
    user = LlmUser(chat, behaviours=[behaviour])
    talk = ("Return a lamp.", "Which order?", "And a chair.", "Sure, which?")

    for length in (0, 2, 4):
        reply(user, *talk[:length])

    assert chat.asked[0][0] == chat.asked[1][0] == chat.asked[2][0]
    assert "chair" not in chat.asked[0][0]["content"]
    assert "adds_intent: Also ask for a chair." in chat.asked[1][-1]["content"]
    assert chat.asked[1][-1] == chat.asked[2][3]


def test_every_request_extends_the_one_before() -> None:
    """With approvals and behaviours that come later, with and without tools: servers cache what stays."""
    behaviour = Behaviour(name="impatient", instruction="Be short.", from_message=2)
    pay = asking([ApprovalRequest(id="1", tool="pay", arguments={"euros": 9})])
    talk = (
        Message(role="assistant", content="Hello?"),
        Message(role="user", content="pay", acts=(Act(kind="request"),), goal_items=(GoalItem(text="pay"),)),
        pay,
        Message(role="user", content="ok", acts=(Act(kind="confirm"),)),
        Message(role="assistant", content="Paid."),
    )
    for tools, given in (((), turn("ok", "other")), ((STATUS,), saying("ok", "other"))):
        chat = PlayedChat(given, given, given)
        user = LlmUser(chat, behaviours=[behaviour])
        for length in (1, 3, 5):
            asyncio.run(user.reply(View(goal="Pay 9", messages=talk[:length], tools=tools)))

        for shorter, longer in zip(chat.asked, chat.asked[1:], strict=False):
            assert longer[: len(shorter)] == shorter


def test_who_leaves_before_a_behaviour_is_due_acts_on_it_first() -> None:
    """A stop while an intent waits is asked again with the intent brought forward, once."""
    behaviour = Behaviour(name="adds_intent", instruction="Also ask for a chair.", intent="a chair", from_message=9)
    leaving = turn("", "close", stop="done", goal=DONE)
    chat = PlayedChat(leaving, turn("a chair, too", "request", shows=["adds_intent", "made_up"]), leaving)
    user = LlmUser(chat, behaviours=[behaviour])

    said = reply(user, "Return it", "Done. Anything else?")
    closed = reply(user, "Return it", "Done. Anything else?", "a chair, too", "Done, too.")

    assert (said.text, said.shows) == ("a chair, too", ("adds_intent",))
    assert closed.stop == Stop(reason="done")


def test_a_wrong_value_of_a_modifier_is_no_invention() -> None:
    """What a behaviour may say counts as known."""
    swap = Swap(label="order id", first="W5555", right="W1001")
    behaviour = Behaviour(name="wrong_value_first", instruction="First say W5555.", wrong=(swap,))
    user = LlmUser(PlayedChat(turn("W5555", "inform")), behaviours=[behaviour])

    reply(user, "Return it", "Which order?")

    assert user.faults == []


def test_a_forgotten_value_is_an_invention() -> None:
    """What a behaviour takes away is not in the prompt, and saying it all the same is a fault."""
    behaviour = Behaviour(
        name="forgets_identifier", instruction="You forgot it.", forgets=("W1001",), unknown="You forgot it"
    )
    chat = PlayedChat(*[turn("It is W1001.", "inform")] * 2)
    user = LlmUser(chat, behaviours=[behaviour])

    reply(user, "Return it", "Which order?")

    assert "W1001" not in chat.asked[0][0]["content"]
    assert [fault.rule for fault in user.faults] == ["invention"]


# approvals


PAY = ApprovalRequest(id="1", tool="pay", arguments={"euros": 9})
ASKED = (Message(role="user", content="Pay"), asking([PAY]))


@each(
    ("given", "said"),
    [
        (
            turn("yes do", "confirm", decision="approve"),
            UserTurn(text="yes do", acts=(Act(kind="confirm", about=(9,)),)),
        ),
        (turn("", decision="reject"), UserTurn(acts=(Act(kind="decline", about=(9,)),))),
        (
            turn("no! why?", "decline", "ask", decision="reject"),
            UserTurn(text="no! why?", acts=(Act(kind="decline", about=(9,)), Act(kind="ask"))),
        ),
        (turn("why nine?", "ask"), UserTurn(text="why nine?", acts=(Act(kind="ask"),))),
    ],
)
def test_a_model_decides_about_a_call_that_waits(given: str, said: UserTurn) -> None:
    """It reads what waits, and decides itself; nobody takes a decision from its words."""
    chat = PlayedChat(given)

    assert asyncio.run(LlmUser(chat).reply(view_of(messages=ASKED))) == said
    assert "- pay(euros=9)" in chat.asked[0][-1]["content"]


def test_a_decision_that_nobody_asked_for_decides_nothing() -> None:
    """Only a call that waits is approved."""
    said = reply(LlmUser(PlayedChat(turn("Yes.", "confirm", decision="approve"))), "Return it", "Shall I?")

    assert said == UserTurn(text="Yes.", acts=(Act(kind="confirm"),))


def test_what_an_ending_was_objected_to_comes_last() -> None:
    """In the agent's last message, since some servers refuse two of one role."""
    chat = PlayedChat(turn("wait, the money?", "ask"))

    reply(LlmUser(chat), "Return it", "Done.", feedback="The refund was never mentioned.")

    assert "The refund was never mentioned." in chat.asked[0][-1]["content"]
    assert [one["role"] for one in chat.asked[0][-2:]] == ["assistant", "user"]
