"""What refusals teach: which argument a tool asks for, which value it blames, and which values it names instead."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from pytest_agentbench.generation.tools.graph.meanings import ASKS
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.probing.candidates import fits, sibling
from pytest_agentbench.generation.tools.probing.elsewhere import PATHS, accepted_elsewhere
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.observed import as_argument
from pytest_agentbench.generation.tools.probing.ordering import is_reference
from pytest_agentbench.generation.tools.probing.reading import atoms, is_quoted
from pytest_agentbench.generation.tools.probing.refusals import (
    QUOTED,
    blames,
    ends_in,
    has_name,
    is_news,
    names_argument,
    said,
    speaks_of,
    without_lists,
)
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.strangers import EXISTS

_LONGEST = 5_000
"""Characters of a refusal that is read."""
_NAMED = 6
"""Values that one refusal names for one argument."""
_TELLING = 3
"""Letters of a word from which it says what a tool does."""
_USAGE = "It takes: "
"""What our own refusal of wrong arguments says before it lists all of them."""
_IS_FOLDER = re.compile(r"\bis (?:actually )?a (?:directory|folder)\b|\bEISDIR\b|\bnot a (?:regular )?file\b", re.I)
"""How systems say that a path should be that of a file (POSIX: EISDIR)."""
_EXTENSION = re.compile(r"(?<![\w.])\.([a-z]{2,5})\b")


def extensions_in(text: str) -> list[str]:
    """Give the extensions of files that a text names, each with its dot."""
    return list(dict.fromkeys(f".{match[1]}" for match in _EXTENSION.finditer(text)))


@dataclass(frozen=True)
class Focus:
    """The call that was refused last, the argument to blame for it ("": nobody can tell), and in which environment."""

    values: dict[str, Any]
    blamed: str
    world: int


class Lessons:
    """Keeps what the refusals of all tools said.

    `extra` are optional arguments that a tool asked for, `told` values that were named for an argument, `extensions`
    those of files.
    """

    def __init__(self, lab: Laboratory) -> None:
        self._lab = lab
        self.extra: dict[str, list[str]] = {}
        self.extensions: list[str] = []
        self._wanted: dict[tuple[str, str], list[str]] = {}
        self._focus: dict[str, Focus] = {}
        self._told: dict[tuple[str, str], list[Any]] = {}
        self._doubted: dict[str, set[tuple[str, int]]] = {}
        self._refuted: set[tuple[str, str]] = set()

    def focus(self, subject: Subject) -> Focus | None:
        """Give what the last refusal of a tool was about, None where it was in another environment."""
        found = self._focus.get(subject.name)
        return found if found is not None and found.world == self._lab.world_number else None

    def told(self, subject: Subject, slot: Slot) -> list[Any]:
        """Give the values that refusals named for an argument."""
        return [value for value in self._told.get((subject.name, slot.path), []) if fits(value, slot)]

    def wanted(self, subject: Subject, slot: Slot) -> list[str]:
        """Give the extensions that a refusal asked for."""
        return self._wanted.get((subject.name, slot.path), [])

    def is_doubted(self, subject: Subject, slot: Slot) -> bool:
        """Whether a value that other tools take was blamed in the environment as it is."""
        return (slot.path, self._lab.world_number) in self._doubted.get(subject.name, set())

    def is_refuted(self, subject: Subject, slot: Slot) -> bool:
        """Whether a value that no other tool takes was blamed."""
        return (subject.name, slot.path) in self._refuted

    def learn(self, subject: Subject, trial: Trial) -> None:
        """Read a refusal: which argument it asks for, and which values it names."""
        if trial.verdict == "empty":  # all is right but for what is looked for
            asked = [slot.path for slot in subject.slots if slot.path in trial.values and set(words(slot.name)) & ASKS]
            self._focus[subject.name] = Focus(trial.values, asked[0] if asked else "", trial.world)
        if trial.verdict not in ("refused", "broken") or len(trial.answer.content) > _LONGEST:
            return
        # what it is called says nothing of its arguments
        message = said(trial.answer.content).replace(subject.name, "…")
        blamed = self._blamed(subject, trial, message)
        self._focus[subject.name] = Focus(trial.values, blamed, trial.world)
        stated = extensions_in(message)
        fresh = [one for one in stated if not any(one in str(value) for value in trial.values.values())]
        self.extensions += [one for one in fresh if one not in self.extensions]
        if blamed:
            self._wanted.setdefault((subject.name, blamed), fresh)
            slot = subject.slot(blamed)
            if slot is not None and trial.values[blamed] in accepted_elsewhere(self._lab, subject, slot):
                self._doubted.setdefault(subject.name, set()).add((blamed, trial.world))
            else:
                self._refuted.add((subject.name, blamed))
            self._offer_another(subject, trial, blamed)
        self._read_names(subject, trial, message, blamed)

    def corrected(
        self, subject: Subject, trial: Trial, values_of: Callable[[Subject, Slot], list[Any]]
    ) -> dict[str, Any]:
        """Give the arguments of a refused call as its refusal wants them, {} where it says nothing of the kind.

        Optional arguments that it names are added, with a value that it quotes, else the first of `values_of`; a path
        that it calls a folder becomes that of a file in it.
        """
        if trial.verdict not in ("refused", "broken") or len(trial.answer.content) > _LONGEST:
            return {}
        message = said(trial.answer.content).replace(subject.name, "…")
        if _USAGE in message:
            return {}
        added: dict[str, Any] = {}
        quoted = [atom.value for atom in atoms(message) if is_quoted(atom)]
        for slot in subject.slots:
            is_named = re.search(rf"(?<!\w){re.escape(slot.name)}(?!\w)", without_lists(message)) is not None
            if slot.required or slot.path in trial.values or not is_named:
                continue
            named = [value for one in quoted if (value := as_argument(one, slot)) is not None and fits(value, slot)]
            values = [*named, *values_of(subject, slot)]
            added |= {slot.path: values[0]} if values else {}
        if _IS_FOLDER.search(message):
            chance = self._lab.chance(subject, subject.slots[0])
            for path, value in trial.values.items():
                taker = subject.slot(path)
                if isinstance(value, str) and taker is not None and _may_be_folder(taker, value):
                    added.setdefault(path, f"{value.rstrip('/')}/file-{chance.randrange(100, 999)}.txt")
        return {**trial.values, **added} if added else {}

    def _offer_another(self, subject: Subject, trial: Trial, blamed: str) -> None:
        """Where a name is taken, put one like it first."""
        value = trial.values.get(blamed)
        if isinstance(value, str) and EXISTS.search(trial.judged.reason):
            chance = Random(f"{subject.name} {blamed} {value}")  # noqa: S311 - no secret hangs on it
            self._told.setdefault((subject.name, blamed), []).insert(0, sibling(value, chance))

    def _read_names(self, subject: Subject, trial: Trial, message: str, blamed: str) -> None:
        spoken = set(words(without_lists(message)))
        extra = self.extra.setdefault(subject.name, [])
        known = {*self._lab.subjects, *(slot.name for slot in subject.slots), *map(str, trial.values.values())}
        is_usage = _USAGE in message
        prose = without_lists(message)  # what is listed are values, though an argument be called like one of them
        for slot in subject.slots:
            is_named = re.search(rf"(?<!\w){re.escape(slot.name)}(?!\w)", prose) is not None
            if is_named and not is_usage and not slot.required and slot.path not in (*extra, *trial.values):
                extra.append(slot.path)
            is_meant = is_named or slot.path == blamed or set(words(slot.name)) & spoken
            if slot.type in ("string", "any") and not is_usage and is_meant:
                named = [atom for atom in atoms(message) if _is_told(slot, atom.names[-1:])]
                named.sort(key=lambda atom: not is_quoted(atom))
                values = [as_argument(atom.value, slot) for atom in named]
                fresh = [value for value in values if value is not None and is_news(str(value), known)]
                if slot.path == blamed:
                    fresh = [*fresh[:1], *(end for end in ends_in(message) if fits(end, slot)), *fresh[1:]]
                told = self._told.setdefault((subject.name, slot.path), [])
                told[:0] = [value for value in fresh[:_NAMED] if value not in told]

    def _blamed(self, subject: Subject, trial: Trial, message: str) -> str:
        """Name the argument that a refusal is about, "" where that cannot be told: its value is repeated.

        One that it names in quotes goes first. Of several, one that no other tool has accepted such a value for; then
        one whose value stands in quotes.
        """
        quoted = [path for path in trial.values if names_argument(message, path)]
        if quoted:
            return quoted[0]
        found = {path: how for path, value in trial.values.items() if (how := blames(message, value, path))}
        known = {
            path
            for path in found
            if (slot := subject.slot(path)) is not None
            and trial.values[path] in accepted_elsewhere(self._lab, subject, slot)
        }
        for several in (set(found) - known, {path for path, how in found.items() if how == QUOTED}):
            if len(several) == 1:
                return several.pop()
        if not found:
            found = {path: "" for path in trial.values if speaks_of(message, path)}
        if not found:
            found = {path: "" for path in trial.values if has_name(message, path)}
        return next(iter(found)) if len(found) == 1 else ""


def hindrance(lab: Laboratory, subject: Subject) -> str:
    """Name the tool that a tool's refusals speak of by a word that is in no other name: `contains merged cells`."""
    counted = Counter(word for name in lab.subjects for word in set(words(name)))
    own = {word for slot in subject.slots for word in words(slot.name)}
    said_of: Counter[str] = Counter()
    for trial in subject.trials:
        if trial.verdict == "refused" and trial.kind == "nominal":
            spoken = set(words(without_lists(trial.judged.reason)))
            for name, other in lab.subjects.items():
                telling = {word for word in words(name) if counted[word] == 1 and len(word) > _TELLING} - own
                if other is not subject and not other.is_read and any(map(_stems(telling), spoken)):
                    said_of[name] += 1
    return said_of.most_common(1)[0][0] if said_of else ""


def _stems(telling: set[str]) -> Callable[[str], bool]:
    """Give whether a word is one of these, or made from one: `merged` and `unmerge` from `merge`."""
    return lambda word: any(word.removeprefix("un").startswith(one) for one in telling)


def _may_be_folder(slot: Slot, value: str) -> bool:
    return bool(PATHS & set(words(slot.name))) and not re.search(r"[^./]\.[A-Za-z]\w{0,4}$", value)


def _is_told(slot: Slot, names: tuple[str, ...]) -> bool:
    """Whether what a refusal calls so may be meant for an argument: a hash is, for one that refers to something."""
    return names != ("error",) and (names != ("hash",) or is_reference(slot))
