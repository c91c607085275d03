"""How many events begin with which policy at which level: even over all cells that are possible.

Each possible cell gets the same number or one more, and so does, as far as the impossible cells allow, each level and
each policy: the cells that get one more are drawn by dependent rounding (Gandhi, Khuller, Parthasarathy and Srinivasan,
"Dependent rounding and its applications to approximation algorithms", JACM 53 (2006)), which keeps every row and column
within one of its share and gives every cell the same chance.
"""

from collections import defaultdict
from collections.abc import Sequence
from random import Random

Pair = tuple[int, int]
"""A row and a column: a policy and a level."""

_NEAR = 1e-9


def allocate(cells: Sequence[Pair], count: int, random: Random) -> dict[Pair, int]:
    """Spread `count` over `cells`; the same cells, count and random state give the same numbers."""
    if not cells:
        return {}
    each, rest = divmod(count, len(cells))
    chosen = draw_evenly(cells, rest, random)
    return {cell: each + (cell in chosen) for cell in cells}


def draw_evenly(cells: Sequence[Pair], count: int, random: Random) -> set[Pair]:
    """Draw `count` of `cells`, of each row and each column its share, rounded up or down."""
    share = count / len(cells)
    if count == 0:
        return set()
    if count == len(cells):
        return set(cells)
    values = dict.fromkeys(cells, share)
    rounding = _Rounding(values, random)
    rounding.run()
    chosen = {cell for cell, value in values.items() if value > 0.5}
    return _exactly(chosen, cells, count, random)


class _Rounding:
    """Moves values along cycles and paths of fractional cells until every value is 0 or 1."""

    def __init__(self, values: dict[Pair, float], random: Random) -> None:
        self._values = values
        self._random = random
        self._at: dict[tuple[str, int], dict[Pair, None]] = defaultdict(dict)
        order = list(values)
        random.shuffle(order)
        for cell in order:
            self._at["row", cell[0]][cell] = None
            self._at["column", cell[1]][cell] = None

    def run(self) -> None:
        # cycles first: they move no row and no column, paths move only their two ends
        for row in sorted({cell[0] for cell in self._values}):
            node = ("row", row)
            while self._at[node]:
                self._shift(self._walk(node))

    def _walk(self, start: tuple[str, int]) -> list[Pair]:
        """Follow fractional cells from a node until one closes a cycle; give the cycle, else the longest path."""
        path, closed = self._follow(start)
        if closed:
            return path
        # from its dead end the path is followed back, so that both of its ends are ends
        _, end = _ends(path, start)
        again, _ = self._follow(end)
        return again

    def _follow(self, start: tuple[str, int]) -> tuple[list[Pair], bool]:
        path: list[Pair] = []
        seen = {start: 0}
        node = start
        while True:
            step = next((cell for cell in self._at[node] if not path or cell != path[-1]), None)
            if step is None:
                return path, False
            path.append(step)
            node = _other(step, node)
            if node in seen:
                return path[seen[node] :], True
            seen[node] = len(path)

    def _shift(self, path: list[Pair]) -> None:
        up, down = path[::2], path[1::2]
        rise = min([1 - self._values[cell] for cell in up] + [self._values[cell] for cell in down])
        fall = min([self._values[cell] for cell in up] + [1 - self._values[cell] for cell in down])
        # each value keeps its expectation
        change = rise if self._random.random() * (rise + fall) < fall else -fall
        for cells, sign in ((up, 1), (down, -1)):
            for cell in cells:
                value = self._values[cell] + sign * change
                if value < _NEAR or value > 1 - _NEAR:
                    value = round(value)
                    self._at["row", cell[0]].pop(cell, None)
                    self._at["column", cell[1]].pop(cell, None)
                self._values[cell] = value


def _ends(path: list[Pair], start: tuple[str, int]) -> tuple[tuple[str, int], tuple[str, int]]:
    node = start
    for cell in path:
        node = _other(cell, node)
    return start, node


def _other(cell: Pair, node: tuple[str, int]) -> tuple[str, int]:
    return ("column", cell[1]) if node[0] == "row" else ("row", cell[0])


def _exactly(chosen: set[Pair], cells: Sequence[Pair], count: int, random: Random) -> set[Pair]:
    """Correct the total, which rounding may miss, where row and column are furthest from their shares."""
    share = count / len(cells)
    wanted: dict[tuple[int, int], float] = defaultdict(float)
    for cell in cells:
        for side in (0, 1):
            wanted[side, cell[side]] += share - (cell in chosen)
    while len(chosen) != count:
        sign = 1 if len(chosen) < count else -1
        open_ = [cell for cell in cells if (cell not in chosen) == (sign > 0)]
        best = max(sign * (wanted[0, cell[0]] + wanted[1, cell[1]]) for cell in open_)
        cell = random.choice([one for one in open_ if sign * (wanted[0, one[0]] + wanted[1, one[1]]) >= best - _NEAR])
        chosen ^= {cell}
        for side in (0, 1):
            wanted[side, cell[side]] -= sign
    return chosen
