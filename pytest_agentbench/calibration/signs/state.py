"""Signs in the state: answers about something else, answers that rows contradict, effects that are not there."""

import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.calibration.signs.reading import Made, Reading, flat, values
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.environment.diff import diff

_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_TIME = re.compile(r"(?<![\d:])\d\d:\d\d(?![\d:])")
_SAID_TIME = re.compile(r"(?<![\d:.])(\d{1,2})\s?[:h]\s?(\d\d)(?!\d)")
_SPAN = re.compile(r"from|since|until|start|end|after|before|birth|born|due|since|begin|first|last", re.IGNORECASE)
"""Names of arguments that bound days, or are of a person, rather than name the day that is asked about."""

Row = Mapping[str, JsonValue]


def about_another(reading: Reading) -> Iterator[str]:
    """Find answers that give another value under the name of an argument than the call asked for."""
    for one in reading.calls:
        if not isinstance(one.value, dict):
            continue
        for name, wanted in one.record.call.arguments.items():
            got = one.value.get(name, _own_id(one.value, name, one.name))
            if isinstance(wanted, str) and isinstance(got, str) and wanted and flat(got) != flat(wanted):
                yield f"{one.name} was asked for {name} {wanted!r} and answered about {got!r}"
                return


def _own_id(answer: Row, name: str, tool: str) -> JsonValue:
    """Give the id of an answer that names it otherwise than the argument: `id`, or `order` for `order_id`."""
    stem = re.sub(r"_?(?:id|ref|reference|number|no|code|key)$", "", name)
    others = [key for key in ("id", stem, f"{stem}_id", f"{stem}_ref", f"{stem}_number") if key and key != name]
    if not stem or (stem == name and stem not in tool):
        return None
    return next((answer[key] for key in others if isinstance(answer.get(key), str)), None)


def another_day(reading: Reading) -> Iterator[str]:
    """Find answers that are dated, and all of another day than the one day that the call asked for."""
    for one in reading.calls:
        if one.failed or reading.writes(one):
            continue
        for name, wanted in one.record.call.arguments.items():
            if not isinstance(wanted, str) or not _DAY.fullmatch(wanted) or _SPAN.search(name):
                continue
            days = set(_DAY.findall(one.content))
            if days and wanted not in days:
                yield f"{one.name} was asked for {wanted} and answered about {min(days)}"
                return


def confirmed_otherwise(reading: Reading) -> Iterator[str]:
    """Find a change that is told with another time of day than its answer gives."""
    writing = [one for one in reading.calls if reading.writes(one) and not one.failed]
    if not writing:
        return
    answered = set(_TIME.findall(writing[-1].content))
    told = [text for index, text in reading.agent if index > writing[-1].record.message][:1]
    times = {f"{int(hour):02}:{minute}" for text in told for hour, minute in _SAID_TIME.findall(text)}
    if answered and times and not times & answered:
        yield f"{writing[-1].name} answered {min(answered)}, and {min(times)} was told"


def against_rows(reading: Reading) -> Iterator[str]:
    """Find answers in which a field is not what the row has that all key-like fields of the answer point to."""
    if reading.case.initial is None:
        return
    before, after = _rows(reading.case.initial), _rows(reading.case.final or reading.case.initial)
    for one in reading.calls:
        if one.failed:
            continue
        for item in _objects(one.value):
            message = _contradiction(item, [*before, *after])
            if message is None and not reading.writes(one):
                message = _keyed_contradiction(item, before, after)
            if message:
                yield f"{one.name} answered {message}"
                return


def effect_missing(reading: Reading) -> Iterator[str]:
    """Find calls that change things by name, succeeded in words, and left no trace in the state."""
    initial, final = reading.case.initial, reading.case.final
    if initial is None or final is None:
        return
    writing = [one for one in reading.calls if _is_write(reading, one.name) and not one.failed]
    if writing and not diff(initial, final):
        yield f"{writing[-1].name} answered with success, and the state is as before"
        return
    for one in writing:
        if _left_as_it_was(one, _rows(initial), _rows(final)):
            yield f"{one.name} answered with success, and nothing that it names has changed"
            return


def _left_as_it_was(one: Made, before: Sequence[tuple[str, str, Row]], after: Sequence[tuple[str, str, Row]]) -> bool:
    """Whether rows that a call names by key are as before, nothing new names what it names, and it asked for a change.

    It asked for none where the row it names holds all the other values that it gave.
    """
    given = [flat(leaf) for leaf in values(one.record.call.arguments) if flat(leaf)]
    named = {(table, key): row for table, key, row in before if flat(key) in given}
    if not named:
        return False
    later = {(table, key): row for table, key, row in after}
    if any(later.get(place) != row for place, row in named.items()):
        return False
    old = {(table, key) for table, key, _ in before}
    changed = [row for place, row in later.items() if place not in old or row != _row_at(before, place)]
    gone = [row for table, key, row in before if (table, key) not in later]
    held = {flat(leaf) for row in [*changed, *gone] for leaf in values(dict(row))}
    held |= {flat(key) for (_, key) in later.keys() ^ old}
    if any(leaf in held for leaf in given):
        return False
    keys = {flat(key) for _, key in named}
    asked = [leaf for leaf in given if leaf not in keys]
    stored = {flat(leaf) for row in named.values() for leaf in values(dict(row))}
    return not asked or any(leaf not in stored for leaf in asked)


def _row_at(rows: Sequence[tuple[str, str, Row]], place: tuple[str, str]) -> Row | None:
    return next((row for table, key, row in rows if (table, key) == place), None)


def _is_write(reading: Reading, name: str) -> bool:
    spec = reading.case.toolset.get(name)
    return spec is not None and spec.kind == "write"


def _rows(state: JsonValue, table: str = "") -> list[tuple[str, str, Row]]:
    """Give (table, key, row) of every row of a state: of tables by key, and of lists of rows, which go by their id."""
    found: list[tuple[str, str, Row]] = []
    if not isinstance(state, Mapping):
        return found
    for name, inner in state.items():
        if isinstance(inner, Mapping):
            rows = [(str(key), row) for key, row in inner.items() if isinstance(row, Mapping)]
            found += [(str(name), key, row) for key, row in rows]
            found += _rows(inner, str(name)) if not rows or table else []
        elif isinstance(inner, list):
            listed = [row for row in inner if isinstance(row, Mapping)]
            found += [(str(name), _id_of(row, place), row) for place, row in enumerate(listed)]
    return found


def _id_of(row: Row, place: int) -> str:
    """Give the first value of a row whose name ends like an id's; its place where there is none."""
    names = [name for name in row if re.search(r"(?:^|_)(?:id|ref|reference|number|no|code|key)$", name.casefold())]
    return str(row[names[0]]) if names else f"#{place}"


def _objects(value: JsonValue) -> Iterator[Row]:
    if isinstance(value, Mapping):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _contradiction(item: Row, rows: Sequence[tuple[str, str, Row]]) -> str | None:
    """Hold an object of an answer against the rows that have most fields in common with it.

    It contradicts them where none of them agrees, and one does but for a single field.
    """
    fields = [name for name, value in item.items() if not isinstance(value, dict | list)]
    most = max((sum(name in row for name in fields) for _, _, row in rows), default=0)
    worst: str | None = None
    for _, _, row in rows if most > _LEAST_SHARED else ():
        shared = [name for name in fields if name in row]
        if len(shared) < most:
            continue
        differing = [name for name in shared if not same(item[name], row[name])]
        if not differing:
            return None
        if len(differing) == 1:
            worst = f"{differing[0]} {item[differing[0]]!r}, where the state has {row[differing[0]]!r}"
    return worst


def _keyed_contradiction(item: Row, *states: Sequence[tuple[str, str, Row]]) -> str | None:
    """Hold an object of an answer against the one row whose key it gives: no state may have what it says of a field."""
    given = {flat(str(value)) for value in item.values() if isinstance(value, str) and value}
    named = [[row for table, key, row in rows if flat(key) in given and _is_about(item, table, key)] for rows in states]
    if any(len(rows) != 1 for rows in named):
        return None
    for name, value in item.items():
        if isinstance(value, dict | list) or not all(name in rows[0] for rows in named):
            continue
        if not any(same(value, rows[0][name]) for rows in named):
            return f"{name} {value!r}, where the state has {named[0][0][name]!r}"
    return None


def _is_about(item: Row, table: str, key: str) -> bool:
    """Whether the field that holds a row's key is the first of an answer, or is named like the row's table."""
    name = next(name for name, value in item.items() if isinstance(value, str) and flat(value) == flat(key))
    stem = re.sub(r"_?(?:id|ref|reference|number|no|code|key)$", "", name.casefold())
    return name == next(iter(item)) or (bool(stem) and table.casefold().startswith(stem[:_STEM]))


_STEM = 5
_LEAST_SHARED = 2
"""Fields in common from which agreement on all but one is no accident."""
