"""Which levels a set of policies can still reach exactly, given that all of them must be able to meet.

Policies that may all meet are a clique of the graph without its zero weights, and a level is the sum of their
challenges, so this asks for a clique of a given weight. That is hard in general; in policy graphs, where most pairs may
meet and levels are small, a depth-first search with bounds and memory answers at once.
"""

from collections.abc import Sequence

MOST_STEPS = 2_000
"""Steps after which one question is given up; levels of policy graphs take a few dozen."""

MOST_STEPS_IN_ALL = 50_000
"""Steps after which every question that takes more than a look is given up, so that no graph takes minutes."""


class UndecidedError(Exception):
    """A search was given up: whether the level can be reached is not known."""


class Reachable:
    """Finds ways to reach a level, and remembers what it found out. Sets of policies are bit masks."""

    def __init__(self, challenges: Sequence[int], meet: Sequence[int], *, most_steps: int = MOST_STEPS) -> None:
        """Take the challenge of each policy, and for each the mask of those that may meet it (never itself)."""
        self._challenges = challenges
        self._meet = meet
        self._most = most_steps
        self._known: dict[tuple[int, int], int | None] = {}
        self._classes: dict[int, int] = {}
        for index, challenge in enumerate(challenges):
            self._classes[challenge] = self._classes.get(challenge, 0) | 1 << index
        self._steps = 0
        self._left = MOST_STEPS_IN_ALL

    def find(self, candidates: int, rest: int) -> int | None:
        """Give some of `candidates`, all of which may meet, with challenges that sum to `rest`; None if there are none.

        Raise `UndecidedError` where that takes more steps than allowed.
        """
        self._steps = 0
        return self._find(candidates, rest)

    def _find(self, candidates: int, rest: int) -> int | None:
        if rest == 0:
            return 0
        usable = {challenge: candidates & mask for challenge, mask in self._classes.items() if challenge <= rest}
        usable = {challenge: mask for challenge, mask in usable.items() if mask}
        if one := usable.get(rest):
            return one & -one
        if not _sums(usable, rest):
            return None
        mask = 0
        for one in usable.values():
            mask |= one
        key = (mask, rest)
        if key not in self._known:
            self._known[key] = self._search(mask, rest)
        return self._known[key]

    def _search(self, mask: int, rest: int) -> int | None:
        self._steps += 1
        self._left -= 1
        if self._steps > self._most or self._left < 0:
            raise UndecidedError
        if self._bound(mask) < rest:
            return None
        left = mask
        for index in self._order(mask):
            bit = 1 << index
            found = self._find(left & self._meet[index], rest - self._challenges[index])
            if found is not None:
                return found | bit
            left &= ~bit
            if self._total(left) < rest:
                return None
        return None

    def _order(self, mask: int) -> list[int]:
        """Try first what meets most of the others: that leaves most to go on with."""
        return sorted(bits(mask), key=lambda index: (-(self._meet[index] & mask).bit_count(), index))

    def _total(self, mask: int) -> int:
        return sum(challenge * (mask & one).bit_count() for challenge, one in self._classes.items())

    def _bound(self, mask: int) -> int:
        """Bound what a clique in `mask` can sum to: policies of which no two may meet count once, as the hardest."""
        total, rest = 0, mask
        while rest:
            free, hardest = rest, 0
            while free:
                low = free & -free
                index = low.bit_length() - 1
                hardest = max(hardest, self._challenges[index])
                free &= ~low & ~self._meet[index]
                rest &= ~low
            total += hardest
        return total


def bits(mask: int) -> list[int]:
    """Give the positions of the bits that are set, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _sums(usable: dict[int, int], rest: int) -> bool:
    """Whether challenges alone, whoever may meet, can sum to `rest`."""
    reached = 1
    for challenge, mask in usable.items():
        for _ in range(min(mask.bit_count(), rest // challenge)):
            reached |= reached << challenge
    return bool(reached >> rest & 1)
