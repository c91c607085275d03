"""The first turn in which a run left the way it was expected to go, or the way a baseline went."""

from collections.abc import Iterator
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import CallExplanation
from pytest_agentbench.report.calls import call_text, explained
from pytest_agentbench.report.glyphs import UNICODE
from pytest_agentbench.report.worst import check_name, failed_findings

_WRONG = frozenset({"wrong_arguments", "substituted", "tool_failed", "extra_write", "unknown_tool"})
"""What a call made can be that no right run makes; reads that nobody asked for are no divergence."""


class Divergence(Model):
    """A turn (from 1) and why it is the first to differ: from the expected calls, a check's word, or the baseline.

    `agent` is the one of several that acted in it, "" where nobody tells.
    """

    turn: int
    reason: str
    against: Literal["expected calls", "checks", "baseline"]
    agent: str = ""


def from_expected(result: Result, transcript: Transcript) -> Divergence | None:
    """Give the first turn that departs from the expected calls, else the first that a failed check points at.

    A call that was never made is missing from the turn in which the next expected one was made, at the latest from
    the agent's last turn: in any order of calls nobody can say sooner that it will not come.
    """
    departures = list(_departures(result, transcript))
    if departures:
        first_of_all = min(departures, key=lambda departure: departure.turn)
        return first_of_all if first_of_all.agent else _named(first_of_all, transcript)
    found = [finding for finding in failed_findings(result) if finding.turn is not None]
    if not found:
        return None
    first = min(found, key=lambda finding: finding.turn or 0)
    reason = UNICODE.plain(f"{check_name(first)}: {first.message}")
    return _named(Divergence(turn=first.turn or 0, reason=reason, against="checks"), transcript)


def from_baseline(transcript: Transcript, baseline: Transcript) -> Divergence | None:
    """Give the agent's first turn whose calls, arguments included, are not those of the baseline's same turn.

    Only calls are compared: two runs of one model hardly ever say the same twice. A user's turn never diverges, but
    the turn numbers of the agent count both parties.
    """
    mine, theirs = _calls_by_turn(transcript), _calls_by_turn(baseline)
    for place in range(max(len(mine), len(theirs))):
        turn, calls = mine[place] if place < len(mine) else (_last_turn(transcript), [])
        _, before = theirs[place] if place < len(theirs) else (0, [])
        if _same(calls, before):
            continue
        was, now = _listed(before), _listed(calls)
        reason = f"the baseline made {was}, this run {now}"
        return _named(Divergence(turn=turn, reason=reason, against="baseline"), transcript)
    return None


def _named(found: Divergence, transcript: Transcript) -> Divergence:
    """Name the agent that acted last in the turn."""
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    by = [message.by for turn, message in pairs if turn == found.turn and message.by]
    return found.model_copy(update={"agent": by[-1]}) if by else found


def _departures(result: Result, transcript: Transcript) -> Iterator[Divergence]:
    expected = [call for call in result.calls if call.expected is not None]
    for place, call in enumerate(expected):
        if call.status == "not_attempted":
            following = (later.turn for later in expected[place + 1 :] if later.turn is not None)
            turn = next(following, None) or _last_turn(transcript)
            if turn:
                yield _departure(turn, call)
    for call in result.calls:
        if call.status in _WRONG and call.turn is not None:
            yield _departure(call.turn, call)


def _departure(turn: int, call: CallExplanation) -> Divergence:
    return Divergence(turn=turn, reason=explained(call, UNICODE), against="expected calls", agent=call.by or "")


def _last_turn(transcript: Transcript) -> int:
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    return max((turn for turn, message in pairs if message.role == "assistant"), default=0)


def _calls_by_turn(transcript: Transcript) -> list[tuple[int, list[ToolCall]]]:
    turns: dict[int, list[ToolCall]] = {}
    for turn, message in zip(transcript.turns, transcript.messages, strict=True):
        if message.role == "assistant":
            turns.setdefault(turn, []).extend(message.tool_calls)
    return list(turns.items())


def _same(calls: list[ToolCall], others: list[ToolCall]) -> bool:
    return [_bare(call) for call in calls] == [_bare(call) for call in others]


def _bare(call: ToolCall) -> tuple[str, str]:
    return call.name, digest(call.arguments if call.raw is None else call.raw)


def _listed(calls: list[ToolCall]) -> str:
    if not calls:
        return "no call"
    return ", ".join(call_text(call.name, call.arguments, UNICODE, width=120) for call in calls[:3]) + (
        f" and {len(calls) - 3} more" if len(calls) > 3 else ""
    )
