"""The Recruiter: a pool of verified (arguments, result) pairs for each tool, each made on the real tools.

Tool-to-scenario (§4.4, D.2): a scout proposes ten sets of arguments a time, each is executed, and only those that are
answered as they should stay, until a tool has as many as asked for. The scout without a model takes the values that
the card saw accepted and those that results of other tools give.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.recruiting.basis import founded, is_opaque
from pytest_agentbench.generation.tools.recruiting.bench import Bench
from pytest_agentbench.generation.tools.recruiting.choosing import alike
from pytest_agentbench.generation.tools.recruiting.following import Follower
from pytest_agentbench.generation.tools.recruiting.pool import FAILURE, Pool, call_key
from pytest_agentbench.generation.tools.recruiting.scouting import (
    CANDIDATES,
    Scout,
    ScoutGiven,
    TemplateScout,
    holds,
    is_needed,
    is_sayable,
    trimmed,
)
from pytest_agentbench.generation.tools.recruiting.slips import slips
from pytest_agentbench.generation.tools.recruiting.watching import Watch, Watched, effective, first_reads
from pytest_agentbench.generation.tools.stories.flows import assignments, connecting
from pytest_agentbench.generation.tools.stories.handles import Handles
from pytest_agentbench.generation.tools.values import Card, Cards, PoolEntry, Taxonomy
from pytest_agentbench.generation.tools.wording.grounding import Grounds
from pytest_agentbench.generation.tools.world import Answer, World, how_to_reset

_ROUNDS = 4
"""Times that every tool is asked about: results of one round are values for the next."""
_LONGEST_RESULT = 200_000
"""Characters of a result that is kept: values are taken from it, and a scenario tells where."""
_LIMITS = frozenset(("boundary", "out_of_range", "observed", "proposed", "cross_parameter"))
"""Kinds of probes that may find nothing."""
_NAMED = 3
"""Calls about things that have names, from which on no others are kept."""
_FAILURES = 3
"""Planned failures kept for each tool."""


@dataclass(kw_only=True)
class Recruiter:
    """Fills the pool; `told` hears of each tool that has what was asked for."""

    world: World
    cards: Cards
    taxonomy: Taxonomy
    scout: Scout = field(default_factory=TemplateScout)
    size: int = 12
    may_write: bool = False
    allowed: frozenset[str] = frozenset()
    told: Callable[[str], None] = lambda _: None
    _entries: dict[str, list[PoolEntry]] = field(default_factory=dict)
    _refused: dict[str, list[dict[str, JsonValue]]] = field(default_factory=dict)
    _why: dict[str, str] = field(default_factory=dict)
    _changed: dict[str, bool | None] = field(default_factory=dict)
    _watch: Watch = field(default_factory=Watch)

    async def recruit(self, tools: Sequence[str]) -> tuple[Pool, dict[str, str]]:
        """Give the pool of the tools, and for each that stays without a verified call the reason."""
        cards = [card for tool in tools if (card := self.cards.get(tool)) is not None and self._may_call(card)]
        reads_first = sorted(cards, key=lambda card: card.writes is not False)
        async with Bench(self.world) as bench:
            for _ in range(_ROUNDS):
                grown = [await self._round(card, bench) for card in reads_first]
                if not any(grown):
                    break
            for card in reads_first:
                await self._by_name(card, bench)
            for card in (one for one in cards if one.destructive):
                self._entries[card.tool] = effective(self._entries[card.tool], self._changed)
            await self._check_elsewhere(cards, bench)
            failures = [entry for card in cards for entry in await self._failures(card, bench)]
            behind = await self._behind(cards, bench)
        found = [entry for tool in tools for entry in (*self._entries.get(tool, ()), *behind.get(tool, ()))]
        for tool in tools:
            if tool in behind:
                self._why.pop(tool, None)
            elif not self._entries.get(tool):
                self._why.setdefault(tool, "none of its calls was answered as it should")
        return Pool(entries=(*found, *failures)), {tool: self._why[tool] for tool in tools if tool in self._why}

    async def _check_elsewhere(self, cards: Sequence[Card], bench: Bench) -> None:
        """Drop reads that work only in the environment in which they were made, such as those of a run's folder."""
        if not self.world.resettable:
            return
        await bench.put_away()
        for card in cards:
            if card.writes is not False:
                continue
            entries = self._entries[card.tool]
            kept = [one for one in entries if judge(await bench.read(card.tool, one.arguments)).verdict == "ok"]
            if entries and not kept:
                self._why[card.tool] = "its calls hold values that are others in each environment"
            self._entries[card.tool] = kept

    async def _behind(self, cards: Sequence[Card], bench: Bench) -> dict[str, list[PoolEntry]]:
        """Give calls of the tools that have none, each after a call of another tool."""
        if not self.world.resettable:
            return {}

        async def propose(
            card: Card, suggested: Sequence[dict[str, JsonValue]], known: Sequence[dict[str, JsonValue]]
        ) -> Sequence[dict[str, JsonValue]]:
            given = self._given(card, suggested, have=known)
            found = (await self.scout(given)).candidates[:CANDIDATES]
            return [founded(one, card, self._known(card)) for one in found]

        follower = Follower(bench=bench, cards=self.cards, taxonomy=self.taxonomy, propose=propose, told=self.told)
        found: dict[str, list[PoolEntry]] = {}
        based = {card.tool: [one for one in self._entries[card.tool] if not self._is_baseless(one)] for card in cards}
        for entry in await follower.follow(cards, based):
            found.setdefault(entry.tool, []).append(entry)
        self._entries.update((tool, based[tool]) for tool in found)
        return found

    def _is_coded(self, arguments: dict[str, JsonValue], card: Card) -> bool:
        """Whether a call needs a code that nobody remembers; it is made behind what gives the code, or by a name."""
        known = self._known(card)
        return self.world.resettable and any(
            is_opaque(value) and value not in known.get(path, ()) for path, value in read_slots(arguments).items()
        )

    def _is_baseless(self, entry: PoolEntry) -> bool:
        """Whether a change is of what nobody has: a made-up value where one that another tool gives belongs."""
        card = self.cards.get(entry.tool)
        if card is None or card.writes is False:
            return False
        taken = {
            place.path
            for one in self.taxonomy.types
            if any(place.tool != card.tool for place in one.produced)
            for place in one.consumed
            if place.tool == card.tool
        }
        slots = read_slots(entry.arguments)
        return holds(build({path: value for path, value in slots.items() if path in taken}), self._made_up(card))

    def _given(
        self, card: Card, suggested: Sequence[dict[str, JsonValue]], have: Sequence[dict[str, JsonValue]]
    ) -> ScoutGiven:
        """Give what a scout sees of a tool; what results suggest is not made up."""
        grounds = {value for one in suggested for value in read_slots(one).values() if isinstance(value, str)}
        return ScoutGiven(
            card=card,
            suggested=tuple(suggested),
            have=tuple(have),
            known=self._known(card),
            made_up=tuple(text for text in self._made_up(card) if text not in grounds),
        )

    def _may_call(self, card: Card) -> bool:
        if not card.called:
            self._why[card.tool] = card.partial
            return False
        if (
            card.writes is False
            or self.world.resettable
            or card.tool in self.allowed
            or (self.may_write and not card.destructive)
        ):
            return True
        what = "destroys" if card.destructive else "changes"
        how = how_to_reset(self.world.spec)
        self._why[card.tool] = f"it {what} what cannot be reset: {how} (`allow_writes: true` makes writes all the same)"
        return False

    async def _round(self, card: Card, bench: Bench) -> bool:
        entries = self._entries.setdefault(card.tool, [])
        refused = self._refused.setdefault(card.tool, [])
        before = len(entries)
        if before >= self.size:
            return False
        given = ScoutGiven(
            card=card,
            suggested=tuple(self._suggested(card)),
            have=tuple(entry.arguments for entry in entries),
            refused=tuple(refused),
            known=self._known(card),
            made_up=self._made_up(card),
        )
        proposed = await self.scout(given)
        known = {call_key("", arguments) for arguments in (*given.have, *given.refused)}
        for candidate in proposed.candidates[:CANDIDATES]:
            arguments = founded(trimmed(candidate, card), card, self._known(card))
            key = call_key("", arguments)
            is_known = key in known or any(alike(arguments, entry.arguments) for entry in entries)
            if len(entries) >= self.size or is_known or not is_sayable(arguments) or self._is_coded(arguments, card):
                continue
            known.add(key)
            watched = await self._call(card, arguments, bench)
            answer, judged = watched.answer, judge(watched.answer)
            if judged.verdict == "ok" and len(answer.content) <= _LONGEST_RESULT:
                entries.append(_entry(card.tool, f"{card.tool}.{len(entries) + 1}", arguments, answer))
                self._changed[entries[-1].id] = watched.changed
            else:
                refused.append(arguments)
                self._why[card.tool] = f"its calls are not answered as they should: {judged.reason or judged.verdict}"
        if entries:
            self._why.pop(card.tool, None)
        if len(entries) > before:
            self.told(f"{card.tool}: {len(entries)} verified calls")
        return len(entries) > before

    async def _by_name(self, card: Card, bench: Bench) -> None:
        """Make the calls that names lead to; with enough of them keep no others, of which nobody could speak."""
        entries = self._entries[card.tool]
        handles = Handles(
            Pool(entries=tuple(itertools.chain.from_iterable(self._entries.values()))), self.cards, self.taxonomy
        )
        named = [entry for entry in entries if handles.of(entry) is not None]
        known = {call_key("", arguments) for arguments in self._refused[card.tool]}
        known |= {call_key("", entry.arguments) for entry in entries}
        number = len(entries)
        for arguments in handles.calls(card):
            key = call_key("", arguments)
            is_whole = all(one.path in read_slots(arguments) for one in card.parameters if is_needed(one))
            if len(named) >= self.size or not is_whole or key in known:
                continue
            known.add(key)
            watched = await self._call(card, arguments, bench)
            if judge(watched.answer).verdict == "ok" and len(watched.answer.content) <= _LONGEST_RESULT:
                number += 1
                named.append(_entry(card.tool, f"{card.tool}.{number}", arguments, watched.answer))
                self._changed[named[-1].id] = watched.changed
        if len(named) >= _NAMED:
            self._entries[card.tool] = named

    async def _call(self, card: Card, arguments: dict[str, JsonValue], bench: Bench) -> Watched:
        """Call a read where reads are made, anything else in an environment of its own, between reads."""
        if card.writes is False:
            return Watched(await bench.read(card.tool, arguments))
        reads = itertools.chain.from_iterable(self._entries.values())
        self._watch = self._watch if self._watch.reads else Watch(first_reads(reads, self.cards))
        async with bench.fresh() as fresh:
            return await self._watch.call(fresh, card, arguments)

    def _known(self, card: Card) -> dict[str, tuple[JsonValue, ...]]:
        """Give what recipe and state name for the arguments of a tool, by path."""
        hints = self.world.hints
        found = {}
        for parameter in card.parameters:
            name = next((part for part in reversed(parameter.path.split(".")) if part != "*"), parameter.path)
            values = hints.get(f"{card.tool}.{name}", hints.get(name))
            if values is not None:
                found[parameter.path] = tuple(values)
        return found

    def _made_up(self, card: Card) -> tuple[str, ...]:
        """Give the texts a tool was probed with that stand in no description, no hint and no other tool's result."""
        grounds = Grounds()
        for one in self.cards.cards:
            grounds.add([one.declared_description, *(parameter.schema_ for parameter in one.parameters)])
            for probe in one.probes:
                own = [value for value in read_slots(probe.arguments).values() if isinstance(value, str)]
                if probe.verdict == "ok" and not any(value and value in probe.content for value in own):
                    grounds.add(parsed(probe.content))
        grounds.add([list(values) for values in self.world.hints.values()])
        texts = {value for parameter in card.parameters for value in parameter.accepted if isinstance(value, str)}
        texts |= {
            value for probe in card.probes for value in read_slots(probe.arguments).values() if isinstance(value, str)
        }
        return tuple(sorted(text for text in texts if not grounds.says(text)))

    def _suggested(self, card: Card) -> Iterator[dict[str, JsonValue]]:
        """Give what results in the pool give this tool, one of each result in turn.

        What a change made is not there where an environment has just opened, so it suggests nothing.
        """
        rows: list[list[dict[str, JsonValue]]] = []
        for source in sorted(self._entries):
            maker = self.cards.get(source)
            if self.world.resettable and maker is not None and maker.writes is not False:
                continue
            types = connecting(self.taxonomy, source, card.tool)
            rows += [
                [
                    dict(one.arguments)
                    for one in assignments(types, source, entry.result, card, arguments=entry.arguments)[:CANDIDATES]
                ]
                for entry in (self._entries[source] if types else ())
            ]
        for place in range(max(map(len, rows), default=0)):
            yield from (row[place] for row in rows if place < len(row))

    async def _failures(self, card: Card, bench: Bench) -> list[PoolEntry]:
        """Keep calls that a user may well make and that find nothing, where the tool does not call that an error.

        Slips of users come first; where no slip finds nothing, what probing found out about limits.
        """
        if card.writes is not False:
            return []
        found: list[PoolEntry] = []
        slipped = [wrong for entry in self._entries.get(card.tool, ()) for wrong in slips(entry.arguments)]
        for candidates in (slipped[:CANDIDATES], [] if slipped else self._limits(card)):
            for arguments in candidates:
                if len(found) == _FAILURES:
                    break
                answer = await bench.read(card.tool, arguments)
                if not answer.error and judge(answer).verdict in ("empty", "refused"):
                    found.append(_entry(card.tool, f"{card.tool}{FAILURE}{len(found) + 1}", arguments, answer))
        return found

    def _limits(self, card: Card) -> list[dict[str, JsonValue]]:
        """Give the arguments of probes at and beyond limits that were answered with nothing."""
        declared = {parameter.path.split(".")[0] for parameter in card.parameters}
        made_up = self._made_up(card)
        return [
            probe.arguments
            for probe in card.probes
            if probe.kind in _LIMITS
            and not probe.error
            and probe.verdict in ("empty", "refused")
            and probe.arguments
            and probe.arguments.keys() <= declared
            and is_sayable(probe.arguments)
            and founded(probe.arguments, card, self._known(card)) == probe.arguments
            and not holds(probe.arguments, made_up)
        ]


def _entry(tool: str, name: str, arguments: dict[str, JsonValue], answer: Answer) -> PoolEntry:
    return PoolEntry(id=name, tool=tool, arguments=arguments, content=answer.content, result=parsed(answer.content))
