"""Sets of policies of exactly the level asked for: IntellAgent's Algorithm 1 with its criteria made exact (§3.1.2).

First policy and level are allocated together, evenly over the cells that are possible. From the first policy on, the
next one is drawn by its weights with *all* chosen so far, among those from which the level can still be reached, so
that no set falls short and none goes beyond. `paper.py` is the original.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from pytest_agentbench.generation.policies.graph.graph import as_networkx
from pytest_agentbench.generation.policies.sampling.allocation import allocate
from pytest_agentbench.generation.policies.sampling.reachable import Reachable, UndecidedError, bits
from pytest_agentbench.generation.policies.values import (
    Cell,
    Infeasible,
    PolicyGraph,
    PolicySet,
    Sampling,
    WalkMode,
)

LIKELY = 5
"""The weight from which a pair of policies is one to cover: half of the highest."""

_TRIES = 8
"""Walks that may end in a set which is taken before the sets that are left are looked through."""


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
) -> Sampling:
    """Sample `count` sets with levels from `low` to `high`, both included; the same input gives the same sets.

    With `cover` a walk goes first to policies that no set has yet, then to likely pairs that none has. A set is given
    again only where its level has no other left to exchange for it. Cells that no set reaches are in `infeasible`;
    where there is no other the result has no sets. `taken` are sets sampled before from the same graph: they count as
    covered and as given, and numbers go on behind them. A policy without a challenge counts 1: where none has one,
    levels are numbers of policies. Raise ValueError for a negative count or an empty range.
    """
    if count < 0 or low > high or low < 1:
        raise ValueError(f"need count >= 0 and 1 <= low <= high, found {count!r}, {low!r}, {high!r}")
    random = Random(seed)  # noqa: S311 - a seeded draw, no secret
    net = _Net.of(graph)
    feasible, infeasible, undecided = _cells(net, low, high)
    sampler = _Sampler(net, random, walk=walk, cover=cover)
    for one in taken:
        sampler.keep(one)
    jobs = [cell for cell, times in allocate(feasible, count, random).items() for _ in range(times)]
    random.shuffle(jobs)
    for first, level in jobs:
        sampler.add(first, level)
    return Sampling(
        sets=tuple(sampler.sets()),
        infeasible=tuple(infeasible),
        undecided=tuple(undecided),
        seed=seed,
        low=low,
        high=high,
    )


@dataclass(frozen=True, kw_only=True)
class _Net:
    """The graph by positions: `weights[i]` by neighbour, zeros left out, `meet[i]` the mask of the neighbours."""

    names: tuple[str, ...]
    challenges: tuple[int, ...]
    weights: tuple[dict[int, float], ...]
    meet: tuple[int, ...]
    reachable: Reachable

    @classmethod
    def of(cls, graph: PolicyGraph) -> "_Net":
        net = as_networkx(graph)
        where = {name: index for index, name in enumerate(net)}
        rows = tuple({where[other]: edge["weight"] for other, edge in net[name].items()} for name in net)
        meet = tuple(sum(1 << index for index in row) for row in rows)
        challenges = tuple(policy.challenge or 1 for policy in graph.policies)
        return cls(
            names=tuple(where),
            challenges=challenges,
            weights=rows,
            meet=meet,
            reachable=Reachable(challenges, meet),
        )

    def way(self, candidates: int, rest: int) -> int | None:
        """Give policies that complete a level, as a mask; None where there are none, or where that is not decided."""
        try:
            return self.reachable.find(candidates, rest) if rest >= 0 else None
        except UndecidedError:
            return None


@dataclass(kw_only=True)
class _Made:
    """One set in the making: `order` are positions, the first being the one that was allocated."""

    first: int
    level: int
    order: list[int] = field(default_factory=list)
    repeat: int = 0
    fixed: bool = False

    @property
    def mask(self) -> int:
        return sum(1 << index for index in self.order)


def _cells(net: _Net, low: int, high: int) -> tuple[list[tuple[int, int]], list[Infeasible], list[Cell]]:
    """Tell the cells that some set reaches from those that none does, and from those that took too long."""
    feasible: list[tuple[int, int]] = []
    infeasible: list[Infeasible] = []
    undecided: list[Cell] = []
    for first, name in enumerate(net.names):
        nearest = next((level for level in range(low - 1, 0, -1) if _reaches(net, first, level)), None)
        for level in range(low, high + 1):
            reached = _reaches(net, first, level)
            if reached is None:
                undecided.append(Cell(first=name, level=level))
            elif reached:
                feasible.append((first, level))
                nearest = level
            else:
                reason = _why_not(net, first, level)
                infeasible.append(Infeasible(cell=Cell(first=name, level=level), reason=reason, nearest=nearest))
    return feasible, infeasible, undecided


def _reaches(net: _Net, first: int, level: int) -> bool | None:
    rest = level - net.challenges[first]
    if rest < 0:
        return False
    try:
        return net.reachable.find(net.meet[first], rest) is not None
    except UndecidedError:
        return None


def _why_not(net: _Net, first: int, level: int) -> str:
    own = net.challenges[first]
    if own > level:
        return f"its own challenge is {own}"
    if not net.meet[first]:
        return "it never meets another policy"
    return f"no policies that may all meet it add up to {level - own}"


class _Sampler:
    """Walks, and keeps account of what is taken and covered."""

    def __init__(self, net: _Net, random: Random, *, walk: WalkMode, cover: bool) -> None:
        self._net = net
        self._random = random
        self._walk = walk
        self._cover = cover
        self._made: list[_Made] = []
        self._owners: dict[int, dict[int, _Made]] = defaultdict(dict)
        self._times: Counter[int] = Counter()
        self._spent: set[tuple[int, int]] = set()
        self._seen: set[int] = set()
        self._pairs: set[tuple[int, int]] = set()
        self._before = 0

    def keep(self, one: PolicySet) -> None:
        """Count a set of an earlier sample, which is not given again and not exchanged."""
        where = {name: index for index, name in enumerate(self._net.names)}
        order = [where[name] for name in one.policies if name in where]
        self._before += 1
        if len(order) == len(one.policies):
            self._note(_Made(first=order[0], level=one.realised, order=order, fixed=True))

    def add(self, first: int, level: int) -> None:
        """Make the next set."""
        made = _Made(first=first, level=level)
        taken = self._owners[level]
        for _ in range(_TRIES if (first, level) not in self._spent else 0):
            made.order = self._walked(first, level)
            if made.mask not in taken:
                break
        else:
            self._settle(made)
        made.repeat = self._times[made.mask]
        self._note(made)
        self._made.append(made)

    def _note(self, made: _Made) -> None:
        self._owners[made.level].setdefault(made.mask, made)
        self._times[made.mask] += 1
        self._seen |= set(made.order)
        self._pairs |= set(combinations(sorted(made.order), 2))

    def sets(self) -> Iterator[PolicySet]:
        """Give all sets in the order in which they were made."""
        width = len(str(self._before + len(self._made)))
        names = self._net.names
        for number, made in enumerate(self._made, self._before + 1):
            yield PolicySet(
                id=f"c{made.level}-{number:0{width}}",
                first=names[made.first],
                policies=tuple(names[index] for index in made.order),
                requested=made.level,
                realised=sum(self._net.challenges[index] for index in made.order),
                walk=self._walk,
                repeat=made.repeat,
            )

    def _walked(self, first: int, level: int) -> list[int]:
        """Walk from `first` to exactly `level`, which can be reached."""
        net = self._net
        order, rest, candidates = [first], level - net.challenges[first], net.meet[first]
        scores = {index: math.log(weight) for index, weight in net.weights[first].items()}
        way = net.way(candidates, rest)
        while rest:
            options = [index for index in scores if net.challenges[index] <= rest]
            step, way = self._next(options, scores, order, candidates=candidates, rest=rest, way=way or 0)
            order.append(step)
            rest -= net.challenges[step]
            candidates &= net.meet[step]
            row = net.weights[step]
            scores = {index: score + math.log(row[index]) for index, score in scores.items() if index in row}
        return order

    def _next(
        self,
        options: Sequence[int],
        scores: dict[int, float],
        order: Sequence[int],
        *,
        candidates: int,
        rest: int,
        way: int,
    ) -> tuple[int, int]:
        """Choose the next policy, what covers something new first, among those that leave the level reachable."""
        net = self._net
        for group in self._groups(options, order):
            left = list(group)
            while left:
                step = self._drawn(left, scores, len(order))
                following = net.way(candidates & net.meet[step], rest - net.challenges[step])
                if following is not None:
                    return step, following
                left.remove(step)
        # no step was decided in time, but the way that showed the level to be reachable is known
        step = bits(way)[0]
        return step, way & ~(1 << step)

    def _groups(self, options: Sequence[int], order: Sequence[int]) -> Iterator[list[int]]:
        if not self._cover:
            yield list(options)
            return
        new = [index for index in options if index not in self._seen and index not in order]
        pairing = [index for index in options if index not in new and self._pairs_anew(index, order)]
        known = {*new, *pairing}
        yield from (new, pairing, [index for index in options if index not in known])

    def _pairs_anew(self, index: int, order: Sequence[int]) -> bool:
        row = self._net.weights[index]
        return any(row[other] >= LIKELY and tuple(sorted((index, other))) not in self._pairs for other in order)

    def _drawn(self, options: Sequence[int], scores: dict[int, float], chosen: int) -> int:
        """Draw one: the geometric mean of its weights with all that are chosen is its chance."""
        if self._walk == "uniform":
            return self._random.choice(options)
        if self._walk == "max":
            best = max(scores[index] for index in options)
            return self._random.choice([index for index in options if scores[index] >= best - 1e-12])
        return self._random.choices(options, [math.exp(scores[index] / chosen) for index in options])[0]

    def _settle(self, made: _Made) -> None:
        """Take a set that is left, exchange one with another event, else repeat the one repeated least."""
        free = self._freed(made.first, made.level, set())
        if free is not None:
            made.order = self._ordered(made.first, free)
            return
        own = [mask for mask in self._owners[made.level] if mask >> made.first & 1]
        fewest = min(self._times[mask] for mask in own)
        mask = self._random.choice([mask for mask in own if self._times[mask] == fewest])
        made.order = self._ordered(made.first, mask)

    def _freed(self, first: int, level: int, tried: set[int]) -> int | None:
        """Find a set of a cell that is not taken, or that its owner can do without (an augmenting path)."""
        if (first, level) not in self._spent:
            unused = next(
                (mask for mask in self._all(first, level) if mask not in self._owners[level]),
                None,
            )
            if unused is not None:
                return unused
            self._spent.add((first, level))
        for mask, owner in list(self._owners[level].items()):
            if mask in tried or not mask >> first & 1 or owner.fixed or owner.first == first or self._times[mask] > 1:
                continue
            tried.add(mask)
            other = self._freed(owner.first, level, tried)
            if other is not None:
                self._give(owner, mask, other)
                return mask
        return None

    def _give(self, owner: _Made, old: int, new: int) -> None:
        owner.order = self._ordered(owner.first, new)
        del self._owners[owner.level][old]
        self._owners[owner.level][new] = owner
        self._times[old] -= 1
        self._times[new] += 1

    def _all(self, first: int, level: int) -> Iterator[int]:
        """Give the sets of a cell, each once, as masks."""
        rest = level - self._net.challenges[first]
        yield from self._completions(1 << first, self._net.meet[first], rest)

    def _completions(self, chosen: int, candidates: int, rest: int) -> Iterator[int]:
        if rest == 0:
            yield chosen
            return
        left = candidates
        for index in bits(candidates):
            left &= ~(1 << index)
            challenge = self._net.challenges[index]
            following = left & self._net.meet[index]
            if challenge <= rest and self._net.way(following, rest - challenge) is not None:
                yield from self._completions(chosen | 1 << index, following, rest - challenge)

    def _ordered(self, first: int, mask: int) -> list[int]:
        """Put a set in the order in which the likeliest walk meets it."""
        order, left = [first], [index for index in bits(mask) if index != first]
        while left:
            best = max(left, key=lambda index: (math.fsum(self._net.weights[index][one] for one in order), -index))
            order.append(best)
            left.remove(best)
        return order
