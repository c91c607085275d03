"""What large states share as one object: each is copied by use, and two that differ in a few rows cost what differs.

Lists, and whatever is small such as a row, are copied whole, so that tools get plain dicts and lists of their own. Only
a large mapping, such as a table, is a `LazyDict`: a dict whose storage holds the content as it is, so that what reads
past its methods (`==`, `in`, `repr`) reads right. Code in C that hands out the values of a dict subclass without asking
it gets the shared ones; encoders of JSON and `dict()`, `{**state}`, `copy` and `pickle` do not.
"""

import copy
import threading
from collections.abc import Iterator
from itertools import repeat
from operator import is_
from typing import Any, SupportsIndex

from pytest_agentbench.core.json_values import to_json

SMALL = 1_000
"""Values up to which a part is copied whole."""

_TAKING = threading.RLock()
"""Held while a part becomes one's own: threads of one run that look at the same time get the same copy."""


class _TooLargeError(Exception):
    """A part has more values than are copied whole."""


def shared(value: Any, small: int = SMALL) -> Any:
    """Give a copy of a JSON value that may be changed without changing the value; large mappings are copied by use.

    Large is what holds more values than `small`.
    """
    if isinstance(value, dict):
        try:
            return _whole(value, [small])
        except _TooLargeError:
            return LazyDict(value, small)
    if isinstance(value, list):
        return [shared(part, small) if isinstance(part, dict | list) else part for part in value]
    return value


def _whole(value: Any, left: list[int]) -> Any:
    parts = value.values() if isinstance(value, dict) else value
    left[0] -= len(value)
    if left[0] < sum(len(part) for part in parts if isinstance(part, dict | list)):
        raise _TooLargeError
    if isinstance(value, dict):
        return {key: _whole(part, left) if isinstance(part, dict | list) else part for key, part in value.items()}
    return [_whole(part, left) if isinstance(part, dict | list) else part for part in value]


class LazyDict(dict[str, Any]):
    """A dict over `base`: a part that is read is one's `own` from then on. Every change keeps to this order: first the
    storage, then `own`, so that another thread never takes a part of the base for one's own."""

    def __init__(self, base: dict[str, Any], small: int = SMALL) -> None:
        super().__init__(base)
        self.base = base
        self.small = small
        self.own: set[Any] = set()

    def __getitem__(self, key: Any) -> Any:
        """Give a part, a copy of one's own."""
        if key in self.own:
            return super().__getitem__(key)
        with _TAKING:
            part = super().__getitem__(key)
            if key not in self.own and (own := self.copied(part)) is not part:
                self[key] = part = own
            return part

    def copied(self, part: Any) -> Any:
        """Give a part that may be changed; the same one where nobody could change it."""
        return shared(part, self.small)

    def __setitem__(self, key: Any, part: Any) -> None:
        """Put a part of one's own."""
        with _TAKING:
            super().__setitem__(key, part)
            self.own.add(key)

    def __delitem__(self, key: Any) -> None:
        """Take a part out; the base keeps it."""
        with _TAKING:
            super().__delitem__(key)
            self.own.add(key)

    def __iter__(self) -> Iterator[Any]:
        """Go through the keys; that this is no dict's own way makes `dict(state)` and `{**state}` ask for parts."""
        return super().__iter__()

    def get(self, key: Any, default: Any = None) -> Any:
        """Give a part, a copy of one's own, or the default."""
        try:
            return self[key]
        except KeyError:
            return default

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Give a part, or put the default."""
        with _TAKING:
            if key not in self:
                self[key] = default
            return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        """Take a part out and give it."""
        with _TAKING:
            if key not in self and default:
                return default[0]
            part = self[key]
            del self[key]
            return part

    def popitem(self) -> tuple[Any, Any]:
        """Take the last part out and give it."""
        with _TAKING:
            if not self:
                return super().popitem()
            key = next(reversed(self))
            return key, self.pop(key)

    def update(self, *others: Any, **parts: Any) -> None:
        """Put several parts."""
        for key, part in dict(*others, **parts).items():
            self[key] = part

    def clear(self) -> None:
        """Take every part out."""
        with _TAKING:
            keys = list(self)
            super().clear()
            self.own.update(keys)

    def values(self) -> Any:
        """Give every part: whoever looks at all of them may change all of them."""
        self._own_all()
        return super().values()

    def items(self) -> Any:
        """Give every key with its part."""
        self._own_all()
        return super().items()

    def copy(self) -> dict[str, Any]:
        """Give a plain dict of the same parts, as `dict.copy` does."""
        return dict(self.items())

    def __or__(self, other: Any) -> Any:
        """Give a plain dict of both."""
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        """Give a plain dict of both."""
        return other | self.copy()

    def __ior__(self, other: Any) -> Any:
        """Put the other's parts."""
        self.update(other)
        return self

    def __copy__(self) -> dict[str, Any]:
        """Give a plain dict of the same parts."""
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """Give a plain copy that shares nothing."""
        made: dict[str, Any] = {}
        memo[id(self)] = made
        for key, part in dict.items(self):
            made[key] = copy.deepcopy(part, memo)
        return made

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle as a plain dict."""
        return dict, (dict(dict.items(self)),)

    def _own_all(self) -> None:
        with _TAKING:
            for key in list(self):
                self.get(key)


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
