"""A large part of a state, shared by all runs until one looks: what is read is copied then, the rest stays the file's.

Lists, and whatever is small such as a row, are copied whole, so that tools get plain dicts and lists of their own. Only
a large mapping, such as a table, is a `LazyDict`: a dict whose storage holds the content as it is, so that what reads
past its methods (`==`, `in`, `repr`) reads right. Code in C that hands out the values of a dict subclass without asking
it gets the shared ones; encoders of JSON and `dict()`, `{**state}`, `copy` and `pickle` do not.
"""

import copy
import threading
from collections.abc import Iterator
from typing import Any, SupportsIndex

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
    left[0] -= len(value)
    if left[0] < 0:
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
            if key not in self.own and isinstance(part, dict | list):
                self[key] = part = shared(part, self.small)
            return part

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
            for key, part in list(dict.items(self)):
                if key not in self.own and isinstance(part, dict | list):
                    self[key] = shared(part, self.small)
