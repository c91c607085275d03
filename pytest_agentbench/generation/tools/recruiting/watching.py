"""What reads say before and after a change: whether it did anything, and what is no longer there.

Servers answer that a thing was deleted which never was. Nobody asks for that, nor speaks of what was just removed. What
is made may lie where none of the reads looks, so only what destroys is watched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.values import Card, Cards, PoolEntry
from pytest_agentbench.generation.tools.world import Answer, Opened

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
