"""What walks and scenarios cover of the tool graph (tools, edges, pairs of calls), what is missing, and what next."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.report import CoverageRow
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk

Step = tuple[str, str]

_ENDS = frozenset({RUN_CONVERSATION, END_OF_SIMULATION})
_UNREACHED = "no accepted scenario came to it"
_TOOL, _EDGE, _PAIR, _LEADS = 16, 8, 4, 1
"""What a step is worth that covers a tool, an edge, a pair, or goes where open edges or pairs begin."""


@dataclass(frozen=True)
class Covered:
    """Tools, edges between tools, and pairs of tools called one after the other, with or without a turn between."""

    tools: frozenset[str] = frozenset()
    edges: frozenset[Step] = frozenset()
    pairs: frozenset[Step] = frozenset()

    @classmethod
    def of_graph(cls, graph: Graph) -> "Covered":
        """Give all that walks through a graph could cover."""
        edges = frozenset((one.source, one.target) for one in graph.edges if _ENDS.isdisjoint((one.source, one.target)))
        pairs = frozenset((one, other) for one in graph.tools if one not in graph.closing for other in graph.tools)
        return cls(frozenset(graph.tools), edges, pairs | edges)

    def __or__(self, other: "Covered") -> "Covered":
        """Give what either covers."""
        return Covered(self.tools | other.tools, self.edges | other.edges, self.pairs | other.pairs)

    def __sub__(self, other: "Covered") -> "Covered":
        """Give what this covers and the other does not."""
        return Covered(self.tools - other.tools, self.edges - other.edges, self.pairs - other.pairs)

    def __bool__(self) -> bool:
        return bool(self.tools or self.edges or self.pairs)


def covered_by(nodes: Sequence[str]) -> Covered:
    """Give what the nodes of one walk cover."""
    calls = [node for node in nodes if node not in _ENDS]
    edges = frozenset(step for step in pairwise(nodes) if _ENDS.isdisjoint(step))
    return Covered(frozenset(calls), edges, frozenset(pairwise(calls)))


def handed_on(draft: Draft) -> frozenset[Step]:
    """Give the edges along which values go in a draft, whatever calls and turns of the user are between."""
    calls = draft.calls
    return frozenset(
        (calls[origin.call].call.name, call.call.name)
        for call in calls
        for origin in call.origins.values()
        if origin.call is not None
    )


def coverage(
    graph: Graph,
    walks: Iterable[Walk],
    why: Mapping[str, str] | None = None,
    *,
    offered: Iterable[str] = (),
    drafts: Iterable[Draft] = (),
    leading: Container[str] | None = None,
) -> tuple[CoverageRow, ...]:
    """Give edges and pairs covered of those of the graph, and tools of those that are `offered`, in the graph or not.

    An edge is covered by a walk that goes along it, and by a draft of `drafts` in which a value does. `why` maps the
    name of a tool, or `source -> target`, to the reason why it could not be covered. Where `leading` is given, only
    edges from these tools count, and no pairs: nothing follows a deed.
    """
    reasons = why or {}
    wanted = Covered.of_graph(graph) | Covered(tools=frozenset(offered))
    if leading is not None:
        wanted = Covered(wanted.tools, frozenset(step for step in wanted.edges if step[0] in leading))
    left = wanted
    for walk in walks:
        left -= covered_by(walk.nodes)
    for draft in drafts:
        left -= Covered(edges=handed_on(draft))

    def edge_reason(step: Step) -> tuple[str, str]:
        name = " -> ".join(step)
        lost = next((end for end in step if end in left.tools), "")
        return name, reasons.get(name) or (f"{lost} is not covered" if lost else _UNREACHED)

    missing = {
        "tools": tuple((tool, reasons.get(tool, _UNREACHED)) for tool in sorted(left.tools)),
        "edges": tuple(map(edge_reason, sorted(left.edges))),
        "pairs": (),
    }
    if leading is not None:
        del missing["pairs"]
    counts = {what: (len(getattr(wanted, what)), len(getattr(left, what))) for what in missing}
    return tuple(
        CoverageRow(what=what, covered=total - open_, total=total, missing=missing[what])
        for what, (total, open_) in counts.items()
    )


class Aims:
    """The open tools, edges and pairs of a graph. Every question takes the same time, however many are open."""

    def __init__(self, graph: Graph, without: Iterable[str] = (), closed: Iterable[Step] = ()) -> None:
        """Take all of a graph that walks can cover; the tools `without` and the edges `closed` are none of it."""
        gone, every = set(without), Covered.of_graph(graph)
        self._tools = set(every.tools) - gone
        self._edges = {step for step in every.edges if gone.isdisjoint(step)} - set(closed)
        self._pairs = {step for step in every.pairs if gone.isdisjoint(step)}
        self._from = {id(steps): Counter(source for source, _ in steps) for steps in (self._edges, self._pairs)}

    def __bool__(self) -> bool:
        return bool(self._tools or self._edges or self._pairs)

    def close(self, walk: Walk) -> bool:
        """Note what a walk covers; give whether any of it was open."""
        found = covered_by(walk.nodes)
        new = bool(self._tools & found.tools)
        self._tools -= found.tools
        for steps, hits in ((self._edges, self._edges & found.edges), (self._pairs, self._pairs & found.pairs)):
            steps.difference_update(hits)
            self._from[id(steps)].subtract(source for source, _ in hits)
            new = new or bool(hits)
        return new

    def reopen(self, walk: Walk) -> None:
        """Note that a walk was lost."""
        found = covered_by(walk.nodes)
        self._tools |= found.tools
        for steps, again in ((self._edges, found.edges), (self._pairs, found.pairs)):
            self._from[id(steps)].update(source for source, _ in again - steps)
            steps.update(again)

    def best(self, nodes: Sequence[str], options: Sequence[str]) -> list[str]:
        """Give the options that cover most of what is open, beside what the walk so far covers; [] where none does."""
        before = next((node for node in reversed(nodes) if node != RUN_CONVERSATION), None)
        walked = covered_by(nodes)
        worth = {node: self._worth(nodes[-1], before, node, walked) for node in options}
        most = max(worth.values(), default=0)
        return [node for node in options if worth[node] == most] if most else []

    def _worth(self, here: str, before: str | None, node: str, walked: Covered) -> int:
        edges, pairs = self._from[id(self._edges)], self._from[id(self._pairs)]
        if node == END_OF_SIMULATION:
            return 0
        if node == RUN_CONVERSATION:
            return _LEADS if before is not None and pairs[before] and not edges[before] else 0
        worth = _TOOL if node in self._tools and node not in walked.tools else 0
        worth += _EDGE if (here, node) in self._edges and (here, node) not in walked.edges else 0
        if before is not None and (before, node) in self._pairs and (before, node) not in walked.pairs:
            worth += _PAIR
        return worth + (2 * _LEADS if edges[node] else _LEADS if pairs[node] else 0)
