"""What walks have not covered yet, and which step covers most of it: kept up to date as walks are drawn and lost."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk
from pytest_agentbench.generation.tools.walks.coverage import Covered, Step, covered_by

_TOOL, _EDGE, _PAIR, _LEADS = 16, 8, 4, 1
"""What a step is worth that covers a tool, an edge, a pair, or goes where open edges or pairs begin."""


class Aims:
    """The open tools, edges and pairs of a graph. Every question takes the same time, however many are open."""

    def __init__(self, graph: Graph, without: Iterable[str] = (), closed: Iterable[Step] = ()) -> None:
        """Take all of a graph that walks can cover; the tools `without` and the edges `closed` are none of it."""
        gone = set(without)
        every = Covered.of_graph(graph)
        self._tools = set(every.tools) - gone
        self._edges = {step for step in every.edges if gone.isdisjoint(step)} - set(closed)
        self._pairs = {step for step in every.pairs if gone.isdisjoint(step)}
        self._edges_from = Counter(source for source, _ in self._edges)
        self._pairs_from = Counter(source for source, _ in self._pairs)

    def __bool__(self) -> bool:
        return bool(self._tools or self._edges or self._pairs)

    def close(self, walk: Walk) -> bool:
        """Note what a walk covers; give whether any of it was open."""
        found = covered_by(walk)
        new = bool(self._tools & found.tools)
        self._tools -= found.tools
        return (
            self._removed(found.edges, self._edges, self._edges_from)
            | self._removed(found.pairs, self._pairs, self._pairs_from)
            | new
        )

    def reopen(self, walk: Walk) -> None:
        """Note that a walk was lost."""
        found = covered_by(walk)
        self._tools |= found.tools
        for step in found.edges - self._edges:
            self._edges.add(step)
            self._edges_from[step[0]] += 1
        for step in found.pairs - self._pairs:
            self._pairs.add(step)
            self._pairs_from[step[0]] += 1

    def best(self, nodes: Sequence[str], options: Sequence[str]) -> list[str]:
        """Give the options that cover most of what is open, beside what the walk so far covers; [] where none does."""
        here = nodes[-1]
        before = next((node for node in reversed(nodes) if node != RUN_CONVERSATION), None)
        walked = covered_by(Walk(id="", nodes=tuple(nodes)))
        most, found = 0, []
        for node in options:
            worth = self._worth((here, before), node, walked)
            if worth > most:
                most, found = worth, [node]
            elif worth and worth == most:
                found.append(node)
        return found

    def _worth(self, place: tuple[str, str | None], node: str, walked: Covered) -> int:
        here, before = place
        if node == END_OF_SIMULATION:
            return 0
        if node == RUN_CONVERSATION:
            return _LEADS if before is not None and self._pairs_from[before] and not self._edges_from[before] else 0
        worth = _TOOL if node in self._tools and node not in walked.tools else 0
        if (here, node) in self._edges and (here, node) not in walked.edges:
            worth += _EDGE
        if before is not None and (before, node) in self._pairs and (before, node) not in walked.pairs:
            worth += _PAIR
        return worth + (2 * _LEADS if self._edges_from[node] else _LEADS if self._pairs_from[node] else 0)

    @staticmethod
    def _removed(found: frozenset[Step], from_: set[Step], count: Counter[str]) -> bool:
        hits = found & from_
        from_ -= hits
        count.subtract(source for source, _ in hits)
        return bool(hits)
