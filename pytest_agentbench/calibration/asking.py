"""What a model is asked with about labelled conversations: what it is shown of them, and what signals say of them."""

from random import Random

from pytest_agentbench.calibration.labelled import Case, data
from pytest_agentbench.checks.judges.asking import Manner
from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.checks.judges.signals import Shown, Signal, shown_of, signals_of
from pytest_agentbench.core.rubric import Sees
from pytest_agentbench.llm.templates import Templates

PROMPTS = Templates("pytest_agentbench.calibration")
WORDS = data("prompts/words")
"""Words that fill the prompts: what the labels mean, how users write, and what some situations add."""

DIVERSE, CLEAR_CUT, INVENTIVE = (Manner(PROMPTS, temperature) for temperature in (0.7, 0.0, 1.0))
"""How area discovery and supervised extraction are asked, all else (SCOPE, appendix C.2), and what writes conversations
(TRACE, B.1, for Claude)."""


def seeded(seed: int, *parts: object) -> Random:
    """Give the randomness of one question: the same whatever else is asked, and in which order."""
    return Random("/".join(map(str, (seed, *parts))))  # noqa: S311 - draws conversations and nonces


def signals(case: Case) -> tuple[Signal, ...]:
    """Give all signals of a conversation, those of the notes on calls first."""
    return signals_of(case.run, system=case.briefing, expected=case.goal.changes if case.goal else ())


def shown(case: Case, evidence: Shown = "none", sees: Sees = "conversation") -> Evidence:
    """Give what a model sees of a conversation: what was said and called, and what code knows of it besides.

    Raise `ValueError` where it is to see the goal and there is none.
    """
    if sees == "goal" and case.goal is None:
        raise ValueError("the conversation has no goal")
    goal, expected = case.goal if sees == "goal" else None, case.goal.changes if case.goal else ()
    return shown_of(case.run, evidence, goal=goal, system=case.briefing, expected=expected)
