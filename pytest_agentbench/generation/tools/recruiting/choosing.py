"""Which calls are alike to a person: coordinates of one place, or a name in other letters, are one choice."""

from collections.abc import Iterable, Mapping

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.values import PoolEntry

_CLOSE = 0.05
"""Difference up to which two decimal numbers are of one thing: five kilometres in degrees, a few cents."""


def distinct(entries: Iterable[PoolEntry]) -> list[PoolEntry]:
    """Give the first of entries that are alike."""
    kept: list[PoolEntry] = []
    for entry in entries:
        if not any(alike(entry.arguments, other.arguments) for other in kept):
            kept.append(entry)
    return kept


def alike(left: Mapping[str, JsonValue], right: Mapping[str, JsonValue]) -> bool:
    """Whether two sets of arguments mean the same to a person."""
    ours, theirs = read_slots(dict(left)), read_slots(dict(right))
    return ours.keys() == theirs.keys() and all(_alike(ours[path], theirs[path]) for path in ours)


def _alike(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return plain(left).replace("-", " ") == plain(right).replace("-", " ")
    if is_number(left) and is_number(right) and (isinstance(left, float) or isinstance(right, float)):
        return abs(left - right) <= _CLOSE
    return bool(left == right)
