"""Dotted paths into an answer: what stands at one, and which other one fits where it leads nowhere."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import letters_of, nearest, suggestion
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.messages.content import shown

Fits = Callable[[JsonValue], bool]
"""Whether a value is of the kind that a path must lead to."""

_SHOWN_KEYS = 12
_SHOWN_KEY = 40
_DEEPEST = 6
"""Steps of a path that is looked for."""

_WIDEST = 50
"""Keys of a mapping that are looked through for a path."""

_MOST_PLACES = 2_000
"""Places of an answer that are looked through for a path, those of short paths first."""

_MOST_KEYS = 1_000
"""Keys of a mapping among which a misspelt one is looked for."""


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
                names = [shorten(printable(name), _SHOWN_KEY) for name in islice(value, _MOST_KEYS)]
                return Nowhere(f"{place} there {_keys(names, len(value))}", suggestion(step, names))
            value = value[step]
        elif isinstance(value, list):
            index = _index(step)
            if index is None or not -len(value) <= index < len(value):
                return Nowhere(f"{place} there is a list of {len(value)}")
            value = value[index]
        else:
            return Nowhere(f"{place} there is {shown(value)}")
    return value


def respelled(value: JsonValue, path: str, fits: Fits) -> str:
    """Give the path to a value that fits, with the steps of `path` spelled as the answer has them, "" without one."""
    return ".".join(_respelled(value, path.split("."), fits) or ()) if path else ""


def same_key_elsewhere(value: JsonValue, path: str, fits: Fits) -> str:
    """Give the shortest path to a value that fits and has the last key of `path`, in whatever case, "" without one."""
    last = path.rpartition(".")[2]
    letters = letters_of(last)
    found = (
        place for place, one in _places(value) if place[-1] == last or (letters and letters_of(place[-1]) == letters)
    )
    return first_that_fits(value, found, fits)


def fitting(value: JsonValue, fits: Fits) -> str:
    """Give the shortest path to a value that fits, whatever its keys are, "" without one."""
    return first_that_fits(value, (place for place, _ in _places(value)), fits)


def longest_text(value: JsonValue) -> str:
    """Give the path to the longest text of an answer, "" without one: what is said is longer than ids and flags."""
    texts = [(len(one), ".".join(place)) for place, one in _places(value) if isinstance(one, str) and one.strip()]
    return max(texts, key=lambda found: found[0], default=(0, ""))[1]


def first_that_fits(value: JsonValue, places: Iterator[tuple[str, ...]], fits: Fits) -> str:
    """Give the first of some paths, short ones first, that leads to a value that fits, "" without one."""
    paths = (".".join(place) for place in places)
    return next((path for path in paths if not isinstance(one := follow(value, path), Nowhere) and fits(one)), "")


def _respelled(value: JsonValue, steps: Sequence[str], fits: Fits) -> list[str] | None:
    if not steps:
        return [] if fits(value) else None
    step = steps[0]
    if isinstance(value, Mapping):
        key = step if step in value else nearest(step, [name for name in islice(value, _MOST_KEYS) if "." not in name])
        rest = None if key is None else _respelled(value[key], steps[1:], fits)
        return None if rest is None else [str(key), *rest]
    if not isinstance(value, list) or not value:
        return None
    index = _index(step)
    if index is None:  # who forgets that there is a list means what was said last
        rest = _respelled(value[-1], steps, fits)
        return None if rest is None else ["-1", *rest]
    rest = _respelled(value[index], steps[1:], fits) if -len(value) <= index < len(value) else None
    return None if rest is None else [step, *rest]


def _places(value: JsonValue) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yield paths into an answer, short ones first, none deeper or wider than a person would write."""
    waiting: deque[tuple[tuple[str, ...], JsonValue]] = deque([((), value)])
    places = 0
    while waiting:
        before, one = waiting.popleft()
        if len(before) == _DEEPEST:
            continue
        parts: Iterable[tuple[str, JsonValue]] = ()
        if isinstance(one, Mapping):
            parts = ((name, part) for name, part in islice(one.items(), _WIDEST) if name and "." not in name)
        elif isinstance(one, list) and one:
            parts = [("-1", one[-1])]
        for name, part in parts:
            places += 1
            if places > _MOST_PLACES:
                return
            place = (*before, name)
            yield place, part
            waiting.append((place, part))


def _keys(names: list[str], number: int) -> str:
    if number == 1:
        return f"is only the key {names[0]!r}"
    if not names:
        return "are no keys"
    rest = number - min(len(names), _SHOWN_KEYS)
    return f"are the keys {', '.join(map(repr, names[:_SHOWN_KEYS]))}" + (f" and {rest} more" if rest else "")


def _index(step: str) -> int | None:
    digits = step.removeprefix("-")
    return int(step) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
