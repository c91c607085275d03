"""A large state, shared by all runs until one looks: what is read is copied then, what is not stays the file's.

Handles are real dicts and lists, whose storage always holds the content as it is: what reads it without asking, such as
a JSON encoder in C, reads right. What hands out a part gives a copy of one's own, so that no run changes the base.
"""

import copy
from collections.abc import Iterator
from typing import Any, SupportsIndex

from pytest_agentbench.core.values import to_json


def shared(value: Any) -> Any:
    """Give a copy of a JSON value whose parts are copied when they are looked at."""
    if isinstance(value, dict):
        return LazyDict(value) if any(isinstance(item, dict | list) for item in value.values()) else dict(value)
    if isinstance(value, list):
        return LazyList(value) if any(isinstance(item, dict | list) for item in value) else list(value)
    return value


class LazyDict(dict[str, Any]):
    """A dict over `base`: a part that is read is one's own from then on."""

    def __init__(self, base: dict[str, Any]) -> None:
        super().__init__(base)
        self.base = base
        self.own: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        """Give a part, a copy of one's own."""
        part = super().__getitem__(key)
        if key in self.own or not isinstance(part, dict | list):
            return part
        self[key] = part = shared(part)
        return part

    def __setitem__(self, key: str, part: Any) -> None:
        """Put a part of one's own."""
        self.own.add(key)
        super().__setitem__(key, part)

    def __delitem__(self, key: str) -> None:
        """Take a part out; the base keeps it."""
        super().__delitem__(key)
        self.own.add(key)

    def __iter__(self) -> Iterator[str]:
        """Go through the keys; that this is no dict's own way makes `dict(state)` and `{**state}` ask for parts."""
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        """Give a part, a copy of one's own, or the default."""
        return self[key] if key in self else default  # noqa: SIM401 - this is what get does

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Give a part, or put the default."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str, *default: Any) -> Any:
        """Take a part out and give it."""
        if key not in self and default:
            return default[0]
        part = self[key]
        del self[key]
        return part

    def popitem(self) -> tuple[str, Any]:
        """Take the last part out and give it."""
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
        self.own |= self.keys()
        super().clear()

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
        return {key: copy.deepcopy(part, memo) for key, part in dict.items(self)}

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle as a plain dict."""
        return dict, (dict(dict.items(self)),)

    def _own_all(self) -> None:
        for key in [key for key, part in dict.items(self) if key not in self.own and isinstance(part, dict | list)]:
            self[key]


class LazyList(list[Any]):
    """A list over `base`: its parts are all one's own from the first look at any of them."""

    def __init__(self, base: list[Any]) -> None:
        super().__init__(base)
        self.base = base
        self.is_own = False

    def own(self) -> "LazyList":
        """Make every part one's own."""
        if not self.is_own:
            self.is_own = True
            super().__setitem__(slice(None), [shared(part) for part in super().__iter__()])
        return self

    def __getitem__(self, place: Any) -> Any:
        """Give a part, or several."""
        return list.__getitem__(self.own(), place)

    def __iter__(self) -> Iterator[Any]:
        """Go through the parts."""
        return list.__iter__(self.own())

    def __reversed__(self) -> Iterator[Any]:
        """Go through the parts from the end."""
        return list.__reversed__(self.own())

    def __setitem__(self, place: Any, part: Any) -> None:
        """Put a part, or several."""
        list.__setitem__(self.own(), place, part)

    def __delitem__(self, place: SupportsIndex | slice) -> None:
        """Take a part out, or several."""
        list.__delitem__(self.own(), place)

    def __add__(self, other: Any) -> Any:
        """Give a plain list of both."""
        return list(self) + other

    def __radd__(self, other: Any) -> Any:
        """Give a plain list of both."""
        return other + list(self)

    def __iadd__(self, other: Any) -> Any:
        """Put the other's parts at the end."""
        self.own().extend(other)
        return self

    def __mul__(self, times: SupportsIndex) -> Any:
        """Give a plain list of the parts several times over."""
        return list(self) * times

    __rmul__ = __mul__

    def __imul__(self, times: SupportsIndex) -> Any:
        """Repeat the parts in place."""
        self[:] = list(self) * times
        return self

    def append(self, part: Any) -> None:
        """Put a part at the end."""
        list.append(self.own(), part)

    def extend(self, parts: Any) -> None:
        """Put parts at the end."""
        list.extend(self.own(), parts)

    def insert(self, place: SupportsIndex, part: Any) -> None:
        """Put a part somewhere."""
        list.insert(self.own(), place, part)

    def pop(self, place: SupportsIndex = -1) -> Any:
        """Take a part out and give it."""
        return list.pop(self.own(), place)

    def remove(self, part: Any) -> None:
        """Take out the first part that equals another."""
        list.remove(self.own(), part)

    def clear(self) -> None:
        """Take every part out."""
        self.is_own = True
        super().clear()

    def reverse(self) -> None:
        """Turn the order around."""
        list.reverse(self.own())

    def sort(self, **how: Any) -> None:
        """Put the parts in order."""
        list.sort(self.own(), **how)

    def copy(self) -> list[Any]:
        """Give a plain list of the same parts."""
        return list(self)

    def __copy__(self) -> list[Any]:
        """Give a plain list of the same parts."""
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        """Give a plain copy that shares nothing."""
        return [copy.deepcopy(part, memo) for part in list.__iter__(self)]

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle as a plain list."""
        return list, (list(list.__iter__(self)),)


def plain(value: Any, base: Any = None) -> Any:
    """Give a value as plain JSON: where it equals `base`, the base itself, which nobody may change."""
    if isinstance(value, LazyDict):
        return _plain_dict(value)
    if isinstance(value, LazyList):
        return _plain_list(value)
    if type(value) is dict and isinstance(base, dict):
        made: Any = {str(to_json(key)): plain(part, base.get(key)) for key, part in value.items()}
    elif type(value) is list and isinstance(base, list) and len(value) == len(base):
        made = [plain(part, other) for part, other in zip(value, base, strict=True)]
    else:
        made = to_json(value)
    return base if _identical(made, base) else made


def changes(value: Any, base: Any) -> Any:
    """Give what differs from `base` in a value that `plain` gave; equal changes are equal values."""
    if _identical(value, base):
        return None
    if isinstance(value, list) and isinstance(base, list) and len(value) == len(base):
        found = ((place, changes(*pair)) for place, pair in enumerate(zip(value, base, strict=True)))
        return {"at": [[place, one] for place, one in found if one is not None]}
    if not isinstance(value, dict) or not isinstance(base, dict):
        return [value]
    put = {key: changes(part, base[key]) if key in base else [part] for key, part in value.items()}
    return {
        "gone": sorted(base.keys() - value.keys()),
        "put": {key: one for key, one in put.items() if one is not None},
    }


def _plain_dict(value: LazyDict) -> Any:
    base = value.base
    made: dict[str, Any] | None = None
    for key in value.own:
        if key not in value:
            if key in base:
                made = dict(base) if made is None else made
                made.pop(key, None)
            continue
        part = plain(dict.__getitem__(value, key), base.get(key))
        if key not in base or part is not base[key]:
            made = dict(base) if made is None else made
            made[str(to_json(key))] = part
    return base if made is None else made


def _plain_list(value: LazyList) -> Any:
    base = value.base
    if not value.is_own:
        return base
    others = base if len(base) == len(value) else [None] * len(value)
    made = [plain(part, other) for part, other in zip(list.__iter__(value), others, strict=True)]
    same = len(base) == len(made) and all(part is other for part, other in zip(made, base, strict=True))
    return base if same else made


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
    return bool(left == right) or (left != left and right != right)  # noqa: PLR0124 - NaN is written alike
