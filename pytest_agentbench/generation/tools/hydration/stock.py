"""What walks are hydrated with, and the turns of a walk."""

from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_agentbench.core.state import State
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.ownership import CallRecord, Ownership, conflicts, ownership_of
from pytest_agentbench.generation.tools.hydration.memory import Unsteady
from pytest_agentbench.generation.tools.hydration.names import Handles
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.generation.tools.labels import name_of
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.pool import Pool, distinct
from pytest_agentbench.generation.tools.recruiting.watching import Watch, watch_of
from pytest_agentbench.generation.tools.values import (
    Card,
    Cards,
    PoolEntry,
    Taxonomy,
)
from pytest_agentbench.generation.tools.world import World


@dataclass(frozen=True, kw_only=True)
class Stock:
    """What walks are hydrated with; `conditioned` makes it improbable that a draft says again what it has said.

    `state` is the initial one, None where it cannot be read. `unsteady` are values that are others in each environment.
    """

    world: World
    cards: Cards
    taxonomy: Taxonomy
    pool: Pool
    rules: SuiteRules
    state: State | None = None
    conditioned: bool = False
    unsteady: set[Unsteady] = field(default_factory=set)

    @cached_property
    def handles(self) -> Handles:
        """The names by which users speak of the things that verified calls are about."""
        lookups = {spec.name for spec in self.world.toolset.of("assistant") if spec.kind == "read"}
        return Handles(self.pool, self.cards, self.taxonomy, lookups=lookups)

    @cached_property
    def ownership(self) -> Ownership:
        """Whom things belong to. What verified changes made is not there when a walk begins, so it is left out."""
        entries = [(entry, self.record(entry)) for entry in self.pool.entries]
        return ownership_of(
            [self.state], [replace(one, result=None) if one.writes or entry.after else one for entry, one in entries]
        )

    def record(self, entry: PoolEntry) -> CallRecord:
        """Give a verified call as it counts for ownership."""
        return CallRecord(entry.tool, entry.arguments, entry.result, self.card(entry.tool).writes is not False)

    def most_of_one(self, tool: str) -> int:
        """Count the verified calls of a tool that one conversation can make: those about one owner, and about none."""
        every = [self.ownership.about(self.record(entry)) for entry in distinct(self.pool.of(tool))]
        free = [one for one in every if not one.people]
        return len(free) + max(
            (sum(not conflicts(one, [other])[0] for one in every if one.people) for other in every if other.people),
            default=0,
        )

    def is_mixed(self, tool: str) -> bool:
        """Whether every verified call of a tool lists what belongs to several people."""
        entries = self.pool.of(tool)
        return bool(entries) and all(self.ownership.about(self.record(entry)).listed for entry in entries)

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
        """What every call takes and always with the same value, by name: it tells no thing from another."""
        entries = [entry for entry in self.pool.entries if entry.arguments]
        named = [{name_of(path): value for path, value in read_slots(entry.arguments).items()} for entry in entries]
        first = named[0] if len({entry.tool for entry in entries}) > 1 else {}
        return {
            name: value for name, value in first.items() if all(name in one and same(one[name], value) for one in named)
        }

    def card(self, tool: str) -> Card:
        """Give a tool's card; a tool without one has an empty card."""
        return self.cards.get(tool) or Card(tool=tool)
