"""Where two states differ, row by row, and how to say it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.json_values import exactness, likeness, same, to_json
from pytest_agentbench.core.names import count, listing, suggestion
from pytest_agentbench.core.state import Difference, State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.environment.structural_sharing import apart

_WIDTH = 160
"""Characters of a value that `describe` shows."""


def diff(expected: State, actual: State, ignore: Sequence[str] = ()) -> list[Difference]:
    """Give every place where `actual` is not `expected`, ordered by path.

    A missing or extra row (any object) is one difference, and so is each changed value in a row. Numbers are compared
    with the tolerance of `core.json_values.same`; lists of equal length item by item. `ignore` holds patterns such as
    `orders.*.updated_at`: segments are joined by `.` (`\\.` for one inside a name) and `*` stands for any text within
    one segment; what a pattern names is left out with all that is below it.
    """
    patterns = [_pattern(text) for text in ignore]
    left, right = (to_json(side) for side in apart(expected, actual))
    return list(_differences(_pruned(left, patterns), _pruned(right, patterns), ()))


def describe(difference: Difference) -> str:
    """Say a difference in one line, such as `orders.W1.status: expected 'cancelled', is 'pending'`.

    Of lists, only the items are shown that the other one does not hold, of long texts what stands where they part.
    """
    path = printable(".".join(difference.path)) or "state"
    expected, actual = difference.expected, difference.actual
    if difference.extra:
        return f"{path}: not expected, is {_shown(actual)}"
    if difference.missing:
        return f"{path}: expected {_shown(expected)}, is missing"
    if isinstance(expected, list) and isinstance(actual, list):
        return f"{path}: expected {count(len(expected), 'item')}, is {len(actual)}{_parted(expected, actual)}"
    if isinstance(expected, str) and isinstance(actual, str):
        expected, actual = _from_where_they_part(expected, actual)
    return f"{path}: expected {_shown(expected)}, is {_shown(actual)}"


def arranged(state: State, unordered: Sequence[str]) -> State:
    """Give the state with the lists that the patterns name in one order, so that theirs makes no difference."""
    patterns = [_pattern(text) for text in unordered]
    found: State = _arranged(to_json(state), patterns)
    return found


def ignored_in_vain(ignore: Sequence[str], *states: State | None, key: str = "ignore") -> str:
    """Say which pattern begins with what none of the `states` has at its top, else `""`: it would do nothing."""
    names = sorted({name for state in states for name in state or {}})
    for text in ignore:
        first = re.split(r"(?<!\\)\.", text)[0].replace("\\.", ".")
        if not any(_pattern(text)[0].fullmatch(name) for name in names):
            hint = suggestion(first, names) or f"it has {listing(names) or 'nothing'}"
            return printable(with_hint(f"{key} {text!r}: the state has no {first!r}", hint))
    return ""


def _differences(expected: Any, actual: Any, path: tuple[str, ...]) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            if key not in actual:
                yield Difference(path=(*path, key), expected=expected[key], missing=True)
            elif key not in expected:
                yield Difference(path=(*path, key), actual=actual[key], extra=True)
            else:
                yield from _differences(expected[key], actual[key], (*path, key))
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(left, right, (*path, str(index)))
    elif not same(expected, actual):
        yield Difference(path=path, expected=expected, actual=actual)


def _pattern(text: str) -> list[re.Pattern[str]]:
    segments = [segment.replace("\\.", ".") for segment in re.split(r"(?<!\\)\.", text)]
    return [re.compile(".*".join(map(re.escape, segment.split("*"))), re.DOTALL) for segment in segments]


def _pruned(value: Any, patterns: list[list[re.Pattern[str]]]) -> Any:
    """Leave out what the patterns name."""
    if not patterns or not isinstance(value, dict | list):
        return value
    items: Mapping[str, Any] = value if isinstance(value, dict) else {str(i): item for i, item in enumerate(value)}
    kept: dict[str, Any] = {}
    for key, item in items.items():
        inner = [pattern for pattern in patterns if pattern[0].fullmatch(key)]
        if not any(len(pattern) == 1 for pattern in inner):
            kept[key] = _pruned(item, [pattern[1:] for pattern in inner])
    return kept if isinstance(value, dict) else list(kept.values())


def _arranged(value: Any, patterns: list[list[re.Pattern[str]]]) -> Any:
    """Sort the lists that a pattern ends at, whatever they hold."""
    if not patterns or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        inner = [[pattern[1:] for pattern in patterns if pattern[0].fullmatch(str(i))] for i in range(len(value))]
        return [_arranged_at(item, rest) for item, rest in zip(value, inner, strict=True)]
    return {
        key: _arranged_at(item, [pattern[1:] for pattern in patterns if pattern[0].fullmatch(key)])
        for key, item in value.items()
    }


def _arranged_at(value: Any, patterns: list[list[re.Pattern[str]]]) -> Any:
    deeper = _arranged(value, [pattern for pattern in patterns if pattern])
    if isinstance(deeper, list) and any(not pattern for pattern in patterns):
        return sorted(deeper, key=exactness)
    return deeper


def _parted(expected: list[Any], actual: list[Any]) -> str:
    """Show the first item that each of two lists holds alone; where there is none their order differs."""
    ours, theirs = [*map(likeness, expected)], [*map(likeness, actual)]
    left = _only(expected, ours, theirs)
    right = _only(actual, theirs, ours)
    sides = [f"{word} {_shown(items[0])}" for word, items in (("without", left), ("with", right)) if items]
    return f", {', '.join(sides)}" if sides else ", in another order"


def _only(items: list[Any], own: list[str], others: list[str]) -> list[Any]:
    """Give the items whose texts, `own`, the others do not have as often."""
    spare = Counter(others)
    found = []
    for item, text in zip(items, own, strict=True):
        spare[text] -= 1
        if spare[text] < 0:
            found.append(item)
    return found


def _from_where_they_part(left: str, right: str) -> tuple[str, str]:
    """Leave out of two texts what both begin with, where they are too long to be shown whole."""
    if max(len(left), len(right)) <= _WIDTH:
        return left, right
    parted = next((index for index, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
    start = max((min(len(left), len(right)) if parted is None else parted) - _WIDTH // 4, 0)
    return (f"…{left[start:]}", f"…{right[start:]}") if start else (left, right)


def _shown(value: Any) -> str:
    return printable(shorten(repr(value), _WIDTH))
