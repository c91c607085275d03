"""Signs in what was chosen from a list: another row than the user spoke of, a part of a sum told for the whole."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal

from pytest_agentbench.calibration.signs.days import days, times
from pytest_agentbench.calibration.signs.knowledge import numbers
from pytest_agentbench.calibration.signs.reading import Made, Reading
from pytest_agentbench.calibration.signs.sentences import sentences
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number

_LEAST = 2
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_WEEKDAYS = (
    ("monday", "lundi"),
    ("tuesday", "mardi"),
    ("wednesday", "mercredi"),
    ("thursday", "jeudi"),
    ("friday", "vendredi"),
    ("saturday", "samedi"),
    ("sunday", "dimanche"),
)
_LONGEST = 60
_PRICES = re.compile(r"\d[.,]\d\d(?!\d)")

Row = Mapping[str, JsonValue]


def another_choice(reading: Reading) -> Iterator[str]:
    """Find a change whose argument names one row of a list that was read, while the user spoke of another one.

    A row is spoken of where all words of one of its values are, or its day or time. The agent may choose if it says
    which: before the change where the user spoke of none, afterwards where they spoke of another.
    """
    for one in reading.calls if reading.user else ():
        if one.failed or not reading.writes(one):
            continue
        heard = _heard(reading, one)
        for value in one.record.call.arguments.values():
            rows = [] if isinstance(value, Mapping | list | bool) else _rows_of(reading, one, str(value))
            chosen = [row for row in rows if any(str(cell) == str(value) for cell in row.values())]
            if len(chosen) != 1 or len(rows) < _LEAST or _told(reading, chosen[0], rows, since=one.record.message):
                continue
            scores = [_spoken(row, heard, rows) for row in rows]
            if max(scores) > scores[rows.index(chosen[0])]:
                yield f"{one.name} was called with {value!r}, and the user spoke of another one"
                return
            if not max(scores) and not _told(reading, chosen[0], rows):
                yield f"{one.name} was called with {value!r}, one of {len(rows)}, and nobody spoke of it"
                return


def _heard(reading: Reading, one: Made) -> str:
    """Give what the user said, and what the agent asked last that the user answered."""
    users = [text for index, text in reading.user if index < one.record.message]
    asked = [text for index, text in reading.agent if index < one.record.message]
    return plain("\n".join([*users, *asked[-1:]]))


def _rows_of(reading: Reading, write: Made, leaf: str) -> list[Row]:
    """Give the rows of the last list read before a call in which a value names one row."""
    found: list[Row] = []
    for one in reading.calls:
        if one.record.message >= write.record.message or one.failed:
            continue
        for rows in _lists(one.value):
            if any(str(value) == leaf for row in rows for value in row.values()):
                found = rows
    return found


def _lists(value: JsonValue) -> Iterator[list[Row]]:
    if isinstance(value, list):
        rows = [item for item in value if isinstance(item, Mapping)]
        if len(rows) >= _LEAST:
            yield rows
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _lists(item)


def _spoken(row: Row, heard: str, rows: Sequence[Row]) -> int:
    """Count the values by which a row differs from the others and that were spoken of."""
    count = 0
    for name, value in row.items():
        if isinstance(value, bool | Mapping | list) or value is None:
            continue
        if all(other.get(name) == value for other in rows):
            continue
        count += _says(heard, plain(str(value))) or _weekday(str(value), heard)
    return count


def _says(heard: str, value: str) -> bool:
    if not _LEAST <= len(value) <= _LONGEST:
        return False
    if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", heard):
        return True
    wanted_days = {(one.month, one.day) for one in days(value)}
    wanted_times = [one.minutes for one in times(value)]
    if wanted_times:
        said = {minutes for one in times(heard) for minutes in one.minutes}
        return bool(said & set(wanted_times[0]))
    return bool(wanted_days & {(one.month, one.day) for one in days(heard)})


def _weekday(value: str, heard: str) -> bool:
    """Whether the weekday of a day is spoken of."""
    found = _ISO.match(value)
    try:
        day = date.fromisoformat(found[0]).weekday() if found else None
    except ValueError:
        return False
    return day is not None and any(re.search(rf"\b{name}\b", heard) for name in _WEEKDAYS[day])


def _told(reading: Reading, row: Row, rows: Sequence[Row], since: int = -1) -> bool:
    """Whether the agent named, since a message, something by which a row differs from the others."""
    said = plain("\n".join(text for index, text in reading.agent if index > since))
    own = {name: value for name, value in row.items() if any(other.get(name) != value for other in rows)}
    others = [other for other in rows if other is not row]
    common = {word for other in others for word in _words(other)}
    count = _spoken(own, said, rows)
    if since >= 0 and count <= max((_spoken(other, said, rows) for other in others), default=0):
        return False  # another is named as much
    return bool(count) or any(word in said for word in _words(own) - common)


def _words(row: Row) -> set[str]:
    """Give the words of a row's texts and numbers that are long enough to be told by."""
    return {
        word
        for value in row.values()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
        for word in re.findall(r"[^\W_]{4,}", plain(str(value)))
    }


def part_for_the_whole(reading: Reading) -> Iterator[str]:
    """Find an amount that is one of several that add up to another one, told alone and without what it is of."""
    asked = plain("\n".join(text for _, text in reading.user))
    for _, text in reading.agent:
        for sentence in sentences(text):
            said = plain(sentence)
            told = set(numbers(said)) if _PRICES.search(sentence) else set()
            for one in reading.calls:
                for part, name, whole in _parts(one.value):
                    if part in told and whole not in told and not _names(name, f"{said}\n{asked}"):
                        yield f"{part} is told, a part of {whole}"
                        return


def _parts(value: JsonValue) -> Iterator[tuple[Decimal, str, Decimal]]:
    """Give (part, words of its row, whole) where the numbers of a list add up to a number that stands beside it."""
    if isinstance(value, Mapping):
        wholes = {Decimal(str(item)) for item in value.values() if is_number(item)}
        for item in value.values():
            rows = [row for row in item if isinstance(row, Mapping)] if isinstance(item, list) else []
            for name in {key for row in rows for key in row}:
                column = [Decimal(str(row[name])) for row in rows if is_number(row.get(name))]
                total = sum(column, Decimal(0))
                if len(column) == len(rows) >= _LEAST and total in wholes and total not in column:
                    for row, part in zip(rows, column, strict=True):
                        yield part, " ".join(str(text) for text in row.values() if isinstance(text, str)), total
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _parts(item)


def _names(name: str, said: str) -> bool:
    """Whether a text names some word of a row."""
    return any(word[:5] in said for word in re.findall(r"[^\W\d_]{4,}", plain(name)))
