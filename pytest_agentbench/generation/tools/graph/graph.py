"""The tool graph (§4.3): tools, the user's turn and the end, joined by connector types and by what is always possible.

Self-loops are left out unless asked for: calling a tool with what it gave itself is paging at best.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import networkx

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.tool import closes_conversation
from pytest_agentbench.generation.tools.graph.contradicted import Contradictions
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.values import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Card,
    Cards,
    Edge,
    Graph,
    Taxonomy,
)

_ENABLES = "makes it possible"
_PROSE = 300
"""Characters of prose from which a result must be read before anything can follow from it."""


def build_graph(
    cards: Cards,
    taxonomy: Taxonomy,
    *,
    wildcards: Iterable[str] | None = None,
    closing: Iterable[str] | None = None,
    react: bool = False,
    self_loops: bool = False,
    agents: Mapping[str, Graph] | None = None,
) -> Graph:
    """Build the graph, with uniform weights.

    Every tool leads to `Run_Conversation`, which leads to every tool and to `End_of_Simulation`; closing tools lead
    there too. A connector type leads from each producer to each consumer, unless that refused all it was given of it; a
    call that another made possible is an edge without a type. `wildcards`, tools whose results need reading first, lead
    to every tool; `closing` ends conversations; both are found by themselves where None. `react`: one user turn, then
    calls until the end, so that no tool leads back to the user. `agents` replaces tools by graphs of other agents,
    whose tools are then called `agent.tool`. Tools that are known not to work at all are left out. Raise
    `SuiteFaultError` for unknown names.
    """
    usable = [card for card in cards.cards if is_usable(card)]
    tools = [card.tool for card in usable]
    given = {"wildcards": wildcards, "closing": closing, "agents": agents}
    every = {card.tool for card in cards.cards}
    for name, several in given.items():
        if unknown := sorted(set(several or ()) - every):
            raise SuiteFaultError(f"{name}: {unknown[0]!r} is no tool; tools: {', '.join(sorted(every)) or 'none'}")
    wild = [
        card.tool for card in usable if (card.tool in set(wildcards) if wildcards is not None else _needs_reading(card))
    ]
    ends = [
        card.tool
        for card in usable
        if (card.tool in set(closing) if closing is not None else closes_conversation(card.tool))
    ]
    made = _Edges(self_loops=self_loops)
    for tool in tools:
        made.add(RUN_CONVERSATION, tool, reason="the user can give what it needs")
        if tool in ends or react:
            made.add(
                tool, END_OF_SIMULATION, reason="it closes the conversation" if tool in ends else "the agent answers"
            )
        else:
            made.add(tool, RUN_CONVERSATION, reason="the agent answers")
    if not react:
        made.add(RUN_CONVERSATION, END_OF_SIMULATION, reason="the user is done")
    made.connect(cards, taxonomy, tools=set(tools), ends=set(ends))
    for source in wild:
        for target in tools:
            made.add(source, target, reason="its result is read before the next step")
    edges = made.edges
    graph = Graph(tools=tuple(tools), edges=tuple(edges.values()), wildcards=tuple(wild), closing=tuple(ends))
    for name, inner in (agents or {}).items():
        graph = with_agent(graph, name, inner)
    return uniform(graph)


class _Edges:
    """Edges under construction: one a pair, with all the types that make it."""

    def __init__(self, *, self_loops: bool) -> None:
        self.edges: dict[tuple[str, str], Edge] = {}
        self._self_loops = self_loops

    def add(self, source: str, target: str, *, via: tuple[str, ...] = (), reason: str = "") -> None:
        """Add an edge, or what is new of it."""
        if source == target and not self._self_loops:
            return
        before = self.edges.get((source, target))
        if before is not None:
            via = tuple(dict.fromkeys((*before.via, *via)))
            reason = before.reason or reason
        self.edges[source, target] = Edge(source=source, target=target, via=via, reason=reason)

    def connect(self, cards: Cards, taxonomy: Taxonomy, *, tools: set[str], ends: set[str]) -> None:
        """Add what connector types and observed enablings say."""
        observed = {(flow.source, flow.target) for flow in cards.flows}
        against = Contradictions(cards)
        for one in taxonomy.types:
            for source in dict.fromkeys(place.tool for place in one.produced):
                for target in dict.fromkeys(place.tool for place in one.consumed):
                    if not {source, target} <= tools or source in ends:
                        continue
                    if (source, target) in observed or not against.of(one, source, target):
                        self.add(source, target, via=(one.id,))
        for enabling in cards.enablings:
            if {enabling.source, enabling.target} <= tools:
                self.add(enabling.source, enabling.target, reason=f"{_ENABLES}: {enabling.reason}")


def with_agent(graph: Graph, tool: str, inner: Graph) -> Graph:
    """Replace a tool by the graph of the agent behind it (§6): its own first calls are entered, its last ones left.

    What led to the tool leads to each tool that the inner graph's user turn leads to; what the inner graph leads from
    back to its user, or to its end, leads on to where the tool led. The inner tools are called `tool.inner`.
    """
    if tool not in graph.tools:
        return graph
    names = {name: f"{tool}.{name}" for name in inner.tools}
    entries = [names[one.target] for one in inner.edges if one.source == RUN_CONVERSATION and one.target in names]
    outside = (RUN_CONVERSATION, END_OF_SIMULATION)
    exits = [names[one.source] for one in inner.edges if one.target in outside and one.source in names]
    edges: dict[tuple[str, str], Edge] = {}
    for one in graph.edges:
        sources = list(dict.fromkeys(exits)) if one.source == tool else [one.source]
        targets = list(dict.fromkeys(entries)) if one.target == tool else [one.target]
        for source in sources:
            for target in targets:
                edges[source, target] = one.model_copy(update={"source": source, "target": target})
    for one in inner.edges:
        if one.source in names and one.target in names:
            pair = names[one.source], names[one.target]
            edges[pair] = one.model_copy(update={"source": pair[0], "target": pair[1]})

    def replaced(tools: tuple[str, ...], inside: tuple[str, ...]) -> tuple[str, ...]:
        found: list[str] = []
        for name in tools:
            found += [names[one] for one in inside] if name == tool else [name]
        return tuple(found)

    return graph.model_copy(
        update={
            "tools": replaced(graph.tools, inner.tools),
            "edges": tuple(edges.values()),
            "wildcards": replaced(graph.wildcards, inner.wildcards),
            "closing": replaced(graph.closing, inner.closing),
        }
    )


def to_networkx(graph: Graph) -> "networkx.DiGraph[str]":
    """Give the graph as a networkx DiGraph; edges carry `weight`, `via` and `reason`, nodes their `kind`."""
    made: networkx.DiGraph[str] = networkx.DiGraph()
    made.add_node(RUN_CONVERSATION, kind="user")
    made.add_node(END_OF_SIMULATION, kind="end")
    for tool in graph.tools:
        kind = "wildcard" if tool in graph.wildcards else "closing" if tool in graph.closing else "tool"
        made.add_node(tool, kind=kind)
    for one in graph.edges:
        made.add_edge(one.source, one.target, weight=one.weight, via=one.via, reason=one.reason)
    return made


def uniform(graph: Graph) -> Graph:
    """Give every row equal weights that sum to 1."""
    rows: dict[str, int] = defaultdict(int)
    for one in graph.edges:
        rows[one.source] += 1
    edges = tuple(one.model_copy(update={"weight": 1.0 / rows[one.source]}) for one in graph.edges)
    return graph.model_copy(update={"edges": edges, "weights": "uniform"})


def connector_edges(graph: Graph) -> tuple[Edge, ...]:
    """Give the edges between tools that evidence makes: connector types, and calls that made others possible."""
    nodes = {RUN_CONVERSATION, END_OF_SIMULATION}
    return tuple(
        one
        for one in graph.edges
        if not {one.source, one.target} & nodes and (one.via or one.reason.startswith(_ENABLES))
    )


def is_usable(card: Card) -> bool:
    """Whether some call of a tool is known to work; so may one that was not called."""
    return not card.probes or any(probe.verdict == "ok" for probe in card.probes)


def _needs_reading(card: Card) -> bool:
    """Whether a read gives long prose to a free question, as retrieval does."""
    texts = [probe.content for probe in card.probes if probe.verdict == "ok"]
    is_prose = bool(texts) and all(
        len(text) >= _PROSE and text.lstrip()[:1] not in "{[" and text.count(" ") > len(text) / 12 for text in texts
    )
    asks = any({"query", "question", "search"} & set(words(one.path)) for one in card.parameters)
    return is_prose and asks and card.writes is not True
