"""What walks and scenarios cover of the tool graph (tools, edges), what is missing, and where to walk next."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.report import CoverageRow
from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk

Step = tuple[str, str]

_ENDS = frozenset({RUN_CONVERSATION, END_OF_SIMULATION})
_UNREACHED = "no walk came to it; a larger `count` may"
_TOOL, _EDGE, _LEADS = 16, 8, 2
"""What a step is worth that covers a tool, an edge, or goes where open edges begin."""


@dataclass(frozen=True)
class Covered:
    """Tools, and edges between tools."""

    tools: frozenset[str] = frozenset()
    edges: frozenset[Step] = frozenset()

    @classmethod
    def of_graph(cls, graph: Graph) -> "Covered":
        """Give all that walks through a graph could cover."""
        edges = frozenset((one.source, one.target) for one in graph.edges if _ENDS.isdisjoint((one.source, one.target)))
        return cls(frozenset(graph.tools), edges)

    def __or__(self, other: "Covered") -> "Covered":
        """Give what either covers."""
        return Covered(self.tools | other.tools, self.edges | other.edges)

    def __sub__(self, other: "Covered") -> "Covered":
        """Give what this covers and the other does not."""
        return Covered(self.tools - other.tools, self.edges - other.edges)

    def __bool__(self) -> bool:
        return bool(self.tools or self.edges)


def covered_by(nodes: Sequence[str]) -> Covered:
    """Give what the nodes of one walk cover."""
    edges = frozenset(step for step in pairwise(nodes) if _ENDS.isdisjoint(step))
    return Covered(frozenset(nodes) - _ENDS, edges)


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
    """Give edges covered of those of the graph, and tools of those that are `offered`, in the graph or not.

    An edge is covered by a walk that goes along it, and by a draft of `drafts` in which a value does. `why` maps the
    name of a tool, or `source -> target`, to the reason why it could not be covered. Where `leading` is given, only
    edges from these tools count: nothing follows a deed.
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

    tools = tuple((tool, reasons.get(tool, _UNREACHED)) for tool in sorted(left.tools))
    rows = (("tools", wanted.tools, tools), ("edges", wanted.edges, tuple(map(edge_reason, sorted(left.edges)))))
    return tuple(
        CoverageRow(what=what, covered=len(every) - len(missing), total=len(every), missing=missing)
        for what, every, missing in rows
    )


class Aims:
    """The open tools and edges of a graph. Every question takes the same time, however many are open."""

    def __init__(self, graph: Graph, without: Iterable[str] = (), closed: Iterable[Step] = ()) -> None:
        """Take all of a graph that walks can cover; the tools `without` and the edges `closed` are none of it."""
        gone, every = set(without), Covered.of_graph(graph)
        self._tools = set(every.tools) - gone
        self._edges = {step for step in every.edges if gone.isdisjoint(step)} - set(closed)
        self._from = Counter(source for source, _ in self._edges)

    def __bool__(self) -> bool:
        return bool(self._tools or self._edges)

    def close(self, walk: Walk) -> bool:
        """Note what a walk covers; give whether any of it was open."""
        found = covered_by(walk.nodes)
        tools, edges = self._tools & found.tools, self._edges & found.edges
        self._tools -= tools
        self._edges -= edges
        self._from.subtract(source for source, _ in edges)
        return bool(tools or edges)

    def reopen(self, walk: Walk) -> None:
        """Note that a walk was lost."""
        found = covered_by(walk.nodes)
        self._tools |= found.tools
        self._from.update(source for source, _ in found.edges - self._edges)
        self._edges |= found.edges

    def best(self, nodes: Sequence[str], options: Sequence[str]) -> list[str]:
        """Give the options that cover most of what is open, beside what the walk so far covers; [] where none does."""
        walked = covered_by(nodes)
        worth = {node: self._worth(nodes[-1], node, walked) for node in options}
        most = max(worth.values(), default=0)
        return [node for node in options if worth[node] == most] if most else []

    def _worth(self, here: str, node: str, walked: Covered) -> int:
        if node in _ENDS:
            return 0
        worth = _TOOL if node in self._tools and node not in walked.tools else 0
        worth += _EDGE if (here, node) in self._edges and (here, node) not in walked.edges else 0
        return worth + (_LEADS if self._from[node] else 0)
