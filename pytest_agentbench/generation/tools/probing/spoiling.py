"""Reads that ought to work whatever was done: where one fails after a change that was taken, the change has spoilt it.

A service may take what it cannot tell of afterwards, close its doors, or use up the one thing that all others are known
to work with. What such a call taught is kept; where environments open anew, probing goes on in one in which it was
never made.
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
"""Reads that name nothing and are asked after a change: what spoils one rarely spares all others."""
_ABOUT = 2
"""Reads that are asked of what the change was made to."""


def watched(lab: Laboratory, change: Trial) -> list[Trial]:
    """Give calls of reads that were answered: a few that name nothing, those with content first, and those that looked
    up in this environment what the change was made to.
    """
    reads = [subject for subject in lab.subjects.values() if subject.is_read and not subject.given_up]
    plain = [trial for subject in reads if (trial := _answered(lab, subject)) is not None]
    return [*sorted(plain, key=lambda trial: not trial.ok)[:_WATCHED], *_about(lab, change)]


def _about(lab: Laboratory, change: Trial) -> list[Trial]:
    """Give the latest calls of tools that looked something up by an id that the change was given."""
    given = _references(lab, change)
    found: dict[str, Trial] = {}
    for trial in reversed(lab.trials if given else ()):
        if trial.world != lab.world_number or len(found) == _ABOUT:
            break
        if trial.ok and lab.subjects[trial.tool].is_read and given & _references(lab, trial):
            found.setdefault(trial.tool, trial)
    return list(found.values())


def _references(lab: Laboratory, trial: Trial) -> set[str]:
    subject = lab.subjects[trial.tool]
    slots = ((subject.slot(path), value) for path, value in trial.values.items() if value not in (None, ""))
    return {str(value) for slot, value in slots if slot is not None and is_reference(slot)}


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
