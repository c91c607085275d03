"""Numbers on a run that decide nothing, and whether an agent makes use of what has happened."""

from collections.abc import Sequence
from itertools import pairwise

from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.checks.matching import Matching
from pytest_agentbench.core.alike import SHORTEST, echoes, normal, similar
from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import CallRecord, Transcript


def measure(run: Run, matching: Matching) -> dict[str, float | None]:
    """Give the metrics that `Judgement` names; None where not measured.

    tool_errors: the agent's calls that failed. errors_then_retried: those after which it called the same tool again
    (tool-to-scenario's attempts after an error). calls_ratio: the agent's calls / its expected calls. tool_calls: the
    agent's calls. redundant_calls: those whose answer it had. agent_turns: its turns. coherence, echo_rate: see there.
    """
    metrics: dict[str, float | None] = dict.fromkeys(
        (
            "name_recall", "strict_recall", "complete", "tool_errors", "errors_then_retried", "calls_ratio",
            "tool_calls", "redundant_calls", "coherence",
        )
    )  # fmt: skip
    if run.calls_visible:
        calls = run.calls
        expected = sum(want.requestor == "assistant" for want in matching.expected)
        metrics |= {
            "name_recall": matching.name_recall,
            "strict_recall": matching.strict_recall,
            "complete": None if matching.complete is None else float(matching.complete),
            "tool_errors": float(sum(record.failed for record in calls)),
            "errors_then_retried": float(_retried(calls)),
            "calls_ratio": len(calls) / expected if expected else None,
            "tool_calls": float(len(calls)),
            "redundant_calls": float(len(redundant_calls(run.transcript.trajectory, run.toolset))),
            "coherence": coherence(run),
        }
    metrics["agent_turns"] = float(run.transcript.agent_turns)
    metrics["echo_rate"] = echo_rate(run.transcript)
    return metrics


def echo_rate(transcript: Transcript) -> float | None:
    """Give the share of user turns, from 0 to 1, that echo the agent; None without a user turn to compare.

    What counts as an echo is the same as in a stall (`core.alike.echoes`).
    """
    users, agents = transcript.said_by_turn("user"), transcript.said_by_turn("assistant")
    answers = [(at, later) for at, later in pairwise(sorted({*users, *agents})) if at in agents and later in users]
    return sum(echoes(users[later], agents[at]) for at, later in answers) / len(answers) if answers else None


def _retried(calls: Sequence[CallRecord]) -> int:
    return sum(
        record.failed and any(later.call.name == record.call.name for later in calls[place + 1 :])
        for place, record in enumerate(calls)
    )


def redundant_calls(records: Sequence[CallRecord], toolset: Toolset) -> tuple[CallRecord, ...]:
    """Give the agent's calls whose answer it had: same tool, same arguments, no failure and no write in between.

    A write by whoever made it, and a call of which nobody knows whether it wrote, may have changed the answer.
    """
    answered: set[str] = set()
    redundant = []
    for record in records:
        changed = wrote(record, toolset)
        if record.call.requestor == "assistant" and not record.failed and changed is False:
            made = f"{record.call.name} {digest(record.call.arguments)}"
            if made in answered:
                redundant.append(record)
            answered.add(made)
        elif changed is not False and not record.failed:
            answered.clear()
    return tuple(redundant)


def coherence(run: Run) -> float | None:
    """Give the share, 0 to 1, of the agent's turns after its first that go on from what was before.

    A turn does not when it makes a redundant call, says again what the agent said before (24 signs and more, see
    `core.alike.similar`), or has the user give the same fact a second time. None without a second turn. It tells of
    lost context, not of relevance: whether a turn is right, the checks say.
    """
    later = sorted(_agent_turns(run.transcript))[1:]
    if not later:
        return None
    said = _said(run.transcript)
    lost = {record.turn for record in redundant_calls(run.transcript.trajectory, run.toolset)}
    lost |= {turn for turn, text in said.items() if any(similar(text, said[one]) for one in said if one < turn)}
    lost |= _asked_again(run.transcript)
    return 1 - len(lost.intersection(later)) / len(later)


def _said(transcript: Transcript) -> dict[int, str]:
    """Give what the agent said in each of its turns; shorter texts (`You are welcome.`) are manners."""
    said = transcript.said_by_turn("assistant")
    return {turn: text for turn, text in said.items() if len(normal(text)) >= SHORTEST}


def _asked_again(transcript: Transcript) -> set[int]:
    """Give the agent's turns to which the user answered with a fact that it had given before."""
    given: set[str] = set()
    asked: set[int] = set()
    before = 0
    for turn, message in zip(transcript.turns, transcript.messages, strict=True):
        if message.role == "assistant":
            before = turn
        facts = {dumps([name, value]) for act in message.acts or () for name, value in act.facts.items()}
        if facts & given:
            asked.add(before)
        given |= facts
    return asked


def _agent_turns(transcript: Transcript) -> set[int]:
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    return {turn for turn, message in pairs if message.role == "assistant"}
