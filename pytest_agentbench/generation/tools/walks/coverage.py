"""What walks and scenarios cover of the tool graph: tools, edges, pairs of calls; what is missing, and why."""

import itertools
from collections.abc import Iterable, Mapping
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
