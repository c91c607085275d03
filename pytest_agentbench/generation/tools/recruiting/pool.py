"""The pool: calls that were made and answered as they should, the only source of arguments beside earlier results.

What destroys something is watched by reads before and after it: servers answer that a thing was deleted which never
was. Nobody asks for that, nor speaks of what was just removed. What is made may lie where none of the reads looks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import JsonValue, is_number
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.generation.tools.data_types import Card, Cards, PoolEntry
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.world import Answer, Opened

_CLOSE = 0.05
"""Difference up to which two decimal numbers are of one thing: five kilometres in degrees, a few cents."""
FAILURE = "!"
"""What ids of entries hold whose answer is a planned failure: an empty one, or a refusal without an error flag."""


class Pool(Model):
    """Verified calls, in the order in which they were found."""

    entries: tuple[PoolEntry, ...] = ()

    def of(self, tool: str) -> tuple[PoolEntry, ...]:
        """Give the entries of a tool that did what it is for, in an environment in which nothing had been done."""
        return self._by_tool.get((tool, "alone"), ())

    def behind(self, tool: str) -> tuple[PoolEntry, ...]:
        """Give the entries of a tool that did what it is for after the call of another entry."""
        return self._by_tool.get((tool, "behind"), ())

    def failures(self, tool: str) -> tuple[PoolEntry, ...]:
        """Give the entries of a tool whose answer is a failure that a user may run into."""
        return self._by_tool.get((tool, "failure"), ())

    def chain(self, entry: PoolEntry) -> tuple[PoolEntry, ...]:
        """Give the entries whose calls come before that of an entry, in their order, and the entry."""
        found = [entry]
        while found[0].after and (before := self.get(found[0].after)) is not None and before not in found:
            found.insert(0, before)
        return tuple(found)

    def sources(self, tool: str) -> frozenset[str]:
        """Give the tools behind whose calls those of a tool were found to work."""
        before = [self.get(entry.after) for entry in self.behind(tool)]
        return frozenset(entry.tool for entry in before if entry is not None)

    def of_session(self, opener: str) -> "Pool":
        """Give the entries that work in the session that an entry opens, all where it is ""."""
        return (
            self._by_session.setdefault(
                opener, Pool(entries=tuple(one for one in self.entries if one.opener in ("", opener)))
            )
            if opener
            else self
        )

    def get(self, name: str) -> PoolEntry | None:
        """Find an entry by its id."""
        return self._by_id.get(name)

    @cached_property
    def _by_session(self) -> dict[str, "Pool"]:
        return {}

    @cached_property
    def _by_id(self) -> dict[str, PoolEntry]:
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def _by_tool(self) -> dict[tuple[str, str], tuple[PoolEntry, ...]]:
        found: dict[tuple[str, str], list[PoolEntry]] = {}
        for entry in self.entries:
            kind = "failure" if FAILURE in entry.id else "behind" if entry.after else "alone"
            found.setdefault((entry.tool, kind), []).append(entry)
        return {key: tuple(entries) for key, entries in found.items()}


def call_key(tool: str, arguments: JsonValue) -> str:
    """Give what is equal for equal calls, in whatever order arguments stand."""
    ordered = dict(sorted(arguments.items())) if isinstance(arguments, dict) else arguments
    return f"{tool} {dumps(ordered)}"


def distinct(entries: Iterable[PoolEntry]) -> list[PoolEntry]:
    """Give the first of entries that are alike."""
    kept: list[PoolEntry] = []
    for entry in entries:
        if not any(alike(entry.arguments, other.arguments) for other in kept):
            kept.append(entry)
    return kept


def alike(left: Mapping[str, JsonValue], right: Mapping[str, JsonValue]) -> bool:
    """Whether two sets of arguments mean the same to a person."""
    ours, theirs = read_slots(dict(left)), read_slots(dict(right))
    return ours.keys() == theirs.keys() and all(_alike(ours[path], theirs[path]) for path in ours)


def _alike(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return plain(left).replace("-", " ") == plain(right).replace("-", " ")
    if is_number(left) and is_number(right) and (isinstance(left, float) or isinstance(right, float)):
        return abs(left - right) <= _CLOSE
    return bool(left == right)


_MOST = 8
"""Reads that are made before and after each change."""

Seen = dict[str, str]
"""What each read says, by the id of its entry."""


@dataclass(frozen=True)
class Watched:
    """The answer to a call, whether reads answer otherwise after it (None: unknown), and the values that are gone."""

    answer: Answer
    changed: bool | None = None
    gone: frozenset[str] = frozenset()


@dataclass
class Watch:
    """Makes changes between reads; those that answer otherwise without a change tell nothing and are dropped."""

    reads: list[PoolEntry] = field(default_factory=list)
    _is_steady: bool = False

    async def call(self, opened: Opened, card: Card, arguments: Mapping[str, JsonValue]) -> Watched:
        """Make a call; only what destroys something is watched: what is made may be where no read looks."""
        if not card.destructive or not self.reads:
            return Watched(await opened.call(card.tool, arguments))
        before = await self._look(opened)
        if not self._is_steady:
            again = await self._look(opened)
            self.reads = [one for one in self.reads if before[one.id] == again[one.id]]
            self._is_steady = True
        answer = await opened.call(card.tool, arguments)
        after = await self._look(opened)
        said, says = ("\n".join(seen[one.id] for one in self.reads) for seen in (before, after))
        texts = {value for value in read_slots(dict(arguments)).values() if isinstance(value, str) and value}
        gone = frozenset(text for text in texts if text in said and text not in says)
        return Watched(answer, said != says if self.reads else None, gone)

    async def _look(self, opened: Opened) -> Seen:
        return {one.id: (await opened.call(one.tool, one.arguments)).content for one in self.reads}


def watch_of(pool: Pool, cards: Cards) -> Watch:
    """Give the watch over a pool: the first verified call of each tool that reads."""
    return Watch(first_reads(pool.entries, cards))


def first_reads(entries: Iterable[PoolEntry], cards: Cards) -> list[PoolEntry]:
    """Give the first call of each reading tool that works at once, those with fewest arguments first."""
    first: dict[str, PoolEntry] = {}
    for entry in entries:
        card = cards.get(entry.tool)
        if card is not None and card.writes is False and not entry.after:
            first.setdefault(entry.tool, entry)
    return sorted(first.values(), key=lambda one: len(read_slots(one.arguments)))[:_MOST]


def effective(entries: Sequence[PoolEntry], changed: Mapping[str, bool | None]) -> list[PoolEntry]:
    """Leave out the changes that changed nothing, where others of the tool did; mark those that were seen to.

    `changed` says of each call whether reads said anything else after it.
    """
    if not any(changed.get(one.id) for one in entries):
        return list(entries)
    return [one.model_copy(update={"seen": True}) for one in entries if changed.get(one.id)]
