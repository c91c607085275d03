"""What walks are hydrated with, and what attempts at one walk learn: calls that fail, or lead nowhere, moving values.

The world is the same in each attempt, so a call fails again after the same changes; after others it may work. Reads
change nothing and count only by what is taken from them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.state import State
from pytest_agentbench.generation.draft import Draft, Reason, Turn
from pytest_agentbench.generation.owned_rows import CallRecord
from pytest_agentbench.generation.ownership import Ownership, conflicts, mixed_owners, ownership_of
from pytest_agentbench.generation.tools.data_types import (
    Card,
    Cards,
    PoolEntry,
    Taxonomy,
)
from pytest_agentbench.generation.tools.hydration.arguments import Changes, Executed
from pytest_agentbench.generation.tools.hydration.display_names import Handles
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.pool import FAILURE, Pool, Watch, call_key, distinct, watch_of
from pytest_agentbench.generation.tools.world import World
from pytest_agentbench.validation.world_values import scalars

Unsteady = tuple[str, str, str]
"""A value that is another one in each environment: the tool that gave it, the tool that took it ("" for the user), and
the argument, or where it stands."""


class HydrationError(Exception):
    """A walk cannot be hydrated: for which reason (a few words), and in detail.

    `turns` are those that came before, in the attempt that came furthest.
    """

    def __init__(self, reason: Reason, detail: str = "", turns: Sequence[Turn] = ()) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.turns = tuple(turns)


@dataclass
class Memory:
    """What is not tried again; `is_over` where nothing else is left, `reached` how many calls an attempt made.

    `tries` counts the calls that were tried in all attempts, those among them that a rule did not let be made too.
    """

    unsteady: set[Unsteady] = field(default_factory=set)
    is_over: bool = False
    tries: int = 0
    reached: int = 0
    _failed: set[tuple[Changes, str]] = field(default_factory=set)
    _barren: set[tuple[int, Changes, str]] = field(default_factory=set)

    def failed(self, changes: Changes, key: str) -> None:
        """Note that a call fails after these changes."""
        self._failed.add((changes, key))

    def may_try(self, place: int, changes: Changes, key: str) -> bool:
        """Whether nothing is known against a call at this place after these changes."""
        return (changes, key) not in self._failed and (place, changes, key) not in self._barren

    def barren(self, place: int, call: Executed) -> None:
        """Note that a call leads nowhere at its place."""
        self._barren.add((place, call.changes, call.key))

    def stuck(self, made: Sequence[Executed], tool: str) -> None:
        """Note that no call of a tool was left after these, by the last change, else by the tool's own last call."""
        blamed = [place for place, one in enumerate(made) if one.writes]
        blamed = blamed or [place for place, one in enumerate(made) if one.card.tool == tool]
        if blamed:
            self.barren(blamed[-1], made[blamed[-1]])
        else:
            self.is_over = True


def changes_of(made: Iterable[Executed]) -> Changes:
    """Give the changes among calls."""
    return tuple(one.key for one in made if one.writes)


@dataclass
class Usage:
    """How often accepted drafts named each value, so that later ones are about something else."""

    _named: Counter[str] = field(default_factory=Counter)

    def note(self, draft: Draft) -> None:
        """Count what the calls of a draft name, and whom it is about, each value once."""
        named = {str(value) for call in draft.calls for value in read_slots(dict(call.call.arguments)).values()}
        self._named.update(named | {str(draft.owner.key)})

    def of(self, arguments: Mapping[str, JsonValue]) -> int:
        """Give how often the texts of a call were named, added up."""
        return sum(self._named[text] for _, text in scalars(arguments) if isinstance(text, str))


@dataclass(frozen=True, kw_only=True)
class Stock:
    """What walks are hydrated with; `conditioned` makes it improbable that a draft says again what it has said, and
    `once` says that a user speaks once.

    `state` is the initial one, None where it cannot be read. `unsteady` are values that are others in each environment.
    """

    world: World
    cards: Cards
    taxonomy: Taxonomy
    pool: Pool
    rules: SuiteRules
    state: State | None = None
    conditioned: bool = False
    once: bool = False
    unsteady: set[Unsteady] = field(default_factory=set)

    @cached_property
    def handles(self) -> Handles:
        """The names by which users speak of the things that verified calls are about."""
        lookups = {spec.name for spec in self.world.toolset.of("assistant") if spec.kind == "read"}
        return Handles(self.pool, self.cards, self.taxonomy, lookups=lookups)

    @cached_property
    def ownership(self) -> Ownership:
        """Whom things belong to.

        What verified changes made is not there when a walk begins, so it is left out, and so is what found nothing.
        """
        found = (entry for entry in self.pool.entries if FAILURE not in entry.id)
        entries = [(entry, self.record(entry)) for entry in found]
        return ownership_of(
            [self.state], [replace(one, result=None) if one.writes or entry.after else one for entry, one in entries]
        )

    def mixed(self, calls: Sequence[CallRecord]) -> Iterator[tuple[int, str]]:
        """Yield the calls about another one than those before, with the reason: by all verified calls, and by the state
        and these calls alone, as acceptance has it.
        """
        before = [replace(one, result=None) if one.writes else one for one in calls]
        alone = [ownership_of([to_json(self.state)], before)] if self.state is not None else []
        for known in (self.ownership, *alone):
            yield from mixed_owners(known, calls)

    def record(self, entry: PoolEntry) -> CallRecord:
        """Give a verified call as it counts for ownership."""
        return CallRecord(entry.tool, entry.arguments, entry.result, self.card(entry.tool).writes is not False)

    def most_of_one(self, tool: str) -> int:
        """Count the verified calls of a tool that one conversation can make: those about one owner, and about none."""
        openers = {entry.opener for entry in self.pool.of(tool)} - {""}
        if openers:
            return max(len(distinct(self.pool.of_session(one).of(tool))) for one in openers)
        every = [self.ownership.about(self.record(entry)) for entry in distinct(self.pool.of(tool))]
        owned = [one for one in every if one.people]
        shared = (sum(not conflicts(one, [other])[0] for one in owned) for other in owned)
        return len(every) - len(owned) + max(shared, default=0)

    @cached_property
    def openers(self) -> frozenset[str]:
        """The tools whose calls open a session."""
        return frozenset(card.opener for card in self.cards.cards) - {""}

    def session(self, made: Iterable[Executed]) -> str:
        """Give the entry that opened the session in which these calls were made, "" where none is open."""
        opened = {one.key for one in made if one.card.tool in self.openers}
        entries = (one for tool in sorted(self.openers) for one in self.pool.of(tool))
        return next((one.id for one in entries if call_key(one.tool, one.arguments) in opened), "")

    def watch(self, session: str) -> Watch:
        """Give what tells in a session whether a change did anything."""
        calls = (one for one in self.pool.of_session(session).entries if one.tool not in self.openers)
        return self._watches.setdefault(session, watch_of(Pool(entries=tuple(calls)), self.cards))

    @cached_property
    def _watches(self) -> dict[str, Watch]:
        return {}

    @cached_property
    def visible(self) -> frozenset[str]:
        """The tools that destroy something, of which reads told."""
        return frozenset(entry.tool for entry in self.pool.entries if entry.seen)

    def card(self, tool: str) -> Card:
        """Give a tool's card; a tool without one has an empty card."""
        return self.cards.get(tool) or Card(tool=tool)
