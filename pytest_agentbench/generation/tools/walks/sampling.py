"""Walks through the tool graph: coverage first, then by its weights, as many of each length as were asked for.

Tool-to-scenario (§4.4) draws weighted random walks and rejects those too short (6 nodes), too long (25) or seen. At
random alone a tool of low probability stays out (§5.1: one of seven), so walks aim at what none has covered yet: every
tool, then every edge between tools, then every pair of calls in a row; the rest follows the weights.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk
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

Weigh = Callable[[Sequence[str]], Mapping[str, float]]
"""Gives the weights of the next nodes for the nodes so far: what the conversation holds may count."""


class Bars:
    """Steps that are not taken once other tools were called."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        """Begin with pairs: no turn begins with the second tool once the first was called."""
        self._after: dict[Step, list[Counter[str]]] = {}
        for first, second in sorted(pairs):
            self.add({first: 1}, (RUN_CONVERSATION, second))

    def add(self, before: Mapping[str, int], step: Step) -> None:
        """Bar a step once each of these tools was called so often; nothing is barred from the outset."""
        if any(before.values()) and Counter(before) not in self._after.setdefault(step, []):
            self._after[step].append(Counter(before))

    def forbid(self, calls: Counter[str], step: Step) -> bool:
        """Whether a step is barred after these calls."""
        return any(before <= calls for before in self._after.get(step, ()))


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What walks are like: `shortest` and `longest` in nodes, `shares` of complexity classes, `enriched` of failures.

    `capacity` bounds how often one walk calls a tool (its verified calls, which are used once a scenario); a tool that
    is not in it is not bounded. No walk takes `closed` edges. `plannable` are the tools for which a failure can be
    planned, and how it is named. `behind` are the tools that work only after a call of one of others, made since the
    last call of a `destructive` tool. Of `barred` pairs no turn begins with the second once the first was called.
    """

    shortest: int = 6
    longest: int = 25
    shares: Mapping[str, float] = field(default_factory=lambda: dict(SHARES))
    capacity: Mapping[str, int] = field(default_factory=dict)
    enriched: float = 0.0
    closed: frozenset[tuple[str, str]] = frozenset()
    plannable: Mapping[str, str] = field(default_factory=dict)
    behind: Mapping[str, frozenset[str]] = field(default_factory=dict)
    barred: frozenset[tuple[str, str]] = frozenset()
    destructive: frozenset[str] = frozenset()


class Sampler:
    """Draws walks one after the other, none twice; what it draws follows from the seed and from what was told lost."""

    def __init__(self, graph: Graph, shape: Shape, *, seed: int, weigh: Weigh | None = None) -> None:
        """Prepare to draw from a graph; raise `ValueError` for a complexity class that does not exist."""
        if unknown := [name for name in shape.shares if name not in CLASSES]:
            raise ValueError(f"there is no complexity class {unknown[0]!r}; there are {', '.join(CLASSES)}")
        self._shape = shape
        self._random = Random(f"walks/{seed}")  # noqa: S311 - a choice, no secret
        self._weigh = weigh
        self._capacity = dict(shape.capacity)
        self._bars = Bars(shape.barred)
        self._ended: set[tuple[str, str]] = set()
        self._rows = _rows(graph, shape)
        self._closing = frozenset(graph.closing)
        self._aims = Aims(graph, (tool for tool in graph.tools if shape.capacity.get(tool, 1) < 1), shape.closed)
        self._idle = 0
        self._seen: set[tuple[str, ...]] = set()
        self._drawn: Counter[str] = Counter()
        self._enriched = 0
        self._barren: set[str] = set()
        self._number = 0

    def draw(self) -> Walk | None:
        """Give the next walk, or None where no new one of any asked length is found."""
        for name in self._by_need():
            if name not in self._barren:
                for attempt in range(_TRIES):
                    nodes = self._walk(self._calls(name), aims=attempt % 2 == 0)
                    if nodes is not None and nodes not in self._seen:
                        return self._taken(nodes, name)
                self._barren.add(name)
        return None

    def lost(self, walk: Walk) -> None:
        """Say that a walk became no scenario: what it covered is open again, and its class is short of one."""
        self._drawn[class_of(walk)] -= 1
        self._aims.reopen(walk)
        self._idle = 0
        self._barren.discard(class_of(walk))

    def shortened(self, walk: Walk, turns: int) -> Walk | None:
        """Give a walk that ends after so many turns in place of one that the world does not bear to its end.

        None where it is too short, of another class, without the failure that was planned, or was drawn before.
        """
        ends = [place for place, node in enumerate(walk.nodes) if node in (RUN_CONVERSATION, END_OF_SIMULATION)]
        nodes = (*walk.nodes[: ends[min(turns, len(ends) - 1)]], RUN_CONVERSATION, END_OF_SIMULATION)
        cut = walk.model_copy(update={"nodes": nodes})
        calls = len(calls_of(cut))
        is_usual = len(nodes) >= self._shape.shortest and calls >= SIMPLE[0] and class_of(cut) == class_of(walk)
        if walk.enriched or not is_usual or nodes in self._seen:
            return None
        self._seen.add(nodes)
        self._aims.reopen(walk)
        self._aims.close(cut)
        self._idle = 0
        return cut

    def passed_over(self, walk: Walk) -> None:
        """Say that a walk was drawn and not chosen: its class is short of one, what it covers others cover."""
        self._drawn[class_of(walk)] -= 1
        self._barren.discard(class_of(walk))

    def spare(self, walk: Walk, tool: str) -> None:
        """Say that a walk had more calls of a tool than the world bears: no later one has as many."""
        calls = calls_of(walk).count(tool)
        if calls > 1:
            self._capacity[tool] = min(self._capacity.get(tool, calls), calls - 1)

    def bar(self, before: Mapping[str, int], step: tuple[str, str]) -> None:
        """Say that the world did not bear a step after these calls: no later walk takes it once they were made."""
        self._bars.add(before, step)

    def end(self, walk: Walk, step: tuple[str, str]) -> None:
        """Say that a step led nowhere behind the call before it: no later turn goes on from where these two end."""
        for place in range(2, len(walk.nodes)):
            before = walk.nodes[place - 2]
            if walk.nodes[place - 1 : place + 1] == step and before != RUN_CONVERSATION:
                self._ended.add((before, step[0]))

    def _by_need(self) -> list[str]:
        """Give the classes, the one furthest behind its share first."""
        total = sum(self._shape.shares.values()) or 1.0
        asked = [name for name in CLASSES if self._shape.shares.get(name, 0) > 0]
        drawn = sum(self._drawn.values()) + 1
        return sorted(asked, key=lambda name: self._drawn[name] - drawn * self._shape.shares[name] / total)

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
        due = self._shape.enriched * self._number
        ends = [
            (place, node)
            for place, node in enumerate(walk.nodes)
            if node in self._shape.plannable
            and walk.nodes[place - 1] == RUN_CONVERSATION
            and walk.nodes[place + 1] == RUN_CONVERSATION
        ]
        if self._enriched + 1 > due or not ends:
            return walk
        self._enriched += 1
        place, node = self._random.choice(ends)
        return walk.model_copy(update={"enriched": f"{place}: {self._shape.plannable[node]}"})

    def _walk(self, calls: int, *, aims: bool) -> tuple[str, ...] | None:
        """Walk until so many calls are made and the conversation ends; None where it comes to no allowed end."""
        nodes = [RUN_CONVERSATION]
        used: Counter[str] = Counter()
        aims = aims and bool(self._aims) and self._idle < _IDLE
        made = 0
        while nodes[-1] != END_OF_SIMULATION:
            node = self._next(nodes, used, calls - made, aims=aims)
            if node is None or len(nodes) >= self._shape.longest:
                return None
            nodes.append(node)
            if node not in (RUN_CONVERSATION, END_OF_SIMULATION):
                made += 1
                used[node] += 1
        return tuple(nodes) if len(nodes) >= self._shape.shortest else None

    def _next(self, nodes: Sequence[str], used: Counter[str], left: int, *, aims: bool) -> str | None:
        row = self._rows.get(nodes[-1])
        if row is None:
            return None

        turn, there = _turn(nodes), self._there(nodes)

        def fits(node: str) -> bool:
            if node == END_OF_SIMULATION:
                return left == 0
            if node == RUN_CONVERSATION:
                return nodes[-1] not in self._closing
            if left < 1 or (node in turn and node != nodes[-1]) or (node in self._closing and left > 1):
                return False
            if self._bars.forbid(used, (nodes[-1], node)) or tuple(nodes[-2:]) in self._ended:
                return False
            needs = self._shape.behind.get(node)
            if tuple(nodes[-2:]) == (node, node) or (needs is not None and needs.isdisjoint(there)):
                return False
            return used[node] < self._capacity.get(node, used[node] + 1)

        if aims and left > 0 and (best := self._aims.best(nodes, [node for node in row.nodes if fits(node)])):
            return self._random.choice(best)
        if self._weigh is not None:
            return self._weighed(self._weigh(nodes), fits)
        for _ in range(4):  # most draws fit, and filtering every row first would cost its length
            if fits(drawn := row.draw(self._random)) and self._random.random() * (1 + used[drawn]) < 1:
                return drawn
        return self._weighed(dict(zip(row.nodes, row.weights, strict=True)), fits)

    def _there(self, nodes: Sequence[str]) -> frozenset[str]:
        """Give the tools called since something was destroyed: what was made before may be gone."""
        last = max((place for place, node in enumerate(nodes) if node in self._shape.destructive), default=-1)
        return frozenset(nodes[last + 1 :])

    def _weighed(self, weights: Mapping[str, float], fits: Callable[[str], bool]) -> str | None:
        left = {node: weight for node, weight in weights.items() if weight > 0 and fits(node)}
        return self._random.choices(list(left), weights=list(left.values()))[0] if left else None


@dataclass(frozen=True)
class _Row:
    """The steps from one node, with their weights added up for drawing."""

    nodes: tuple[str, ...]
    weights: tuple[float, ...]
    sums: tuple[float, ...]

    def draw(self, random: Random) -> str:
        place = bisect(self.sums, random.random() * self.sums[-1])
        return self.nodes[min(place, len(self.nodes) - 1)]


def sample(
    graph: Graph, count: int, shape: Shape | None = None, *, seed: int = 0, weigh: Weigh | None = None
) -> tuple[Walk, ...]:
    """Give up to `count` different walks; fewer where the graph has no more of the asked shape."""
    sampler = Sampler(graph, shape or Shape(), seed=seed, weigh=weigh)
    walks: list[Walk] = []
    while len(walks) < count and (walk := sampler.draw()) is not None:
        walks.append(walk)
    return tuple(walks)


def calls_of(walk: Walk) -> tuple[str, ...]:
    """Give the tools that a walk calls, in order."""
    return tuple(node for node in walk.nodes if node not in (RUN_CONVERSATION, END_OF_SIMULATION))


def class_of(walk: Walk) -> str:
    """Name the complexity class of a walk."""
    return "simple" if len(calls_of(walk)) <= SIMPLE[1] else "complex"


def reweighed(walks: Sequence[Walk], scores: Sequence[float], count: int) -> tuple[Walk, ...]:
    """Choose `count` of the walks by a judge's scores without losing what they cover together.

    Walks that cover something new are taken first, the better score first among equals; the best of the rest follow.
    The order in which they were drawn stays.
    """
    ranked = sorted(range(len(walks)), key=lambda place: (-scores[place], place))
    chosen: list[int] = []
    covered = Covered()
    for place in ranked:
        found = covered_by(walks[place])
        if len(chosen) < count and not covered.includes(found):
            chosen.append(place)
            covered = covered.plus(found)
    chosen += [place for place in ranked if place not in set(chosen)][: count - len(chosen)]
    return tuple(walks[place] for place in sorted(chosen))


def _turn(nodes: Sequence[str]) -> frozenset[str]:
    """Give the tools called since the user spoke: coming back to one of them leads in a circle."""
    start = len(nodes) - 1 - next(back for back, node in enumerate(reversed(nodes)) if node == RUN_CONVERSATION)
    return frozenset(nodes[start + 1 :])


def _rows(graph: Graph, shape: Shape) -> dict[str, _Row]:
    """Give the steps from each node that lead to an end; a tool without verified calls is not stepped on."""
    empty = {tool for tool in graph.tools if shape.capacity.get(tool, 1) < 1}
    steps: dict[str, dict[str, float]] = {}
    for edge in graph.edges:
        if {edge.source, edge.target}.isdisjoint(empty) and (edge.source, edge.target) not in shape.closed:
            row = steps.setdefault(edge.source, {})
            row[edge.target] = row.get(edge.target, 0.0) + edge.weight
    rows: dict[str, _Row] = {}
    for node, row in steps.items():
        names = tuple(sorted(row))
        weights = _positive([row[name] for name in names])
        rows[node] = _Row(names, weights, tuple(accumulate(weights)))
    return rows


def _positive(weights: Iterable[float]) -> tuple[float, ...]:
    """Give the weights, all 1 where none is above 0: a graph may come without any."""
    listed = tuple(weights)
    return listed if any(weight > 0 for weight in listed) else tuple(1.0 for _ in listed)
