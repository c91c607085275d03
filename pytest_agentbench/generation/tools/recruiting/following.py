"""Calls that only work after others: each is verified behind a verified call that makes what it needs.

Where a service starts empty there is nothing to get, to change or to list. What it made a moment ago is there, so a
tool without a call that works at once is tried behind those of others, and their entries behind them in turn.
"""

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.replay import changed, substituted
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.recruiting.bench import Bench
from pytest_agentbench.generation.tools.recruiting.pool import Pool, call_key
from pytest_agentbench.generation.tools.recruiting.scouting import is_needed, is_sayable, trimmed
from pytest_agentbench.generation.tools.stories.flows import connecting
from pytest_agentbench.generation.tools.stories.propagation import Made, carried
from pytest_agentbench.generation.tools.values import Card, Cards, PoolEntry, Taxonomy
from pytest_agentbench.generation.tools.world import Opened

BEHIND = 4
"""Verified calls of a tool that are looked for behind calls of others."""
_ENVIRONMENTS = 8
"""Environments that one tool may use up in a round."""
_ROUNDS = 3
"""Times that tools without a call are gone through: calls behind others open the way for further ones."""
_LONGEST_CHAIN = 4
"""Calls in a row, the verified one included."""
_EACH = 2
"""Calls that are verified behind one and the same."""
_TRIED = 12
"""Calls that are tried in one environment."""
_LONGEST_RESULT = 200_000
"""Characters of a result that is kept."""

Arguments = dict[str, JsonValue]
Propose = Callable[[Card, Sequence[Arguments], Sequence[Arguments]], Awaitable[Sequence[Arguments]]]
"""Gives arguments for a card that are worth a try: what results suggest goes in, and what was proposed already."""


async def played(opened: Opened, chain: Sequence[PoolEntry], cards: Cards) -> tuple[list[Made], set[str]] | None:
    """Make verified calls again, one after the other, with the values of today; None where one does not work.

    With them go the values that are others today than they were.
    """
    made: list[Made] = []
    now: dict[str, JsonValue] = {}
    for entry in chain:
        arguments = substituted(entry.arguments, now)
        answer = await opened.call(entry.tool, arguments)
        if judge(answer).verdict != "ok":
            return None
        now |= changed(entry.content, answer.content)
        card = cards.get(entry.tool) or Card(tool=entry.tool)
        made.append(Made(card, arguments, parsed(answer.content), answer.content, 0))
    return made, set(map(str, now.values()))


@dataclass(kw_only=True)
class Follower:
    """Looks for calls behind those of a pool; `propose` gives arguments to try."""

    bench: Bench
    cards: Cards
    taxonomy: Taxonomy
    propose: Propose
    told: Callable[[str], None] = lambda _: None
    _found: dict[str, list[PoolEntry]] = field(default_factory=dict)
    _tried_behind: dict[str, set[str]] = field(default_factory=dict)

    async def follow(self, cards: Sequence[Card], known: Mapping[str, Sequence[PoolEntry]]) -> list[PoolEntry]:
        """Give calls of the tools that have none in what is `known`, each after an entry that is known or given."""
        for _ in range(_ROUNDS):
            grown = False
            for card in cards:
                if not known.get(card.tool) and len(self._found.get(card.tool, ())) < BEHIND:
                    grown |= await self._tried(card, known)
            if not grown:
                break
        return [entry for card in cards for entry in self._found.get(card.tool, ())]

    async def _tried(self, card: Card, known: Mapping[str, Sequence[PoolEntry]]) -> bool:
        entries = self._found.setdefault(card.tool, [])
        before = len(entries)
        pool = Pool(entries=tuple(itertools.chain(*known.values(), *self._found.values())))
        tried = self._tried_behind.setdefault(card.tool, set())
        chains = [pool.chain(one) for one in self._starts(card, pool) if one.id not in tried]
        short = [chain for chain in chains if len(chain) < _LONGEST_CHAIN]
        for chain in sorted(short, key=lambda one: -self._covered(card, one))[:_ENVIRONMENTS]:
            if len(entries) >= BEHIND:
                break
            tried.add(chain[-1].id)
            entries += await self._behind(card, chain, len(entries))
        if len(entries) > before:
            self.told(f"{card.tool}: {len(entries)} verified calls behind others")
        return len(entries) > before

    async def _behind(self, card: Card, chain: Sequence[PoolEntry], number: int) -> list[PoolEntry]:
        """Give calls that work once those of a chain were made."""
        found: list[PoolEntry] = []
        async with self.bench.fresh() as opened:
            again = await played(opened, chain, self.cards)
            if again is None:
                return []
            made, of_today = again
            for arguments in await self._candidates(card, made):
                if of_today.intersection(map(str, read_slots(arguments).values())):
                    continue  # no scenario could expect what is another value in each environment
                answer = await opened.call(card.tool, arguments)
                if judge(answer).verdict != "ok" or len(answer.content) > _LONGEST_RESULT:
                    continue
                found.append(
                    PoolEntry(
                        id=f"{card.tool}.{number + len(found) + 1}",
                        tool=card.tool,
                        arguments=arguments,
                        content=answer.content,
                        result=parsed(answer.content),
                        after=chain[-1].id,
                    )
                )
                if card.writes is not False or len(found) == _EACH:
                    break
        return found

    async def _candidates(self, card: Card, made: Sequence[Made]) -> list[Arguments]:
        """Give arguments that are worth a try, those with most of what results give first."""
        needed = {one.path for one in card.parameters if is_needed(one)}
        rows = [one.values for one in carried(card, made, self.taxonomy)]
        rows = [{path: row[path] for path in row if path in needed} if needed else row for row in rows]
        suggested = [build(dict(row)) for row in rows[:3]]
        proposed = [trimmed(one, card) for one in await self.propose(card, suggested, ())]
        proposed += [trimmed(one, card) for one in await self.propose(card, suggested, proposed)]
        unique = {call_key("", one): one for one in [*suggested, *proposed] if is_sayable(one)}

        def of_results(arguments: Arguments) -> int:
            slots = read_slots(arguments)
            return max((sum(path in slots and same(slots[path], row[path]) for path in row) for row in rows), default=0)

        return sorted(unique.values(), key=lambda one: -of_results(one))[:_TRIED]

    def _covered(self, card: Card, chain: Sequence[PoolEntry]) -> int:
        """Count the needed arguments that results of a chain may give."""
        tools = {entry.tool for entry in chain}
        needed = {one.path for one in card.parameters if is_needed(one)}
        given = (one for one in self.taxonomy.types if any(place.tool in tools for place in one.produced))
        taken = {place.path for one in given for place in one.consumed if place.tool == card.tool}
        return len(needed & taken)

    def _starts(self, card: Card, pool: Pool) -> list[PoolEntry]:
        """Give the entries behind which a tool is tried: one of each tool in turn, those first that lead to it."""
        enabling = [one.source for one in self.cards.enablings if one.target == card.tool]
        typed = [one.tool for one in self.cards.cards if connecting(self.taxonomy, one.tool, card.tool)]
        makers = [one.tool for one in self.cards.cards if one.writes is not False and not one.destructive]
        order = [*(tool for tool in enabling if tool not in typed), *sorted(typed, key=lambda tool: tool not in makers)]
        order += [tool for tool in makers if tool not in order]
        rows = [[*pool.of(tool), *pool.behind(tool)] for tool in dict.fromkeys(order) if tool != card.tool]
        return [one for turn in itertools.zip_longest(*rows) for one in turn if one is not None]
