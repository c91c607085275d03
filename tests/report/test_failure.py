"""The text of one failing run."""

from pathlib import Path

from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, OtherFault
from pytest_agentbench.report.failure import failure_text
from tests.results.make import result, support_runs, unconfirmed, wrong_refund
from tests.tables import each

GOLDEN = Path(__file__).parent / "golden"

PLACES = {
    "rerun": "pytest --agentbench 'bench/agentbench.yaml::two-orders-one-card[hasty]' -vv",
    "transcript_path": ".agentbench/runs/r/transcripts/two-orders-one-card.json",
}


def call(name, call_id, **arguments):
    """Make an agent's message with one call."""
    return Message(role="assistant", tool_calls=(ToolCall(name=name, id=call_id, arguments=arguments),))


TRANSCRIPT = Transcript(
    messages=(
        Message(role="user", content="Refund order W77 please"),
        call("find_order", "1", id="W77"),
        Message(role="tool", tool_call_id="1", content='{"id": "W77", "status": "delivered"}'),
        Message(role="assistant", content="Shall I refund W77 to paypal_1?"),
        Message(role="user", content="yes"),
        Message(role="assistant", content="One moment.\nWorking."),
        Message(role="user", content="ok"),
        call("refund", "2", order_id="W77", method="card_2"),
        Message(role="tool", tool_call_id="2", content="Error: no", error=True),
        Message(role="assistant", content="Done."),
        Message(role="user", content="bye"),
    )
)


@each(
    ("name", "given", "options"),
    [
        ("failure_write", wrong_refund(variant="hasty"), PLACES),
        ("failure_write_verbose", wrong_refund(variant="hasty"), {**PLACES, "verbose": True}),
        ("failure_policy", unconfirmed(), {}),
        ("failure_user", support_runs()[-2], {}),
        ("failure_not_run", support_runs()[-1], {}),
    ],
)
def test_failures_read_as_they_were_approved(name, given, options):
    """Each kind of failure reads as it was approved."""
    shown = failure_text(given, TRANSCRIPT, **options) + "\n"
    assert shown == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_the_differing_argument_is_marked():
    """Carets stand exactly under the argument that differs."""
    lines = failure_text(wrong_refund(), None).splitlines()
    called = next(line for line in lines if line.strip().startswith("called"))
    carets = lines[lines.index(called) + 1]
    start = carets.index("^")
    assert called[start : start + carets.count("^")] == 'method="card_2"'


def test_an_argument_left_out_is_shown():
    """An expected argument that the call lacks is marked as left out."""
    explanation = CallExplanation(
        status="wrong_arguments", tool="f", expected={"a": 1, "b": 2}, actual={"a": 1}, differing={"b": (2, None)}
    )
    assert "b=<left out>" in failure_text(result("x", "failed", calls=(explanation,)), None)


def test_the_fault_of_another_beside_the_agents_is_told_once():
    """What was proven before stays the agent's: the text does not contradict itself."""
    ended = OtherFault(blame=Blame.SCENARIO, reason="nobody knows which", ended=True)
    run = unconfirmed()
    findings = tuple(one.model_copy(update={"proven": True}) for one in run.findings)
    run = run.model_copy(update={"findings": findings, "also": (ended,), "stop_reason": ended.reason})

    shown = failure_text(run, None)

    assert "besides, and not the agent's fault\n    blame scenario: nobody knows which" in shown
    assert shown.count(ended.reason) == 1


def test_long_texts_are_cut_and_the_length_is_said():
    """Five megabytes from a tool neither flood the terminal nor take long."""
    messages = (call("f", "1"), Message(role="tool", tool_call_id="1", content="\u4e2d" * 5_000_000))
    for verbose in (False, True):
        shown = failure_text(unconfirmed(), Transcript(messages=messages), verbose=verbose)
        assert len(shown) < 6000
        assert "(5,000,000 characters)" in shown


def test_an_answer_that_reached_its_token_limit_says_so():
    """Else nobody knows why an agent said half of a sentence."""
    said = Transcript(messages=(Message(role="assistant", content="It is", cut_off=True),))

    lines = [line.strip() for line in failure_text(wrong_refund(), said).splitlines()]

    assert lines[lines.index("1 agent  It is") + 1] == "(cut off at its token limit: raise `max_tokens`)"


def test_hostile_text_is_made_printable():
    """No escape sequence of an agent, tool or check survives, in ASCII nothing but ASCII."""
    evil = "\x1b[2J\x1b]0;title\x07\u202e\ud83d\u4e2d\r\n"
    findings = (Finding(check="state", kind="state", passed=False, message=evil, expected=evil, actual=evil, turn=99),)
    calls = (
        CallExplanation(status="wrong_arguments", tool=evil, expected={evil: evil}, actual={evil: 1}, note=evil),
        CallExplanation(status="unknown_tool", tool=evil, actual={"a": evil}),
    )
    given = result("x", "failed", findings=findings, calls=calls, error=evil, stop_reason=evil)
    messages = (Message(role="user", content=evil), call(evil, "1", **{evil: evil}))
    for unicode in (True, False):
        shown = failure_text(given, Transcript(messages=messages), unicode=unicode, transcript_path=evil, rerun=evil)
        assert not set(shown) & set("\x1b\x07\u202e\ud83d\r")
        assert unicode or shown.isascii()


def test_a_run_without_findings_or_messages_still_says_something():
    """A crash with nothing recorded names how it ended."""
    assert "FINISHED: boom" in failure_text(result("x", "failed", error="boom"), Transcript())


def test_a_call_never_made_is_shown_where_it_was_asked_for():
    """The excerpt of a missing write has the turn that asked for it and the agent's last; the write is told once."""
    never = {"passed": False, "message": "cancel(order_id='W9') was never called", "tool": "cancel"}
    findings = (Finding(check="state", kind="state", **never), Finding(check="calls", kind="calls", **never))
    missing = CallExplanation(status="not_attempted", tool="cancel", expected={"order_id": "W9"})
    talk = [Message(role=role, content=f"{role} {turn}") for turn in range(2, 9) for role in ("assistant", "user")]
    messages = (Message(role="user", content="Please cancel order W9."), *talk)

    shown = failure_text(
        result("x", "failed", findings=findings, calls=(missing,)), Transcript(messages=messages)
    ).split("conversation")

    assert "   1 user   Please cancel order W9.\n    … turns 2–11\n" in shown[1]
    assert "> 14 agent  assistant 8" in shown[1]
    assert 'expected  cancel(order_id="W9")\n    called    –' in shown[0]
    assert shown[0].count("was never called") == 1


def test_what_an_expected_call_left_open_is_told_in_full_texts():
    """The value that was taken from the agent's call stands beside what was asked for."""
    refunded = CallExplanation(
        status="matched",
        tool="refund",
        expected={"order_id": "W1"},
        actual={"order_id": "W1", "amount": 9999},
        left_open={"amount": 9999},
    )
    shown = failure_text(result("x", "failed", calls=(refunded,)), None, verbose=True)
    assert 'matched   refund(order_id="W1")  left open: amount = 9999' in shown


def test_calls_that_break_a_policy_alike_share_a_line():
    """The first is shown with how many are like it and their turns; `-vv` shows each."""
    why = "was called without asking the user for confirmation"
    broken = [
        Finding(check="policy", kind="policy", policy="ask", tool=tool, passed=False, turn=turn, message=message)
        for tool, turn, message in [
            ("refund", 2, f"refund(order_id='W1') {why}"),
            ("refund", 2, f"refund(order_id='W2') {why}"),
            ("refund", 6, f"refund(order_id='W3') {why}"),
            ("refund", 6, "refund(order_id='W3') was called after the user declined"),
            ("cancel", 8, f"cancel(order_id='W4') {why}"),
            ("cancel", 8, f"cancel(order_id='W5') {why}"),
        ]
    ]
    run = result("several", "failed", findings=tuple(broken))

    lines = failure_text(run, None).splitlines()

    assert lines[0] == f"several failed: ask, turn 2: refund(order_id='W1') {why}, and 2 more like it (turns 2, 6)"
    assert lines[lines.index("also") + 1 :][:3] == [
        "    ask, turn 6: refund(order_id='W3') was called after the user declined",
        f"    ask, turn 8: cancel(order_id='W4') {why}, and 1 more like it (turn 8)",
        "",
    ]
    assert failure_text(run, None, verbose=True).count("ask, turn") == len(broken)
