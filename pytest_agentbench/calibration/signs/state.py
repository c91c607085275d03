"""Signs in the state: answers about something else, answers that rows contradict, effects that are not there."""

import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.calibration.signs.reading import Reading, flat
from pytest_agentbench.core.state import State
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.environment.diff import diff

_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_TIME = re.compile(r"(?<![\d:])\d\d:\d\d(?!\d)")
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
            got = one.value.get(name)
            if isinstance(wanted, str) and isinstance(got, str) and wanted and flat(got) != flat(wanted):
                yield f"{one.name} was asked for {name} {wanted!r} and answered about {got!r}"
                return


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
            if message := _contradiction(item, [*before, *after]):
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


def _is_write(reading: Reading, name: str) -> bool:
    spec = reading.case.toolset.get(name)
    return spec is not None and spec.kind == "write"


def _rows(state: State) -> list[tuple[str, str, Row]]:
    return [
        (table, str(key), row)
        for table, rows in state.items()
        if isinstance(rows, Mapping)
        for key, row in rows.items()
        if isinstance(row, Mapping)
    ]


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


_LEAST_SHARED = 2
"""Fields in common from which agreement on all but one is no accident."""
