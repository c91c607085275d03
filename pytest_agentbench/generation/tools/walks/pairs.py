"""The rehearsal of pairs: what the world does not bear after a change is found out before walks are drawn.

A contract that was closed is not prolonged, a room is not booked twice. Tried is each change with each tool whose
verified calls name the same things; what takes more than a pair is learnt from the walks that it costs.
"""

from collections.abc import Iterator
from random import Random

from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.stock import Stock, last_name
from pytest_agentbench.generation.tools.stories.hydration import hydrate
from pytest_agentbench.generation.tools.stories.narrator import TemplateNarrator
from pytest_agentbench.generation.tools.stories.telling import HydrationError
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk

MOST = 100
"""Pairs that are tried; of larger services the rest is learnt from walks that are lost."""
REPEATS = 4
"""Times that one call is tried in a conversation; a person does not do the same more often."""
_ATTEMPTS = 8
"""Times that a pair is tried."""


async def most_repeats(graph: Graph, stock: Stock, *, seed: int) -> dict[str, int]:
    """Give how often in one conversation each tool that changes something can be called, up to `REPEATS` times."""
    found: dict[str, int] = {}
    if not stock.world.resettable:
        return found
    for tool in [tool for tool in graph.tools if stock.card(tool).writes is not False and stock.pool.of(tool)][:MOST]:
        found[tool] = 1
        while found[tool] < min(REPEATS, len(stock.pool.of(tool))):
            nodes = (RUN_CONVERSATION, tool) * (found[tool] + 1)
            if not await _bears(nodes, stock, f"repeats/{seed}/{tool}"):
                break
            found[tool] += 1
    return found


async def barred_pairs(graph: Graph, stock: Stock, *, seed: int) -> frozenset[tuple[str, str]]:
    """Give the pairs of tools of which no turn begins with the second once the first was called; no model is asked.

    Where the environment cannot be reset, nothing is tried.
    """
    found: set[tuple[str, str]] = set()
    if not stock.world.resettable:
        return frozenset()
    changing = [tool for tool in graph.tools if stock.card(tool).writes is not False and stock.pool.of(tool)]
    pairs = [(one, other) for one in changing for other in graph.tools if one != other and _share(one, other, stock)]
    for first, second in pairs[:MOST]:
        if not await _bears(
            (RUN_CONVERSATION, first, RUN_CONVERSATION, second), stock, f"bars/{seed}/{first}/{second}"
        ):
            found.add((first, second))
    return frozenset(found)


async def _bears(nodes: tuple[str, ...], stock: Stock, seed: str) -> bool:
    random = Random(seed)  # noqa: S311 - a choice, no secret
    walk = Walk(id="rehearsal", nodes=(*nodes, RUN_CONVERSATION, END_OF_SIMULATION))
    try:
        await hydrate(walk, stock, TemplateNarrator(random), language="en", random=random, attempts=_ATTEMPTS)
    except HydrationError:
        return False
    return True


def _share(first: str, second: str, stock: Stock) -> bool:
    """Whether verified calls of two tools name the same thing."""
    return not set(_things(first, stock)).isdisjoint(_things(second, stock))


def _things(tool: str, stock: Stock) -> Iterator[str]:
    """Yield what calls of a tool name; what every call of any tool has, such as one folder, names nothing."""
    for entry in stock.pool.of(tool):
        for path, value in read_slots(entry.arguments).items():
            if last_name(path) in stock.context:
                continue
            if isinstance(value, str) or (is_number(value) and abs(value) > 1):
                yield str(value)
