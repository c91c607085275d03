"""Dotted paths into a JSON answer: names of keys, and indices of lists, `-1` being the last."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.messages.content import shown

_SHOWN_KEYS = 12
_SHOWN_KEY = 40


@dataclass(frozen=True)
class Nowhere:
    """What stands where a path cannot go on; `hint` names a key that may have been meant."""

    found: str
    hint: str = ""

    def __str__(self) -> str:
        return with_hint(self.found, self.hint)


def follow(value: JsonValue, path: str) -> JsonValue | Nowhere:
    """Give what stands at `path`, the whole value for the empty path, or what stands where the path ends early."""
    steps = path.split(".") if path else []
    for number, step in enumerate(steps):
        place = f"at {'.'.join(steps[:number])!r}" if number else "at the top"
        if isinstance(value, Mapping):
            if step not in value:
                names = [shorten(printable(name), _SHOWN_KEY) for name in value]
                return Nowhere(f"{place} there {_keys(names)}", suggestion(step, names))
            value = value[step]
        elif isinstance(value, list):
            index = _index(step)
            if index is None or not -len(value) <= index < len(value):
                return Nowhere(f"{place} there is a list of {len(value)}")
            value = value[index]
        else:
            return Nowhere(f"{place} there is {shown(value)}")
    return value


def _keys(names: list[str]) -> str:
    if len(names) == 1:
        return f"is only the key {names[0]!r}"
    return f"are the keys {listing(map(repr, names), _SHOWN_KEYS)}" if names else "are no keys"


def _index(step: str) -> int | None:
    digits = step.removeprefix("-")
    return int(step) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
