"""How many events begin with which policy at which level: even over levels, then over policies (§3.1.2).

Each level that is possible gets its share, rounded up or down. Within a level each first policy that is possible gets
the same number or one more, those first that begin the fewest events so far.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

Pair = tuple[int, int]
"""A policy and a level."""


def allocate(cells: Sequence[Pair], count: int, random: Random) -> dict[Pair, int]:
    """Spread `count` over `cells`; the same cells, count and random state give the same numbers."""
    firsts: dict[int, list[int]] = {}
    for first, level in cells:
        firsts.setdefault(level, []).append(first)
    of_level, of_first = Counter[int](), Counter[int]()
    found = dict.fromkeys(cells, 0)
    for _ in range(count if cells else 0):
        level = _least({one: of_level[one] for one in firsts}, random)
        first = _least({one: (found[one, level], of_first[one]) for one in firsts[level]}, random)
        of_level[level] += 1
        of_first[first] += 1
        found[first, level] += 1
    return found


def _least(used: dict[int, Any], random: Random) -> int:
    fewest = min(used.values())
    return random.choice([one for one, times in used.items() if times == fewest])
