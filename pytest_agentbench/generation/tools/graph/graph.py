"""The tool graph (§4.3): tools, the user's turn and the end, joined by connector types and by what is always possible.

Self-loops are left out: calling a tool with what it gave itself is paging at best.
"""

from collections.abc import Iterable, Mapping

import networkx

from pytest_agentbench.core.tool import closes_conversation
from pytest_agentbench.generation.tools.data_types import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Card,
    Cards,
    Edge,
    Graph,
    Place,
    SemanticType,
    Taxonomy,
)
from pytest_agentbench.generation.tools.graph.name_match import words

_PROSE = 300
"""Characters of prose from which a result must be read before anything can follow from it."""


def build_graph(
    cards: Cards,
    taxonomy: Taxonomy,
    *,
    react: bool = False,
    agents: Mapping[str, str] | None = None,
) -> Graph:
    """Build the graph, with uniform weights.

    Every tool leads to `Run_Conversation`, which leads to every tool and to `End_of_Simulation`; closing tools lead
    there too. A connector type leads from each producer to each consumer, unless that refused all it was given of
    it. Wildcards, tools whose results need reading first, lead to every tool. `react`: one user turn, then
    calls until the end, so that no tool leads back to the user. `agents` names the other agents that have some of the
    tools: what leads to an agent leads to its tools, and out of it goes a turn only to its end. Tools that are known
    not to work at all are left out.
    """
    usable = [card for card in cards.cards if is_usable(card)]
    tools = [card.tool for card in usable]
    wild = [card.tool for card in usable if _needs_reading(card)]
    ends = [tool for tool in tools if closes_conversation(tool)]
    agents = {tool: agent for tool, agent in (agents or {}).items() if tool in tools}
    edges: dict[tuple[str, str], Edge] = {}

    def add(source: str, target: str, reason: str = "", via: tuple[str, ...] = ()) -> None:
        if source != target:
            before = edges.get((source, target), Edge(source=source, target=target))
            types = tuple(dict.fromkeys((*before.via, *via)))
            edges[source, target] = Edge(source=source, target=target, via=types, reason=before.reason or reason)

    for tool in tools:
        add(RUN_CONVERSATION, tool, "the user can give what it needs")
        back = END_OF_SIMULATION if tool in ends or react else RUN_CONVERSATION
        add(tool, back, "it closes the conversation" if tool in ends else "the agent answers")
    if not react:
        add(RUN_CONVERSATION, END_OF_SIMULATION, "the user is done")
    for name, source, target in _typed(cards, taxonomy):
        if {source, target} <= set(tools) and source not in ends and may_follow(agents, source, target):
            add(source, target, via=(name,))
    for source in wild:
        for target in (one for one in tools if may_follow(agents, source, one)):
            add(source, target, "its result is read before the next step")
    return uniform(
        Graph(
            tools=tuple(tools),
            edges=tuple(edges.values()),
            wildcards=tuple(wild),
            closing=tuple(ends),
            agents=agents,
        )
    )


def with_repeats(graph: Graph, cards: Cards, taxonomy: Taxonomy) -> Graph:
    """Add the edges out of reads that only give back what they were given, without weight: walks take none of them."""
    found: dict[tuple[str, str], Edge] = {}
    for flow in cards.repeated:
        pair, taken = (flow.source, flow.target), Place(tool=flow.target, path=flow.target_path)
        via = tuple(one.id for one in taxonomy.types if taken in one.consumed)
        if via and set(pair) <= set(graph.tools) and flow.source not in graph.closing:
            before = found.get(pair, Edge(source=flow.source, target=flow.target, repeats=True))
            found[pair] = before.model_copy(update={"via": tuple(dict.fromkeys((*before.via, *via)))})
    return graph.model_copy(update={"edges": (*graph.edges, *found.values())})


def without_repeats(graph: Graph) -> Graph:
    """Give the graph that scenarios are made from."""
    return graph.model_copy(update={"edges": tuple(one for one in graph.edges if not one.repeats)})


def may_follow(agents: Mapping[str, str], source: str, target: str) -> bool:
    """Whether within a turn a call of one tool may follow one of another: an agent that took over keeps the turn."""
    return source not in agents or agents[source] == agents.get(target)


def _typed(cards: Cards, taxonomy: Taxonomy) -> Iterable[tuple[str, str, str]]:
    """Give (type, source, target) for each pair of tools that a type joins, and nothing speaks against it."""
    observed = {(flow.source, flow.target) for flow in cards.flows}
    unfit = {(one.source, one.source_path, one.pattern, one.target, one.target_path) for one in cards.unfit}

    def is_vain(one: SemanticType, source: str, target: str) -> bool:
        # what a form finds in prose (a hash, a path), and a name that a call was given, need not be of one kind, so
        # that only trying it joins two tools
        places = [place for place in one.produced if place.tool == source]
        takers = [place.path for place in one.consumed if place.tool == target]
        tried = {(source, p.path, p.pattern, target, path) for p in places for path in takers}
        return bool(tried & unfit) or all(place.pattern for place in places)

    for one in taxonomy.types:
        for source in dict.fromkeys(place.tool for place in one.produced):
            for target in dict.fromkeys(place.tool for place in one.consumed):
                if (source, target) in observed or not is_vain(one, source, target):
                    yield one.id, source, target


def to_networkx(graph: Graph) -> "networkx.DiGraph[str]":
    """Give the graph as a networkx DiGraph; edges carry `weight`, `via` and `reason`, nodes their `kind`."""
    made: networkx.DiGraph[str] = networkx.DiGraph()
    made.add_node(RUN_CONVERSATION, kind="user")
    made.add_node(END_OF_SIMULATION, kind="end")
    for tool in graph.tools:
        kind = "wildcard" if tool in graph.wildcards else "closing" if tool in graph.closing else "tool"
        made.add_node(tool, kind=kind, **({"agent": graph.agents[tool]} if tool in graph.agents else {}))
    for one in graph.edges:
        made.add_edge(one.source, one.target, weight=one.weight, via=one.via, reason=one.reason)
    return made


def uniform(graph: Graph) -> Graph:
    """Give every row equal weights that sum to 1."""
    rows = to_networkx(graph).out_degree()
    edges = tuple(one.model_copy(update={"weight": 1.0 / rows[one.source]}) for one in graph.edges)
    return graph.model_copy(update={"edges": edges, "weights": "uniform"})


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
