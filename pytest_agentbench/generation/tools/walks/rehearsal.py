"""The rehearsal: what the world, or a rule, does not bear is found out before walks are drawn; no model is asked.

A type may connect tools that the world keeps apart: the room of a booking is no room to book. A contract that was
closed is not prolonged, a room is not booked twice. What several starts cannot bring about is not walked, and the
report says why; what takes more than a pair of calls is learnt from the walks that it costs.
"""

from collections import Counter
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
_TRIES = 60
"""Calls that are tried for one edge or pair."""
TRIES = 4_000
"""Calls that are tried in all; what is left then is found out by the walks that take it."""
SECONDS = 180.0
"""Seconds after which nothing more is rehearsed. Usual services take a tenth; it is for tools that answer slowly."""

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
    left: str = ""


async def rehearse(graph: Graph, stock: Stock, *, seed: int, tries: int = TRIES, seconds: float = SECONDS) -> Rehearsed:
    """Try tools, edges, pairs and repetitions; where nothing can be reset, only what reads is tried.

    It ends after so many calls that were tried, or seconds on the world's clock, and says what it did not come to.
    """
    return await _Rehearsal(graph, stock, seed, tries, stock.world.now() + seconds).run()


class _Rehearsal:
    """A rehearsal at work: what it found, and what is left of its tries and its time."""

    def __init__(self, graph: Graph, stock: Stock, seed: int, tries: int, until: float) -> None:
        self._graph = graph
        self._stock = stock
        self._seed = seed
        self._tries = tries
        self._until = until
        self._found = Rehearsed()
        self._skipped: Counter[str] = Counter()
        self._why = ""

    async def run(self) -> Rehearsed:
        """Try everything in order, the tools first: an edge to a tool that no rule lets be called is not tried."""
        found, stock = self._found, self._stock
        await self._tools()
        await self._edges()
        if stock.world.resettable:
            found.barred = frozenset([pair async for pair in self._barred()])
            await self._repeats()
        if self._skipped:
            left = ", ".join(f"{count} {what}" for what, count in self._skipped.items())
            found.left = f"not rehearsed: {left} ({self._why}); walks that they do not bear are lost instead"
        return found

    def _may_go_on(self, what: str) -> bool:
        """Whether another thing may be tried; else it is counted as left."""
        if self._tries > 0 and self._stock.world.now() < self._until:
            return True
        self._why = self._why or ("all tries are used up" if self._tries <= 0 else "the time is used up")
        self._skipped[what] += 1
        return False

    async def _tools(self) -> None:
        for tool in self._graph.tools if self._stock.rules else ():
            ways = _ways(tool, self._stock) if _is_safe(self._stock, tool) else []
            if ways and self._may_go_on("tools") and (why := await self._vain(ways, Memory())):
                self._found.unfit[tool] = why

    async def _edges(self) -> None:
        found, stock = self._found, self._stock
        ends = {RUN_CONVERSATION, END_OF_SIMULATION}
        between = [(one.source, one.target) for one in self._graph.edges if not {one.source, one.target} & ends]
        for source, target in between[:EDGES]:
            ways = [(*way, target) for way in _ways(source, stock)] if _is_safe(stock, source, target) else []
            if not ways or {source, target} & found.unfit.keys() or not self._may_go_on("edges"):
                continue
            memory = Memory()
            if why := await self._vain(ways, memory):
                found.closed[source, target] = why
            stock.unsteady.update(one for one in memory.unsteady if one[:2] == (source, target))

    async def _barred(self) -> AsyncIterator[Step]:
        stock, tools = self._stock, self._graph.tools
        pairs = [
            (one, other) for one in self._changing for other in tools if one != other and _share(one, other, stock)
        ]
        for first, second in pairs[:PAIRS]:
            if {first, second} & self._found.unfit.keys() or not self._may_go_on("pairs of calls"):
                continue
            if not await self._bears((RUN_CONVERSATION, first, RUN_CONVERSATION, second)):
                yield first, second

    async def _repeats(self) -> None:
        found = self._found
        for tool in self._changing[:PAIRS]:
            if tool in found.unfit or not self._may_go_on("repeated changes"):
                continue
            found.repeats[tool] = 1
            while found.repeats[tool] < min(REPEATS, len(self._stock.pool.of(tool))):
                if not await self._bears((RUN_CONVERSATION, tool) * (found.repeats[tool] + 1)):
                    break
                found.repeats[tool] += 1

    @property
    def _changing(self) -> list[str]:
        stock = self._stock
        return [tool for tool in self._graph.tools if stock.card(tool).writes is not False and stock.pool.of(tool)]

    async def _vain(self, ways: list[tuple[str, ...]], memory: Memory) -> str:
        """Give why none of the ways can be hydrated, "" where one can."""
        why = ""
        for way in ways:
            nodes = (RUN_CONVERSATION, *way)
            why = await self._lost(nodes, Random(f"rehearsal/{self._seed}/{way}"), memory)  # noqa: S311 - a choice, no secret
            if not why:
                return ""
        return why

    async def _bears(self, nodes: tuple[str, ...]) -> bool:
        return not await self._lost(nodes, Random(f"bears/{self._seed}/{nodes}"), Memory())  # noqa: S311 - a choice, no secret

    async def _lost(self, nodes: tuple[str, ...], random: Random, memory: Memory) -> str:
        """Give why a walk cannot be hydrated, "" where it can; what was tried for it is used up."""
        walk = Walk(id="rehearsal", nodes=(*nodes, RUN_CONVERSATION, END_OF_SIMULATION))
        before = memory.tries
        try:
            await hydrate(walk, self._stock, random, attempts=_ATTEMPTS, tries=_TRIES, memory=memory)
        except HydrationError as error:
            return f"tried in vain: {error.reason}"
        finally:
            self._tries -= memory.tries - before
        return ""


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
