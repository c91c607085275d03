"""What stories are made of, and the turns of a walk."""

from dataclasses import dataclass, field
from functools import cached_property

from pytest_agentbench.generation.tools.recruiting.pool import Pool
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

    def card(self, tool: str) -> Card:
        """Give a tool's card; a tool without one has an empty card."""
        return self.cards.get(tool) or Card(tool=tool)


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
