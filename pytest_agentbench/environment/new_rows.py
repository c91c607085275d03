"""Which new rows of two worlds are one, where each world counted its keys up in the order of its own calls."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from itertools import islice, product
from typing import Any

from pytest_agentbench.core.json_values import likeness, same
from pytest_agentbench.core.state import State
from pytest_agentbench.environment.fresh_values import names_an_id

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
