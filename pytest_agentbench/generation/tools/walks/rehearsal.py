"""The rehearsal: what the world, or a rule, does not bear is found out before walks are drawn; no model is asked.

A type may connect tools that the world keeps apart: the room of a booking is no room to book. A contract that was
closed is not prolonged. What several starts cannot bring about is not walked, and the report says why; a walk that
asks for more than the world bears ends where it stood.
"""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk
from pytest_agentbench.generation.tools.hydration.hydrate import hydrate
from pytest_agentbench.generation.tools.hydration.stock import HydrationError, Memory, Stock
from pytest_agentbench.generation.tools.walks.coverage import Step

EDGES = 400
"""Edges that are rehearsed; in larger graphs the others are found out by the walks that take them."""
_WAYS = 2
"""Ways to a tool that works only behind others, along which an edge from it is tried."""
_ATTEMPTS = 8
"""Times that a tool or an edge is tried."""
_TRIES = 60
"""Calls that are tried for one tool or edge."""
TRIES = 4_000
"""Calls that are tried in all; what is left then is found out by the walks that take it."""
SECONDS = 180.0
"""Seconds after which nothing more is rehearsed. Usual services take a tenth; it is for tools that answer slowly."""

Way = tuple[str, ...]


@dataclass
class Rehearsed:
    """What was found out: edges that lead nowhere and tools that cannot be called, with the reason; what is left."""

    closed: dict[Step, str] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    left: str = ""


async def rehearse(graph: Graph, stock: Stock, *, seed: int, tries: int = TRIES, seconds: float = SECONDS) -> Rehearsed:
    """Try tools and edges; where nothing can be reset, only what reads is tried.

    It ends after so many calls that were tried, or seconds on the world's clock, and says what it did not come to.
    """
    trial = _Trial(stock, seed, tries, stock.world.now() + seconds)
    found = trial.found
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

    async def vain(self, ways: list[Way], memory: Memory) -> str:
        """Give why none of the ways can be hydrated, "" where one can; what was tried for them is used up."""
        why, before = "", memory.tries
        for way in ways:
            walk = Walk(id="rehearsal", nodes=(RUN_CONVERSATION, *way, RUN_CONVERSATION, END_OF_SIMULATION))
            random = Random(f"rehearsal/{self.seed}/{way}")  # noqa: S311 - a choice, no secret
            try:
                await hydrate(walk, self.stock, random, attempts=_ATTEMPTS, tries=_TRIES, memory=memory)
                why = ""
                break
            except HydrationError as error:
                why = f"tried in vain: {error.reason}"
        self.tries -= memory.tries - before
        return why
