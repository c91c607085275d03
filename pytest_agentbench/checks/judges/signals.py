"""Signals: the few structural things that code can say against a conversation, shown to a judge as evidence.

They read calls, arguments, results, values and state, and no words. By themselves they are a baseline and no judge: a
conversation against which they say nothing is POS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from pytest_agentbench.checks.claims import claims_without_source
from pytest_agentbench.checks.judges.call_notes import EMPTY, FROM_NOWHERE, IDLE, REPEATED, call_notes
from pytest_agentbench.checks.judges.evidence import Evidence, Goal, Piece, of_run
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import decoded
from pytest_agentbench.core.rubric import Label
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import flat, printable, shorten
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.diff import diff

Shown = Literal["none", "state", "notes", "signals"]
"""Evidence, each with what stands before it: how the state changed, of each call how it went, where its arguments came
from and its use, and all other signals."""

NAME = "signals"
WEAK = frozenset({"argument-from-nowhere"})
"""Shown to a judge, and left out of the baseline: in conversations of others it shows as often in right ones."""

PROVEN = frozenset({"effect-missing", "answer-against-state", "state-against-goal"})
"""What the state shows, whatever was said."""

_NOTED = {"repeated-call": REPEATED, "idle-read": IDLE, "empty-answer": EMPTY, "argument-from-nowhere": FROM_NOWHERE}
"""What the notes on calls say of a signal."""

_LONGEST, _MOST_LINES = 200, 3
"""Characters of a signal, and lines of changed state that are told of each kind."""

_FEWEST_SHARED = 2
"""Fields beyond which an answer and a row of the state are taken to be of the same thing."""


class Signal(Model):
    """Something that stands against a conversation. `is_noted` tells that the notes on calls show it already."""

    name: str
    text: str
    is_noted: bool = False


def signals_of(run: Run, *, system: str = "", expected: Sequence[str] = ()) -> tuple[Signal, ...]:
    """Give all signals of a closed run, those of the notes on calls first.

    `system` is the agent's system prompt, `expected` are the changes that a right run makes, where these are known.
    """
    found = (*_found(run, system), *_of_state(run, expected))
    return (*_noted(run), *(Signal(name=name, text=shorten(text, _LONGEST)) for name, text in found))


def labelled_by(found: Sequence[Signal], without: frozenset[str] = WEAK) -> Label:
    """Give the label that signals alone come to: NEG where one shows that counts."""
    return "NEG" if any(one.name not in without for one in found) else "POS"


def shown_of(
    run: Run, shown: Shown, *, goal: Goal | None = None, system: str = "", expected: Sequence[str] = ()
) -> Evidence:
    """Give what a judge sees of a closed run: what was said and called, and what code knows of it besides.

    `system` and `expected` are read by signals alone.
    """
    if shown == "none":
        run = run.model_copy(update={"initial_state": None, "final_state": None})
    seen = of_run(run, notes=shown in ("notes", "signals"), goal=goal)
    found = signals_of(run, system=system, expected=expected) if shown == "signals" else ()
    texts = [one.text for one in found if not one.is_noted]
    noted = (Piece(turn=seen.last_turn, by="tool", head="noted", text=text, heard=False) for text in texts)
    return replace(seen, pieces=(*seen.pieces, *noted))


def contradictions(calls: Sequence[CallRecord], state: State | None) -> Iterator[str]:
    """Tell of each answer that gives one field of a row of the state another value than the row has.

    The row is the one that shares most fields with the answer, and all values but that one.
    """
    tables = [table for table in (state or {}).values() if isinstance(table, dict)]
    rows = [row for table in tables for row in table.values() if isinstance(row, dict)]
    for number, one in enumerate(calls, start=1):
        for item in _objects(decoded(one.answer)):
            shared = [(item.keys() & row.keys(), row) for row in rows]
            most = max((len(names) for names, _ in shared), default=0)
            near = [
                ([name for name in sorted(names) if flat(item[name]) != flat(row[name])], row)
                for names, row in shared
                if len(names) == most
            ]
            names, row = min(near, key=lambda pair: len(pair[0]), default=([], {}))
            if most > _FEWEST_SHARED and len(names) == 1:
                yield f"call {number} gave {names[0]} {item[names[0]]!r}, the stored row has {row[names[0]]!r}"


def _noted(run: Run) -> Iterator[Signal]:
    notes = call_notes(run.transcript, run.toolset)
    for name, text in _NOTED.items():
        found = [note for note in notes if text in note]
        # one read may be a look that had to be taken
        if len(found) >= (2 if name == "idle-read" else 1):
            yield from (Signal(name=name, text=note, is_noted=True) for note in found)


def _found(run: Run, system: str) -> Iterator[tuple[str, str]]:
    calls = run.transcript.trajectory
    for number, one in enumerate(calls, start=1):
        if one.failed and all(other.failed for other in calls[number:] if other.call.name == one.call.name):
            yield "failed-call", f"call {number} failed, and no later call of {printable(one.call.name)} succeeded"
    for flag in claims_without_source(run, system):
        value = printable(flag.value)
        yield (
            "value-from-nowhere",
            f"turn {flag.turn} states {value}, which stands in nothing that was said or returned",
        )
    for text in contradictions(calls, run.initial_state):
        yield "answer-against-state", printable(text)


def _of_state(run: Run, expected: Sequence[str]) -> Iterator[tuple[str, str]]:
    if run.initial_state is None or run.final_state is None:
        return
    calls, kinds = run.transcript.trajectory, {spec.name: spec.kind for spec in run.toolset}
    writes = [number for number, one in enumerate(calls, start=1) if kinds.get(one.call.name) == "write"]
    done = [number for number in writes if not calls[number - 1].failed]
    if done and not diff(run.initial_state, run.final_state):
        yield "effect-missing", f"call {done[0]} is a write that was answered, and the stored data did not change"
    made = of_run(run).changes if expected else ()
    for line in [one for one in expected if one not in made][:_MOST_LINES]:
        yield "state-against-goal", f"of what a right run changes in the stored data, missing: {line}"
    for line in [one for one in made if one not in (*expected, "nothing")][:_MOST_LINES]:
        yield "state-against-goal", f"a right run does not change this in the stored data: {line}"


def _objects(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)
