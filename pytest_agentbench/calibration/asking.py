"""What a model is asked with about labelled conversations: what it is shown of them, and what signals say of them.

Signals alone are a baseline and no judge: a conversation against which they say nothing is POS.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from pytest_agentbench.calibration.labelled import Case, data
from pytest_agentbench.checks.judges.asking import Manner
from pytest_agentbench.checks.judges.evidence import Evidence, Piece, of_run
from pytest_agentbench.checks.judges.signals import Signal, signals_of
from pytest_agentbench.core.rubric import Label, Sees
from pytest_agentbench.llm.templates import Templates

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
WEAK = frozenset({"argument-from-nowhere"})
"""Shown to a judge, and left out of the baseline: in conversations of others it shows as often in right ones."""


def seeded(seed: int, *parts: object) -> Random:
    """Give the randomness of one question: the same whatever else is asked, and in which order."""
    return Random("/".join(map(str, (seed, *parts))))  # noqa: S311 - draws conversations and nonces


def signals(case: Case) -> tuple[Signal, ...]:
    """Give all signals of a conversation, those of the notes on calls first."""
    return signals_of(case.run, system=case.briefing, expected=case.goal.changes if case.goal else ())


def labelled_by(found: Sequence[Signal], without: frozenset[str] = WEAK) -> Label:
    """Give the label that signals alone come to: NEG where one shows that counts."""
    return "NEG" if any(one.name not in without for one in found) else "POS"


def shown(case: Case, evidence: Shown = "none", sees: Sees = "conversation") -> Evidence:
    """Give what a model sees of a conversation: what was said and called, and what code knows of it besides.

    Raise `ValueError` where it is to see the goal and there is none.
    """
    if sees == "goal" and case.goal is None:
        raise ValueError("the conversation has no goal")
    run = case.run
    if evidence == "none":
        run = run.model_copy(update={"initial_state": None, "final_state": None})
    seen = of_run(run, notes=evidence in ("notes", "signals"), goal=case.goal if sees == "goal" else None)
    found = [one.text for one in signals(case) if not one.is_noted] if evidence == "signals" else []
    noted = (Piece(turn=seen.last_turn, by="tool", head="noted", text=text, heard=False) for text in found)
    return replace(seen, pieces=(*seen.pieces, *noted))
