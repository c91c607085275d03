"""What a user meant with a turn: kept with its message, and never shown to the agent."""

from pathlib import Path

from pytest_agentbench.core.acts import Act, GoalItem
from pytest_agentbench.core.conversation import Stop, UserTurn
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.results.run_directory import read_transcript, write_transcript
from pytest_agentbench.simulation.views import agent_turn

AGREED = UserTurn(text="Do that.", acts=(Act(kind="confirm", about=("W1",)), Act(kind="inform", facts={"zip": 75001})))


def test_a_turn_s_message_carries_its_acts() -> None:
    """The transcript keeps what was said with what was meant; a turn that only closes has no message."""
    assert AGREED.message == Message(role="user", content="Do that.", acts=AGREED.acts)
    assert UserTurn(stop=Stop(reason="done")).message is None


def test_a_turn_that_leaves_without_words_is_kept_with_what_it_means() -> None:
    """Who leaves with a goal open has said so, in no words."""
    open_item = GoalItem(text="refund")
    leaves = UserTurn(acts=(Act(kind="close"),), goal_items=(open_item,), stop=Stop(reason="done"))

    assert leaves.message == Message(role="user", acts=leaves.acts, goal_items=(open_item,))


def test_the_agent_sees_neither_acts_nor_the_user_s_calls() -> None:
    """What the user meant would tell the agent what it is to find out."""
    called = Message(role="user", content="Wait.", tool_calls=(ToolCall(name="look", requestor="user"),))
    assert AGREED.message is not None

    turn = agent_turn([called, AGREED.message], [], session_id="s", context={}, tools=Toolset())

    assert turn.messages == (Message(role="user", content="Wait."), Message(role="user", content="Do that."))


def test_acts_are_read_back_from_a_transcript_of_ours(tmp_path: Path) -> None:
    """A transcript file holds the acts of each turn."""
    assert AGREED.message is not None
    said = Transcript(messages=(AGREED.message,))
    result = Result(key=RunKey(suite="s", scenario="a"), verdict=Verdict.PASSED, transcript="t.json")

    write_transcript(tmp_path, result, said)

    assert read_transcript(tmp_path / "t.json") == said


def test_secrets_stand_in_no_act() -> None:
    """What a user gave is redacted in its acts as in its words."""
    act = Act(kind="inform", about=("hunter22",), facts={"password": "x9", "note": "it is hunter22"})
    message = Message(role="user", content="It is hunter22", acts=(act,))

    (kept,) = Redactor(["hunter22"]).transcript(Transcript(messages=(message,))).messages

    assert kept.acts == (Act(kind="inform", about=("***",), facts={"password": "***", "note": "it is ***"}),)
