"""The first turn in which a run went another way than expected."""

from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import CallExplanation, Finding
from pytest_agentbench.report.failures import from_baseline, from_expected
from tests.results.make import result
from tests.tables import each


def talk(*turns: str | None) -> Transcript:
    """A conversation in which the agent's n-th turn calls the n-th tool, or none, and speaks."""
    messages: list[Message] = []
    for number, name in enumerate(turns):
        messages.append(Message(role="user", content="please"))
        if name:
            call = ToolCall(name=name, arguments={"id": number}, id=str(number))
            messages.append(Message(role="assistant", tool_calls=(call,)))
            messages.append(Message(role="tool", content="ok", tool_call_id=str(number)))
        messages.append(Message(role="assistant", content="ok"))
    return Transcript(messages=tuple(messages))


def explained(status: str, tool: str, turn: int | None) -> CallExplanation:
    """What became of a call."""
    other = status.startswith(("extra", "repeated", "unknown"))
    return CallExplanation(
        status=status,
        tool=tool,
        turn=turn,
        expected=None if other else {},
        actual=None if status == "not_attempted" else {},
    )


@each(
    ("calls", "turn"),
    [
        ([explained("matched", "a", 2), explained("extra_write", "b", 4)], 4),
        ([explained("wrong_arguments", "a", 6), explained("unknown_tool", "b", 2)], 2),
        ([explained("not_attempted", "a", None), explained("matched", "b", 4)], 4),
        ([explained("matched", "a", 2), explained("not_attempted", "b", None)], 6),
    ],
)
def test_the_earliest_departure_counts(calls: list[CallExplanation], turn: int) -> None:
    """A wrong call diverges in its turn, a missing one where the next was made or the agent spoke last."""
    run = result("a", "failed", calls=tuple(calls))

    found = from_expected(run, talk("a", "b", None))

    assert found is not None
    assert (found.turn, found.against) == (turn, "expected calls")


def test_reads_that_nobody_asked_for_do_not_diverge() -> None:
    """A run that only looked more than needed went the expected way."""
    run = result("a", "failed", calls=(explained("matched", "a", 2), explained("extra_read", "b", 4)))

    assert from_expected(run, talk("a", "b")) is None


def test_where_calls_agree_the_first_failed_check_says_the_turn() -> None:
    """A broken policy of a later turn counts less than that of an earlier one."""
    broken = [
        Finding(check=f"policy:{name}", kind="policy", policy=name, passed=False, message=f"{name} broken", turn=turn)
        for name, turn in (("late", 4), ("early", 2))
    ]

    found = from_expected(result("a", "failed", findings=tuple(broken)), talk("a", "b"))

    assert found is not None
    assert (found.turn, found.reason, found.against) == (2, "early: early broken", "checks")


@each(
    ("baseline", "turn"),
    [(talk("a", "b", "c"), None), (talk("a", "x", "c"), 4), (talk("a", "b"), 6), (talk("a", "b", "c", "d"), 6)],
)
def test_against_a_baseline_the_first_other_calls_count(baseline: Transcript, turn: int | None) -> None:
    """Calls with their arguments are compared turn by turn; what was said is not."""
    found = from_baseline(talk("a", "b", "c"), baseline)

    assert (found.turn if found else None) == turn


def test_the_divergent_turn_names_its_agent() -> None:
    """The call says who made it; without one, whoever spoke last in the turn did."""
    wrong = explained("extra_write", "b", 4).model_copy(update={"by": "refunds"})
    conversation = talk("a", "b", None)
    found = from_expected(result("a", "failed", calls=(wrong,)), conversation)
    named = Transcript(messages=tuple(one.model_copy(update={"by": "triage"}) for one in conversation.messages))
    missing = from_expected(result("a", "failed", calls=(explained("not_attempted", "a", None),)), named)

    assert found is not None
    assert missing is not None
    assert (found.agent, missing.agent) == ("refunds", "triage")
