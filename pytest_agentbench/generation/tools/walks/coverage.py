"""What walks and scenarios cover of the tool graph (tools, edges, pairs of calls), what is missing, and what next."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_agentbench.generation.report import CoverageRow
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk

Step = tuple[str, str]


@dataclass(frozen=True)
class Covered:
    """Tools, edges between tools, and pairs of tools called one after the other, with or without a turn between."""

    tools: frozenset[str] = frozenset()
    edges: frozenset[Step] = frozenset()
    pairs: frozenset[Step] = frozenset()

    @classmethod
    def of_graph(cls, graph: Graph) -> "Covered":
        """Give all that walks through a graph could cover."""
        tools = [tool for tool in graph.tools if tool not in graph.closing]
        edges = frozenset(
            (edge.source, edge.target) for edge in graph.edges if _is_between_tools(edge.source, edge.target)
        )
        pairs = frozenset((first, second) for first in tools for second in graph.tools)
        return cls(frozenset(graph.tools), edges, pairs | edges)

    def plus(self, other: "Covered") -> "Covered":
        """Give what either covers."""
        return Covered(self.tools | other.tools, self.edges | other.edges, self.pairs | other.pairs)

    def minus(self, other: "Covered") -> "Covered":
        """Give what this covers and the other does not."""
        return Covered(self.tools - other.tools, self.edges - other.edges, self.pairs - other.pairs)

    def includes(self, other: "Covered") -> bool:
        """Whether this covers all that the other does."""
        return self.tools >= other.tools and self.edges >= other.edges and self.pairs >= other.pairs


def covered_by(walk: Walk) -> Covered:
    """Give what one walk covers."""
    calls = [node for node in walk.nodes if node not in (RUN_CONVERSATION, END_OF_SIMULATION)]
    steps = zip(walk.nodes, walk.nodes[1:], strict=False)
    edges = frozenset((source, target) for source, target in steps if _is_between_tools(source, target))
    return Covered(frozenset(calls), edges, frozenset(itertools.pairwise(calls)))


def coverage(
    graph: Graph, walks: Iterable[Walk], why: Mapping[str, str] | None = None, *, offered: Iterable[str] = ()
) -> tuple[CoverageRow, ...]:
    """Give edges and pairs covered of those of the graph, and tools of those that are `offered`, in the graph or not.

    `why` maps the name of a tool, or `source -> target`, to the reason why it could not be covered.
    """
    reasons = why or {}
    wanted = Covered.of_graph(graph).plus(Covered(tools=frozenset(offered)))
    found = Covered()
    for walk in walks:
        found = found.plus(covered_by(walk))
    missing = wanted.minus(found)
    tools = [(tool, reasons.get(tool, _UNREACHED)) for tool in sorted(missing.tools)]
    return (
        CoverageRow(
            what="tools", covered=len(wanted.tools) - len(missing.tools), total=len(wanted.tools), missing=tuple(tools)
        ),
        _steps("edges", wanted.edges, missing.edges, reasons, set(missing.tools)),
        CoverageRow(what="pairs", covered=len(wanted.pairs) - len(missing.pairs), total=len(wanted.pairs)),
    )


_UNREACHED = "no accepted scenario came to it"


def _steps(
    what: str, wanted: frozenset[Step], missing: frozenset[Step], why: Mapping[str, str], lost: set[str]
) -> CoverageRow:
    told = []
    for source, target in sorted(missing):
        ends = [end for end in (source, target) if end in lost]
        name = f"{source} -> {target}"
        told.append((name, why.get(name) or (f"{ends[0]} is not covered" if ends else _UNREACHED)))
    return CoverageRow(what=what, covered=len(wanted) - len(missing), total=len(wanted), missing=tuple(told))


def _is_between_tools(source: str, target: str) -> bool:
    return not {source, target} & {RUN_CONVERSATION, END_OF_SIMULATION}


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
