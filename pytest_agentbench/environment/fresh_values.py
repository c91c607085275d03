"""What a world makes up by itself, ids, times and keys of rows, which differ between two worlds with equal calls.

Only the form of a value is looked at, never its meaning. A number that is no id and no time, and a text without a
digit, are data: where these differ, something differs. New rows are one where each world counted its keys up in the
order of its own calls.
"""

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import islice, product
from typing import Any, Literal

from pytest_agentbench.core.json_values import likeness, same
from pytest_agentbench.core.state import State

TOKEN = re.compile(r"[^\W_]+(?:(?:[-_]+|(?<=\d)[:.+](?=\d))[^\W_]+)*")
"""A word of a text as far as ids and times are concerned: `REF-77`, `2026-11-22T10:00:03.5+00:00`, `ord_a1`."""

Kind = Literal["time", "random", "sequence"]
"""time: of a clock. random: drawn, as a UUID. sequence: counted, so that only digits differ (`REF-9`, `REF-10`)."""

_ID_NAME = re.compile(
    r"(?:.*[_-])?ids?|.*[a-z](?:Id|ID)s?|(?:.*[_-])?(?:key|code|ref|reference|uuid|token)|.*[_-]number"
)
_NUMBER = re.compile(r"[\d.,]+")
_DIGITS = re.compile(r"\d+")
_HEX = re.compile(r"[0-9a-f]{8,}|[^\W_]+[-_][0-9a-f]{6,}", re.IGNORECASE)
"""What is drawn has no digit at times: `deadbeef`, `ST-ddbddf`."""
_SEPARATORS = re.compile(r"[-_]+")
_SHORTEST_DRAWN = 6
_SHORTEST_FREE_FORM = 16
_EPOCHS = ((1.0, 1e9, 4e9), (1e-3, 1e12, 4e12))
"""Seconds per unit, and from where to where a number may be seconds or milliseconds since 1970."""
_DAY = 86_400.0


def names_an_id(key: str) -> bool:
    """Whether the value under a key of this name is meant to identify something."""
    return _ID_NAME.fullmatch(key) is not None


def kind_of_pair(left: str, right: str, *, is_id: bool) -> Kind | None:
    """Tell what two different words may be that stand at the same place in two worlds; None where they are data.

    `is_id` says that the place is one of identifiers, where plain numbers count too.
    """
    if (read_time(left) is not None) and (read_time(right) is not None):
        return "time"
    if _NUMBER.fullmatch(left) or _NUMBER.fullmatch(right):
        return "sequence" if is_id and left.isdigit() and right.isdigit() else None
    made_up = [_is_made_up(left), _is_made_up(right)]
    if not all(made_up) and not (is_id and any(made_up)):  # one of two that are drawn from letters and digits has both
        return None
    if _DIGITS.sub("0", left) == _DIGITS.sub("0", right):
        return "random" if _is_long_number(left, right) else "sequence"
    parts, others = _SEPARATORS.split(left), _SEPARATORS.split(right)
    if len(left) == len(right) and (
        (len(left) >= _SHORTEST_DRAWN and [len(one) for one in parts] == [len(one) for one in others])
        or len(left) >= _SHORTEST_FREE_FORM
    ):
        return "random"
    return None


def may_be_made_up(word: str) -> bool:
    """Whether a word has the form of an id or a time; plain numbers have not."""
    return read_time(word) is not None or (_is_made_up(word) and not _NUMBER.fullmatch(word))


def _is_made_up(word: str) -> bool:
    return any(map(str.isdigit, word)) or _HEX.fullmatch(word) is not None


def _is_long_number(left: str, right: str) -> bool:
    """Whether the digits of two words are too many to be counted up, as those of `REF-83120467`."""
    digits = [len("".join(_DIGITS.findall(word))) for word in (left, right)]
    return digits[0] == digits[1] >= _SHORTEST_DRAWN


@dataclass(frozen=True)
class Moment:
    """A point of time read from a value: seconds, and how exactly the value gives them. A date has no time of day."""

    seconds: float
    within: float = 1.0
    is_date: bool = False
    of_day: bool = False


def read_time(value: object) -> Moment | None:
    """Read an ISO date, time or both, or seconds or milliseconds since 1970; None where the value is none of them."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        found = (Moment(value * unit) for unit, low, high in _EPOCHS if low <= value < high)
        return next(found, None)
    if not isinstance(value, str) or not ("-" in value or ":" in value) or not value[:1].isdigit():
        return None
    within = 60.0 if value.count(":") == 1 else 1.0
    try:
        if ":" in value and "-" not in value:
            at = time.fromisoformat(value)
            return Moment(at.hour * 3600 + at.minute * 60 + at.second + at.microsecond / 1e6, within, of_day=True)
        if ":" not in value and "T" not in value:
            return Moment(date.fromisoformat(value).toordinal() * _DAY, is_date=True)
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return Moment((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), within)


@dataclass(frozen=True)
class Clock:
    """When a run and its replay took place, in seconds since 1970: by how much times of the one may differ."""

    run: tuple[float, float]
    replay: tuple[float, float]

    def explains(self, of_run: Moment, of_replay: Moment) -> bool:
        """Whether two times differ by no more than the time that passed between the run and its replay."""
        if of_run.is_date != of_replay.is_date or of_run.of_day != of_replay.of_day:
            return False
        apart = of_replay.seconds - of_run.seconds
        if of_run.is_date:
            return self._crossed_midnight and abs(apart) <= _DAY
        low, high = self.replay[0] - self.run[1], self.replay[1] - self.run[0]
        slack = max(of_run.within, of_replay.within) + 1.0
        laps = (0.0, _DAY, -_DAY) if of_run.of_day else (0.0,)
        return any(low - slack <= apart + lap <= high + slack for lap in laps)

    @property
    def _crossed_midnight(self) -> bool:
        first, last = min(self.run[0], self.replay[0]), max(self.run[1], self.replay[1])
        utc = {datetime.fromtimestamp(at, UTC).date() for at in (first, last)}
        local = {datetime.fromtimestamp(at).astimezone().date() for at in (first, last)}
        return len(utc) > 1 or len(local) > 1


def words(value: Any, key: str = "") -> Iterator[str]:
    """Give every word of a JSON value, keys included; a whole number counts where an id stands, or as a time."""
    if isinstance(value, str):
        yield from TOKEN.findall(value)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from TOKEN.findall(str(name))
            yield from words(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from words(item, key)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return
    elif (isinstance(value, int) and names_an_id(key)) or read_time(value) is not None:
        yield str(value)


Rows = Mapping[str, Any]
Pairs = dict[str, dict[str, str]]
"""Table → key in the one state → key of the same row in the other."""
Marks = tuple[tuple[str, str], ...]
"""Each column of a row with a text that is equal in rows that may be one."""

_OWN = "own key"
"""What a column holds that repeats the key of its row; no JSON."""
_MOST = 64
"""Ways to read the numbers of one row, each its own or one that is known to be another, that are tried."""


def rekeyed(state: State, other: State, starts: tuple[State | None, State | None], given: Collection[str]) -> State:
    """Give `state` with the keys of its new rows as `other` has them, where the same calls led to both in any order.

    New rows of a table whose keys are whole numbers, in neither of the `starts`, are one where all else in them is
    equal: the number tells no more than the order. A column that names an id may hold such a number of another table.
    A number that somebody has `given` as an id says which row is meant: then keys are compared.
    """
    tables = {
        name: found
        for name, rows in state.items()
        if rows is not other.get(name)
        and (found := _counted(rows, other.get(name), [_rows(one, name) for one in starts]))
    }
    tables = {name: found for name, found in tables.items() if set(given).isdisjoint({*found[0], *found[1]})}
    pairs: Pairs = {name: {} for name in tables}
    count = -1
    while sum(map(len, pairs.values())) > count:  # what is known of one table may tell the rows of another apart
        count = sum(map(len, pairs.values()))
        for name, (ours, theirs) in tables.items():
            _pair(ours, theirs, pairs[name], pairs)
    if not any(key != new for known in pairs.values() for key, new in known.items()):
        return state
    return {name: _renamed(rows, other.get(name), pairs.get(name, {}), pairs) for name, rows in state.items()}


def _rows(state: State | None, name: str) -> Rows:
    rows = (state or {}).get(name)
    return rows if isinstance(rows, Mapping) else {}


def _counted(ours: Any, theirs: Any, starts: list[Rows]) -> tuple[Rows, Rows] | None:
    """Give the new rows of both states that differ by key, None where there are none or a key is no whole number."""
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return None
    found = []
    for rows, others in ((ours, theirs), (theirs, ours)):
        fresh = rows.keys() - {key for start in starts for key in start}
        new = {key: row for key, row in rows.items() if key in fresh} if fresh else {}
        if not all(key.isdecimal() and isinstance(row, Mapping) for key, row in new.items()):
            return None
        found.append({key: row for key, row in new.items() if key not in others or others[key] != row})
    return (found[0], found[1]) if found[0] and found[1] else None


def _pair(ours: Rows, theirs: Rows, known: dict[str, str], pairs: Pairs) -> None:
    keys, taken = list(theirs), set(known.values())
    alike: dict[Marks, deque[int]] = defaultdict(deque)
    for place, (new, row) in enumerate(theirs.items()):
        for marks in _marks(row, new, {}) if new not in taken else ():
            alike[marks].append(place)
    for key, row in ours.items():
        fits = []
        for marks in _marks(row, key, pairs) if key not in known else ():
            places = alike.get(marks, deque())
            while places and keys[places[0]] in taken:
                places.popleft()
            fits += [places[0]] if places else []
        if fits:
            known[key] = keys[min(fits)]
            taken.add(known[key])


def _marks(row: Rows, key: str, pairs: Pairs) -> Iterator[Marks]:
    """Yield texts of which two rows have one in common where they are one (`_is_one`), to look them up."""
    cells = []
    for name in sorted(row):
        value = row[name]
        forms = [likeness(value)]
        if isinstance(value, int):
            forms = [_OWN, *forms] if str(value) == key else forms
            meant = [known[str(value)] for known in pairs.values() if str(value) in known] if names_an_id(name) else []
            forms = [*dict.fromkeys(meant), *forms]
        cells.append([(name, form) for form in forms])
    return islice(product(*cells), _MOST)


def _is_one(row: Rows, other: Rows, keys: tuple[str, str], pairs: Pairs) -> bool:
    """Whether two rows differ in nothing but their own keys and those of rows known to be one."""
    return row.keys() == other.keys() and all(
        same(value, other[name])
        or _are_keys((value, other[name]), keys)
        or (names_an_id(name) and _refers(value, other[name], pairs))
        for name, value in row.items()
    )


def _are_keys(values: tuple[Any, Any], keys: tuple[str, str]) -> bool:
    return all(isinstance(value, int) and str(value) == key for value, key in zip(values, keys, strict=True))


def _refers(value: Any, other: Any, pairs: Pairs) -> bool:
    return isinstance(value, int) and any(known.get(str(value)) == str(other) for known in pairs.values())


def _renamed(rows: Any, others: Any, known: Mapping[str, str], pairs: Pairs) -> Any:
    """Give the rows of a table by the other state's keys; a row that is paired is the other's."""
    if rows is others or not isinstance(rows, Mapping) or not isinstance(others, Mapping):
        return rows
    names = {**known, **dict(_left(rows, known))}
    found: dict[str, Any] = {}
    for key, row in rows.items():
        new = str(names.get(key, key))
        other = others.get(new)
        if key in known or (
            isinstance(row, Mapping) and isinstance(other, Mapping) and _is_one(row, other, (key, new), pairs)
        ):
            found[new] = other
        elif new != key and isinstance(row, Mapping):
            found[new] = {
                name: int(new) if _are_keys((value, value), (key, key)) else value for name, value in row.items()
            }
        else:
            found[new] = row
    return found


def _left(rows: Rows, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give other keys to the rows that are no other one's, where a paired row took theirs."""
    taken = set(known.values())
    free = (key for key in known if key not in taken)
    for key in rows:
        if key not in known and key in taken:
            yield key, next(free)
