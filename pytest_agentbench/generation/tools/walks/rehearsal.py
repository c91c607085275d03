"""The rehearsal: what the world, or a rule, does not bear is found out before walks are drawn; no model is asked.

A type may connect tools that the world keeps apart: the room of a booking is no room to book. A contract that was
closed is not prolonged, a room is not booked twice. What several starts cannot bring about is not walked, and the
report says why; what takes more than a pair of calls is learnt from the walks that it costs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.hydration.hydrate import hydrate
from pytest_agentbench.generation.tools.hydration.stock import HydrationError, Memory, Stock
from pytest_agentbench.generation.tools.labels import name_of
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk
from pytest_agentbench.generation.tools.walks.coverage import Step

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

Way = tuple[str, ...]


@dataclass
class Rehearsed:
    """What was found out: edges that lead nowhere and tools that cannot be called, with the reason, pairs of tools of
    which no turn begins with the second once the first was called, how often a change can be made, and what is left.
    """

    closed: dict[Step, str] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    barred: frozenset[Step] = frozenset()
    repeats: dict[str, int] = field(default_factory=dict)
    left: str = ""


async def rehearse(
    graph: Graph, stock: Stock, *, seed: int, tries: int = TRIES, seconds: float = SECONDS, of_deeds: bool = False
) -> Rehearsed:
    """Try tools, edges, pairs and repetitions; where nothing can be reset, only what reads is tried.

    `of_deeds` leaves out pairs and repetitions, which no chain of one deed has.

    It ends after so many calls that were tried, or seconds on the world's clock, and says what it did not come to.
    """
    trial = _Trial(stock, seed, tries, stock.world.now() + seconds)
    found = trial.found
    changing = [tool for tool in graph.tools if stock.card(tool).writes is not False and stock.pool.of(tool)]
    for tool in graph.tools if stock.rules else ():
        ways = ways_to(tool, stock) if trial.is_safe(tool) else []
        if ways and trial.goes_on("tools") and (why := await trial.vain(ways, Memory())):
            found.unfit[tool] = why
    ends = {RUN_CONVERSATION, END_OF_SIMULATION}
    for source, target in [(one.source, one.target) for one in graph.edges if not {one.source, one.target} & ends][
        :EDGES
    ]:
        ways = [(*way, target) for way in ways_to(source, stock)] if trial.is_safe(source, target) else []
        if not ways or {source, target} & found.unfit.keys() or not trial.goes_on("edges"):
            continue
        memory = Memory()
        if why := await trial.vain(ways, memory):
            found.closed[source, target] = why
        stock.unsteady.update(one for one in memory.unsteady if one[:2] == (source, target))
    if stock.world.resettable and not of_deeds:
        pairs = [(one, other) for one in changing for other in graph.tools if one != other and trial.share(one, other)]
        for pair in pairs[:PAIRS]:
            is_fit = found.unfit.keys().isdisjoint(pair)
            if (
                is_fit
                and trial.goes_on("pairs of calls")
                and not await trial.bears((pair[0], RUN_CONVERSATION, pair[1]))
            ):
                found.barred |= {pair}
        for tool in changing[:PAIRS]:
            if tool not in found.unfit and trial.goes_on("repeated changes"):
                found.repeats[tool] = await trial.repeats(tool)
    if trial.skipped:
        left = ", ".join(f"{count} {what}" for what, count in trial.skipped.items())
        found.left = f"not rehearsed: {left} ({trial.why}); walks that they do not bear are lost instead"
    return found


def ways_to(tool: str, stock: Stock) -> list[Way]:
    """Give the tools to call until a tool can be: itself alone, or behind others, each way once."""
    pool = stock.pool
    behind = dict.fromkeys(tuple(one.tool for one in pool.chain(entry)) for entry in pool.behind(tool))
    return [(tool,)] if pool.of(tool) else list(behind)[:_WAYS]


@dataclass
class _Trial:
    """A rehearsal at work: what it found, and what is left of its tries and its time."""

    stock: Stock
    seed: int
    tries: int
    until: float
    found: Rehearsed = field(default_factory=Rehearsed)
    skipped: Counter[str] = field(default_factory=Counter)
    why: str = ""

    def goes_on(self, what: str) -> bool:
        """Whether another thing may be tried; else it is counted as skipped."""
        if self.tries > 0 and self.stock.world.now() < self.until:
            return True
        self.why = self.why or ("all tries are used up" if self.tries <= 0 else "the time is used up")
        self.skipped[what] += 1
        return False

    def is_safe(self, *tools: str) -> bool:
        """Whether calls of tools leave nothing behind."""
        return self.stock.world.resettable or all(self.stock.card(tool).writes is False for tool in tools)

    def share(self, first: str, second: str) -> bool:
        """Whether verified calls of two tools name the same thing."""
        return not set(self._things(first)).isdisjoint(self._things(second))

    async def repeats(self, tool: str) -> int:
        """Give how often a change can be made in one conversation."""
        most = min(REPEATS, len(self.stock.pool.of(tool)))
        count = 1
        while count < most and await self.bears((*(tool, RUN_CONVERSATION) * count, tool)):
            count += 1
        return count

    async def vain(self, ways: list[Way], memory: Memory) -> str:
        """Give why none of the ways can be hydrated, "" where one can."""
        why = ""
        for way in ways:
            if not (why := await self._lost(way, f"rehearsal/{self.seed}/{way}", memory)):
                break
        return why

    async def bears(self, nodes: Way) -> bool:
        """Whether the world bears these turns."""
        return not await self._lost(nodes, f"bears/{self.seed}/{(RUN_CONVERSATION, *nodes)}", Memory())

    async def _lost(self, nodes: Way, seed: str, memory: Memory) -> str:
        """Give why turns cannot be hydrated, "" where they can; what was tried for them is used up."""
        walk = Walk(id="rehearsal", nodes=(RUN_CONVERSATION, *nodes, RUN_CONVERSATION, END_OF_SIMULATION))
        random, before = Random(seed), memory.tries  # noqa: S311 - a choice, no secret
        try:
            await hydrate(walk, self.stock, random, attempts=_ATTEMPTS, tries=_TRIES, memory=memory)
        except HydrationError as error:
            return f"tried in vain: {error.reason}"
        finally:
            self.tries -= memory.tries - before
        return ""

    def _things(self, tool: str) -> Iterator[str]:
        """Yield what calls of a tool name; what every call of any tool has, such as one folder, names nothing."""
        for entry in self.stock.pool.of(tool):
            for path, value in read_slots(entry.arguments).items():
                is_thing = isinstance(value, str) or (is_number(value) and abs(value) > 1)
                if is_thing and name_of(path) not in self.stock.context:
                    yield str(value)
