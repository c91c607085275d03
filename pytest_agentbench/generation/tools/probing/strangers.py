"""Which arguments take known values only: strangers of the same look are refused where the rest of the call works."""

import re
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.graph.spots import Closed
from pytest_agentbench.generation.tools.probing.candidates import fits
from pytest_agentbench.generation.tools.probing.laboratory import Subject, Trial
from pytest_agentbench.generation.tools.probing.schemas import Slot

_LARGEST = 2**53
"""Numbers beyond which JSON keeps no whole ones (RFC 8259 §6): that one is refused says nothing of others."""

EXISTS = re.compile(r"\balready\b|\bexists\b|\bduplicate\b|\bconflict\b|\bin use\b|\btaken\b", re.I)
"""What is refused since it is known, not since it is unknown."""

_TOLD = 3
"""Characters of a value from which its being repeated in a refusal is no chance."""

_MAKES = frozenset({"write", "save", "put", "upload", "create", "add", "new", "insert", "make", "register"})


def closed_slots(subjects: dict[str, Subject]) -> Closed:
    """Give the arguments that take known values only: a conforming stranger was not accepted, where the rest was.

    One under which something new is made takes strangers, and refuses some for reasons of its own.
    """
    given = {
        name: {str(value) for trial in subject.gives() for value in trial.values.values()}
        for name, subject in subjects.items()
        if not subject.is_read and not subject.destroys
    }
    return frozenset(
        (name, slot.path)
        for name, subject in subjects.items()
        for slot in subject.slots
        if strangers_refused(subject, slot)
        and not (
            _takes_most(subject, slot)
            if subject.is_read
            else _takes_new(subject, slot, [made for other, made in given.items() if other != name])
        )
    )


def _takes_most(subject: Subject, slot: Slot) -> bool:
    """Whether a read answers more values that probing made up than it refuses: numbers may be of things there are."""
    values = {str(trial.values.get(slot.path)) for trial in subject.gives() if trial.kind == "boundary"}
    made_up = {value.strip().lower() for value in values if value.strip() and not value.strip().isdigit()}
    known = {str(trial.values.get(slot.path)).strip().lower() for trial in worked(subject) if trial.kind != "boundary"}
    return len(made_up - known) > max(1, len(strangers_refused(subject, slot)))


def _takes_new(subject: Subject, slot: Slot, made: list[set[str]]) -> bool:
    """Whether values that probing made up were accepted, which mean no known one.

    What another tool was given may have been made by it, unless this one is for making as its name says.
    """
    accepted = [trial for trial in subject.gives() if isinstance(trial.values.get(slot.path), str)]
    known = {str(trial.values[slot.path]).strip().lower() for trial in accepted if trial.kind != "boundary"}
    known |= {str(trial.values.get(slot.path)).strip().lower() for trial in subject.replays}
    is_maker = bool(set(words(subject.name)) & _MAKES)
    new = {
        str(trial.values[slot.path])
        for trial in accepted
        if trial.kind == "boundary"
        and str(trial.values[slot.path]).strip().lower() not in known
        and (is_maker or not any(str(trial.values[slot.path]) in one for one in made))
    }
    return len(new) >= 2


def strangers_refused(subject: Subject, slot: Slot) -> list[Any]:
    """Give the conforming values of an argument that were not accepted in a call that otherwise works."""
    if slot.schema.get("enum") or slot.type in ("boolean", "object", "array"):
        return []
    since: dict[str, int] = {}
    for trial in worked(subject):
        since.setdefault(_rest(trial, slot.path), trial.epoch)
    marks = {char for trial in subject.gives() for char in str(trial.values.get(slot.path, ""))}
    found: dict[str, Any] = {}
    verdicts: set[str] = set()
    for trial in subject.trials:
        value = trial.values.get(slot.path)
        failures = ("refused", "broken", "empty") if subject.is_read or subject.destroys else ("refused", "broken")
        if value in (None, "") or not fits(value, slot) or trial.verdict not in failures:
            continue
        if is_number(value) and abs(value) > _LARGEST:
            continue
        if isinstance(value, str) and (value != value.strip() or len(value) > 200):
            continue
        if EXISTS.search(trial.judged.reason) or not _is_alike(value, marks):
            continue
        if is_about_another(trial, slot.path):
            continue
        if trial.epoch >= since.get(_rest(trial, slot.path), trial.epoch + 1):
            found.setdefault(dumps(value), value)
            verdicts.add(trial.verdict)
    if verdicts == {"empty"} and _is_threshold(subject, slot, list(found.values())):
        return []
    return list(found.values())


def is_about_another(trial: Trial, path: str) -> bool:
    """Whether a refusal repeats another argument's value, and not this one's: `no book 7` says nothing of shelves."""
    said = trial.judged.reason
    own = str(trial.values.get(path))
    others = (str(value) for name, value in trial.values.items() if name != path)
    return own not in said and any(len(other) >= _TOLD and other in said for other in others)


def worked(subject: Subject) -> list[Trial]:
    """Give the calls that worked, those that were made again in fresh environments included, as they were made."""
    return sorted([*subject.gives(), *(trial for trial in subject.replays if trial.ok)], key=lambda one: one.epoch)


def _is_threshold(subject: Subject, slot: Slot, refused: list[Any]) -> bool:
    """Whether all numbers that brought nothing lie on one side of those that brought something: a bound, no name."""
    taken = [trial.values[slot.path] for trial in subject.gives() if is_number(trial.values.get(slot.path))]
    if not taken or not all(is_number(value) for value in refused):
        return False
    return bool(max(refused) < min(taken) or min(refused) > max(taken))


def _is_alike(value: Any, marks: set[str]) -> bool:
    """Whether a value is made of what accepted ones are made of: its form is then not what was refused."""
    return all(char.isascii() and (char.isalnum() or char in "-_" or char in marks) for char in str(value))


def _rest(trial: Trial, path: str) -> str:
    return dumps([trial.world, {name: value for name, value in trial.values.items() if name != path}])
