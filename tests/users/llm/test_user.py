"""The user that a model plays: what it says, how it closes, what is asked again and what counts as a fault."""

import asyncio

import pytest

from pytest_agentbench.core.acts import Act
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.conversation import Stop, UserFault, UserTurn, View
from pytest_agentbench.core.errors import ProviderError
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message, asking
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.llm.reply import ChatReply
from pytest_agentbench.users.llm.user import LlmUser
from pytest_agentbench.users.modifiers.behaviour import Behaviour, Swap
from tests.users.llm.chat import PlayedChat, calling
from tests.users.llm.faults import ENGLISH

STATUS = ToolSpec(name="check_status", description="Shows the status bar.", requestor="user")


def reply(user: LlmUser, *said: str, **fields: object) -> UserTurn:
    """Let the user reply to a conversation that alternates, the user first."""
    roles = ("user", "assistant")
    messages = tuple(Message.model_validate({"role": roles[at % 2], "content": text}) for at, text in enumerate(said))
    return asyncio.run(user.reply(View.model_validate({**ENGLISH, "messages": messages, **fields})))


def test_the_user_opens() -> None:
    """Without any message the model is asked for the first one."""
    chat = PlayedChat("Hi, I'd like to return a lamp.")

    said = reply(LlmUser(chat))

    assert said == UserTurn(text="Hi, I'd like to return a lamp.")
    assert [message["role"] for message in chat.asked[0]] == ["system", "user"]
    assert "first message" in chat.asked[0][1]["content"]


@pytest.mark.parametrize(
    ("written", "stop"),
    [
        ("No, that's all.\n###STOP###", UserTurn(text="No, that's all.", stop=Stop(reason="done"))),
        ("###STOP###", UserTurn(stop=Stop(reason="done"))),
    ],
)
def test_a_marker_closes_and_is_not_said(written: str, stop: UserTurn) -> None:
    """The text before the marker is said first; a marker alone closes without a word."""
    assert reply(LlmUser(PlayedChat(written)), "Return it", "Done. Is there anything else?") == stop


def test_a_hand_over_closes() -> None:
    """TRANSFER says that the agent handed over."""
    said = reply(LlmUser(PlayedChat("###TRANSFER###")), "Return it", "You are being transferred to a human agent.")

    assert said == UserTurn(stop=Stop(reason="handed over"))


def test_a_scenario_without_an_answer_is_blamed_on_the_user() -> None:
    """OUT-OF-SCOPE closes with blame user and says what could not be answered."""
    said = reply(LlmUser(PlayedChat("###OUT-OF-SCOPE###")), "Return it", "What is the serial number?")

    assert said.stop is not None
    assert said.stop.blame is Blame.USER
    assert "What is the serial number?" in said.stop.reason


def test_a_faulty_reply_is_written_again_with_the_reason() -> None:
    """The model sees what it wrote and why that was not sent; a good second reply leaves no fault."""
    chat = PlayedChat("How can I assist you today?", "I want to return a lamp.")
    user = LlmUser(chat)

    said = reply(user)

    assert said == UserTurn(text="I want to return a lamp.")
    assert user.faults == []
    assert user.regenerated == 1
    assert chat.asked[1][-2] == {"role": "assistant", "content": "How can I assist you today?"}
    assert "offers help" in chat.asked[1][-1]["content"]


def test_a_fault_that_stays_is_recorded_and_said() -> None:
    """The conversation goes on with the reply, and the fault names rule, reason and turn."""
    user = LlmUser(PlayedChat("My order is W99887.", "Sorry, it is W99886."))

    said = reply(user, "Return it", "Which order?")

    assert said == UserTurn(text="Sorry, it is W99886.")
    assert [(fault.rule, fault.turn) for fault in user.faults] == [("invention", 3)]
    assert isinstance(user.faults[0], UserFault)
    assert "W99886" in user.faults[0].message


def test_an_early_close_that_stays_closes_with_a_fault() -> None:
    """A user that insists on closing closes; the run is the user's fault."""
    user = LlmUser(PlayedChat("Yes, please do. ###STOP###", "Yes, please. ###STOP###"))

    said = reply(user, "Return it", "Shall I proceed with the return?")

    assert said.stop is not None
    assert [fault.rule for fault in user.faults] == ["early_stop"]


def test_the_less_faulty_reply_counts() -> None:
    """A second reply with more faults than the first does not replace it."""
    user = LlmUser(PlayedChat("My order is W99887.", "As an AI, I can offer W99886. How can I help you?"))

    said = reply(user, "Return it", "Which order?")

    assert said == UserTurn(text="My order is W99887.")
    assert len(user.faults) == 1


def test_a_stray_marker_never_reaches_the_agent() -> None:
    """Where a model keeps a marker inside its text, the text is said without it."""
    user = LlmUser(PlayedChat("###STOP### Thank you", "###STOP### Thank you"))

    said = reply(user, "Return it", "Done.")

    assert said == UserTurn(text="Thank you")
    assert [fault.rule for fault in user.faults] == ["leak"]


CUT_OFF = ChatReply(content="I wan", finish_reason="length")

UNUSABLE = [
    ChatReply(content=""),
    ChatReply(content=None, refusal="I cannot do that."),
    ChatReply(content="", finish_reason="content_filter"),
    ChatReply(content="x" * 5_000),
    calling("no_such_tool"),
    calling("check_status", "{no json"),
    calling("check_status", "[1]"),
]


@pytest.mark.parametrize("unusable", [*UNUSABLE, CUT_OFF], ids=range(len(UNUSABLE) + 1))
def test_an_unusable_reply_is_written_again(unusable: ChatReply) -> None:
    """Empty, refused, cut off, too long, or a call that cannot be made: asked once more."""
    chat = PlayedChat(unusable, "I want to return a lamp.")

    said = reply(LlmUser(chat), tools=(STATUS,))

    assert said == UserTurn(text="I want to return a lamp.")
    assert all(message.get("content") for message in chat.asked[1])


@pytest.mark.parametrize("unusable", UNUSABLE, ids=range(len(UNUSABLE)))
def test_unusable_twice_closes_with_blame_user(unusable: ChatReply) -> None:
    """Nobody can go on without a reply, and it is not the agent's fault."""
    said = reply(LlmUser(PlayedChat(unusable, unusable)), tools=(STATUS,))

    assert said.stop is not None
    assert said.stop.blame is Blame.USER
    assert said.stop.reason.startswith("no usable reply of the simulated user: ")


def test_cut_off_twice_names_the_key_to_raise() -> None:
    """The limit of tokens is nobody's who speaks: the provider is to blame, and the message says what to set."""
    with pytest.raises(ProviderError, match="`max_tokens`"):
        reply(LlmUser(PlayedChat(CUT_OFF, CUT_OFF)))


def test_a_first_reply_at_fault_is_better_than_none() -> None:
    """Where the second answer cannot be used, the first one is said, with its fault."""
    user = LlmUser(PlayedChat("My order is W99887.", ""))

    said = reply(user, "Return it", "Which order?")

    assert said == UserTurn(text="My order is W99887.")
    assert [fault.rule for fault in user.faults] == ["invention"]


def test_tools_of_the_user_are_offered_and_called() -> None:
    """The user's tools go to the model in the OpenAI format; a call comes back as the user's, text beside it unsaid."""
    chat = PlayedChat(calling("check_status", '{"line": 1}', content="Let me look."))

    said = reply(LlmUser(chat), "No network", "What does the status bar say?", tools=(STATUS,))

    assert said.text == ""
    assert [(call.name, call.arguments, call.requestor) for call in said.tool_calls] == [
        ("check_status", {"line": 1}, "user")
    ]
    assert chat.tools == [[STATUS.openai()]]
    assert "Your own tools" in chat.asked[0][0]["content"]


def test_a_behaviour_is_in_the_prompt_once_it_is_in_force() -> None:
    """An instruction from message 1 on is unknown to the model before the agent's first message."""
    behaviour = Behaviour(name="adds_intent", instruction="Also ask for a chair.", intent="a chair", from_message=1)
    chat = PlayedChat("Hi, I want to return a lamp.", "Return the chair, too.")
    user = LlmUser(chat, behaviours=[behaviour])

    reply(user)
    reply(user, "Hi, I want to return a lamp.", "Which order?")

    assert "Also ask for a chair." not in chat.asked[0][0]["content"]
    assert "Also ask for a chair." in chat.asked[1][0]["content"]


def test_who_closes_before_a_behaviour_is_due_acts_on_it_first() -> None:
    """A close while an intent waits is asked again with the intent brought forward, once."""
    behaviour = Behaviour(name="adds_intent", instruction="Also ask for a chair.", intent="a chair", from_message=9)
    chat = PlayedChat("###STOP###", "One more thing: I want a chair.", "###STOP###")
    user = LlmUser(chat, behaviours=[behaviour])

    said = reply(user, "Return it", "Done. Anything else?")
    closed = reply(
        user, "Return it", "Done. Anything else?", "One more thing: I want a chair.", "Done, too. Anything else?"
    )

    assert said == UserTurn(text="One more thing: I want a chair.")
    assert closed == UserTurn(stop=Stop(reason="done"))


def test_a_wrong_value_of_a_modifier_is_no_invention() -> None:
    """What a behaviour may say counts as known; any other value does not."""
    swap = Swap(label="order id", first="W5555", right="W1001")
    behaviour = Behaviour(name="wrong_value_first", instruction="First say W5555.", wrong=(swap,))
    user = LlmUser(PlayedChat("My order is W5555."), behaviours=[behaviour])

    reply(user, "Return it", "Which order?")

    assert user.faults == []


def test_a_forgotten_value_is_an_invention() -> None:
    """What a behaviour takes away is not in the prompt, and saying it all the same is a fault."""
    behaviour = Behaviour(
        name="forgets_identifier", instruction="You forgot it.", forgets=("W1001",), unknown="You forgot it"
    )
    chat = PlayedChat("It is W1001.", "It is W1001.")
    user = LlmUser(chat, behaviours=[behaviour])

    reply(user, "Return it", "Which order?")

    assert "W1001" not in chat.asked[0][0]["content"]
    assert [fault.rule for fault in user.faults] == ["invention"]


def test_an_answer_without_end_is_not_sent_back_whole() -> None:
    """Megabytes are shortened before the model is asked again."""
    chat = PlayedChat("x" * 5_000_000, "Yes, please.")

    reply(LlmUser(chat), "Return it", "Which lamp?")

    assert sum(len(message["content"]) for message in chat.asked[1]) < 20_000


PAY = ApprovalRequest(id="1", tool="pay", arguments={"euros": 9})
ASKED = (Message(role="user", content="Pay"), asking([PAY]))


@pytest.mark.parametrize(
    ("written", "turn"),
    [
        ("Yes, do that.\n###APPROVE###", UserTurn(text="Yes, do that.", acts=(Act(kind="confirm", about=(9,)),))),
        ("Not so much! ###REJECT###", UserTurn(text="Not so much!", acts=(Act(kind="decline", about=(9,)),))),
        ("Why nine?", UserTurn(text="Why nine?")),
    ],
)
def test_a_model_decides_about_a_call_by_a_marker(written: str, turn: UserTurn) -> None:
    """It reads what waits, and labels its answer itself; without a label nobody takes one from its words."""
    chat = PlayedChat(written)

    said = asyncio.run(LlmUser(chat).reply(View.model_validate({**ENGLISH, "messages": ASKED})))

    assert said == turn
    assert "- pay(euros=9)" in chat.asked[0][-1]["content"]


def test_a_decision_that_nobody_asked_for_is_a_stray_marker() -> None:
    """Only a call that waits is approved."""
    user = LlmUser(PlayedChat("Yes.\n###APPROVE###", "Yes."))

    assert reply(user, "Return it", "Shall I?") == UserTurn(text="Yes.")
    assert user.regenerated == 1
