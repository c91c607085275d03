"""What a user's turn decides about approvals when it does not say so itself, and what is kept of it."""

import json
from pathlib import Path

from pytest_agentbench.core.acts import Act, ActKind
from pytest_agentbench.core.approvals import ApprovalRequest, Decision, Standing
from pytest_agentbench.core.conversation import Stop, UserTurn
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Message, Transcript, asking, awaiting
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.report.failure import failure_text
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.results.run_directory import read_transcript, write_transcript
from pytest_agentbench.simulation.conversation import decided
from pytest_agentbench.simulation.views import agent_turn
from pytest_agentbench.suites.message_log import StopCalls, read_log
from pytest_agentbench.suites.personal.masking import Fakes, Masker
from pytest_agentbench.suites.record import Record
from tests.tables import each

PAY = ApprovalRequest(id="1", tool="pay", arguments={"to": "ada@example.com", "euros": 12.5})
WHICH = ApprovalRequest(id="2", tool="ask", text="Which?", is_question=True, allowed=("respond",))
DECIDED = Decision(kind="approve", id="1", tool="pay", arguments=PAY.arguments, text="Do it")
TALK = Transcript(
    messages=(asking([PAY]), Message(role="user", content="Do it", acts=(), decisions=(DECIDED,))),
)


@each(
    ("acts", "standing", "kind"),
    [
        (("confirm",), None, "approve"),
        (("confirm",), "reject", "approve"),
        (("decline", "inform"), None, "reject"),
        (("withdraw",), "approve", "reject"),
        (("confirm", "decline"), "reject", "reject"),
        (("confirm", "condition"), "reject", "reject"),
        (("inform",), "approve", "approve"),
        (None, "approve", "approve"),
        (("inform",), None, None),
        (None, None, None),
    ],
)
def test_acts_decide_then_the_key(
    acts: tuple[ActKind, ...] | None, standing: Standing | None, kind: str | None
) -> None:
    """A model that plays the user labels a yes or a no, or it does not; nobody reads it off the words."""
    said = UserTurn(text="Hm", acts=None if acts is None else tuple(Act(kind=one) for one in acts))

    turn = decided(said, [PAY], standing)

    assert [one.kind for one in turn.decisions] == ([kind] if kind else [])
    assert (turn.stop is None) == (kind is not None)
    assert turn.stop is None or turn.stop.blame is Blame.SCENARIO


def test_a_yes_to_one_request_is_none_to_another() -> None:
    """A turn that decides for itself says what it decides; its acts are about that."""
    said = UserTurn(text="Yes", acts=(Act(kind="confirm"),), decisions=(DECIDED,))

    assert decided(said, [PAY, PAY.model_copy(update={"id": "9"})], None).stop is not None
    assert [one.kind for one in decided(said, [PAY, WHICH], None).decisions] == ["approve", "respond"]


def test_a_user_who_closes_decides_nothing() -> None:
    """Nor does one that looks at something with a tool of its own first."""
    said = UserTurn(text="Bye", stop=Stop(reason="done"))

    assert decided(said, [PAY], None) is said


def test_the_agent_gets_decisions_and_no_acts() -> None:
    """What was decided is said to it; what was meant is not."""
    turn = agent_turn(TALK.messages, [], session_id="s", context={}, tools=Toolset())

    assert (turn.message, turn.decisions) == ("Do it", (DECIDED,))
    assert turn.messages[-1].acts is None
    assert awaiting(TALK.messages) == ()
    assert awaiting(TALK.messages[:1]) == (PAY,)


def test_transcripts_keep_them_and_messages_without_are_as_before(tmp_path: Path) -> None:
    """They are read back from a file of ours; the digest of any other message does not change."""
    result = Result(key=RunKey(suite="s", scenario="a"), verdict=Verdict.PASSED, transcript="t.json")

    write_transcript(tmp_path, result, TALK)

    assert read_transcript(tmp_path / "t.json") == TALK
    assert Message(role="user", content="Hi").model_dump().keys().isdisjoint(("approvals", "decisions"))


def test_secrets_and_personal_data_stand_in_none() -> None:
    """Arguments and words of approvals are redacted as those of calls."""
    kept = json.dumps(Redactor(["example.com"]).transcript(TALK).model_dump(mode="json"))
    masked = Masker(Fakes(b"seed")).record(Record(scenario="a", transcript=TALK))

    assert "example.com" not in kept
    assert "ada@" not in json.dumps(masked.transcript.model_dump(mode="json"))


def test_logs_hold_them(tmp_path: Path) -> None:
    """A recording in the OpenAI format may say what was asked and decided."""
    messages = [
        {**message.openai(), **message.model_dump(include={"approvals", "decisions"})} for message in TALK.messages
    ]

    record = read_log({"id": "a", "messages": messages}, StopCalls())

    assert [one.approvals for one in record.transcript.messages] == [(PAY,), ()]
    assert record.transcript.messages[1].decisions == (DECIDED,)


def test_a_failure_shows_what_was_asked_and_decided() -> None:
    """The excerpt of a conversation reads as it was held."""
    result = Result(key=RunKey(suite="s", scenario="a"), verdict=Verdict.FAILED, blame=Blame.AGENT)

    shown = failure_text(result, TALK)

    assert 'agent  Do you approve pay(to="ada@example.com", euros=12.5)?' in shown
    assert 'user   approves pay(to="ada@example.com", euros=12.5)' in shown
