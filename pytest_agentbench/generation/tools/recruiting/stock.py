"""What stories are made of, and the turns of a walk."""

from dataclasses import dataclass, field
from functools import cached_property

from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.recruiting.watching import Watch, watch_of
from pytest_agentbench.generation.tools.stories.handles import Handles
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Card, Cards, Taxonomy, Walk
from pytest_agentbench.generation.tools.world import World

Lost = tuple[str, str, str]
"""A value that is another one in each environment: the tool that gave it, the tool and the argument that took it."""


@dataclass(frozen=True, kw_only=True)
class Stock:
    """What stories are made of; `conditioned` makes it improbable that a story says again what it has said.

    `lost` are values that the rehearsal found to be of one environment alone.
    """

    world: World
    cards: Cards
    taxonomy: Taxonomy
    pool: Pool
    conditioned: bool = False
    lost: set[Lost] = field(default_factory=set)

    @cached_property
    def handles(self) -> Handles:
        """What people call the entries of the pool."""
        lookups = {spec.name for spec in self.world.toolset.of("assistant") if spec.kind == "read"}
        return Handles(self.pool, self.cards, self.taxonomy, lookups=lookups)

    @cached_property
    def watch(self) -> Watch:
        """What tells whether a change did anything."""
        return watch_of(self.pool, self.cards)

    @cached_property
    def visible(self) -> frozenset[str]:
        """The tools that destroy something, of which reads told."""
        return frozenset(entry.tool for entry in self.pool.entries if entry.seen)

    @cached_property
    def context(self) -> dict[str, JsonValue]:
        """What every call takes and always with the same value: said once, everybody knows it."""
        calls = [read_slots(entry.arguments) for entry in self.pool.entries if entry.arguments]
        named = [{last_name(path): value for path, value in slots.items()} for slots in calls]
        first = named[0] if len({entry.tool for entry in self.pool.entries if entry.arguments}) > 1 else {}
        return {
            name: value for name, value in first.items() if all(name in one and same(one[name], value) for one in named)
        }

    def card(self, tool: str) -> Card:
        """Give a tool's card; a tool without one has an empty card."""
        return self.cards.get(tool) or Card(tool=tool)


def last_name(path: str) -> str:
    """Give the name of an argument by its path."""
    return path.removesuffix(".*").rsplit(".", 1)[-1]


def turns_of(walk: Walk) -> list[tuple[list[str], str]]:
    """Cut a walk into the user's turns: the tools called in each, and where it leads."""
    turns: list[tuple[list[str], str]] = []
    tools: list[str] = []
    for node in walk.nodes[1:]:
        if node not in (RUN_CONVERSATION, END_OF_SIMULATION):
            tools.append(node)
        elif tools:
            turns.append((tools, node))
            tools = []
    if turns:
        turns[-1] = (turns[-1][0], END_OF_SIMULATION)
    return turns
