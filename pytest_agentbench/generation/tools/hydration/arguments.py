"""Arguments for a call that follows others: from the last result, from earlier ones, from what the user said, the pool.

What a result hands on is pointed at (*the second order of the last answer*), and only one thing of one list is pointed
at. What nobody can point at, since it says how, when or how much, is said by the user.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.ids import clipped, codes_in
from pytest_agentbench.core.json_values import JsonValue, same
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.generation.draft import Origin, PlannedCall, Reference
from pytest_agentbench.generation.owned_rows import CallRecord, kind_of, noun_of
from pytest_agentbench.generation.tools.data_types import Card, PoolEntry, Taxonomy
from pytest_agentbench.generation.tools.flows import (
    Assignment,
    found_at,
    handed_on,
    is_same_value,
    scalars_in,
)
from pytest_agentbench.generation.tools.graph.name_match import words
from pytest_agentbench.generation.tools.labels import is_identifier, is_role, name_of, pointed_at, thing_of
from pytest_agentbench.generation.tools.probing.result_parser import KEYS, inner, keys_of_things, parsed
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.pool import call_key
from pytest_agentbench.generation.tools.recruiting.proposals import is_needed, is_opaque, is_sayable

COMPANIONS = 3
"""Pool entries that are tried for what no result gives."""
_DEEPEST = 1
"""Lists of several things that a reference may lead through: *the first line of the second order* is not pointed at."""
_NUMBER = re.compile(r"(?<![\w.,])[0-9]{1,18}(?![\w]|[.,][0-9])")
_CHOICES = ("date", "date-time", "time", "duration")
"""Formats of values that say when: nobody points at them."""

Changes = tuple[str, ...]
"""The changes that were made before a call, in order."""


class Argument(NamedTuple):
    """The value of one argument and where it comes from; without a `reference` the user says it."""

    value: JsonValue
    origin: Origin
    reference: Reference | None = None


@dataclass(frozen=True)
class Option:
    """Arguments for a call, by path; `entry` is the pool entry that what is said is of, `whole` its call as it was."""

    parts: Mapping[str, Argument]
    entry: str = ""
    whole: dict[str, Any] | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as they are sent."""
        return self.whole if self.whole is not None else build({path: one.value for path, one in self.parts.items()})

    @property
    def said(self) -> dict[str, JsonValue]:
        """The values that the user says, by path."""
        return {path: one.value for path, one in self.parts.items() if one.reference is None}

    @property
    def references(self) -> tuple[Reference, ...]:
        """The things that the user points at."""
        return tuple(one.reference for one in self.parts.values() if one.reference is not None)


@dataclass(frozen=True)
class Executed:
    """A call of the draft that was made, and its answer; `turn` counts the user's turns, `changes` came before it."""

    card: Card
    option: Option
    content: str = "{}"
    turn: int = 0
    error: bool = False
    fails: bool = False
    asked: bool = True
    changes: Changes = ()

    @cached_property
    def result(self) -> JsonValue:
        """What the answer says."""
        return parsed(self.content)

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was called with."""
        return self.option.arguments

    @property
    def writes(self) -> bool:
        """Whether it may have changed something."""
        return self.card.writes is not False

    @property
    def key(self) -> str:
        """What is equal for equal calls."""
        return call_key(self.card.tool, self.arguments)

    @property
    def record(self) -> CallRecord:
        """The call as it counts for ownership."""
        sources = frozenset(one.origin.call for one in self.option.parts.values() if one.origin.call is not None)
        return CallRecord(self.card.tool, self.arguments, self.result, self.writes, sources)

    @property
    def planned(self) -> PlannedCall:
        """The call as the draft expects it."""
        return PlannedCall(
            call=ExpectedCall(name=self.card.tool, arguments=self.arguments, compare_args=sorted(self.arguments)),
            origins={path: one.origin for path, one in self.option.parts.items()},
            answer=self.content,
            writes=self.writes,
            fails=self.fails,
            asked=self.asked,
        )


def of_entry(entry: PoolEntry) -> Option:
    """Give a verified call as a whole, all of it said by the user."""
    return Option(_said(read_slots(entry.arguments), entry.id), entry.id, entry.arguments)


def about_the_same(lookup: Option, tool: str, call: Option, caller: str) -> Option:
    """Give the arguments of a lookup that comes before a call, with the call's values for what both take."""
    parts = dict(lookup.parts)
    for path, known in lookup.parts.items():
        for other, part in call.parts.items():
            if type(part.value) is type(known.value) and _is_same_thing(path, tool, other, caller):
                again = part.reference and part.reference.model_copy(update={"argument": path})
                parts[path] = part._replace(reference=again)
    is_kept = all(same(one.value, lookup.parts[path].value) for path, one in parts.items())
    return Option(parts, lookup.entry, lookup.whole if is_kept else None)


def is_of_another(lookup: CallRecord, caller: Card, call: Option, taxonomy: Taxonomy) -> bool:
    """Whether what a lookup finds by values of its own is none of what a call takes of it.

    `sign_in(code="K-2")` gives account 2, and the call is about account 4.
    """
    own = read_slots(dict(lookup.arguments)).values()
    if any(is_same_value(one, part.value) for one in own for part in call.parts.values()):
        return False
    rows = handed_on(taxonomy, lookup.tool, lookup.result, caller)
    given = read_slots(dict(rows[0].arguments)) if len(rows) == 1 else {}
    compared = [(value, call.parts[path].value) for path, value in given.items() if path in call.parts]
    return bool(compared) and not any(is_same_value(*pair) for pair in compared)


def _is_same_thing(path: str, tool: str, other: str, caller: str) -> bool:
    """Whether arguments of two tools mean one thing: `room_id` and a bare `id` of `show_room` do."""
    name, called = name_of(path), name_of(other)
    is_alike = name == called or (is_identifier(name) and is_identifier(called))
    return is_alike and kind_of(name, noun_of(tool)) == kind_of(called, noun_of(caller))


def options_of(
    card: Card, made: Sequence[Executed], taxonomy: Taxonomy, companions: Sequence[PoolEntry], *, source: int = -1
) -> list[Option]:
    """Give the arguments that the result of call `source` (default: the last) makes possible, first entries first.

    What the result lacks comes from what earlier calls were made with or gave, then from `companions`, an entry at a
    time.
    """
    place = source % len(made)
    needed = [one.path for one in card.parameters if is_needed(one)]
    found: list[Option] = []
    for row in _rows_of(made[place], card, taxonomy):
        parts = _pointed(row, card, needed, made[place], place)
        if not parts:
            continue
        for path in needed:
            if path not in parts and (known := _known(path, card, made, parts)) is not None:
                parts[path] = known
        values = [one.value for one in parts.values()]
        for more, entry in _completions([path for path in needed if path not in parts], parts, companions):
            option = Option({**parts, **_said(more, entry)}, entry)
            joins_itself = any(isinstance(value, str) and value in values for value in more.values())
            if not joins_itself and is_sayable(option.said) and option not in found:
                found.append(option)
    return found


def recalled(
    card: Card, made: Sequence[Executed], taxonomy: Taxonomy, entries: Sequence[PoolEntry]
) -> Iterator[Option]:
    """Give arguments for a tool that works only behind others (`entries`), out of what any earlier call gave."""
    for place in range(len(made) - 1, -1, -1):
        yield from options_of(card, made, taxonomy, entries, source=place)
    for entry in entries:
        slots = read_slots(entry.arguments)
        parts: dict[str, Argument] = {}
        for place in range(len(made) - 1, -1, -1):
            for row in _rows_of(made[place], card, taxonomy)[:1]:
                pointed = _pointed(row, card, list(slots), made[place], place)
                parts |= {path: one for path, one in pointed.items() if path in slots and path not in parts}
        whole = _said(slots, entry.id) | parts
        option = Option(whole, entry.id)
        if not any(map(is_opaque, option.said.values())):  # a code of earlier days
            yield option


def traced(card: Card, arguments: dict[str, Any], made: Sequence[Executed], taxonomy: Taxonomy) -> Option:
    """Give the arguments that somebody chose: pointed at in the last answer that hands them on, else said."""
    slots = read_slots(arguments)
    parts = _said(slots, "")
    for place in range(len(made) - 1, -1, -1):
        for row in _rows_of(made[place], card, taxonomy):
            pointed = _pointed(row, card, list(slots), made[place], place)
            found = {path: one for path, one in pointed.items() if path in slots and one.reference is not None}
            if found and all(same(one.value, slots[path]) for path, one in found.items()):
                parts |= {path: one for path, one in found.items() if parts[path].reference is None}
                break
    return Option(parts, whole=arguments)


def _said(slots: Mapping[str, JsonValue], entry: str) -> dict[str, Argument]:
    return {path: Argument(value, Origin(source="user", entry=entry)) for path, value in slots.items()}


def _rows_of(before: Executed, card: Card, taxonomy: Taxonomy) -> list[Assignment]:
    """Give what a result hands on, but the rows of one text that tells several: nobody can point at one of them."""
    rows = handed_on(taxonomy, before.card.tool, before.result, card)
    places = Counter(dumps(sorted(row.paths.items())) for row in rows)
    return [row for row in rows if places[dumps(sorted(row.paths.items()))] == 1]


def _is_pointable(path: str, value: JsonValue, card: Card) -> bool:
    """Whether a value says which thing is meant: no date, no yes or no, no choice of a list, no fraction, no prose."""
    schema = next((one.schema_ for one in card.parameters if one.path == path), {})
    if isinstance(value, bool) or schema.get("enum") or schema.get("format") in _CHOICES:
        return False
    return not isinstance(value, str) or ("\n" not in value and len(value) <= 120)


def _pointed(row: Assignment, card: Card, needed: Sequence[str], before: Executed, place: int) -> dict[str, Argument]:
    """Give what is taken of one row by path, each pointed at."""
    slots = read_slots(dict(row.arguments))
    every = {path: value for path, value in slots.items() if _is_pointable(path, value, card)}
    every = {path: value for path, value in every.items() if path in needed} or every
    found: dict[str, Argument] = {}
    taken: dict[str, str] = {}
    for path, value in every.items():
        where = row.paths[path]
        if taken.setdefault(dumps([where, value]), path) != path:
            continue  # one thing is not both ends of a relation
        if (reference := _reference(row, path, card, before, place)) is not None:
            found[path] = Argument(value, Origin(source="result", call=place, path=where), reference)
    labels = Counter(one.reference.label for one in found.values() if one.reference is not None)
    return {
        path: one
        for path, one in found.items()
        if one.reference is None or labels[one.reference.label] == 1 or path in needed
    }


def _reference(row: Assignment, path: str, card: Card, before: Executed, place: int) -> Reference | None:
    """Give how a value of an answer is pointed at, None where nobody can."""
    where, value = row.paths[path], read_slots(dict(row.arguments))[path]
    lists = lists_on(before.result, where)
    if sum(count > 1 for _, count, _ in lists) > _DEEPEST or not _is_first_list(where, before.result, card, path):
        return None
    position, count = next(((at, many) for at, many, _ in lists if many > 1), (0, 1))
    if len(lists) > 1 and sum(_steps(other) == _steps(where) for other, _ in scalars_in(before.result)) > count:
        return None  # the only section of the second cup is not *the second section*
    raw = next((one.value for one in found_at(before.result, where)), None)
    is_whole = is_same_value(raw, value)
    if not is_whole and isinstance(raw, str) and len(codes_in(raw) or set(_NUMBER.findall(clipped(raw)))) > 1:
        return None  # a text of several: *Request 76 for 5 seeds of lot 507*
    label = pointed_at(where if is_whole else "", path, card.tool)
    return Reference(label=label, source=place, path=where, position=position, count=count, argument=path)


def lists_on(result: JsonValue, path: str) -> list[tuple[int, int, str]]:
    """Give the lists that a path leads through: the position taken, how many there are, where the list stands."""
    found: list[tuple[int, int, str]] = []
    value, at = inner(result), ""
    for part in path.split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            found.append((int(part), len(value), at))
            value = inner(value[int(part)])
        elif isinstance(value, Mapping) and part in value:
            value = inner(value[part])
        elif isinstance(value, Mapping) and part == KEYS:
            value = keys_of_things(value)
        else:
            break
        at = f"{at}.{part}" if at else part
    return found


def _steps(path: str) -> tuple[str, ...]:
    """Give a path without the places in lists that it leads through."""
    return tuple(part for part in path.split(".") if not part.isdigit())


def _is_first_list(path: str, result: JsonValue, card: Card, argument: str) -> bool:
    """Whether people mean a list by *the answer*: it is the first one there, or it is called what is pointed at."""
    lists = lists_on(result, path)
    if not lists:
        return True
    own = lists[0][2]
    first = next((found[0][2] for where, _ in scalars_in(result) if (found := lists_on(result, where))), own)
    return own == first or bool(set(words(name_of(own))) & set(words(thing_of(argument, card.tool))))


def _known(path: str, card: Card, made: Sequence[Executed], taken: Mapping[str, Argument]) -> Argument | None:
    """Give whom or what earlier calls named under the same name, where all named the same.

    The user says it again, or points at it once more.
    """
    name = name_of(path)
    if not (is_identifier(name) or is_role(name)):
        return None
    declared = next((one.schema_.get("type") for one in card.parameters if one.path == path), None)
    found: list[Argument] = []
    for one in made:
        types = {parameter.path: parameter.schema_.get("type") for parameter in one.card.parameters}
        for other, part in one.option.parts.items():
            is_alike = name_of(other) == name and types.get(other) == declared
            if is_alike and not any(same(part.value, known.value) for known in found):
                again = part.reference and part.reference.model_copy(update={"argument": path})
                found.append(Argument(part.value, part.origin if again else Origin(source="user"), again))
    if len(found) != 1 or any(same(found[0].value, one.value) for one in taken.values()):
        return None
    return found[0] if _is_pointable(path, found[0].value, card) else None


def _completions(
    missing: Sequence[str], taken: Mapping[str, Argument], companions: Sequence[PoolEntry]
) -> Iterator[tuple[dict[str, JsonValue], str]]:
    """Yield values for what is missing, all of one pool entry, with its id; nothing where nothing is missing.

    Of an entry that works only behind another call everything is taken that no result gives: it may work by just that.
    """
    for entry in [one for one in companions if one.after][:COMPANIONS]:
        slots = read_slots(entry.arguments)
        rest = {path: value for path, value in slots.items() if path not in taken}
        if rest and all(path in slots for path in missing):
            yield rest, entry.id
    if not missing:
        yield {}, ""
        return
    for entry in [one for one in companions if not one.after][:COMPANIONS]:
        slots = read_slots(entry.arguments)
        if all(path in slots for path in missing):
            yield {path: slots[path] for path in missing}, entry.id


def signs_of(arguments: dict[str, Any]) -> set[str]:
    """Give the signs of each value in order: a name with a slip has the same ones."""
    return {"".join(sorted(str(value))) for value in read_slots(arguments).values()}
