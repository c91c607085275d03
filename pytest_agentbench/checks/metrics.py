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
    calls = run.calls
    expected = sum(want.requestor == "assistant" for want in matching.expected)
    retried = (
        record.failed and any(later.call.name == record.call.name for later in calls[place + 1 :])
        for place, record in enumerate(calls)
    )
    of_calls: dict[str, float | None] = {
        "name_recall": matching.name_recall,
        "strict_recall": matching.strict_recall,
        "complete": None if matching.complete is None else float(matching.complete),
        "tool_errors": float(sum(record.failed for record in calls)),
        "errors_then_retried": float(sum(retried)),
        "calls_ratio": len(calls) / expected if expected else None,
        "tool_calls": float(len(calls)),
        "redundant_calls": float(len(redundant_calls(run.transcript.trajectory, run.toolset))),
        "coherence": coherence(run),
    }
    return {
        **(of_calls if run.calls_visible else dict.fromkeys(of_calls)),
        "agent_turns": float(run.transcript.agent_turns),
        "echo_rate": echo_rate(run.transcript),
    }


def echo_rate(transcript: Transcript) -> float | None:
    """Give the share of user turns, from 0 to 1, that echo the agent; None without a user turn to compare.

    What counts as an echo is the same as in a stall (`core.alike.echoes`).
    """
    users, agents = transcript.said_by_turn("user"), transcript.said_by_turn("assistant")
    answers = [(at, later) for at, later in pairwise(sorted({*users, *agents})) if at in agents and later in users]
    return sum(echoes(users[later], agents[at]) for at, later in answers) / len(answers) if answers else None


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
    transcript = run.transcript
    pairs = list(zip(transcript.turns, transcript.messages, strict=True))
    later = sorted({turn for turn, message in pairs if message.role == "assistant"})[1:]
    if not later:
        return None
    # shorter texts (`You are welcome.`) are manners
    said = {turn: text for turn, text in transcript.said_by_turn("assistant").items() if len(normal(text)) >= SHORTEST}
    lost = {record.turn for record in redundant_calls(transcript.trajectory, run.toolset)}
    lost |= {turn for turn, text in said.items() if any(similar(text, said[one]) for one in said if one < turn)}
    given: set[str] = set()
    before = 0  # the agent's turn that the user answers
    for turn, message in pairs:
        if message.role == "assistant":
            before = turn
        facts = {dumps([name, value]) for act in message.acts or () for name, value in act.facts.items()}
        lost |= {before} if facts & given else set()
        given |= facts
    return 1 - len(lost.intersection(later)) / len(later)
