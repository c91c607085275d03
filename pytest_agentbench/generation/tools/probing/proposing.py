"""Which values are worth trying for an argument, the most promising first: known, named, seen, and usual ones."""

import re
from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.graph.meanings import ASKS, shape
from pytest_agentbench.generation.tools.graph.names import nouns, words
from pytest_agentbench.generation.tools.probing.candidates import declared, described, fits, usual
from pytest_agentbench.generation.tools.probing.elsewhere import NEW, PATHS, accepted_elsewhere, paths_elsewhere
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject
from pytest_agentbench.generation.tools.probing.learning import Lessons, extensions_in
from pytest_agentbench.generation.tools.probing.observed import Seen, seen_for, spread
from pytest_agentbench.generation.tools.probing.ordering import is_bare, is_reference
from pytest_agentbench.generation.tools.probing.schemas import Slot

CREATES = frozenset({
    "create", "add", "new", "register", "insert", "make", "put", "write", "save", "post", "upload", "copy", "duplicate",
    "clone", "export",
})  # fmt: skip
"""Verbs of tools that make something."""
_SEARCHES = frozenset({"query", "search", "keyword", "term", "place", "city", "text"})
_NAMES = frozenset({"name", "title", "label", "subject", "city", "place"})
"""What arguments are called that look for something by its name, and what results call such names."""
_FOLDER = re.compile(r"/(?:[\w.@+-]+/)*[\w@+-]+/?")
_FOLDERS = frozenset({"directory", "root"})
_ENDS = frozenset({"source", "destination", "target"})
_LIKELY = 8
_NEWS = 4
_PUT_IN = 6
_ALIKE = 5


def creates(subject: Subject) -> bool:
    """Whether a tool's name says that it makes something."""
    return bool(CREATES & set(words(subject.name)))


class Proposals:
    """Gives values for arguments, from declarations, results, what other tools accepted, and what refusals said."""

    def __init__(self, lab: Laboratory, lessons: Lessons) -> None:
        self._lab = lab
        self._lessons = lessons

    def of(self, subject: Subject, slot: Slot) -> list[Any]:
        """Give values to try for an argument, the most promising first."""
        hints = self._lab.world.hints
        given = [*hints.get(f"{subject.name}.{slot.name}", ()), *hints.get(slot.name, ())]
        told = self._lessons.told(subject, slot)
        stated = [*declared(slot), *described(slot, subject.spec.description)]
        if slot.schema.get("enum"):
            usual_ones = usual(slot, self._chance(subject, slot))
            return _distinct(slot, given, chain(given, declared(slot), told, stated, usual_ones))
        seen = seen_for(self._lab, subject, slot)
        likely = [one.value for one in seen if one.likeness >= 0.5][:_LIKELY]
        by_name, unlike = self._by_name(subject, slot, seen), self._unlike(subject, slot, seen)
        named = [*told, *stated]
        if is_reference(slot):
            made = self._fresh(subject, slot) if creates(subject) and is_bare(slot) else ()
            by_name = [*made, *unlike, *by_name]
        elif _is_path(slot, [*told, *stated]):
            paths = self._paths(subject, slot, told)
            told = [*paths, *told] if creates(subject) else [*told, *paths]
            if self._makes_files(subject, slot):
                given = [*given, *paths[:1]]
        if creates(subject) and slot.type == "string" and set(words(slot.name)) & NEW:
            named, likely = [*named, *self._fresh(subject, slot), *likely], []
        elif not subject.is_read and set(words(slot.name)[-1:]) & ASKS:
            likely, unlike = [], []  # texts that are kept: what stands elsewhere would seem to come from here later
        known, news = accepted_elsewhere(self._lab, subject, slot), told[:_NEWS]
        is_name = is_reference(slot) or set(words(slot.name)) & NEW
        alike = [] if is_name else self._alike(seen, [*known, *told, *stated])
        if self._lessons.is_doubted(subject, slot):  # what was known is not accepted any more
            known, news = [*alike, *news], known
        ends = paths_elsewhere(self._lab, subject, slot)
        return _distinct(
            slot, given, chain(given, known, news, declared(slot), likely, named, alike, ends, by_name, unlike)
        )

    def _makes_files(self, subject: Subject, slot: Slot) -> bool:
        """Whether a tool makes what a path names, as far as its name tells and no refusal has said otherwise."""
        is_named = any(set(words(other.name)) & NEW for other in subject.slots)
        is_there = any(other.required and is_reference(other) and not is_bare(other) for other in subject.slots)
        return creates(subject) and not is_named and not is_there and not self._lessons.is_refuted(subject, slot)

    def _chance(self, subject: Subject, slot: Slot) -> Random:
        return self._lab.chance(subject, slot)

    def _unlike(self, subject: Subject, slot: Slot, seen: list[Seen]) -> list[Any]:
        """Give values that stand in results under other names."""
        may_refer = subject.is_read or is_reference(slot) or bool(set(words(slot.name)) & PATHS)
        rest = [one for one in seen if one.likeness < 0.5 and (may_refer or one.likeness >= 0.2)]
        return [one.value for one in spread(rest, 1)][: 8 if is_reference(slot) else 4]

    def _alike(self, seen: list[Seen], known: list[Any]) -> list[str]:
        """Give values of results that look like known ones, however long, the latest first: cells, dates, versions."""
        forms = {_form(value) for value in known if _is_coded(value)}
        if not forms:
            return []
        alike = [one for one in seen if isinstance(one.value, str) and _form(one.value) in forms]
        latest = sorted(alike, key=lambda one: -one.trial.epoch)
        return list(dict.fromkeys(one.value for one in latest))[:_ALIKE]

    def _by_name(self, subject: Subject, slot: Slot, seen: list[Seen]) -> list[Any]:
        """Give usual values; for a read, what people call things by, and what was put into the service, go first."""
        usual_ones = usual(slot, self._chance(subject, slot))
        if (
            not subject.is_read
            or is_reference(slot)
            or (set(words(slot.name)) & PATHS and slot.type in ("string", "any"))
        ):
            return usual_ones
        near = [one for one in seen if 0.3 <= one.likeness < 0.5]
        found = [one.value for one in spread(near, 1)[:2]]
        if set(words(slot.name)) & _SEARCHES:
            names = [one.value for one in seen if set(words(one.atom.names[-1] if one.atom.names else "")) & _NAMES]
            return [*found, *self._put_in(slot), *usual_ones[:2], *names[:6], *usual_ones[2:]]
        return [*found, *usual_ones]

    def _fresh(self, subject: Subject, slot: Slot) -> Iterator[str]:
        """Give names for new things: a word for what the tool makes, and a number."""
        chance = self._chance(subject, slot)
        usual(slot, chance)
        noun = min(nouns(slot.name, subject.name), default="item")
        yield from (f"{noun}-{chance.randrange(100, 999)}" for _ in range(3))

    def _put_in(self, slot: Slot) -> list[Any]:
        """Give short texts that calls put into the service, the latest of each place: what can be searched for."""
        found: dict[tuple[str, str], str] = {}
        for trial in self._lab.trials:
            if trial.ok and trial.kind == "nominal" and not self._lab.subjects[trial.tool].is_read:
                for path, value in trial.values.items():
                    text = next(_texts(value), "")
                    if 2 < len(text) <= 40 and fits(text, slot):
                        found.pop((trial.tool, path), None)
                        found[trial.tool, path] = text
        return list(dict.fromkeys(reversed(found.values())))[:_PUT_IN]

    def _paths(self, subject: Subject, slot: Slot, told: list[Any]) -> list[str]:
        """Give names of files below the folders that are known: absolute paths without an extension."""
        hints = [value for values in self._lab.world.hints.values() for value in values]
        seen = [one.value for one in seen_for(self._lab, subject, slot)]
        texts = [value for value in (*told, *hints, *seen) if isinstance(value, str)]
        folders = dict.fromkeys(text.rstrip("/") for text in texts if _FOLDER.fullmatch(text))
        stated = extensions_in(f"{slot.described} {subject.spec.description}")
        wanted = self._lessons.wanted(subject, slot)
        extensions = list(dict.fromkeys([*wanted, *stated, *self._lessons.extensions, ".txt"]))[:3]
        if _FOLDERS & set(words(subject.name)):
            extensions = [""]
        number = self._chance(subject, slot).randrange(100, 999)
        names = [f"file-{number}{extension}" for extension in extensions]
        below = [f"{folder}/{name}" for folder in list(folders)[:2] for name in names[:1]]
        return [*below, *names] if self._lessons.extensions else [*below, *names[:1]]


def _is_path(slot: Slot, known: list[Any]) -> bool:
    """Whether an argument takes a path, by its name; a source or a target may be anything else that is known for it."""
    named = set(words(slot.name)) & PATHS
    return bool(named) and slot.type in ("string", "any") and not (named <= _ENDS and known)


def _form(value: Any) -> str:
    """Give the look of a value with runs made one: `B2` and `J16` look alike."""
    return re.sub(r"(.)\1+", r"\1", shape(value))


def _is_coded(value: Any) -> bool:
    """Whether a text is made up of letters and digits, as the names of cells, versions and dates are."""
    return isinstance(value, str) and re.search(r"\d", value) is not None and " " not in value


def _texts(value: Any) -> Iterator[str]:
    """Give the texts of a value, those of tables from the last row upwards: the first one holds the columns' names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in reversed(value):
            yield from _texts(item)


def _distinct(slot: Slot, given: list[Any], ordered: Iterator[Any]) -> list[Any]:
    return list({dumps(value): value for value in ordered if fits(value, slot) or value in given}.values())
