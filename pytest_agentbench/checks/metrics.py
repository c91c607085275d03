"""Numbers on a run that decide nothing."""

from collections.abc import Sequence
from itertools import pairwise

from pytest_agentbench.checks.coherence import coherence, redundant_calls
from pytest_agentbench.checks.matching import Matching
from pytest_agentbench.core.alike import echoes
from pytest_agentbench.core.run import Run
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
    spoken: list[tuple[str, str]] = []
    for turn, message in zip(transcript.turns, transcript.messages, strict=True):
        if message.role in ("user", "assistant") and message.text.strip():
            key = f"{message.role}:{turn}"
            if spoken and spoken[-1][0] == key:
                spoken[-1] = (key, f"{spoken[-1][1]}\n{message.text}")
            else:
                spoken.append((key, message.text))
    answers = [
        (before, said)
        for (earlier, before), (later, said) in pairwise(spoken)
        if later.startswith("user") and earlier.startswith("assistant")
    ]
    return sum(echoes(said, before) for before, said in answers) / len(answers) if answers else None


def _retried(calls: Sequence[CallRecord]) -> int:
    return sum(
        record.failed and any(later.call.name == record.call.name for later in calls[place + 1 :])
        for place, record in enumerate(calls)
    )
