"""Sets of policies of exactly the level asked for: IntellAgent's Algorithm 1 with its criteria made exact (§3.1.2).

First policy and level are allocated together, evenly over the cells that are possible. From the first policy on, the
next one is drawn by its weights with *all* chosen so far, among those from which the level can still be reached, so
that no set falls short and none goes beyond. `paper_sample` is the original, for those who compare with the paper.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any, TypeVar

from pytest_agentbench.generation.policies.data_types import PolicyGraph, PolicySet, WalkMode
from pytest_agentbench.generation.policies.graph import as_networkx

LIKELY = 5
"""The weight from which a pair of policies is one to cover: half of the highest."""

_TRIES = 8
"""Walks that may end in a set which is taken before the sets that are left are looked through."""

_MOST_STEPS = 2_000
"""Steps after which one question of what can be reached is given up; levels of policy graphs take a few dozen."""

_MOST_STEPS_IN_ALL = 50_000
"""Steps after which every question that takes more than a look is given up, so that no graph takes minutes."""

T = TypeVar("T", bound=Hashable)


class _UndecidedError(Exception):
    """A search was given up: whether the level can be reached is not known."""


def sample(
    graph: PolicyGraph,
    count: int,
    low: int,
    high: int,
    *,
    seed: int = 0,
    walk: WalkMode = "weighted",
    cover: bool = True,
    taken: Sequence[PolicySet] = (),
    lost: Collection[str] = (),
) -> tuple[PolicySet, ...]:
    """Sample `count` sets with levels from `low` to `high`, both included; the same input gives the same sets.

    With `cover` a walk goes first to policies that no set has yet, then to likely pairs that none has. A set is given
    again only where no other of its level has its first policy. Without a level that some set reaches there are no
    sets. `taken` are sets sampled before from the same graph: they count as covered and as given, and numbers go on
    behind them; those in `lost` became nothing, and cover nothing. A policy without a challenge counts 1: where none
    has one, levels are numbers of policies. Raise ValueError for a negative count or an empty range.
    """
    if count < 0 or low > high or low < 1:
        raise ValueError(f"need count >= 0 and 1 <= low <= high, found {count!r}, {low!r}, {high!r}")
    random = Random(seed)  # noqa: S311 - a seeded draw, no secret
    net = _Net(graph)
    cells = [
        (first, level)
        for first in range(len(net.names))
        for level in range(low, high + 1)
        if net.way(net.meet[first], level - net.challenges[first]) is not None
    ]
    sampler = _Sampler(net, random, walk, cover)
    for one in taken:
        sampler.keep(one, covers=one.id not in lost)
    jobs = _allocated(cells, count, random)
    random.shuffle(jobs)
    width = len(str(len(taken) + len(jobs)))
    return tuple(
        sampler.drawn(first, level, f"c{level}-{number:0{width}}")
        for number, (first, level) in enumerate(jobs, len(taken) + 1)
    )


def paper_sample(
    graph: PolicyGraph,
    count: int,
    low: int,
    high: int,
    *,
    seed: int = 0,
    steps: WalkMode = "weighted",
    taken: Sequence[PolicySet] = (),
) -> tuple[PolicySet, ...]:
    """Draw `count` sets with requested levels from `low` to `high` by Algorithm 1 (§3.1.1), to the letter.

    The listing draws a level and a first policy evenly, then neighbours of *that first policy* by the weights, and
    takes off the challenge of each until nothing is left. The first policy itself is not among those drawn, one that
    is drawn twice counts twice and stands once, and the last one may go beyond the level. A first policy without
    neighbours gives no set. Numbers go on behind `taken`, and what these have counts as a repeat.
    """
    random = Random(seed)  # noqa: S311 - a seeded draw, no secret
    net = as_networkx(graph)
    challenges = {one.id: one.challenge or 1 for one in graph.policies}
    firsts = [one for one in challenges if net.degree(one)]
    seen = Counter(frozenset(one.policies) for one in taken)
    sets: list[PolicySet] = []
    width = len(str(len(taken) + count))
    for number in range(len(taken) + 1, len(taken) + 1 + (count if firsts else 0)):
        level, first = random.randint(low, high), random.choice(firsts)
        weights = {other: edge["weight"] for other, edge in sorted(net[first].items())}
        chosen: dict[str, None] = {}
        left = level
        while left > 0:
            name = _drawn(weights, steps, random)
            chosen[name] = None
            left -= challenges[name]
        key = frozenset(chosen)
        sets.append(
            PolicySet(
                id=f"c{level}-{number:0{width}}",
                first=first,
                policies=tuple(chosen),
                requested=level,
                realised=sum(challenges[name] for name in chosen),
                walk=steps,
                repeat=seen[key],
            )
        )
        seen[key] += 1
    return tuple(sets)


def overshoot(sets: Sequence[PolicySet], high: int) -> str:
    """Say how far what was realised by the paper's walk is from what was asked for, up to the level `high`."""
    gaps = [one.realised - one.requested for one in sets]
    exact, above = gaps.count(0), sum(gap > 0 for gap in gaps)
    beyond = sum(one.realised > high for one in sets)
    mean = sum(gaps) / len(gaps) if gaps else 0
    return (
        f"walk: paper · {exact} of {len(gaps)} sets have the level asked for, {above} overshoot, "
        f"{len(gaps) - exact - above} fall short ({mean:+.2f} on average), {beyond} are above {high}"
    )


def _drawn(weights: Mapping[T, float], walk: WalkMode, random: Random) -> T:
    """Draw one: evenly, among those of the highest weight, or in proportion to the weights."""
    if walk == "weighted":
        return random.choices(list(weights), list(weights.values()))[0]
    best = max(weights.values())
    is_open = [walk == "uniform" or math.isclose(weight, best, rel_tol=1e-12) for weight in weights.values()]
    return random.choice([one for one, is_one in zip(weights, is_open, strict=True) if is_one])


def _allocated(cells: Sequence[tuple[int, int]], count: int, random: Random) -> list[tuple[int, int]]:
    """Spread `count` over cells of first policy and level, evenly over the levels, then over the first policies.

    Each level gets its share, rounded up or down; within it each first policy gets as many or one more, those first
    that begin the fewest events so far.
    """
    levels, firsts, found = Counter[int](), Counter[int](), Counter[tuple[int, int]](dict.fromkeys(cells, 0))
    of_level: dict[int, list[int]] = defaultdict(list)
    for one, at in cells:
        of_level[at].append(one)

    def least(used: dict[int, Any]) -> int:
        fewest = min(used.values())
        return random.choice([one for one, times in used.items() if times == fewest])

    for _ in range(count if cells else 0):
        level = least({at: levels[at] for at in of_level})
        first = least({one: (found[one, level], firsts[one]) for one in of_level[level]})
        levels[level] += 1
        firsts[first] += 1
        found[first, level] += 1
    return list(found.elements())


class _Net:
    """The graph by positions, sets of policies as bit masks; it finds ways to reach a level and remembers them.

    Policies that may all meet are a clique of the graph without its zero weights, and a level is the sum of their
    challenges, so this asks for a clique of a given weight. That is hard in general; in policy graphs, where most pairs
    may meet and levels are small, a depth-first search with bounds and memory answers at once.
    """

    def __init__(self, graph: PolicyGraph) -> None:
        net = as_networkx(graph)
        where = {name: index for index, name in enumerate(net)}
        self.names = tuple(where)
        self.challenges = [policy.challenge or 1 for policy in graph.policies]
        self.weights = [{where[other]: edge["weight"] for other, edge in net[name].items()} for name in net]
        self.meet = [sum(1 << index for index in row) for row in self.weights]
        self._known: dict[tuple[int, int], int | None] = {}
        self._classes: dict[int, int] = defaultdict(int)
        for index, challenge in enumerate(self.challenges):
            self._classes[challenge] |= 1 << index
        self._steps, self._left = 0, _MOST_STEPS_IN_ALL

    def way(self, candidates: int, rest: int) -> int | None:
        """Give some of `candidates` that may all meet and sum to `rest`; None where none do, or it takes too long."""
        self._steps = 0
        try:
            return self._find(candidates, rest) if rest >= 0 else None
        except _UndecidedError:
            return None

    def _find(self, candidates: int, rest: int) -> int | None:
        if rest == 0:
            return 0
        usable = {challenge: candidates & mask for challenge, mask in self._classes.items() if challenge <= rest}
        if one := usable.get(rest):
            return one & -one
        reached = 1  # sums of challenges alone, whoever may meet
        for challenge, mask in usable.items():
            for _ in range(min(mask.bit_count(), rest // challenge)):
                reached |= reached << challenge
        if not reached >> rest & 1:
            return None
        key = sum(usable.values()), rest  # the classes are disjoint
        if key not in self._known:
            self._known[key] = self._searched(*key)
        return self._known[key]

    def _searched(self, mask: int, rest: int) -> int | None:
        self._steps += 1
        self._left -= 1
        if self._steps > _MOST_STEPS or self._left < 0:
            raise _UndecidedError
        left = mask
        # what meets most of the others leaves most to go on with
        for index in sorted(_bits(mask), key=lambda index: (-(self.meet[index] & mask).bit_count(), index)):
            found = self._find(left & self.meet[index], rest - self.challenges[index])
            if found is not None:
                return found | 1 << index
            left &= ~(1 << index)
            if sum(challenge * (left & one).bit_count() for challenge, one in self._classes.items()) < rest:
                return None
        return None


class _Sampler:
    """Walks, and keeps account of what is taken and covered."""

    def __init__(self, net: _Net, random: Random, walk: WalkMode, cover: bool) -> None:
        self._net, self._random, self._walk, self._cover = net, random, walk, cover
        self._times: dict[int, Counter[int]] = defaultdict(Counter)
        self._spent: set[tuple[int, int]] = set()
        self._seen: set[int] = set()
        self._pairs: set[tuple[int, int]] = set()

    def keep(self, one: PolicySet, *, covers: bool) -> None:
        """Count a set of an earlier sample, which is not given again."""
        where = {name: index for index, name in enumerate(self._net.names)}
        if all(name in where for name in one.policies):
            self._note([where[name] for name in one.policies], one.realised, covers=covers)

    def drawn(self, first: int, level: int, name: str) -> PolicySet:
        """Draw the next set."""
        order: list[int] = []
        for _ in range(_TRIES if (first, level) not in self._spent else 0):
            order = self._walked(first, level)
            if not self._times[level][_mask(order)]:
                break
        else:
            order = self._left(first, level)
        return PolicySet(
            id=name,
            first=self._net.names[first],
            policies=tuple(self._net.names[index] for index in order),
            requested=level,
            realised=sum(self._net.challenges[index] for index in order),
            walk=self._walk,
            repeat=self._note(order, level),
        )

    def _note(self, order: Sequence[int], level: int, *, covers: bool = True) -> int:
        """Take a set; give how often it was taken before."""
        self._times[level][_mask(order)] += 1
        if covers:
            self._seen |= set(order)
            self._pairs |= set(combinations(sorted(order), 2))
        return self._times[level][_mask(order)] - 1

    def _walked(self, first: int, level: int) -> list[int]:
        """Walk from `first` to exactly `level`, which can be reached.

        The chance of a step is the geometric mean of its weights with all that are chosen.
        """
        net = self._net
        order, rest, candidates = [first], level - net.challenges[first], net.meet[first]
        scores = {index: math.log(weight) for index, weight in net.weights[first].items()}
        way = net.way(candidates, rest)
        while rest:
            chances = {at: math.exp(one / len(order)) for at, one in scores.items() if net.challenges[at] <= rest}
            step, way = self._step(chances, order, candidates, rest, way or 0)
            order.append(step)
            rest -= net.challenges[step]
            candidates &= net.meet[step]
            row = net.weights[step]
            scores = {index: score + math.log(row[index]) for index, score in scores.items() if index in row}
        return order

    def _step(
        self, chances: dict[int, float], order: Sequence[int], candidates: int, rest: int, way: int
    ) -> tuple[int, int]:
        """Choose the next policy, what covers something new first, among those that leave the level reachable."""
        net = self._net
        for group in self._groups(list(chances), order):
            left = {index: chances[index] for index in group}
            while left:
                step = _drawn(left, self._walk, self._random)
                following = net.way(candidates & net.meet[step], rest - net.challenges[step])
                if following is not None:
                    return step, following
                del left[step]
        # no step was decided in time, but the way that showed the level to be reachable is known
        step = _bits(way)[0]
        return step, way & ~(1 << step)

    def _groups(self, options: Sequence[int], order: Sequence[int]) -> Iterator[list[int]]:
        new = [index for index in options if self._cover and index not in self._seen]
        pairing = [index for index in options if self._cover and index not in new and self._pairs_anew(index, order)]
        yield from (new, pairing, [index for index in options if index not in {*new, *pairing}])

    def _pairs_anew(self, index: int, order: Sequence[int]) -> bool:
        row = self._net.weights[index]
        return any(row[other] >= LIKELY and tuple(sorted((index, other))) not in self._pairs for other in order)

    def _left(self, first: int, level: int) -> list[int]:
        """Give a set of a cell that is not taken, else the one repeated least."""
        times = self._times[level]
        if (first, level) not in self._spent:
            for mask in self._completions(1 << first, self._net.meet[first], level - self._net.challenges[first]):
                if not times[mask]:
                    return self._ordered(first, mask)
            self._spent.add((first, level))
        own = [mask for mask in times if mask >> first & 1 and times[mask]]
        fewest = min(times[mask] for mask in own)
        return self._ordered(first, self._random.choice([mask for mask in own if times[mask] == fewest]))

    def _completions(self, chosen: int, candidates: int, rest: int) -> Iterator[int]:
        """Give the sets that complete a level, each once, as masks."""
        if rest == 0:
            yield chosen
            return
        left = candidates
        for index in _bits(candidates):
            left &= ~(1 << index)
            following, then = left & self._net.meet[index], rest - self._net.challenges[index]
            if then >= 0 and self._net.way(following, then) is not None:
                yield from self._completions(chosen | 1 << index, following, then)

    def _ordered(self, first: int, mask: int) -> list[int]:
        """Put a set in the order in which the likeliest walk meets it."""
        order, left = [first], [index for index in _bits(mask) if index != first]
        while left:
            best = max(left, key=lambda index: (math.fsum(self._net.weights[index][one] for one in order), -index))
            order.append(best)
            left.remove(best)
        return order


def _mask(order: Sequence[int]) -> int:
    return sum(1 << index for index in order)


def _bits(mask: int) -> list[int]:
    """Give the positions of the bits that are set, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
