"""The critique of endings over a connection: at most two resumes, and nothing told that the user may not know."""

from collections.abc import Callable
from typing import Any

from pytest_agentbench.checks.judges.ending import EndCritic
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.testing import ModelRequest, fault, structured, text
from pytest_agentbench.testing.script import Script
from tests.checks.builders import agent, call, run_of, user
from tests.checks.judges.served import asked, seeded
from tests.tables import each

OPEN = run_of(
    user("Please refund order W1."),
    call("get_owner", order_id="W1", name="Mei"),
    agent("Shall I refund order W1?"),
    user("Thanks, bye."),
).transcript


def ending(*, ended: bool, feedback: str = "", turn: int = 2, quote: str = "Shall I refund order W1?") -> Any:
    """The critic's answer."""
    cited = [{"turn": turn, "quote": quote}]
    return structured({"evidence": cited, "reason": "It waits.", "ended": ended, "feedback": feedback})


ASKED = ending(ended=False, feedback="The agent asked whether to refund order W1.")


def closings(
    script: Script, times: int = 1, transcript: Transcript = OPEN, *, most: int = 2
) -> tuple[tuple[list[str | None], EndCritic], list[ModelRequest]]:
    """Close one conversation several times; give what its user was told each time."""

    async def scene(chat_for: Callable[[str], Chat]) -> tuple[list[str | None], EndCritic]:
        critic = EndCritic(chat_for("critique"), random=seeded(), most=most, system="You sell lamps.")
        return [await critic.feedback(transcript, "done") for _ in range(times)], critic

    return asked(script, scene)


def test_a_true_ending_stands() -> None:
    """The critic sees everything that happened, and the reason given, as data."""
    (told, critic), (request,) = closings([ending(ended=True)])

    assert told == [None]
    assert critic.resumed == 0
    for seen in ("| You sell lamps.", '| get_owner({"order_id": "W1", "name": "Mei"})', "# How it ended\n| done"):
        assert seen in request.last
    assert request.body["temperature"] == 0


def test_an_untrue_ending_gives_the_user_feedback() -> None:
    """It is told what is open, in words of the conversation."""
    (told, critic), _ = closings([ASKED])

    assert told == ["The agent asked whether to refund order W1."]
    assert critic.resumed == 1


@each("most", [1, 2])
def test_a_critic_that_is_never_content_resumes_no_more_than_it_may(most: int) -> None:
    """At the closing after that it is not even asked."""
    (told, critic), requests = closings(lambda _: ASKED, times=4, most=most)

    assert [feedback is not None for feedback in told] == [number < most for number in range(4)]
    assert critic.resumed == most == len(requests)


@each(
    ("wrong", "reason"),
    [
        (ending(ended=False, feedback="Go on.", quote="Do you agree?"), "turn 2 does not hold these words"),
        (ending(ended=False, feedback="Go on.", turn=8), "there is no turn 8"),
        (ending(ended=False), "feedback: it is empty"),
        (ending(ended=False, feedback="x" * 601), "allowed: 600"),
        (ending(ended=False, feedback="The owner is Mei."), "it holds what only tools"),
    ],
)
def test_what_does_not_hold_is_refused_and_may_be_mended_once(wrong: Any, reason: str) -> None:
    """Made-up evidence, no feedback, too much of it, or what only the agent's tools know."""
    (told, critic), requests = closings([wrong, ASKED])

    assert told == ["The agent asked whether to refund order W1."]
    assert reason in requests[1].last
    assert critic.faults == []


def test_what_the_user_may_not_know_never_reaches_it() -> None:
    """Feedback that gives it away twice is replaced by one that tells nothing."""
    leak = ending(ended=False, feedback="The owner is Mei.")

    (told, critic), requests = closings([leak, leak])

    assert told[0] is not None
    assert "Mei" not in told[0]
    assert "not over" in told[0]
    assert (critic.resumed, len(requests)) == (1, 2)


@each("said", [text("NOT CORRECT"), ending(ended=False, feedback="Go on.", quote="Do you agree?")])
def test_an_ending_stands_where_the_critic_cannot_be_used(said: Any) -> None:
    """Prose and fabricated evidence resume nothing, and are kept as faults."""
    (told, critic), _ = closings([said, said])

    assert told == [None]
    assert critic.resumed == 0
    assert len(critic.faults) == 1


def test_a_server_that_fails_objects_to_nothing() -> None:
    """The conversation ended as its user said, and why nobody could tell is kept."""
    (told, critic), _ = closings([fault.status(500)])

    assert told == [None]
    assert "500" in critic.faults[0]
