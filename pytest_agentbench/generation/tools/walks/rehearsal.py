"""The rehearsal: what the world, or a rule, does not bear is found out before walks are drawn; no model is asked.

A type may connect tools that the world keeps apart: the room of a booking is no room to book. A contract that was
closed is not prolonged, a room is not booked twice. What several starts cannot bring about is not walked, and the
report says why; what takes more than a pair of calls is learnt from the walks that it costs.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from random import Random

from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.hydration.hydrate import hydrate
from pytest_agentbench.generation.tools.hydration.memory import HydrationError, Memory
from pytest_agentbench.generation.tools.hydration.stock import Stock
from pytest_agentbench.generation.tools.labels import name_of
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk

EDGES = 400
"""Edges that are rehearsed; in larger graphs the others are found out by the walks that take them."""
PAIRS = 100
"""Pairs of calls that are tried; of larger services the rest is learnt from walks that are lost."""
REPEATS = 4
"""Times that one change is tried in a conversation; a person does not do the same more often."""
_WAYS = 2
"""Ways to a tool that works only behind others, along which an edge from it is tried."""
_ATTEMPTS = 8
"""Times that an edge or a pair is tried."""

Step = tuple[str, str]


@dataclass
class Rehearsed:
    """What was found out: edges that lead nowhere and tools that cannot be called, with the reason, pairs of tools of
    which no turn begins with the second once the first was called, and how often a change can be made.
    """

    closed: dict[Step, str] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    barred: frozenset[Step] = frozenset()
    repeats: dict[str, int] = field(default_factory=dict)


async def rehearse(graph: Graph, stock: Stock, *, seed: int) -> Rehearsed:
    """Try tools, edges, pairs and repetitions; where nothing can be reset, only what reads is tried."""
    found = Rehearsed()
    for tool in graph.tools if stock.rules else ():
        ways = _ways(tool, stock) if _is_safe(stock, tool) else []
        if why := await _vain(ways, stock, seed):
            found.unfit[tool] = why
    ends = {RUN_CONVERSATION, END_OF_SIMULATION}
    between = [(one.source, one.target) for one in graph.edges if not {one.source, one.target} & ends]
    for source, target in between[:EDGES]:
        if _is_safe(stock, source, target) and not {source, target} & found.unfit.keys() and _ways(source, stock):
            memory = Memory()
            ways = [(*way, target) for way in _ways(source, stock)]
            if why := await _vain(ways, stock, seed, memory=memory):
                found.closed[source, target] = why
            stock.unsteady.update(one for one in memory.unsteady if one[:2] == (source, target))
    if stock.world.resettable:
        found.barred = frozenset([pair async for pair in _barred(graph, stock, seed)])
        found.repeats = await _repeats(graph, stock, seed)
    return found


async def _vain(ways: list[tuple[str, ...]], stock: Stock, seed: int, *, memory: Memory | None = None) -> str:
    """Give why none of the ways can be hydrated, "" where one can."""
    why = ""
    for way in ways:
        walk = Walk(id="rehearsal", nodes=(RUN_CONVERSATION, *way, RUN_CONVERSATION, END_OF_SIMULATION))
        random = Random(f"rehearsal/{seed}/{way}")  # noqa: S311 - a choice, no secret
        try:
            await hydrate(walk, stock, random, attempts=_ATTEMPTS, memory=memory)
        except HydrationError as error:
            why = f"tried in vain: {error.reason}"
        else:
            return ""
    return why


async def _barred(graph: Graph, stock: Stock, seed: int) -> AsyncIterator[Step]:
    changing = [tool for tool in graph.tools if stock.card(tool).writes is not False and stock.pool.of(tool)]
    pairs = [(one, other) for one in changing for other in graph.tools if one != other and _share(one, other, stock)]
    for first, second in pairs[:PAIRS]:
        if not await _bears((RUN_CONVERSATION, first, RUN_CONVERSATION, second), stock, seed):
            yield first, second


async def _repeats(graph: Graph, stock: Stock, seed: int) -> dict[str, int]:
    found: dict[str, int] = {}
    changing = [tool for tool in graph.tools if stock.card(tool).writes is not False and stock.pool.of(tool)]
    for tool in changing[:PAIRS]:
        found[tool] = 1
        while found[tool] < min(REPEATS, len(stock.pool.of(tool))):
            if not await _bears((RUN_CONVERSATION, tool) * (found[tool] + 1), stock, seed):
                break
            found[tool] += 1
    return found


async def _bears(nodes: tuple[str, ...], stock: Stock, seed: int) -> bool:
    random = Random(f"bears/{seed}/{nodes}")  # noqa: S311 - a choice, no secret
    walk = Walk(id="rehearsal", nodes=(*nodes, RUN_CONVERSATION, END_OF_SIMULATION))
    try:
        await hydrate(walk, stock, random, attempts=_ATTEMPTS)
    except HydrationError:
        return False
    return True


def _is_safe(stock: Stock, *tools: str) -> bool:
    return stock.world.resettable or all(stock.card(tool).writes is False for tool in tools)


def _ways(tool: str, stock: Stock) -> list[tuple[str, ...]]:
    """Give the tools to call until a tool can be: itself alone, or behind others, each way once."""
    if stock.pool.of(tool):
        return [(tool,)]
    ways = [tuple(one.tool for one in stock.pool.chain(entry)) for entry in stock.pool.behind(tool)]
    return list(dict.fromkeys(ways))[:_WAYS]


def _share(first: str, second: str, stock: Stock) -> bool:
    """Whether verified calls of two tools name the same thing."""
    return not set(_things(first, stock)).isdisjoint(_things(second, stock))


def _things(tool: str, stock: Stock) -> Iterator[str]:
    """Yield what calls of a tool name; what every call of any tool has, such as one folder, names nothing."""
    for entry in stock.pool.of(tool):
        for path, value in read_slots(entry.arguments).items():
            if name_of(path) in stock.context:
                continue
            if isinstance(value, str) or (is_number(value) and abs(value) > 1):
                yield str(value)
