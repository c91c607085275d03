"""Frameworks give their whole state back every turn; each message counts once."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.agents.replies import new_messages
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message


def user(said: str) -> Message:
    """Give a text of the user."""
    return Message(role="user", content=said)


def text(said: str) -> Message:
    """Give a text of the agent."""
    return Message(role="assistant", content=said)


def call(name: str) -> Message:
    """Give a call, its name being its id."""
    return Message(role="assistant", tool_calls=(ToolCall(name=name, id=name),))


def result(name: str) -> Message:
    """Give the result of the call of that name."""
    return Message(role="tool", content="done", tool_call_id=name)


SYSTEM = Message(role="system", content="Be kind")
FIRST = [user("one"), call("a"), result("a"), text("first")]
SECOND = [call("b"), result("b"), text("second")]


def test_accumulated_state_is_cut_after_this_turns_user_message() -> None:
    """What follows the user's message of this turn is new."""
    assert new_messages([SYSTEM, *FIRST, user("two"), *SECOND], Turn(message="two")) == SECOND


def test_a_repeated_line_of_the_user_is_found_at_its_last_place() -> None:
    """A user who says the same thing twice does not bring the first turn back."""
    state = [*FIRST, user("one"), *SECOND]
    assert new_messages(state, Turn(message="one"), FIRST) == SECOND
    assert new_messages(state, Turn(message="one"), [text("what the agent since forgot")]) == SECOND


def test_state_without_the_users_messages_is_cut_after_what_came_before() -> None:
    """Where no user message is kept, the beginning that was returned before is dropped."""
    assert new_messages([*FIRST[1:], *SECOND], Turn(message="two"), FIRST[1:]) == SECOND


def test_system_messages_that_change_do_not_matter() -> None:
    """A prompt that holds the time of day does not hide the old beginning."""
    before = [Message(role="system", content="It is noon"), *FIRST[1:]]
    now = [Message(role="system", content="It is one"), *FIRST[1:], *SECOND]
    assert new_messages(now, Turn(message="two"), before) == SECOND


def test_a_rewritten_user_message_still_divides() -> None:
    """An agent that decorates the user's text is cut at the last user message."""
    trimmed = [text("first"), user("User says: two"), *SECOND]
    assert new_messages(trimmed, Turn(message="two"), FIRST) == SECOND


def test_a_first_turn_with_a_rewritten_user_message_keeps_every_call() -> None:
    """Frameworks that feed results back as user texts lose nothing on the first turn."""
    state = [user("User says: one"), call("a"), user("Observation: done"), text("first")]
    assert new_messages(state, Turn(message="one")) == [call("a"), text("first")]


def test_an_answer_given_twice_is_given_twice() -> None:
    """A list that equals the last one is a repeated answer."""
    assert new_messages(SECOND, Turn(message="two"), SECOND) == SECOND


def test_results_that_the_loop_gave_are_not_returned_to_it() -> None:
    """Going on after results, the agent's state holds its own calls and our results; both are known."""
    turn = Turn(results=(result("b"),))
    state = [user("rewritten"), call("b"), result("b"), call("c")]
    assert new_messages(state, turn, [user("one"), call("b")]) == [call("c")]


def test_calls_of_the_user_are_not_the_agents() -> None:
    """Results of the user's own tools are dropped with the user's messages."""
    theirs = Message(role="tool", content="on", tool_call_id="u", requestor="user")
    assert new_messages([user("one"), theirs, text("ok")], Turn(message="zero")) == [text("ok")]


REPLIES = st.lists(
    st.sampled_from(["first", "second", "ok"]).map(lambda said: [text(said)])
    | st.sampled_from(["a", "b"]).map(lambda name: [call(name), result(name), text("done")]),
    min_size=1,
    max_size=6,
)


@given(replies=REPLIES, lines=st.lists(st.sampled_from(["yes", "no"]), min_size=6, max_size=6))
def test_slices_of_a_growing_state_are_the_replies(replies: list[list[Message]], lines: list[str]) -> None:
    """Whatever was said, slicing the state after each turn gives back what the turn added."""
    state: list[Message] = []
    earlier: list[Message] = []
    for line, reply in zip(lines, replies, strict=False):
        state = [*state, user(line), *reply]
        assert new_messages(state, Turn(message=line), earlier) == reply
        earlier = state
