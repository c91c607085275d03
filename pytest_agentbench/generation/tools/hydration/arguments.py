"""Arguments for a call that follows others: from the last result, from earlier ones, from what the user said, the pool.

What a result hands on is pointed at (*the second order of the last answer*), and only one thing of one list is pointed
at. What nobody can point at, since it says how, when or how much, is said by the user.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.ids import clipped, codes_in
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.draft import Origin, Reference
from pytest_agentbench.generation.tools.flows import (
    ARGUMENT,
    Assignment,
    assignments,
    connecting,
    found_at,
    is_same_value,
    scalars_in,
)
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.labels import is_identifier, is_role, name_of, pointed_at, thing_of
from pytest_agentbench.generation.tools.probing.reading import inner
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.proposing import is_needed, is_opaque, is_sayable
from pytest_agentbench.generation.tools.values import Card, PoolEntry, Taxonomy

COMPANIONS = 3
"""Pool entries that are tried for what no result gives."""
_DEEPEST = 1
"""Lists of several things that a reference may lead through: *the first line of the second order* is not pointed at."""
_NUMBER = re.compile(r"(?<![\w.,])[0-9]{1,18}(?![\w]|[.,][0-9])")
_CHOICES = ("date", "date-time", "time", "duration")
"""Formats of values that say when: nobody points at them."""


@dataclass(frozen=True)
class Executed:
    """A call of the draft that was made, and what it gave; `turn` counts the user's turns.

    `origins` and `references` say where its arguments come from.
    """

    card: Card
    arguments: dict[str, JsonValue]
    result: JsonValue
    content: str
    turn: int
    error: bool = False
    origins: Mapping[str, Origin] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Option:
    """Arguments for a call: where each comes from, what the user says of it, and at what it points.

    `states` are values that the user says, by path; `entry` is the pool entry that they are of.
    """

    arguments: dict[str, JsonValue]
    origins: dict[str, Origin]
    states: dict[str, JsonValue] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    entry: str = ""


def of_entry(entry: PoolEntry) -> Option:
    """Give a verified call as a whole, all of it said by the user."""
    slots = read_slots(entry.arguments)
    return Option(
        arguments=entry.arguments,
        origins={path: Origin(source="user", entry=entry.id) for path in slots},
        states=slots,
        entry=entry.id,
    )


def behind(entry: PoolEntry, card: Card, made: Sequence[Executed], taxonomy: Taxonomy) -> Option | None:
    """Give a call that works only after others, with what their results give today; the rest is said by the user.

    None where the user would have to say a code that only a result of earlier days gave.
    """
    slots = read_slots(entry.arguments)
    taken: dict[str, tuple[JsonValue, Origin, Reference | None]] = {}
    for place in range(len(made) - 1, -1, -1):
        before = made[place]
        types = connecting(taxonomy, before.card.tool, card.tool)
        rows = assignments(types, before.card.tool, before.result, card, arguments=before.arguments) if types else []
        for row in _told_apart(rows)[:1]:
            pointed = _pointed(row, card, list(slots), before, place)
            taken |= {path: part for path, part in pointed.items() if path in slots and path not in taken}
    said = {path: value for path, value in slots.items() if path not in taken or taken[path][2] is None}
    said |= {path: value for path, (value, _, one) in taken.items() if one is None}
    if any(map(is_opaque, said.values())):
        return None
    return Option(
        arguments=build({**slots, **{path: value for path, (value, _, _) in taken.items()}}),
        origins={path: taken[path][1] if path in taken else Origin(source="user", entry=entry.id) for path in slots},
        states=said,
        references=tuple(one for _, _, one in taken.values() if one is not None),
        entry=entry.id,
    )


def options_of(
    card: Card, made: Sequence[Executed], taxonomy: Taxonomy, companions: Sequence[PoolEntry], *, source: int = -1
) -> list[Option]:
    """Give the arguments that the result of call `source` (default: the last) makes possible, first entries first.

    What the result lacks comes from what earlier calls were made with or gave, then from `companions`, an entry at a
    time.
    """
    place = len(made) - 1 if source < 0 else source
    before = made[place]
    types = connecting(taxonomy, before.card.tool, card.tool)
    if not types:
        return []
    rows = assignments(types, before.card.tool, before.result, card, arguments=before.arguments)
    needed = [one.path for one in card.parameters if is_needed(one)]
    found: list[Option] = []
    for row in _told_apart(rows):
        pointed = _pointed(row, card, needed, before, place)
        if not pointed:
            continue
        values = {path: value for path, (value, _, _) in pointed.items()}
        origins = {path: origin for path, (_, origin, _) in pointed.items()}
        references = tuple(one for _, _, one in pointed.values() if one is not None)
        said: dict[str, JsonValue] = {path: value for path, (value, _, one) in pointed.items() if one is None}
        for path in needed:
            if path not in values and (known := _known(path, card, made, values)) is not None:
                values[path], origins[path], again = known
                if again is None:
                    said[path] = values[path]
                else:
                    references = (*references, again)
        missing = [path for path in needed if path not in values]
        for given, entry in _completions(missing, values, companions):
            if any(isinstance(value, str) and value in values.values() for value in given.values()):
                continue  # nothing is joined to itself
            option = Option(
                arguments=build({**values, **given}),
                origins={**origins, **{path: Origin(source="user", entry=entry) for path in given}},
                states={**said, **given},
                references=references,
                entry=entry,
            )
            if is_sayable(option.states) and option not in found:
                found.append(option)
    return found


def recalled(
    card: Card, made: Sequence[Executed], taxonomy: Taxonomy, entries: Sequence[PoolEntry]
) -> Iterator[Option]:
    """Give arguments for a tool that works only behind others (`entries`), out of what any earlier call gave."""
    for place in range(len(made) - 1, -1, -1):
        yield from options_of(card, made, taxonomy, entries, source=place)
    for entry in entries:
        if (option := behind(entry, card, made, taxonomy)) is not None:
            yield option


def is_pointable(path: str, value: JsonValue, card: Card) -> bool:
    """Whether a value says which thing is meant: no date, no yes or no, no choice of a list, no fraction, no prose."""
    schema = next((one.schema_ for one in card.parameters if one.path == path), {})
    if isinstance(value, bool) or schema.get("enum") or schema.get("format") in _CHOICES:
        return False
    return not isinstance(value, str) or ("\n" not in value and len(value) <= 120)


def _pointed(
    row: Assignment, card: Card, needed: Sequence[str], before: Executed, place: int
) -> dict[str, tuple[JsonValue, Origin, Reference | None]]:
    """Give what is taken of one row by path: value, origin, and the reference, none where it was an argument."""
    slots = read_slots(dict(row.arguments))
    every = {path: value for path, value in slots.items() if is_pointable(path, value, card)}
    if any(path in needed for path in every):
        every = {path: value for path, value in every.items() if path in needed}
    found: dict[str, tuple[JsonValue, Origin, Reference | None]] = {}
    taken: dict[str, str] = {}
    for path, value in every.items():
        where = row.paths[path]
        if taken.setdefault(dumps([where, value]), path) != path:
            continue  # one thing is not both ends of a relation
        if where.startswith(ARGUMENT):
            found[path] = (value, Origin(source="user"), None)
            continue
        lists = lists_on(before.result, where)
        if sum(count > 1 for _, count, _ in lists) > _DEEPEST or not _is_first_list(where, before.result, card, path):
            continue
        position, count = next(((at, many) for at, many, _ in lists if many > 1), (0, 1))
        raw = next((one.value for one in found_at(before.result, where)), None)
        if not is_same_value(raw, value) and _holds_several(raw):
            continue
        label = pointed_at(where if is_same_value(raw, value) else "", path, card.tool)
        reference = Reference(
            label=label,
            source=place,
            path=where,
            position=position,
            count=count,
            argument=path,
        )
        found[path] = (value, Origin(source="result", call=place, path=where), reference)
    labels = [one.label for _, _, one in found.values() if one is not None]
    return {
        path: part
        for path, part in found.items()
        if part[2] is None or labels.count(part[2].label) == 1 or path in needed
    }


def _told_apart(rows: Sequence[Assignment]) -> list[Assignment]:
    """Leave out the rows of one text that tells several: nobody can point at one of them there."""
    places = Counter(dumps(sorted(row.paths.items())) for row in rows)
    return [row for row in rows if places[dumps(sorted(row.paths.items()))] == 1]


def _holds_several(text: JsonValue) -> bool:
    """Whether a text has several codes, or several numbers and no code: *Request 76 for 5 seeds of lot 507*."""
    if not isinstance(text, str):
        return False
    return len(codes_in(text) or set(_NUMBER.findall(clipped(text)))) > 1


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
        else:
            break
        at = f"{at}.{part}" if at else part
    return found


def _is_first_list(path: str, result: JsonValue, card: Card, argument: str) -> bool:
    """Whether people mean a list by *the answer*: it is the first one there, or it is called what is pointed at."""
    lists = lists_on(result, path)
    if not lists:
        return True
    own = lists[0][2]
    first = next((found[0][2] for where, _ in scalars_in(result) if (found := lists_on(result, where))), own)
    return own == first or bool(set(words(name_of(own))) & set(words(thing_of(argument, card.tool))))


def _known(
    path: str, card: Card, made: Sequence[Executed], taken: Mapping[str, JsonValue]
) -> tuple[JsonValue, Origin, Reference | None] | None:
    """Give whom or what earlier calls named under the same name, where all named the same.

    The user says it again, or points at it once more.
    """
    name = name_of(path)
    if not (is_identifier(name) or is_role(name)):
        return None
    declared = next((one.schema_.get("type") for one in card.parameters if one.path == path), None)
    found: list[tuple[JsonValue, Origin, Reference | None]] = []
    for one in made:
        schemas = {parameter.path: parameter.schema_.get("type") for parameter in one.card.parameters}
        for other, value in read_slots(one.arguments).items():
            if name_of(other) != name or schemas.get(other) != declared or any(same(value, has) for has, _, _ in found):
                continue
            origin = one.origins.get(other, Origin(source="user"))
            pointed = next((ref for ref in one.references if ref.argument == other), None)
            again = pointed and pointed.model_copy(update={"argument": path})
            found.append((value, origin if again else Origin(source="user"), again))
    if len(found) != 1 or any(same(found[0][0], value) for value in taken.values()):
        return None
    return found[0] if is_pointable(path, found[0][0], card) else None


def _completions(
    missing: Sequence[str], values: Mapping[str, JsonValue], companions: Sequence[PoolEntry]
) -> Iterator[tuple[dict[str, JsonValue], str]]:
    """Yield values for what is missing, all of one pool entry, with its id; nothing where nothing is missing.

    Of an entry that works only behind another call everything is taken that no result gives: it may work by just that.
    """
    for entry in [one for one in companions if one.after][:COMPANIONS]:
        slots = read_slots(entry.arguments)
        rest = {path: value for path, value in slots.items() if path not in values}
        if rest and all(path in slots for path in missing):
            yield rest, entry.id
    if not missing:
        yield {}, ""
        return
    for entry in [one for one in companions if not one.after][:COMPANIONS]:
        slots = read_slots(entry.arguments)
        if all(path in slots for path in missing):
            yield {path: slots[path] for path in missing}, entry.id
