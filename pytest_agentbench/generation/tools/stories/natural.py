"""Which verified calls a person would make: those whose values are not the odd ones out among others of the tool.

Probing finds that `1` is taken as the name of a medicine or as what is wrong with a machine, and a contract's number
as a phone number that nobody has. Beside values that people use, such values are left out of stories.
"""

import re
from collections import Counter
from collections.abc import Sequence, Set

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.stories.handles import is_name
from pytest_agentbench.generation.tools.values import Card, PoolEntry

_MOST = 0.5
"""Share of the values of a code's shape from which those of other shapes are odd."""
_SHORT = 2
"""Characters up to which digits alone are no text."""


def natural(entries: Sequence[PoolEntry], card: Card) -> list[PoolEntry]:
    """Leave out entries with an odd value, where others are left."""
    kept = list(entries)
    for path in sorted({path for entry in entries for path in read_slots(entry.arguments)}):
        every = [read_slots(entry.arguments).get(path) for entry in kept]
        odd = _odd({value for value in every if isinstance(value, str)}, is_of_people=_is_named(path, card))
        kept = [one for one, value in zip(kept, every, strict=True) if not _is_in(value, odd)] or kept
    return kept


def is_natural(entry: PoolEntry, card: Card, known: Sequence[PoolEntry]) -> bool:
    """Whether a call has no odd value among others of its tool."""
    slots = read_slots(entry.arguments)
    for path, value in slots.items():
        every = [value, *(read_slots(one.arguments).get(path) for one in known)]
        texts = {text for text in every if isinstance(text, str)}
        if _is_in(value, _odd(texts, is_of_people=_is_named(path, card))):
            return False
    return True


def _is_in(value: JsonValue, texts: Set[str]) -> bool:
    """Whether a value is one of the texts; objects and lists, which arguments may be, are none."""
    return isinstance(value, str) and value in texts


def _odd(values: Set[str], *, is_of_people: bool) -> set[str]:
    """Give the values unlike the others: bare digits beside words, a code of another shape than most."""
    short = {value for value in values if len(value) <= _SHORT and value.isdigit()}
    odd = short if short < values else set()
    left = values - odd
    codes = [value for value in left if _is_code(value)]
    if len(codes) > _MOST * len(left):
        shapes = Counter(map(_shape, codes))
        shape, count = min(shapes.items(), key=lambda item: (-item[1], item[0]))
        if 1 < count > _MOST * len(codes):
            odd |= {value for value in left if _shape(value) != shape}
    if is_of_people and any(map(is_name, left)):
        odd |= {value for value in left if not is_name(value)}
    return odd


def _is_code(value: str) -> bool:
    """Whether a text is no words: a number in groups, letters with digits, capitals alone."""
    return re.search(r"[a-zß-ÿ]{3}", value) is None and re.search(r"\d|^[A-ZÀ-Þ]+$", value) is not None


def _shape(value: str) -> str:
    """Give the form of a code: `HB-CM120` is `A-A9`."""
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "A", value))


def _is_named(path: str, card: Card) -> bool:
    """Whether an argument is the name of a person."""
    described = next((str(one.schema_.get("description", "")) for one in card.parameters if one.path == path), "")
    return (
        re.search(
            r"\b(?:full|first|last|family|given) ?name\b|\bsurname\b|\bprénom\b|\bnom (?:de famille|complet)\b",
            f"{path} {described}".replace("_", " "),
            re.IGNORECASE,
        )
        is not None
    )
