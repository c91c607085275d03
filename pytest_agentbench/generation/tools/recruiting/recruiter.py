"""The Recruiter: a pool of verified (arguments, result) pairs for each tool, each made on the real tools.

Tool-to-scenario (§4.4, D.2): sets of arguments are proposed, each is executed, and only those that are answered as they
should stay, until a tool has as many as asked for. A tool of which no call works at once is tried behind the verified
calls of others: where a service starts empty there is nothing to get, to change or to list until something was made.
"""

import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property

from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.tools.flows import assignments, connecting, scalars_in
from pytest_agentbench.generation.tools.hydration.names import Handles, is_name
from pytest_agentbench.generation.tools.labels import name_of
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.recruiting.choosing import alike
from pytest_agentbench.generation.tools.recruiting.pool import FAILURE, Pool, call_key
from pytest_agentbench.generation.tools.recruiting.proposing import (
    CANDIDATES,
    Arguments,
    Asked,
    Shown,
    is_dated,
    is_needed,
    is_opaque,
    is_sayable,
    is_shown,
    proposed,
)
from pytest_agentbench.generation.tools.recruiting.watching import Watch, Watched, effective, first_reads
from pytest_agentbench.generation.tools.values import Card, Cards, PoolEntry, Taxonomy
from pytest_agentbench.generation.tools.world import Answer, Opened, World, how_to_reset

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
_BEHIND, _EACH = 4, 2
"""Verified calls of a tool behind calls of others, and behind one and the same."""
_ENVIRONMENTS = 8
"""Environments that one tool may use up in a round of looking behind others."""
_LONGEST_CHAIN = 4
"""Calls in a row, the verified one included."""
_TRIED = 12
"""Calls that are tried in one environment."""
_SHORTEST = 4
"""Letters of a name in which a slip goes unnoticed."""


class Bench:
    """Environments of a world, one at a time: reads are made in one, anything else in a fresh one.

    A service that all runs share is reset when an environment opens: two at once would wait for each other without
    end, or take away under the hands of one what the other has made.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._stack = AsyncExitStack()
        self._reads: Opened | None = None

    async def read(self, tool: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """Make a call that changes nothing, where the reads before it were made."""
        if self._reads is None:
            self._reads = await self._stack.enter_async_context(self._world.open())
        return await self._reads.call(tool, arguments)

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Opened]:
        """Open an environment in which nothing has been done; the one of the reads is closed before."""
        await self.close()
        async with self._world.open() as opened:
            yield opened

    async def close(self) -> None:
        """Close the environment of the reads; the next read opens another one."""
        self._reads = None
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()


@dataclass(kw_only=True)
class Recruiter:
    """Fills the pool; `told` hears of each tool that has what was asked for."""

    world: World
    cards: Cards
    taxonomy: Taxonomy
    size: int = 12
    may_write: bool = False
    allowed: frozenset[str] = frozenset()
    told: Callable[[str], None] = lambda _: None
    _entries: dict[str, list[PoolEntry]] = field(default_factory=dict)
    _refused: dict[str, list[Arguments]] = field(default_factory=dict)
    _why: dict[str, str] = field(default_factory=dict)
    _changed: dict[str, bool | None] = field(default_factory=dict)
    _watch: Watch = field(default_factory=Watch)

    async def recruit(self, tools: Sequence[str]) -> tuple[Pool, dict[str, str]]:
        """Give the pool of the tools, and for each that stays without a verified call the reason."""
        cards = [card for tool in tools if (card := self.cards.get(tool)) is not None and self._may_call(card)]
        reads_first = sorted(cards, key=lambda card: card.writes is not False)
        bench = Bench(self.world)
        try:
            for _ in range(_ROUNDS):
                grown = [await self._round(card, bench) for card in reads_first]
                if not any(grown):
                    break
            for card in reads_first:
                await self._by_name(card, bench)
            for card in cards:
                if card.destructive:
                    self._entries[card.tool] = effective(self._entries[card.tool], self._changed)
                self._entries[card.tool] = self._lasting(self._entries[card.tool])
            await self._check_elsewhere(cards, bench)
            failures = [entry for card in cards for entry in await self._failures(card, bench)]
            behind = await self._follow(cards, bench) if self.world.resettable else {}
        finally:
            await bench.close()
        found = [entry for tool in tools for entry in (*self._entries.get(tool, ()), *behind.get(tool, ()))]
        for tool in tools:
            if behind.get(tool):
                self._why.pop(tool, None)
            elif not self._entries.get(tool):
                self._why.setdefault(tool, "none of its calls was answered as it should")
        return Pool(entries=(*found, *failures)), {tool: self._why[tool] for tool in tools if tool in self._why}

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
        asked = self._asked(card, list(self._suggested(card)), [entry.arguments for entry in entries], refused)
        for arguments in proposed(asked, self._shown):
            is_known = any(alike(arguments, entry.arguments) for entry in entries)
            if len(entries) >= self.size or is_known or self._is_coded(arguments, card):
                continue
            watched = await self._call(card, arguments, bench)
            judged = judge(watched.answer)
            if judged.verdict == "ok" and len(watched.answer.content) <= _LONGEST_RESULT:
                self._add(card, arguments, watched, len(entries) + 1, entries)
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
        handles = Handles(Pool(entries=tuple(itertools.chain(*self._entries.values()))), self.cards, self.taxonomy)
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
                self._add(card, arguments, watched, number, named)
        if len(named) >= _NAMED:
            self._entries[card.tool] = named

    def _add(self, card: Card, arguments: Arguments, watched: Watched, number: int, into: list[PoolEntry]) -> None:
        into.append(_entry(card.tool, f"{card.tool}.{number}", arguments, watched.answer))
        self._changed[into[-1].id] = watched.changed

    async def _call(self, card: Card, arguments: Arguments, bench: Bench) -> Watched:
        """Call a read where reads are made, anything else in an environment of its own, between reads."""
        if card.writes is False:
            return Watched(await bench.read(card.tool, arguments))
        reads = itertools.chain.from_iterable(self._entries.values())
        self._watch = self._watch if self._watch.reads else Watch(first_reads(reads, self.cards))
        async with bench.fresh() as fresh:
            return await self._watch.call(fresh, card, arguments)

    async def _check_elsewhere(self, cards: Sequence[Card], bench: Bench) -> None:
        """Drop reads that work only in the environment in which they were made, such as those of a run's folder."""
        if not self.world.resettable:
            return
        await bench.close()
        for card in cards:
            if card.writes is not False:
                continue
            entries = self._entries[card.tool]
            kept = [one for one in entries if judge(await bench.read(card.tool, one.arguments)).verdict == "ok"]
            if entries and not kept:
                self._why[card.tool] = "its calls hold values that are others in each environment"
            self._entries[card.tool] = kept

    def _lasting(self, entries: list[PoolEntry]) -> list[PoolEntry]:
        """Leave out calls that name a day which neither recipe nor state names, where others are left."""
        known = {str(value) for values in self.world.hints.values() for value in values}
        kept = [
            one
            for one in entries
            if not is_dated(one.arguments)
            or all(str(value) in known for value in read_slots(one.arguments).values() if is_dated({"": value}))
        ]
        return kept or entries

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

    def _limits(self, card: Card) -> list[Arguments]:
        """Give the arguments of probes at and beyond limits that were answered with nothing."""
        names = {parameter.path.split(".")[0] for parameter in card.parameters}
        return [
            probe.arguments
            for probe in card.probes
            if probe.kind in _LIMITS
            and not probe.error
            and probe.verdict in ("empty", "refused")
            and probe.arguments
            and probe.arguments.keys() <= names
            and is_sayable(probe.arguments)
            and is_shown(probe.arguments, self._shown, set())
        ]

    async def _follow(self, cards: Sequence[Card], bench: Bench) -> dict[str, list[PoolEntry]]:
        """Give calls of the tools that have none that is founded, each after an entry that is known or found."""
        for card in cards:
            self._entries[card.tool] = [one for one in self._entries[card.tool] if not self._is_baseless(one)] or (
                self._entries[card.tool]
            )
        found: dict[str, list[PoolEntry]] = {}
        tried: dict[str, set[str]] = {}
        missing = [card for card in cards if all(map(self._is_baseless, self._entries[card.tool]))]
        for _ in range(_LONGEST_CHAIN - 1):
            grown = [
                await self._behind(card, found, tried.setdefault(card.tool, set()), bench)
                for card in missing
                if len(found.get(card.tool, ())) < _BEHIND
            ]
            if not any(grown):
                break
        for tool in found:
            self._entries[tool] = [one for one in self._entries[tool] if not self._is_baseless(one)]
        return found

    async def _behind(self, card: Card, found: dict[str, list[PoolEntry]], tried: set[str], bench: Bench) -> bool:
        """Look for calls of a tool behind those of the pool and those found, the most promising chains first."""
        pool = Pool(entries=tuple(itertools.chain(*self._entries.values(), *found.values())))
        entries = found.get(card.tool, [])
        before = len(entries)
        chains = [pool.chain(one) for one in self._starts(card, pool) if one.id not in tried]
        short = [chain for chain in chains if len(chain) < _LONGEST_CHAIN]
        for chain in sorted(short, key=lambda one: -self._covered(card, one))[:_ENVIRONMENTS]:
            if len(entries) >= _BEHIND:
                break
            tried.add(chain[-1].id)
            entries = [*entries, *await self._after(card, chain, len(entries), bench)]
        if len(entries) > before:
            found[card.tool] = entries
            self.told(f"{card.tool}: {len(entries)} verified calls behind others")
        return len(entries) > before

    async def _after(self, card: Card, chain: Sequence[PoolEntry], number: int, bench: Bench) -> list[PoolEntry]:
        """Give calls that work once those of a chain were made."""
        found: list[PoolEntry] = []
        async with bench.fresh() as opened:
            again = await replayed(opened, chain)
            if again is None:
                return []
            suggested = self._given_by(card, again)
            asked = self._asked(card, suggested[:3], [], [])
            every = {call_key("", one): one for one in (*suggested[:3], *proposed(asked, self._shown))}
            moved = {value for one, done in zip(chain, again, strict=True) for value in _differing(one, done)}
            for arguments in list(every.values())[:_TRIED]:
                if not is_sayable(arguments) or moved.intersection(map(str, read_slots(arguments).values())):
                    continue  # no scenario could expect what is another value in each environment
                answer = await opened.call(card.tool, arguments)
                if judge(answer).verdict != "ok" or len(answer.content) > _LONGEST_RESULT:
                    continue
                name = f"{card.tool}.b{number + len(found) + 1}"
                found.append(_entry(card.tool, name, arguments, answer).model_copy(update={"after": chain[-1].id}))
                if card.writes is not False or len(found) == _EACH:
                    break
        return found

    def _given_by(self, card: Card, chain: Sequence[PoolEntry]) -> list[Arguments]:
        """Give the arguments that the calls of a chain give a tool, the last call's first."""
        found: dict[str, Arguments] = {}
        needed = {one.path for one in card.parameters if is_needed(one)}
        for entry in reversed(chain):
            types = connecting(self.taxonomy, entry.tool, card.tool)
            for row in assignments(types, entry.tool, entry.result, card, arguments=entry.arguments) if types else ():
                slots = read_slots(dict(row.arguments))
                kept = {path: value for path, value in slots.items() if path in needed} or slots
                found.setdefault(call_key("", kept), build(kept))
        merged = {path: value for one in reversed(found.values()) for path, value in read_slots(one).items()}
        return [build({**merged, **read_slots(one)}) for one in found.values()]

    def _starts(self, card: Card, pool: Pool) -> Iterator[PoolEntry]:
        """Yield the entries whose results, or whose effects, may make calls of a tool possible."""
        for entry in pool.entries:
            other = self.cards.get(entry.tool)
            leads = bool(connecting(self.taxonomy, entry.tool, card.tool))
            if entry.tool != card.tool and FAILURE not in entry.id and (leads or (other and other.writes)):
                yield entry

    def _covered(self, card: Card, chain: Sequence[PoolEntry]) -> int:
        """Count the needed arguments that the calls of a chain give; what changes something counts a little."""
        needed = [one.path for one in card.parameters if is_needed(one)]
        given = {
            place.path
            for entry in chain
            for one in connecting(self.taxonomy, entry.tool, card.tool)
            for place in one.consumed
            if place.tool == card.tool
        }
        last = self.cards.get(chain[-1].tool)
        return 2 * sum(path in given for path in needed) + bool(last and last.writes)

    def _is_coded(self, arguments: Arguments, card: Card) -> bool:
        """Whether a call needs a code that nobody remembers; it is made behind what gives the code, or by a name."""
        known = self._known(card)
        return self.world.resettable and any(
            is_opaque(value) and value not in known.get(path, ()) for path, value in read_slots(arguments).items()
        )

    def _is_baseless(self, entry: PoolEntry) -> bool:
        """Whether a change is of what nobody has: a value that nothing shows, where another tool gives values."""
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
        return not all(self._shown.holds(value) for path, value in slots.items() if path in taken)

    def _asked(
        self, card: Card, suggested: Sequence[Arguments], have: Sequence[Arguments], refused: Sequence[Arguments]
    ) -> Asked:
        return Asked(
            card=card,
            suggested=tuple(suggested),
            have=tuple(have),
            refused=tuple(refused),
            known=self._known(card),
        )

    @cached_property
    def _shown(self) -> Shown:
        return Shown(self.cards, [value for values in self.world.hints.values() for value in values])

    def _known(self, card: Card) -> dict[str, tuple[JsonValue, ...]]:
        """Give what recipe and state name for the arguments of a tool, by path."""
        hints = self.world.hints
        found = {}
        for parameter in card.parameters:
            name = name_of(parameter.path)
            values = hints.get(f"{card.tool}.{name}", hints.get(name))
            if values is not None:
                found[parameter.path] = tuple(values)
        return found

    def _suggested(self, card: Card) -> Iterator[Arguments]:
        """Give what results in the pool give this tool, one of each result in turn.

        What a change made is not there where an environment has just opened, so it suggests nothing.
        """
        rows: list[list[Arguments]] = []
        for source in sorted(self._entries):
            maker = self.cards.get(source)
            if self.world.resettable and maker is not None and maker.writes is not False:
                continue
            types = connecting(self.taxonomy, source, card.tool)
            for entry in self._entries[source] if types else ():
                found = assignments(types, source, entry.result, card, arguments=entry.arguments)
                rows.append([dict(one.arguments) for one in found[:CANDIDATES]])
        for place in range(max(map(len, rows), default=0)):
            yield from (row[place] for row in rows if place < len(row))


async def replayed(opened: Opened, chain: Sequence[PoolEntry]) -> list[PoolEntry] | None:
    """Make verified calls again, one after the other, with the values of today; None where one does not work."""
    made: list[PoolEntry] = []
    now: dict[str, JsonValue] = {}
    for entry in chain:
        slots = {path: now.get(str(value), value) for path, value in read_slots(entry.arguments).items()}
        arguments = build(slots) if now else entry.arguments
        answer = await opened.call(entry.tool, arguments)
        if judge(answer).verdict != "ok":
            return None
        made.append(
            entry.model_copy(
                update={"arguments": arguments, "content": answer.content, "result": parsed(answer.content)}
            )
        )
        then = dict(scalars_in(entry.result))
        for path, value in scalars_in(made[-1].result):
            if path in then and not same(then[path], value):
                now[str(then[path])] = value
    return made


def _differing(then: PoolEntry, now: PoolEntry) -> Iterator[str]:
    """Yield the values that a call gives today, and gave as others before."""
    before = dict(scalars_in(then.result))
    for path, value in scalars_in(now.result):
        if path in before and not same(before[path], value):
            yield str(value)


def slips(arguments: Mapping[str, JsonValue]) -> Iterator[Arguments]:
    """Yield the arguments with a slip of a user in one text: two letters swapped, or another last digit."""
    slots = read_slots(dict(arguments))
    for path, value in slots.items():
        if isinstance(value, str) and (wrong := _slip(value)) is not None:
            yield build({**slots, path: wrong})


def _slip(value: str) -> str | None:
    if is_name(value) and len(value) >= _SHORTEST:
        for place in range(len(value) - 2, 0, -1):
            left, right = value[place], value[place + 1]
            if left.isalpha() and right.isalpha() and left.lower() != right.lower() and left.islower():
                return value[:place] + right + left + value[place + 2 :]
        return None
    digits = [place for place, char in enumerate(value) if char in "0123456789"]
    if len(digits) < 2 or " " in value:
        return None
    last = digits[-1]
    return f"{value[:last]}{(int(value[last]) + 7) % 10}{value[last + 1 :]}"


def _entry(tool: str, name: str, arguments: Arguments, answer: Answer) -> PoolEntry:
    return PoolEntry(id=name, tool=tool, arguments=arguments, content=answer.content, result=parsed(answer.content))
