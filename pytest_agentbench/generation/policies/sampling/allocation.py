"""How many events begin with which policy at which level: even over all cells that are possible.

Each possible cell gets the same number or one more, and so does, as far as the impossible cells allow, each level and
each policy: the cells that get one more are drawn one by one, where most are lacking.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

Pair = tuple[int, int]
"""A row and a column: a policy and a level."""

_NEAR = 1e-9


def allocate(cells: Sequence[Pair], count: int, random: Random) -> dict[Pair, int]:
    """Spread `count` over `cells`; the same cells, count and random state give the same numbers."""
    if not cells:
        return {}
    each, rest = divmod(count, len(cells))
    chosen = _drawn(cells, rest, random)
    return {cell: each + (cell in chosen) for cell in cells}


def _drawn(cells: Sequence[Pair], count: int, random: Random) -> set[Pair]:
    """Draw cells: each time from the column that lacks most the row that lacks most, ties at random."""
    share = count / len(cells)
    rows = {row: share * times for row, times in Counter(row for row, _ in cells).items()}
    columns = {column: share * times for column, times in Counter(column for _, column in cells).items()}
    free: dict[int, list[int]] = {column: [] for column in columns}
    for row, column in cells:
        free[column].append(row)
    chosen: set[Pair] = set()
    for _ in range(count):
        column = _most_lacking([one for one in columns if free[one]], columns, random)
        row = _most_lacking(free[column], rows, random)
        free[column].remove(row)
        chosen.add((row, column))
        rows[row] -= 1
        columns[column] -= 1
    return chosen


def _most_lacking(options: Sequence[int], lack: Mapping[int, float], random: Random) -> int:
    most = max(lack[one] for one in options)
    return random.choice([one for one in options if lack[one] >= most - _NEAR])
