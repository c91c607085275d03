"""What a model is asked with about labelled conversations: what it is shown of them, and what code alone says of them.

Signals are the few structural things that code can say against a conversation, shown to a judge as evidence. They read
calls, arguments, results, values and state, and no words. By themselves they are a baseline and no judge: a
conversation against which they say nothing is POS.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Literal, TypeVar

from pytest_agentbench.calibration.checking import contradictions
from pytest_agentbench.calibration.labelled import Case, data, run_of
from pytest_agentbench.checks.claims import claims_without_source
from pytest_agentbench.checks.judges.asking import Manner
from pytest_agentbench.checks.judges.call_notes import call_notes
from pytest_agentbench.checks.judges.evidence import Evidence, Piece, of_run
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import AgentBenchError, CassetteMissError, ProviderError
from pytest_agentbench.core.rubric import Label, Sees
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.environment.diff import diff
from pytest_agentbench.llm.templates import Templates

T = TypeVar("T")
U = TypeVar("U")

PROMPTS = Templates("pytest_agentbench.calibration")
WORDS = data("prompts/words")
"""Words that fill the prompts: what the labels mean, how users write, and what some situations add."""

DIVERSE, CLEAR_CUT, INVENTIVE = (Manner(PROMPTS, temperature) for temperature in (0.7, 0.0, 1.0))
"""How area discovery and supervised extraction are asked, all else (SCOPE, appendix C.2), and what writes conversations
(TRACE, B.1, for Claude)."""

Shown = Literal["none", "state", "notes", "signals"]
"""Evidence, each with what stands before it: how the state changed, of each call how it went, where its arguments came
from and its use, and all other signals."""

NAME = "signals"
_LONGEST = 200
_NOTED = {
    "repeated-call": "the same as call",
    "idle-read": "nothing that it returned is said or used",
    "empty-answer": "gave nothing",
    "argument-from-nowhere": "stands in nothing that was said or returned before",
}
"""What the notes on calls say of a signal."""

_PROVEN = frozenset({"effect-missing", "answer-against-state", "state-against-goal"})
"""What the state shows."""

WEAK = frozenset({"argument-from-nowhere"})
"""Shown to a judge, and left out of the baseline: in conversations of others it shows as often in right ones."""


async def usable(
    asked: Awaitable[T],
    otherwise: Callable[[AgentBenchError], U],
    of: tuple[type[AgentBenchError], ...] = (ProviderError,),
) -> T | U:
    """Give what was asked for, else what `otherwise` makes of an error that is one `of` these.

    A recording that lacks the answer is an error of its own, and is raised.
    """
    try:
        return await asked
    except CassetteMissError:
        raise
    except of as error:
        return otherwise(error)


def seeded(seed: int, *parts: object) -> Random:
    """Give the randomness of one question: the same whatever else is asked, and in which order."""
    return Random("/".join(map(str, (seed, *parts))))  # noqa: S311 - draws conversations and nonces


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
        if one.failed and all(other.failed for other in calls[number:] if other.call.name == one.call.name):
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


def labelled_by(found: Sequence[Signal], without: frozenset[str] = WEAK) -> Label:
    """Give the label that signals alone come to: NEG where one shows that counts."""
    return "NEG" if any(one.name not in without for one in found) else "POS"


def is_disproved(case: Case) -> bool:
    """Whether the state shows something to be otherwise, whatever was said."""
    return any(one.name in _PROVEN for one in signals(case))


def shown(case: Case, evidence: Shown = "none", sees: Sees = "conversation") -> Evidence:
    """Give what a model sees of a conversation: what was said and called, and what code knows of it besides.

    Raise `ValueError` where it is to see the goal and there is none.
    """
    if sees == "goal" and case.goal is None:
        raise ValueError("the conversation has no goal")
    run = run_of(case)
    if evidence == "none":
        run = run.model_copy(update={"initial_state": None, "final_state": None})
    seen = of_run(run, notes=evidence in ("notes", "signals"), goal=case.goal if sees == "goal" else None)
    found = [one.text for one in signals(case) if not one.is_noted] if evidence == "signals" else []
    noted = (Piece(turn=seen.last_turn, by="tool", head="noted", text=text, heard=False) for text in found)
    return replace(seen, pieces=(*seen.pieces, *noted))
