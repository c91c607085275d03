"""Walks through the tool graph: coverage first, then by its weights, as many of each length as were asked for.

Tool-to-scenario (§4.4) draws weighted random walks and rejects those too short (6 nodes), too long (25) or seen. At
random alone a tool of low probability stays out (§5.1: one of seven), so walks aim at what none has covered yet: every
tool, then every edge between tools; the rest follows the weights.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from random import Random

from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk
from pytest_agentbench.generation.tools.walks.coverage import Aims, Covered, Step, covered_by

SIMPLE = (2, 4)
COMPLEX = (5, 13)
"""Calls of simple and of complex scenarios (§5.1)."""

CLASSES: Mapping[str, tuple[int, int]] = {"simple": SIMPLE, "complex": COMPLEX}
SHARES: Mapping[str, float] = {"simple": 0.46, "complex": 0.54}
"""The shares of the two classes in the paper's 50 scenarios: 23 and 27 (§5.1)."""

_TRIES = 60
"""Walks drawn for one that is new and of the length asked for."""
_IDLE = 50
"""Walks in a row that aim at what is not covered and cover nothing new, after which no more of them do."""
_QUICK = 4
"""Draws from a row before it is filtered: most draws fit, and filtering every row would cost its length."""

Weigh = Callable[[Sequence[str]], Mapping[str, float]]
"""Gives the weights of the next nodes for the nodes so far: what the conversation holds may count."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What walks are like: `shortest` and `longest` in nodes, `shares` of complexity classes, `enriched` of failures.

    `capacity` bounds how often one walk calls a tool (its verified calls, which are used once a scenario); a tool that
    is not in it is not bounded. No walk takes `closed` edges. `plannable` are the tools for which a failure can be
    planned, and how it is named. `behind` are the tools that work only after a call of one of others.
    """

    shortest: int = 6
    longest: int = 25
    shares: Mapping[str, float] = field(default_factory=lambda: dict(SHARES))
    capacity: Mapping[str, int] = field(default_factory=dict)
    enriched: float = 0.0
    closed: frozenset[Step] = frozenset()
    plannable: Mapping[str, str] = field(default_factory=dict)
    behind: Mapping[str, frozenset[str]] = field(default_factory=dict)


class Sampler:
    """Draws walks one after the other, none twice; what it draws follows from the seed and from what it hears."""

    def __init__(self, graph: Graph, shape: Shape, *, seed: int, weigh: Weigh | None = None) -> None:
        """Prepare to draw from a graph; raise `ValueError` for a complexity class that does not exist."""
        if unknown := [name for name in shape.shares if name not in CLASSES]:
            raise ValueError(f"there is no complexity class {unknown[0]!r}; there are {', '.join(CLASSES)}")
        self._shape = shape
        self._random = Random(f"walks/{seed}")  # noqa: S311 - a choice, no secret
        self._weigh = weigh
        self._bars: dict[Step, list[Counter[str]]] = defaultdict(list)
        self._rows = _rows(graph, shape)
        self._closing = frozenset(graph.closing)
        self._aims = Aims(graph, (tool for tool in graph.tools if shape.capacity.get(tool, 1) < 1), shape.closed)
        self._idle = self._number = self._enriched = 0
        self._seen: set[tuple[str, ...]] = set()
        self._drawn: Counter[str] = Counter()
        self._barren: set[str] = set()
        self._chosen: deque[Walk] = deque()

    def draw(self) -> Walk | None:
        """Give the next walk, or None where no new one of any asked length is found; those chosen come first."""
        if self._chosen:
            return self._chosen.popleft()
        for name in self._by_need():
            if name not in self._barren:
                for attempt in range(_TRIES):
                    nodes = self._walk(self._calls(name), aims=attempt % 2 == 0)
                    if nodes is not None and nodes not in self._seen:
                        return self._taken(nodes, name)
                self._barren.add(name)
        return None

    def choose(self, count: int, walks: Sequence[Walk], scores: Sequence[float]) -> None:
        """Have `count` of the walks drawn next, by their scores, as many of each class as their share among all."""
        kept: list[Walk] = []
        classes = [name for name in CLASSES if any(class_of(walk) == name for walk in walks)]
        for place, name in enumerate(classes):
            some = {number: walk for number, walk in enumerate(walks) if class_of(walk) == name}
            is_last = place + 1 == len(classes)
            share = count - len(kept) if is_last else round(count * len(some) / max(len(walks), 1))
            kept += best_of(list(some.values()), [scores[number] for number in some], share)
        for walk in walks:
            if walk not in kept:  # what it covers, others cover
                self._short_of(walk)
        self._chosen.extend(walk for walk in walks if walk in kept)

    def lost(self, walk: Walk) -> None:
        """Hear that a walk became no scenario: what it covered is open again, and its class is short of one."""
        self._short_of(walk)
        self._aims.reopen(walk)
        self._idle = 0

    def shortened(self, walk: Walk, turns: int) -> Walk | None:
        """Give a walk that ends after so many turns in place of one that the world does not bear to its end.

        None where it is too short, without the failure that was planned, or was drawn before.
        """
        ends = [place for place, node in enumerate(walk.nodes) if node in (RUN_CONVERSATION, END_OF_SIMULATION)]
        nodes = (*walk.nodes[: ends[min(turns, len(ends) - 1)]], RUN_CONVERSATION, END_OF_SIMULATION)
        cut = walk.model_copy(update={"nodes": nodes})
        is_long = len(nodes) >= self._shape.shortest and len(calls_of(cut)) >= SIMPLE[0]
        if walk.enriched or not is_long or nodes in self._seen:
            return None
        self._seen.add(nodes)
        self._short_of(walk)
        self._drawn[class_of(cut)] += 1
        self._aims.reopen(walk)
        self._aims.close(cut)
        self._idle = 0
        return cut

    def bar(self, before: Mapping[str, int], step: Step) -> None:
        """Hear that the world did not bear a step after these calls: no later walk takes it once they were made."""
        if before:  # nothing is barred from the outset
            self._bars[step].append(Counter(before))

    def _short_of(self, walk: Walk) -> None:
        self._drawn[class_of(walk)] -= 1
        self._barren.discard(class_of(walk))

    def _by_need(self) -> list[str]:
        """Give the classes, the one furthest behind its share first."""
        shares = self._shape.shares
        total, drawn = sum(shares.values()) or 1.0, sum(self._drawn.values()) + 1
        asked = [name for name in CLASSES if shares.get(name, 0) > 0]
        return sorted(asked, key=lambda name: self._drawn[name] - drawn * shares[name] / total)

    def _calls(self, name: str) -> int:
        """Draw a number of calls; of two draws the lower counts, so that the longest walks are the rarest."""
        low, high = CLASSES[name]
        return min(self._random.randint(low, high), self._random.randint(low, high))

    def _taken(self, nodes: tuple[str, ...], name: str) -> Walk:
        self._seen.add(nodes)
        self._drawn[name] += 1
        walk = Walk(id=f"w{self._number:04d}", nodes=nodes)
        self._number += 1
        self._idle = 0 if self._aims.close(walk) else self._idle + 1
        return self._with_failure(walk)

    def _with_failure(self, walk: Walk) -> Walk:
        """Plan a failure where the share of walks with one is behind, on a call that nothing else depends on."""
        nodes, plannable = walk.nodes, self._shape.plannable
        ends = [
            (place, node)
            for place, node in enumerate(nodes)
            if node in plannable and nodes[place - 1] == nodes[place + 1] == RUN_CONVERSATION
        ]
        if self._enriched + 1 > self._shape.enriched * self._number or not ends:
            return walk
        self._enriched += 1
        place, node = self._random.choice(ends)
        return walk.model_copy(update={"enriched": f"{place}: {plannable[node]}"})

    def _walk(self, calls: int, *, aims: bool) -> tuple[str, ...] | None:
        """Walk until so many calls are made and the conversation ends; None where it comes to no allowed end."""
        nodes = [RUN_CONVERSATION]
        used: Counter[str] = Counter()
        aims = aims and bool(self._aims) and self._idle < _IDLE
        while nodes[-1] != END_OF_SIMULATION:
            node = self._next(nodes, used, calls - used.total(), aims=aims)
            if node is None or len(nodes) >= self._shape.longest:
                return None
            nodes.append(node)
            if node not in (RUN_CONVERSATION, END_OF_SIMULATION):
                used[node] += 1
        return tuple(nodes) if len(nodes) >= self._shape.shortest else None

    def _next(self, nodes: Sequence[str], used: Counter[str], left: int, *, aims: bool) -> str | None:
        row = self._rows.get(nodes[-1])
        if row is None:
            return None
        fits = self._fitting(nodes, used, left)
        if aims and left > 0 and (best := self._aims.best(nodes, [node for node in row.nodes if fits(node)])):
            return self._random.choice(best)
        if self._weigh is not None:
            return self._weighted(self._weigh(nodes), fits)
        for _ in range(_QUICK):
            drawn = self._random.choices(row.nodes, cum_weights=row.sums)[0]
            if fits(drawn) and self._random.random() * (1 + used[drawn]) < 1:
                return drawn
        return self._weighted(dict(zip(row.nodes, row.weights, strict=True)), fits)

    def _fitting(self, nodes: Sequence[str], used: Counter[str], left: int) -> Callable[[str], bool]:
        """Give what tells whether a node may follow these, `left` being the calls that are still to be made."""
        here, last = nodes[-1], tuple(nodes[-2:])
        begin = len(nodes) - 1 - next(back for back, node in enumerate(reversed(nodes)) if node == RUN_CONVERSATION)
        turn = frozenset(nodes[begin + 1 :])

        def fits(node: str) -> bool:
            if node == END_OF_SIMULATION:
                return left == 0
            if node == RUN_CONVERSATION:
                return here not in self._closing
            in_circle = (node in turn and node != here) or last == (node, node)
            if left < 1 or in_circle or (node in self._closing and left > 1):
                return False
            needs = self._shape.behind.get(node)
            if needs is not None and needs.isdisjoint(nodes):
                return False
            if any(before <= used for before in self._bars.get((here, node), ())):
                return False
            return used[node] < self._shape.capacity.get(node, used[node] + 1)

        return fits

    def _weighted(self, weights: Mapping[str, float], fits: Callable[[str], bool]) -> str | None:
        left = {node: weight for node, weight in weights.items() if weight > 0 and fits(node)}
        return self._random.choices(list(left), weights=list(left.values()))[0] if left else None


@dataclass(frozen=True)
class _Row:
    """The steps from one node, with their weights added up for drawing."""

    nodes: tuple[str, ...]
    weights: tuple[float, ...]
    sums: tuple[float, ...]


def sample(
    graph: Graph, count: int, shape: Shape | None = None, *, seed: int = 0, weigh: Weigh | None = None
) -> tuple[Walk, ...]:
    """Give up to `count` different walks; fewer where the graph has no more of the asked shape."""
    return drawn(Sampler(graph, shape or Shape(), seed=seed, weigh=weigh), count)


def drawn(sampler: Sampler, count: int) -> tuple[Walk, ...]:
    """Draw up to `count` walks."""
    return tuple(islice(iter(sampler.draw, None), count))


def calls_of(walk: Walk) -> tuple[str, ...]:
    """Give the tools that a walk calls, in order."""
    return tuple(node for node in walk.nodes if node not in (RUN_CONVERSATION, END_OF_SIMULATION))


def turns_of(walk: Walk) -> list[tuple[str, ...]]:
    """Give the tools that a walk calls in each of the user's turns."""
    turns: list[list[str]] = [[]]
    for node in walk.nodes:
        if node in (RUN_CONVERSATION, END_OF_SIMULATION):
            turns.append([])
        else:
            turns[-1].append(node)
    return [tuple(turn) for turn in turns if turn]


def class_of(walk: Walk) -> str:
    """Name the complexity class of a walk."""
    return "simple" if len(calls_of(walk)) <= SIMPLE[1] else "complex"


def best_of(walks: Sequence[Walk], scores: Sequence[float], count: int) -> tuple[Walk, ...]:
    """Choose `count` of the walks by a judge's scores without losing what they cover together.

    Walks that cover something new are taken first, the better score first among equals; the best of the rest follow.
    The order in which they were drawn stays.
    """
    ranked = sorted(range(len(walks)), key=lambda place: (-scores[place], place))
    chosen: list[int] = []
    covered = Covered()
    for place in ranked:
        found = covered_by(walks[place].nodes)
        if len(chosen) < count and found - covered:
            chosen.append(place)
            covered |= found
    chosen += [place for place in ranked if place not in set(chosen)][: count - len(chosen)]
    return tuple(walks[place] for place in sorted(chosen))


def _rows(graph: Graph, shape: Shape) -> dict[str, _Row]:
    """Give the steps from each node that lead to an end; a tool without verified calls is not stepped on."""
    empty = {tool for tool in graph.tools if shape.capacity.get(tool, 1) < 1}
    steps: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for edge in graph.edges:
        if empty.isdisjoint((edge.source, edge.target)) and (edge.source, edge.target) not in shape.closed:
            steps[edge.source][edge.target] += edge.weight
    return {node: _row(row) for node, row in steps.items()}


def _row(steps: Mapping[str, float]) -> _Row:
    names = tuple(sorted(steps))
    weights = tuple(steps[name] for name in names)
    if not any(weight > 0 for weight in weights):  # a graph may come without any
        weights = (1.0,) * len(names)
    return _Row(names, weights, tuple(accumulate(weights)))
