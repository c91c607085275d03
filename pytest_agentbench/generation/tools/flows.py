"""How values flow: read out of a result where a semantic type says it stands, and put into the arguments of a call.

Paths are dotted; `*` stands for any entry of a list or mapping, `~` for the keys of one that holds things by their
names, and a text on the way that is JSON is read as JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_agentbench.core import patterns
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import JsonValue, same
from pytest_agentbench.generation.tools.data_types import Card, Place, SemanticType, Taxonomy
from pytest_agentbench.generation.tools.graph.name_match import words
from pytest_agentbench.generation.tools.labels import name_of
from pytest_agentbench.generation.tools.probing.result_parser import KEYS, inner, keys_of_things
from pytest_agentbench.generation.tools.probing.schemas import build

_MOST = 50
"""Assignments that are looked at of one result."""


@dataclass(frozen=True)
class Found:
    """A value and where exactly it stands: `indexes` are the list entries that its path goes through, `records` where
    each of these stands.
    """

    value: JsonValue
    path: str
    indexes: tuple[int, ...] = ()
    records: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assignment:
    """Arguments that one result gives another tool: `paths` says where in the result each of them stands."""

    arguments: Mapping[str, JsonValue]
    paths: Mapping[str, str] = field(default_factory=dict)


def found_at(result: JsonValue, path: str, pattern: str = "") -> Iterator[Found]:
    """Yield every value that a path leads to; with a pattern, the first group of each match in the text there.

    Several values of one text are told apart by their place, as entries of a list are.
    """
    for found in _walk(Found(result, ""), [part for part in path.split(".") if part]):
        if not pattern:
            yield found
        elif isinstance(found.value, str):
            values = list(patterns.pattern(pattern).found(found.value))
            several = list(dict.fromkeys(values))
            for value in values:
                place = (several.index(value),) if len(several) > 1 else ()
                yield replace(found, value=value, indexes=(*found.indexes, *place))


def _walk(at: Found, parts: Sequence[str]) -> Iterator[Found]:
    if not parts:
        yield at
        return
    value, first = inner(at.value), parts[0]
    if first == KEYS and isinstance(value, Mapping):
        keys = Found(keys_of_things(value), f"{at.path}.{KEYS}" if at.path else KEYS, at.indexes, at.records)
        yield from _walk(keys, parts[1:] or ["*"])
        return
    steps: list[tuple[str, JsonValue, tuple[int, ...]]] = []
    if isinstance(value, list):
        every: list[tuple[str, JsonValue, tuple[int, ...]]]
        every = [(str(index), item, (index,)) for index, item in enumerate(value)]
        steps = every if first == "*" else every[int(first) : int(first) + 1] if first.isdecimal() else []
    elif isinstance(value, Mapping) and first == "*":
        steps = [(str(key), item, (index,)) for index, (key, item) in enumerate(value.items())]
    elif isinstance(value, Mapping) and first in value:
        steps = [(first, value[first], ())]
    for name, item, index in steps:
        path = f"{at.path}.{name}" if at.path else name
        records = (*at.records, path) if index else at.records
        yield from _walk(Found(item, path, (*at.indexes, *index), records), parts[1:])


def assignments(
    types: Sequence[SemanticType],
    source: str,
    result: JsonValue,
    target: Card,
) -> list[Assignment]:
    """Give the arguments that a result of `source` gives `target`, one assignment for each record of the result.

    What stands in one record goes together: the values of an assignment are from the same entries of the lists. Values
    take the type that the argument declares; those that cannot are left out.
    """
    declared = {parameter.path: parameter.schema_ for parameter in target.parameters}
    columns: dict[str, list[Found]] = {}
    for one in types:
        makes = [place for place in one.produced if place.tool == source]
        takes = [place for place in one.consumed if place.tool == target.tool]
        for taken, made in _paired(makes, takes):
            found = found_at(result, made.path, made.pattern)
            typed = (_typed(one, declared.get(taken.path, {}).get("type")) for one in found)
            columns.setdefault(taken.path, []).extend(one for one in typed if one is not None)
    lead = max(columns.values(), key=lambda column: (len({found.indexes for found in column}), len(column)), default=[])
    rows: dict[str, Assignment] = {}
    for first in lead[:_MOST]:
        row = {path: cell for path, column in columns.items() if (cell := _beside(first, column)) is not None}
        filled = build({path: one.value for path, one in row.items()})
        rows.setdefault(dumps(filled), Assignment(filled, {path: one.path for path, one in row.items()}))
    return list(rows.values())


def connecting(taxonomy: Taxonomy, source: str, target: str) -> tuple[SemanticType, ...]:
    """Give the types that `source` produces and `target` consumes."""
    return tuple(
        one
        for one in taxonomy.types
        if any(place.tool == source for place in one.produced) and any(place.tool == target for place in one.consumed)
    )


def handed_on(taxonomy: Taxonomy, source: str, result: JsonValue, target: Card) -> list[Assignment]:
    """Give the arguments that a call of `source` with this result gives `target`, [] where no type connects them."""
    types = connecting(taxonomy, source, target.tool)
    return assignments(types, source, result, target) if types else []


def is_same_value(left: JsonValue, right: JsonValue) -> bool:
    """Whether two values are equal, a number and the text of it included."""
    if same(left, right):
        return True
    if isinstance(left, bool) or isinstance(right, bool) or isinstance(left, str) == isinstance(right, str):
        return False
    try:
        return same(float(left), float(right))
    except (TypeError, ValueError):
        return False


def scalars_in(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield every plain value of a result with its dotted path."""
    value = inner(value)
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from scalars_in(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from scalars_in(item, f"{path}.{index}" if path else str(index))
    else:
        yield path, value


def _paired(makes: Sequence[Place], takes: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Give for each place of a consumer the producer's that is named most like it, in the order they stand in."""
    free = list(makes)
    for taken in takes:
        pool = free or list(makes)
        if not pool:
            return
        order = {place: position for position, place in enumerate(pool)}
        best = max(pool, key=lambda made: (_likeness(made.path, taken.path), -order[made]))
        if len(takes) > 1 and len(makes) > 1 and best in free:
            free.remove(best)
        yield taken, best


def _likeness(made: str, taken: str) -> int:
    """Count how alike the last names of two paths are: equal, one begins the other, one word in common."""
    left, right = (words(name_of(path)) for path in (made, taken))
    if left == right:
        return 3
    if left and right and (left == right[: len(left)] or right == left[: len(right)]):
        return 2
    return 1 if set(left) & set(right) else 0


def _beside(lead: Found, column: Sequence[Found]) -> Found | None:
    """Give the value of a column that stands in the record of `lead`: that shares most of its list entries.

    Lists of plain values side by side are columns of one table: their entries of one number belong together.
    """
    if lead in column:
        return lead

    def is_plain_entry(found: Found) -> bool:
        return found.records[-1:] == (found.path,)

    shared = (found for found in column if found.records == lead.records[: len(found.records)])
    level = (one for one in column if is_plain_entry(lead) and is_plain_entry(one) and one.indexes == lead.indexes)
    return next(shared, None) or next(level, None)


def _typed(found: Found, kind: JsonValue) -> Found | None:
    """Give a value in the type that a schema declares: numbers in prose are texts, and ids may be numbers."""
    value = found.value
    if value in (None, "", [], {}):
        return None
    if kind in ("integer", "number") and isinstance(value, str):
        try:
            return replace(found, value=int(value) if kind == "integer" else float(value))
        except ValueError:
            return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return replace(found, value=str(value)) if kind == "string" and is_number else found
