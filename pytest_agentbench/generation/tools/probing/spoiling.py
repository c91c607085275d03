"""Reads that ought to work whatever was done: where one fails after a change that was taken, the change has spoilt it.

A service may take what it cannot tell of afterwards, or close its doors. What such a call taught is kept; where
environments open anew, probing goes on in one in which it was never made.
"""

from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.candidates import declared
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.ordering import is_reference

FAILS = frozenset({"refused", "broken"})
"""What a read answers that was spoilt; that nothing is there is no failure."""
_WATCHED = 3
"""Reads that are asked after a change: what spoils one rarely spares all others."""


def watched(lab: Laboratory) -> list[Trial]:
    """Give calls of reads that name nothing and were answered, a few tools' one each, those with content first."""
    found = [
        trial
        for subject in lab.subjects.values()
        if subject.is_read and not subject.given_up and (trial := _answered(lab, subject)) is not None
    ]
    return sorted(found, key=lambda trial: not trial.ok)[:_WATCHED]


def _answered(lab: Laboratory, subject: Subject) -> Trial | None:
    calls: Iterator[Trial] = (trial for trial in subject.trials if trial.ok or trial.verdict == "empty")
    plain = [trial for trial in calls if all(_names_nothing(lab, subject, *one) for one in trial.values.items())]
    return next((trial for trial in plain if trial.ok), plain[0] if plain else None)


def _names_nothing(lab: Laboratory, subject: Subject, path: str, value: Any) -> bool:
    """Whether a value refers to nothing that a change may have moved: a choice, a number, or what the user named."""
    slot = subject.slot(path)
    if slot is None:
        return False
    hints = lab.world.hints
    if isinstance(value, bool) or value in (*hints.get(f"{subject.name}.{slot.name}", ()), *hints.get(slot.name, ())):
        return True
    return not is_reference(slot) and (is_number(value) or value in declared(slot))
