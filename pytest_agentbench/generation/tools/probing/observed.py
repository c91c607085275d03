"""Values seen in results of tools, and which of them another tool's argument may mean."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.reading import Atom
from pytest_agentbench.generation.tools.probing.schemas import Slot

SPECIFIC = 6
"""Characters from which a text that is no plain word is unlikely to be met by chance."""


_FURTHER = 3
"""Characters after an echo that make another value of it."""


@dataclass(frozen=True)
class Seen:
    """A value in a result, as the argument takes it, and how likely the argument means it (`names.likeness`)."""

    value: Any
    trial: Trial
    atom: Atom
    likeness: float


class Sightings:
    """What was seen so far that an argument may mean: each answer is looked at once, since this is asked for often."""

    def __init__(self, lab: Laboratory, subject: Subject, slot: Slot) -> None:
        self._lab = lab
        self._subject = subject
        self._slot = slot
        self._world = -1
        self._answers = 0
        self._calls = 0
        self._given: dict[tuple[Any, ...], Seen] = {}
        self._named: dict[tuple[Any, ...], Seen] = {}
        self._ranked: list[Seen] = []

    def ranked(self) -> list[Seen]:
        """Give the values, the likeliest first, each place and value once."""
        if self._world != self._lab.world_number:
            self._world, self._answers, self._calls = self._lab.world_number, 0, 0
            self._given, self._named, self._ranked = {}, {}, []
        self._read_answers()
        if self._slot.type != "boolean":
            self._read_names()
        if len(self._given) + len(self._named) != len(self._ranked):
            found = (*self._given.values(), *self._named.values())
            self._ranked = sorted(found, key=lambda one: -one.likeness - 0.05 * is_specific(one.value))
        return self._ranked

    def _read_answers(self) -> None:
        lab, slot = self._lab, self._slot
        for trial, atom in lab.seen[self._answers :]:
            value = as_argument(atom.value, slot)
            if value is None or (lab.subjects[trial.tool].is_read and is_echo(atom.value, own_values(trial))):
                continue
            key = (type(value), str(value), trial.tool, atom.path, atom.pattern)
            if key not in self._given:
                like = lab.likeness(slot.path, self._subject.name, atom.names, trial.tool)
                self._given[key] = Seen(value, trial, atom, like)
        self._answers = len(lab.seen)

    def _read_names(self) -> None:
        """Read the arguments of calls that wrote: what they made may go by that name."""
        lab, slot = self._lab, self._slot
        for trial in lab.trials[self._calls :]:
            maker = lab.subjects[trial.tool]
            if not trial.ok or maker.is_read or maker.destroys or trial.tool == self._subject.name:
                continue
            for path, given in trial.values.items():
                value = as_argument(given, slot)
                key = (type(value), str(value), trial.tool, "argument", path)
                if value is None or isinstance(value, bool) or key in self._named:
                    continue
                names = tuple(step for step in path.split(".") if step != "*")
                like = lab.likeness(slot.path, self._subject.name, names, trial.tool)
                if like >= 0.5 or is_specific(value):
                    self._named[key] = Seen(value, trial, Atom(given, f"={path}", "", names), like)
        self._calls = len(lab.trials)


def seen_for(lab: Laboratory, subject: Subject, slot: Slot) -> list[Seen]:
    """Give the values of results that fit an argument's type, the likeliest first, each place and value once.

    What a call only gives back of its own arguments is left out, unless the call made it.
    """
    key = subject.name, slot.path
    if key not in lab.sightings:
        lab.sightings[key] = Sightings(lab, subject, slot)
    found: Sightings = lab.sightings[key]
    return found.ranked()


def own_values(trial: Trial) -> list[Any]:
    """Give the scalars of a call's arguments."""
    return [value for value in trial.values.values() if value not in (None, "") and not isinstance(value, dict | list)]


def is_echo(value: Any, given: list[Any]) -> bool:
    """Whether a value of a result is one of the call's own arguments: equal as text, or a number snapped to a grid.

    A text that ends with a given one, as an address ends with a path, or is a part of it, is one too; what goes on
    after it, as a file's path does after its folder's, is something else. Services give coordinates back on their
    grid: half a unit at most, and only where both have decimals.
    """
    for own in given:
        if str(own).strip().lower() == str(value).strip().lower():
            return True
        texts = isinstance(value, str) and isinstance(own, str) and len(value) < 200
        if texts and is_specific(own) and own in value and len(value.rpartition(own)[2].strip("/. ")) < _FURTHER:
            return True
        if texts and is_specific(value) and value in own:
            return True
        both = is_number(value) and is_number(own) and not isinstance(value, int) and not isinstance(own, int)
        if both and abs(value - own) <= 0.5:
            return True
    return False


def as_argument(value: Any, slot: Slot) -> Any:
    """Give a value of a result as the argument's type takes it, None where it does not."""
    kind = slot.type
    if kind == "any":
        return value
    if isinstance(value, bool):
        return value if kind == "boolean" else None
    if kind == "string":
        if isinstance(value, str):
            return value if len(value) <= 500 else None
        return str(value) if isinstance(value, int) else None
    if kind == "integer":
        if isinstance(value, int):
            return value
        if isinstance(value, str) and value.strip().isdigit() and len(value) <= 15:
            return int(value)
        return int(value) if isinstance(value, float) and value == int(value) else None
    if kind == "number":
        return value if is_number(value) else None
    return None


def is_specific(value: Any) -> bool:
    """Whether a value is unlikely to stand in two places by chance: long numbers, ids, paths; no words, no counts."""
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, float):
        return len(repr(value).replace("-", "").replace(".", "")) >= 5
    text = str(value)
    if isinstance(value, int):
        return len(text) >= 5
    has_digit = any(char.isdigit() for char in text)
    return len(text) >= SPECIFIC and " " not in text and (has_digit or any(char in "/_-.@:" for char in text))


def spread(seen: list[Seen], most: int) -> list[Seen]:
    """Give some values of each place, first one of each place, then the second of each."""
    counted: dict[tuple[str, str, str], int] = defaultdict(int)
    rounds: list[list[Seen]] = [[] for _ in range(most)]
    known: set[str] = set()
    for one in seen:
        place = (one.trial.tool, one.atom.path, one.atom.pattern)
        key = dumps([place, one.value])
        if key not in known and counted[place] < most:
            rounds[counted[place]].append(one)
            counted[place] += 1
            known.add(key)
    return [one for several in rounds for one in several]
