"""What states share as one object, and what they do not: large states differ in a few rows, and cost what differs."""

from itertools import repeat
from operator import is_
from typing import Any

from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.environment.lazy_state import LazyDict


def plain(value: Any, base: Any = None) -> Any:
    """Give a value as plain JSON: where it equals `base`, the base itself, which nobody may change."""
    if value is base and not isinstance(value, LazyDict):
        return base
    if isinstance(value, LazyDict):
        return _plain_lazy(value, base)
    if type(value) is dict:
        if isinstance(base, dict):
            if _untouched(value, base):
                return base
        else:
            base = {}
        made = dict(value) if {*map(type, value)} <= {str} else {_name_of(key): part for key, part in value.items()}
        own = differing(made, base)
        made.update((key, plain(made[key], base.get(key))) for key in own)
        return base if len(made) == len(base) and all(key in base and made[key] is base[key] for key in own) else made
    if type(value) is list:
        others = base if isinstance(base, list) else []
        made_list = [plain(part, other) for part, other in zip(value, others, strict=False)]
        made_list += [plain(part) for part in value[len(others) :]]
        is_base = isinstance(base, list) and len(made_list) == len(base) and all(map(is_, made_list, base))
        return base if is_base else made_list
    made = to_json(value)
    return base if _identical(made, base) else made


def _name_of(key: object) -> str:
    return key if type(key) is str else str(to_json(key))


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Give the keys under which the other dict has not the same object: of thousands of rows the few that are apart."""
    nothing = object()
    found = zip(one, one.values(), map(other.get, one, repeat(nothing)), strict=True)
    return [key for key, part, held in found if part is not held]


def changes(value: Any, base: Any) -> Any:
    """Give what differs from `base` in a value, as plain JSON, None where nothing does; equal changes are equal values.

    What a `LazyDict` over `base` did not look at is not looked at either.
    """
    made = plain(value, base)
    return None if made is base else apart(made, base)


def apart(left: Any, right: Any) -> tuple[Any, Any]:
    """Give both without the parts that they share as one object; None stands in lists for what is left out."""
    if left is right:
        return None, None
    if isinstance(left, dict) and isinstance(right, dict):
        ours, theirs = {}, {}
        for key in differing(left, right):
            if key in right:
                ours[key], theirs[key] = apart(left[key], right[key])
            else:
                ours[key] = left[key]
        if not right.keys() <= left.keys():
            theirs.update((key, other) for key, other in right.items() if key not in left)
        return ours, theirs
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        items = [apart(*pair) for pair in zip(left, right, strict=True)]
        return [one for one, _ in items], [other for _, other in items]
    return left, right


def is_little(value: Any, most: int = 500) -> bool:
    """Whether a value is of JSON's own types and holds so few values that going through it takes no time."""
    waiting = [value]
    while waiting and most >= 0:
        one = waiting.pop()
        if type(one) is dict:
            most -= len(one)
            if not all(type(key) is str for key in one):
                return False
            waiting.extend(one.values())
        elif type(one) is list:
            most -= len(one)
            waiting.extend(one)
        elif type(one) not in _LEAVES:
            return False
    return most >= 0


_LEAVES = frozenset({str, int, float, bool, type(None)})


def is_large(state: Any) -> bool:
    """Whether a state has so many rows that it should not be kept more often than needed."""
    parts = state.values() if isinstance(state, dict) else ()
    return sum(len(part) for part in parts if isinstance(part, dict | list)) > _MANY


_MANY = 5_000
"""Rows of a large state."""


def _plain_lazy(value: LazyDict, wanted: Any) -> Any:
    base = value.base
    made: dict[str, Any] | None = None
    for key in list(value.own):
        name = key if type(key) is str else str(to_json(key))
        if key not in value:
            if key in base:
                made = dict(base) if made is None else made
                made.pop(key, None)
            continue
        part = plain(dict.__getitem__(value, key), base.get(key))
        if name not in base or part is not base[name]:
            made = dict(base) if made is None else made
            made[name] = part
    if made is None:
        return base
    return wanted if isinstance(wanted, dict) and wanted is not base and _identical(made, wanted) else made


def _untouched(value: dict[Any, Any], base: dict[Any, Any]) -> bool:
    """Whether a dict is a copy whose keys and values are those of the base, as objects: seen quickly."""
    return (
        len(value) == len(base)
        and all(map(is_, dict.values(value), dict.values(base)))
        and all(map(is_, dict.keys(value), dict.keys(base)))
    )


def _identical(left: Any, right: Any) -> bool:
    """Whether two JSON values are written alike: 1, 1.0 and True differ."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_identical(part, right[key]) for key, part in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    if isinstance(left, float) and left == right == 0.0:
        return str(left) == str(right)
    return bool(left == right) or (left != left and right != right)  # noqa: PLR0124 - NaN is written alike
