"""The rehearsal: every edge between tools is tried before walks are drawn, so that none leads nowhere.

A type may connect tools that the world keeps apart: the room of a booking is no room to book. What several starts
cannot bring about is closed, with the reason, and stands in the coverage report.
"""

from random import Random

from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.stories.hydration import hydrate
from pytest_agentbench.generation.tools.stories.narrator import TemplateNarrator
from pytest_agentbench.generation.tools.stories.searching import Memory
from pytest_agentbench.generation.tools.stories.telling import HydrationError
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk

MOST = 400
"""Edges that are rehearsed; in larger graphs the others are found out by the walks that take them."""

_WAYS = 2
"""Ways to a tool that works only behind others, along which an edge from it is tried."""

Edge = tuple[str, str]


async def closed_edges(graph: Graph, stock: Stock, *, seed: int) -> dict[Edge, str]:
    """Give the edges between tools that cannot be hydrated, with the reason; no model is asked.

    Where the environment cannot be reset, only edges between tools that read are tried.
    """
    closed: dict[Edge, str] = {}
    between = [
        (edge.source, edge.target)
        for edge in graph.edges
        if not {edge.source, edge.target} & {RUN_CONVERSATION, END_OF_SIMULATION}
    ]
    for source, target in between[:MOST]:
        reads = all(stock.card(tool).writes is False for tool in (source, target))
        if not (stock.world.resettable or reads) or not _ways(source, stock):
            continue
        random = Random(f"rehearsal/{seed}/{source}/{target}")  # noqa: S311 - a choice, no secret
        memory = Memory()
        for way in _ways(source, stock):
            nodes = (RUN_CONVERSATION, *way, target, RUN_CONVERSATION, END_OF_SIMULATION)
            walk = Walk(id="rehearsal", nodes=nodes)
            try:
                await hydrate(walk, stock, TemplateNarrator(random), language="en", random=random, memory=memory)
            except HydrationError as error:
                closed[source, target] = f"tried in vain: {error.reason}"
            else:
                closed.pop((source, target), None)
                break
        stock.lost.update(one for one in memory.lost if one[:2] == (source, target))
    return closed


def _ways(tool: str, stock: Stock) -> list[tuple[str, ...]]:
    """Give the tools to call until a tool can be: itself alone, or behind others, each way once."""
    if stock.pool.of(tool):
        return [(tool,)]
    ways = [tuple(one.tool for one in stock.pool.chain(entry)) for entry in stock.pool.behind(tool)]
    return list(dict.fromkeys(ways))[:_WAYS]
