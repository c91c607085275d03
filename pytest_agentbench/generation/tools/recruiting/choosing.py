"""Which verified calls a turn may begin with: those a user can speak of, none like another, none made before.

Coordinates of one place, or a name in other letters, are one choice to whoever chooses. What a conversation has used is
improbable where steps depend on what it holds (`weights: conditioned`), and else only never the very same call.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.stories.handles import Handles
from pytest_agentbench.generation.tools.values import PoolEntry
from pytest_agentbench.generation.tools.walks.conditioned import REPEATED

_CLOSE = 0.05
"""Difference up to which two decimal numbers are of one thing: five kilometres in degrees, a few cents."""


def speakable(entries: Sequence[PoolEntry], handles: Handles) -> list[PoolEntry]:
    """Leave out the entries without a name that people use, where others have one."""
    named = [entry for entry in entries if handles.of(entry) is not None]
    return named or list(entries)


def distinct(entries: Iterable[PoolEntry]) -> list[PoolEntry]:
    """Give the first of entries that are alike."""
    kept: list[PoolEntry] = []
    for entry in entries:
        if not any(alike(entry.arguments, other.arguments) for other in kept):
            kept.append(entry)
    return kept


def fresh(entries: Sequence[PoolEntry], made: Sequence[Mapping[str, JsonValue]], random: Random) -> list[PoolEntry]:
    """Leave out entries like calls that were made, save for `REPEATED` of the times, or where there are no others."""
    kept = [
        entry for entry in entries if not any(alike(entry.arguments, one) for one in made) or random.random() < REPEATED
    ]
    return kept or list(entries)


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
