"""Which values are worth trying for an argument: named strategies, the most promising first, each of which can be
switched off (`python -m benchmarks.generation SUITE --without NAME` prints what it is worth).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.generation.tools.graph.name_match import GENERIC, words
from pytest_agentbench.generation.tools.probing.result_parser import Atom, inner, parsed
from pytest_agentbench.generation.tools.probing.schema_values import (
    conforming,
    declared,
    described,
    distinct,
    fits,
    usual,
)
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession

STRATEGIES: Mapping[str, str] = {
    "hints": "values that the recipe names for the argument",
    "state": "values of the state the suite begins with that stand under the argument's name",
    "rows": "values of that state under other names",
    "model": "values that the prober's model proposes from the declarations",
    "declared": "const, default, examples and enum of the schema",
    "refusals": "values that a refusal quotes or lists for the argument",
    "told": "values of the answers of a tool that the argument's description or a refusal of it names",
    "results": "values of answers whose names mean the argument",
    "described": "values that the description quotes, lists in brackets, or names for example",
    "usual": "the most usual values by format and name (usual_values.toml)",
    "unlike": "references of answers that stand under other names",
    "conforming": "any value of the declared type",
    "blame": "vary the argument alone that the last refusal is about",
    "asked": "add optional arguments that a refusal asks for",
    "nothing": "an answer that made-up values get as well is no content",
    "hand_on": "try values of one tool's answers on the arguments of the others",
    "by_value": "an argument that refuses made-up values takes what an answer gave: whatever both are called",
    "by_name": "an argument that takes anything is given what bears its own telling name",
    "text_ids": "uuids, hashes and codes in texts",
    "text_paths": "paths, files, addresses and urls in texts",
    "text_lines": "lines of texts that are one value",
}
"""All heuristics of probing and of what it reads as flowing between tools, by name."""

SPECIFIC = 2
"""Characters from which a text with digits and letters is unlikely to be met by chance."""
_DIGITS = 5
"""Digits from which a number is no count."""
_SAME = 0.8
"""Likeness of names from which two arguments, or an argument and a field, are of one kind."""
_MOST = 8
"""Values of one strategy that are tried."""
_REFERENCES = frozenset({"id", "key", "hash", "reference", "code", "revision", "uri"})
_PATHS = frozenset({"path", "file", "directory"})
_EPOCH = re.compile(r"1\d{9}(?:\d{3})?(?:\.\d+)?")
"""Seconds, or milliseconds, since 1970, of the years 2001 to 2033."""
_TIME = re.compile(
    r"(?:v?\d{1,4}(?:\.\d{1,4}){1,5}|{part}(?:[-/.:]{part}){1,5})(?:[T ]\d{1,2}:\d{2}.*)?".replace(
        "{part}", r"(?:(?:19|20|21)\d\d|\d{1,2})"
    )
)
"""Versions, dates and times, whose parts are years or have two digits: they are put into calls, and name nothing."""


@dataclass(frozen=True)
class Seen:
    """A value in a result, as the argument takes it, and how likely the argument means it (`names.likeness`)."""

    value: Any
    record: ProbeRecord
    atom: Atom
    likeness: float


class Proposals:
    """Gives values for arguments; `learnt` holds what refusals named, by tool and path, with the environment."""

    def __init__(self, session: ProbeSession) -> None:
        self._session = session
        self.learnt: dict[tuple[str, str], list[tuple[int, Any]]] = defaultdict(list)

    def of(self, tool: ProbedTool, slot: Slot) -> list[Any]:
        """Give values to try for an argument, the most promising first; hints stay whatever the schema says."""
        session = self._session
        hints = [*session.world.hints.get(f"{tool.name}.{slot.name}", ()), *session.world.hints.get(slot.name, ())]
        seen = seen_for(session, tool, slot)
        # what changes something under a mere `id` may make a thing of that id: it is not given that of something else
        is_bare = not tool.is_read and set(words(slot.name)) <= GENERIC
        refers = (names_something(slot) and not is_bare) or bool(_PATHS & set(words(slot.name)))
        sources: tuple[tuple[str, Callable[[], Iterable[Any]]], ...] = (
            ("hints", lambda: hints),
            ("model", lambda: session.proposed.get((tool.name, slot.path), ())),
            ("refusals", lambda: self._learnt(tool, slot)),
            ("declared", lambda: declared(slot)),
            (
                "told",
                lambda: _unlike(slot, [one for one in seen if session.names(tool, slot, one.record.tool)], told=True),
            ),
            ("results", lambda: [one.value for one in seen if one.likeness >= 0.5][:_MOST]),
            ("described", lambda: described(slot, tool.spec.description)),
            ("unlike", lambda: _unlike(slot, seen) if refers else ()),
            ("usual", lambda: usual(slot, session.world.spec.now)),
            ("rows", lambda: self._rows(slot) if tool.is_read else ()),
            ("conforming", lambda: conforming(slot, session.chance(tool, slot))),
            ("unlike", lambda: _unlike(slot, seen)),
            ("rows", lambda: self._rows(slot)),
        )
        if slot.schema.get("enum"):
            sources = tuple(one for one in sources if one[0] in ("hints", "model", "declared", "conforming"))
        values = chain.from_iterable(make() for name, make in sources if session.uses(name))
        return distinct(value for value in values if value in hints or fits(value, slot))

    def _rows(self, slot: Slot) -> Iterable[Any]:
        """Give what the state holds of the argument's type, whatever it is called there; codes and words in turn."""
        kind = {"string": str, "integer": int}.get(slot.type)
        values = [value for value in self._session.world.rows if kind and isinstance(value, kind)]
        codes, texts = ([one for one in values if is_specific(one) is coded][:_MOST] for coded in (True, False))
        return [one for pair in zip_longest(codes, texts) for one in pair if one is not None]

    def _learnt(self, tool: ProbedTool, slot: Slot) -> Iterable[Any]:
        """Give what refusals named; a reference that stood in another environment may be none in this one."""
        for world, value in self.learnt.get((tool.name, slot.path), ()):
            if world == self._session.world_number or not is_specific(value):
                yield value


def _unlike(slot: Slot, seen: list[Seen], told: bool = False) -> list[Any]:
    """Give references that stand in results under other names, one of each place before the second of any; of answers
    that the argument was told to be taken from, whatever is no date.
    """
    turns: dict[tuple[str, str, str], int] = {}
    found: list[tuple[int, Any]] = []
    for one in seen if slot.type in ("string", "integer", "any") else ():
        is_meant = is_specific(one.value) or is_time(one.value) or one.likeness >= 0.2
        if (not is_time(one.value) and not one.atom.pattern) if told else (one.likeness < 0.5 and is_meant):
            place = (one.record.tool, one.atom.path, one.atom.pattern)
            turns[place] = turns.get(place, 0) + 1
            found.append((turns[place], one.value))
    return [value for _, value in sorted(found, key=lambda pair: pair[0])][:_MOST]


def names_something(slot: Slot) -> bool:
    """Whether an argument's name says that it refers to something: a word such as `id` or `code` in it."""
    return bool(_REFERENCES & set(words(slot.name)))


def seen_for(session: ProbeSession, tool: ProbedTool, slot: Slot) -> list[Seen]:
    """Give the values of results in this environment that an argument may take, the likeliest first, each place and
    value once; what a call only gives back of its own arguments is left out, unless the call made it.
    """
    found: dict[tuple[Any, ...], Seen] = {}
    for record, atom in (*session.seen, *_names_given(session, tool)) if slot.type != "boolean" else ():
        value = as_argument(atom.value, slot)
        is_result = not atom.path.startswith("=")
        if value is None or value == "" or (is_result and is_echo(session, record, atom.value)):
            continue
        key = (type(value), str(value), record.tool, atom.path, atom.pattern)
        if key not in found:
            like = session.likeness(slot.path, tool.name, atom.names, record.tool)
            if is_result or like >= 0.5 or is_specific(value):
                found[key] = Seen(value, record, atom, like)
    return sorted(found.values(), key=lambda one: -one.likeness - 0.05 * is_specific(one.value))


def _names_given(session: ProbeSession, tool: ProbedTool) -> Iterable[tuple[ProbeRecord, Atom]]:
    """Give what other tools that write were given here, and nobody knew before: they may have made it."""
    for record in session.records:
        maker = session.tools[record.tool]
        if record.ok and record.world == session.world_number and maker is not tool and maker.makes:
            for path in sorted(record.unknown):
                yield record, Atom(record.values[path], f"={path}", "", tuple(s for s in path.split(".") if s != "*"))


def is_echo(session: ProbeSession, record: ProbeRecord, value: Any) -> bool:
    """Whether a value of a result only gives back an argument of the call: equal, or one within the other.

    What a call that writes was given and nobody knew before, it may have made: that is no echo.
    """
    is_read = session.tools[record.tool].is_read
    text = str(value).strip()
    for path, own in record.values.items():
        if own in (None, "") or isinstance(own, dict | list) or (not is_read and path in record.unknown):
            continue
        if str(own).strip().lower() == text.lower():
            return True
        if isinstance(value, str) and isinstance(own, str) and len(value) < 200:
            is_part = is_specific(own) and own in value and len(value.rpartition(own)[2].strip("/. ")) < 3
            if is_part or (is_specific(value) and value in own):
                return True
        if isinstance(value, float) and isinstance(own, float) and abs(value - own) <= 0.5:
            return True  # services give coordinates back on their grid
    return False


def beside(session: ProbeSession, tool: ProbedTool, slot: Slot, one: Seen) -> dict[str, Any]:
    """Give what stood beside a value, for the other arguments of a tool that mean it: in the same rows of the answer,
    the nearest first, and in the call that got it. What belongs together is tried together.
    """
    cells = [*_row_of(parsed(one.record.answer.content), one.atom.value)]
    cells += [(tuple(path.split(".")), value) for path, value in one.record.values.items()]
    found: dict[str, Any] = {}
    for other in tool.slots:
        if other.path == slot.path or not other.is_open:
            continue
        for names, cell in cells:
            value = as_argument(cell, other)
            like = session.likeness(other.path, tool.name, names, one.record.tool)
            if like >= _SAME and value not in (None, "") and fits(value, other):
                found[other.path] = value
                break
    return found


def _row_of(value: Any, sought: Any, names: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Give the plain fields of the objects that a value stands in, the innermost first; [] where it stands nowhere."""
    value = inner(value)
    if isinstance(value, list):
        return next((row for item in value if (row := _row_of(item, sought, names))), [])
    if not isinstance(value, dict):
        return [(names, value)] if type(value) is type(sought) and value == sought else []
    inside = next((row for key, item in value.items() if (row := _row_of(item, sought, (*names, str(key))))), [])
    plain = [((*names, str(key)), item) for key, item in value.items() if not isinstance(item, dict | list)]
    return [*inside, *plain] if inside else []


def as_argument(value: Any, slot: Slot) -> Any:
    """Give a value of a result as the argument's type takes it, None where it does not."""
    kind = slot.type
    if kind == "any" or isinstance(value, bool):
        return value if kind in ("any", "boolean") else None
    if kind == "string":
        return str(value) if isinstance(value, int) or (isinstance(value, str) and len(value) <= 500) else None
    if kind == "integer":
        if isinstance(value, str) and value.strip().isdigit() and len(value) <= 15:
            return int(value)
        return int(value) if is_number(value) and value == int(value) else None
    return value if kind == "number" and is_number(value) else None


def is_time(value: Any) -> bool:
    """Whether a value is a date, a time or a version by its look: it is no reference, wherever it stands."""
    text = str(value).strip()
    return bool(_EPOCH.fullmatch(text)) or (isinstance(value, str) and _TIME.fullmatch(text) is not None)


def is_specific(value: Any) -> bool:
    """Whether a value is unlikely to stand in two places by chance: ids, codes, paths, long numbers; no words, counts
    or dates.
    """
    if isinstance(value, bool) or value is None or is_time(value):
        return False
    text = str(value)
    if isinstance(value, float) or text.lstrip("-").isdigit():
        return sum(char.isdigit() for char in text) >= _DIGITS
    has_digit = any(char.isdigit() for char in text)
    is_coded = has_digit and any(char.isalpha() for char in text) and len(text) >= SPECIFIC
    return " " not in text and (is_coded or (len(text) > 3 and any(char in "/_-.@:" for char in text)))


def shape(value: Any) -> str:
    """Give the look of a value: digits as 9, letters as a, several as one; numbers look alike."""
    if isinstance(value, int | float):
        return "number"
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", str(value)))
