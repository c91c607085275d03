"""What code alone can say against a conversation: a few structural signals, shown to a judge as evidence.

They read calls, arguments, results, values and state, and no words. By themselves they are a baseline and no judge:
a conversation against which they say nothing is POS.
"""

from collections.abc import Iterator, Sequence

from pytest_agentbench.calibration.checking import contradictions
from pytest_agentbench.calibration.labelled import Case, run_of
from pytest_agentbench.checks.claims import claims_without_source
from pytest_agentbench.checks.judges.call_notes import call_notes
from pytest_agentbench.checks.judges.evidence import of_run
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.rubric import Label
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.diff import diff

NAME = "signals"
_LONGEST = 200
_NOTED = {
    "repeated-call": "the same as call",
    "idle-read": "nothing that it returned is said or used",
    "empty-answer": "gave nothing",
    "argument-from-nowhere": "stands in nothing that was said or returned before",
}
"""What the notes on calls say of a signal."""

PROVEN = frozenset({"effect-missing", "answer-against-state", "state-against-goal"})
"""What the state shows to be otherwise, whatever was said."""

WEAK = frozenset({"argument-from-nowhere"})
"""Shown to a judge, and left out of the baseline: in conversations of others it shows as often in right ones."""


class Signal(Model):
    """Something that stands against a conversation. `is_noted` tells that the notes on calls show it already."""

    name: str
    text: str
    is_noted: bool = False


def signals(case: Case) -> tuple[Signal, ...]:
    """Give all signals of a conversation, those of the notes on calls first."""
    return (*_noted(case), *(Signal(name=name, text=shorten(text, _LONGEST)) for name, text in _found(case)))


def _noted(case: Case) -> Iterator[Signal]:
    notes = call_notes(case.transcript, case.toolset)
    for name, text in _NOTED.items():
        found = [note for note in notes if text in note]
        # one read may be a look that had to be taken
        if len(found) >= (2 if name == "idle-read" else 1):
            yield from (Signal(name=name, text=note, is_noted=True) for note in found)


def _found(case: Case) -> Iterator[tuple[str, str]]:
    calls = case.transcript.trajectory
    for number, one in enumerate(calls, start=1):
        if one.failed and not _succeeds_later(one, calls[number:]):
            yield "failed-call", f"call {number} failed, and no later call of {printable(one.call.name)} succeeded"
    for flag in claims_without_source(run_of(case), case.briefing):
        value = printable(flag.value)
        yield (
            "value-from-nowhere",
            f"turn {flag.turn} states {value}, which stands in nothing that was said or returned",
        )
    for text in contradictions(calls, case.initial):
        yield "answer-against-state", printable(text)
    if case.initial is None or case.final is None:
        return
    changes = diff(case.initial, case.final)
    kinds = {spec.name: spec.kind for spec in case.toolset}
    writes = [number for number, one in enumerate(calls, start=1) if kinds.get(one.call.name) == "write"]
    done = [number for number in writes if not calls[number - 1].failed]
    if done and not changes:
        yield "effect-missing", f"call {done[0]} is a write that was answered, and the stored data did not change"
    expected = case.goal.changes if case.goal else ()
    if expected and (made := of_run(run_of(case)).changes) != expected:
        for line in [*(f"missing: {one}" for one in expected if one not in made)][:3]:
            yield "state-against-goal", f"of what a right run changes in the stored data, {line}"
        for line in [one for one in made if one not in (*expected, "nothing")][:3]:
            yield "state-against-goal", f"a right run does not change this in the stored data: {line}"


def _succeeds_later(one: CallRecord, later: Sequence[CallRecord]) -> bool:
    return any(other.call.name == one.call.name and not other.failed for other in later)


def labelled_by(found: Sequence[Signal], without: frozenset[str] = WEAK) -> Label:
    """Give the label that signals alone come to: NEG where one shows that counts."""
    return "NEG" if any(one.name not in without for one in found) else "POS"
