"""Which values are worth trying for an argument: named strategies, the most promising first, each of which can be
switched off (`python -m benchmarks.generation SUITE --without NAME` prints what it is worth).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.graph.names import GENERIC, nouns, words
from pytest_agentbench.generation.tools.probing.conforming import (
    conforming,
    declared,
    described,
    distinct_fitting,
    fits,
    takes_dates,
    usual,
)
from pytest_agentbench.generation.tools.probing.reading import Atom
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession

STRATEGIES: Mapping[str, str] = {
    "hints": "values that the recipe names for the argument",
    "state": "values of the state the suite begins with that stand under the argument's name",
    "model": "values that the prober's model proposes from the declarations",
    "declared": "const, default, examples and enum of the schema",
    "refusals": "values that a refusal quotes or lists for the argument",
    "accepted": "what another tool accepted under the same name",
    "results": "values of answers whose names mean the argument",
    "dates": "dates of answers and of the state, for arguments that are declared to be dates",
    "described": "values that the description quotes, or lists in brackets",
    "folders": "files below folders that answers or refusals name, for arguments called as paths are",
    "usual": "the most usual values by format and name (usual_values.toml)",
    "unlike": "references of answers that stand under other names",
    "conforming": "any value of the declared type",
    "plain": "short texts of answers, for text arguments that nothing else fits, until a call works",
    "blame": "vary the argument alone that the last refusal is about",
    "asked": "add optional arguments that a refusal asks for",
    "companions": "values that stand beside one another in an answer are handed on together",
    "nothing": "an answer that made-up values get as well is no content",
    "making": "try whether a name that nobody knew is known after a call that was given it",
    "hand_on": "try values of one tool's answers on the arguments of the others",
    "by_value": "an argument that refuses made-up values takes what an answer gave: whatever both are called",
    "by_name": "an argument that takes anything is given what bears its own telling name",
    "by_mention": "an argument that takes anything is given what its description names: `name of the entity`",
    "enabling": "a call that was refused, and is accepted after another tool wrote, is made possible by that",
    "text_ids": "uuids, hashes and codes in texts",
    "text_paths": "paths, files, addresses and urls in texts",
    "text_numbers": "numbers of things in texts: `task 7`, `#7`",
    "text_quoted": "quoted values in texts",
    "text_fields": "fields in texts: `key: value`",
    "text_lines": "lines of texts that are one value",
}
"""All heuristics of probing and of what it reads as flowing between tools, by name."""

SPECIFIC = 2
"""Characters from which a text with digits and letters is unlikely to be met by chance."""
_DIGITS = 5
"""Digits from which a number is no count."""
_LIKELY = 8
_UNLIKE = 8
_TAKEN = 2
_SHORT = 60
"""Characters up to which a text may be the name of something."""
_FOLDER = re.compile(r"/(?:[\w.@+-]+/)*[\w@+-]+/?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_EPOCH = re.compile(r"1\d{9}(?:\d{3})?(?:\.\d+)?")
"""Seconds, or milliseconds, since 1970, of the years 2001 to 2033."""
_TIME = re.compile(r"\D?\d{1,4}(?:[-/.:]\d{1,4}){1,5}(?:[T ]\d{1,2}:\d{2}.*)?")
"""Dates, times and versions: they are put into calls, and name nothing."""


@dataclass(frozen=True)
class Seen:
    """A value in a result, as the argument takes it, and how likely the argument means it (`names.likeness`)."""

    value: Any
    record: ProbeRecord
    atom: Atom
    likeness: float


class Proposals:
    """Gives values for arguments; `learnt` holds what refusals named, by tool and path."""

    def __init__(self, session: ProbeSession) -> None:
        self._session = session
        self.learnt: dict[tuple[str, str], list[tuple[int, Any]]] = {}

    def of(self, tool: ProbedTool, slot: Slot, *, is_last: bool = False) -> list[Any]:
        """Give values to try for an argument, the most promising first; `is_last` adds what fits by its type alone."""
        session = self._session
        hints = session.world.hints
        given = [*hints.get(f"{tool.name}.{slot.name}", ()), *hints.get(slot.name, ())]
        # what changes something under a mere `id` may make a thing of that id: it is not given that of something else
        is_bare = not tool.is_read and set(words(slot.name)) <= GENERIC
        refers = (names_something(slot) and not is_bare) or takes_path(slot)
        sources: tuple[tuple[str, Callable[[], list[Any]]], ...] = (
            ("hints", lambda: given),
            ("model", lambda: session.proposed.get((tool.name, slot.path), [])),
            ("refusals", lambda: self._learnt(tool, slot)),
            ("accepted", lambda: accepted_elsewhere(session, tool, slot)),
            ("declared", lambda: declared(slot)),
            ("results", lambda: [one.value for one in seen_for(session, tool, slot) if one.likeness >= 0.5][:_LIKELY]),
            ("described", lambda: described(slot, tool.spec.description)),
            ("dates", lambda: self._dates(tool, slot)),
            ("unlike", lambda: self._unlike(tool, slot) if refers else []),
            ("folders", lambda: self._in_folders(tool, slot) if takes_path(slot) else []),
            ("usual", lambda: usual(slot)),
            ("conforming", lambda: conforming(slot, session.chance(tool, slot))),
            ("unlike", lambda: self._unlike(tool, slot)),
            ("plain", lambda: self._plain(tool, slot) if is_last else []),
        )
        if slot.schema.get("enum"):
            sources = tuple(one for one in sources if one[0] in ("hints", "model", "declared", "conforming"))
        values: Iterator[Any] = chain.from_iterable(make() for name, make in sources if session.uses(name))
        return distinct_fitting(values, slot, given)

    def _learnt(self, tool: ProbedTool, slot: Slot) -> list[Any]:
        """Give what refusals named; a reference that stood in another environment may be none in this one."""
        told = self.learnt.get((tool.name, slot.path), [])
        return [value for world, value in told if world == self._session.world_number or not is_specific(value)]

    def _in_folders(self, tool: ProbedTool, slot: Slot) -> list[str]:
        """Give names of files below folders that are known: absolute paths without an extension."""
        known = [str(value) for value in self._session.world.hints.get(slot.name, ())]
        known += [str(one.value) for one in seen_for(self._session, tool, slot)]
        known += [str(value) for told in self.learnt.items() if told[0][0] == tool.name for _, value in told[1]]
        folders = list(dict.fromkeys(text.rstrip("/") for text in known if _FOLDER.fullmatch(text)))
        number = self._session.chance(tool, slot).randrange(100, 999)
        names = [str(value) for value in usual(slot) if "." in str(value)[1:-1]]
        return [f"{folder}/{name}" for folder in folders[:2] for name in (*names[:1], f"item-{number}")]

    def _dates(self, tool: ProbedTool, slot: Slot) -> list[str]:
        """Give the latest dates that are known, where an argument takes one and its own name led to none."""
        if not takes_dates(slot, tool.spec.description):
            return []
        session = self._session
        known = [atom.value for _, atom in session.seen]
        known += [value for values in session.world.hints.values() for value in values]
        dates = {value[:10] for value in known if isinstance(value, str) and _DATE.match(value)}
        return sorted(dates, reverse=True)[:_LIKELY]

    def _unlike(self, tool: ProbedTool, slot: Slot) -> list[Any]:
        """Give references that stand in results under other names, one of each place before the second of any."""
        if slot.type not in ("string", "integer", "any"):
            return []
        several = seen_for(self._session, tool, slot)
        return _of_each_place(
            one
            for one in several
            if one.likeness < 0.5 and (is_specific(one.value) or is_time(one.value) or one.likeness >= 0.2)
        )

    def _plain(self, tool: ProbedTool, slot: Slot) -> list[Any]:
        """Give short texts of answers, such as the name of a person, one of each place before the second of any.

        Only a text argument that no answer names, and that declares no form, is given them.
        """
        is_free = slot.type == "string" and not {"format", "pattern"} & slot.schema.keys()
        if not is_free or takes_path(slot) or takes_dates(slot, tool.spec.description):
            return []
        several = seen_for(self._session, tool, slot)
        if any(one.likeness >= 0.5 for one in several):
            return []
        return _of_each_place(one for one in several if is_plain(one.atom))


def _of_each_place(several: Iterable[Seen]) -> list[Any]:
    """Give values, one of each place before the second of any."""
    turns: dict[tuple[str, str, str], int] = {}
    found: list[tuple[int, Any]] = []
    for one in several:
        place = (one.record.tool, one.atom.path, one.atom.pattern)
        found.append((turns.get(place, 0), one.value))
        turns[place] = turns.get(place, 0) + 1
    return [value for _, value in sorted(found, key=lambda pair: pair[0])][:_UNLIKE]


def is_plain(atom: Atom) -> bool:
    """Whether a value is a short text that stands for itself: a whole field, or a line of a text."""
    return isinstance(atom.value, str) and atom.form in ("", "text_lines") and len(atom.value) < _SHORT


def names_something(slot: Slot) -> bool:
    """Whether an argument's name says that it refers to something: a word such as `id` or `code` in it."""
    return bool({"id", "key", "hash", "reference", "code", "revision", "uri"} & set(words(slot.name)))


def takes_path(slot: Slot) -> bool:
    """Whether an argument's name says that it takes the name of a file or folder."""
    return slot.type in ("string", "any") and bool({"path", "file", "directory"} & set(words(slot.name)))


def seen_for(session: ProbeSession, tool: ProbedTool, slot: Slot) -> list[Seen]:
    """Give the values of results in this environment that an argument may take, the likeliest first, each place and
    value once; what a call only gives back of its own arguments is left out, unless the call made it.
    """
    if slot.type == "boolean":
        return []
    found: dict[tuple[Any, ...], Seen] = {}
    for record, atom in session.seen:
        value = as_argument(atom.value, slot)
        if value is None or value == "" or is_echo(session, record, atom.value):
            continue
        key = (type(value), str(value), record.tool, atom.path, atom.pattern)
        if key not in found:
            like = session.likeness(slot.path, tool.name, atom.names, record.tool)
            found[key] = Seen(value, record, atom, like)
    for record in session.records:
        maker = session.tools[record.tool]
        if record.ok and record.world == session.world_number and not maker.is_read and not maker.destroys:
            for path in sorted(record.unknown):
                value = as_argument(record.values[path], slot)
                names = tuple(step for step in path.split(".") if step != "*")
                like = session.likeness(slot.path, tool.name, names, record.tool)
                if value is not None and record.tool != tool.name and (like >= 0.5 or is_specific(value)):
                    key = (type(value), str(value), record.tool, f"={path}", "")
                    found.setdefault(key, Seen(value, record, Atom(value, f"={path}", "", names), like))
    return sorted(found.values(), key=lambda one: -one.likeness - 0.05 * is_specific(one.value))


def accepted_elsewhere(session: ProbeSession, tool: ProbedTool, slot: Slot) -> list[Any]:
    """Give the values that other tools accepted under the same name, those first whose names speak of the same things.

    A mere `id` or `name` counts only where the other tool is about the same things.
    """
    if slot.type == "boolean":
        return []
    about = nouns(session.bare[tool.name])
    others = sorted(session.tools.values(), key=lambda other: -len(about & nouns(session.bare[other.name])))
    values: dict[str, Any] = {}
    for other in others:
        if other.name == tool.name or other.base is None or other.takes_away:
            continue
        for path, value in other.base.values.items():
            is_same = next((step for step in reversed(path.split(".")) if step != "*"), path) == slot.name
            if not is_same or not fits(value, slot):
                continue
            if set(words(slot.name)) <= GENERIC:
                names = tuple(step for step in path.split(".") if step != "*")
                if session.likeness(slot.path, tool.name, names, other.name) < 0.5:
                    continue
            values.setdefault(dumps(value), value)
    return list(values.values())[:_TAKEN]


def is_echo(session: ProbeSession, record: ProbeRecord, value: Any) -> bool:
    """Whether a value of a result only gives back an argument of the call: equal, or one within the other.

    What a call that writes was given and nobody knew before, it may have made: that is no echo.
    """
    is_read = session.tools[record.tool].is_read
    for path, own in record.values.items():
        if own in (None, "") or isinstance(own, dict | list) or (not is_read and path in record.unknown):
            continue
        left, right = str(own).strip().lower(), str(value).strip().lower()
        if left == right:
            return True
        if isinstance(value, str) and isinstance(own, str) and len(value) < 200:
            is_part = is_specific(own) and own in value and len(value.rpartition(own)[2].strip("/. ")) < 3
            if is_part or (is_specific(value) and value in own):
                return True
        if isinstance(value, float) and isinstance(own, float) and abs(value - own) <= 0.5:
            return True  # services give coordinates back on their grid
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
        if isinstance(value, str) and value.strip().isdigit() and len(value) <= 15:
            return int(value)
        return int(value) if is_number(value) and value == int(value) else None
    return value if kind == "number" and is_number(value) else None


def is_time(value: Any) -> bool:
    """Whether a value is a date, a time or a version by its look: it is no reference, wherever it stands."""
    text = str(value).strip()
    if _EPOCH.fullmatch(text):
        return True
    return isinstance(value, str) and _TIME.fullmatch(text) is not None


def is_specific(value: Any) -> bool:
    """Whether a value is unlikely to stand in two places by chance: ids, codes, paths, long numbers; no words, counts
    or dates.
    """
    if isinstance(value, bool) or value is None or is_time(value):
        return False
    if isinstance(value, float):
        return len(repr(value).replace("-", "").replace(".", "")) >= _DIGITS
    text = str(value)
    if text.lstrip("-").isdigit():
        return len(text) >= _DIGITS
    has_digit = any(char.isdigit() for char in text)
    is_coded = has_digit and any(char.isalpha() for char in text)
    is_joined = len(text) > 3 and any(char in "/_-.@:" for char in text)
    return " " not in text and ((is_coded and len(text) >= SPECIFIC) or is_joined)


def shape(value: Any) -> str:
    """Give the look of a value: digits as 9, letters as a, several as one; numbers look alike."""
    if isinstance(value, int | float):
        return "number"
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", str(value)))
