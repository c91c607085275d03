"""The Recruiter: a pool of verified (arguments, result) pairs for each tool, each made on the real tools.

Tool-to-scenario (§4.4, D.2): sets of arguments are proposed, each is executed, and only those that are answered as they
should stay, until a tool has as many as asked for. A tool of which no call works at once is tried behind the verified
calls of others: where a service starts empty there is nothing to get, to change or to list until something was made.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, zip_longest

from pytest_agentbench.core.json_values import JsonValue, same, to_json
from pytest_agentbench.core.names import count
from pytest_agentbench.core.state import State
from pytest_agentbench.generation.tools.data_types import Card, Cards, PoolEntry, Taxonomy
from pytest_agentbench.generation.tools.flows import connecting, handed_on, scalars_in
from pytest_agentbench.generation.tools.hydration.display_names import Handles
from pytest_agentbench.generation.tools.probing.result_parser import parsed
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.recruiting.pool import (
    FAILURE,
    Pool,
    Watch,
    Watched,
    alike,
    call_key,
    effective,
    first_reads,
)
from pytest_agentbench.generation.tools.recruiting.proposals import (
    CANDIDATES,
    Arguments,
    Shown,
    is_dated,
    is_needed,
    is_opaque,
    is_sayable,
    moved_away,
    proposed,
    siblings,
    slips,
    tables_in,
)
from pytest_agentbench.generation.tools.world import LATER, Answer, Opened, World, how_to_reset

_ROUNDS = 4
"""Times that every tool is asked about: results of one round are values for the next."""
_LONGEST_RESULT = 200_000
"""Characters of a result that is kept: values are taken from it, and a scenario tells where."""
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
_SESSIONS, _OF_ONE = 4, 3
"""People in whose sessions calls are verified, and calls of a tool in each at least."""


class Lease:
    """Environments of a world, one at a time, in each of which nothing has been done yet.

    A service that all runs share is reset when an environment opens: two at once would wait for each other without
    end, or take away under the hands of one what the other has made.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._stack = AsyncExitStack()
        self._opened: Opened | None = None
        self._initial: State | None = None

    async def read(self, tool: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """Make a call that changes nothing, where the one before it was made."""
        return await (await self._environment()).call(tool, arguments)

    async def change(self, make: Callable[[Opened], Awaitable[Watched]]) -> Watched:
        """Make a change; only what was refused, and left all as it was, is followed by others in its environment."""
        opened = await self._environment()
        if self._initial is None:
            self._initial = await opened.snapshot()
        made = await make(opened)
        is_refused = made.answer.error and not (made.answer.hung or made.answer.crashed)
        if not is_refused or made.answer.wrote or (state := await opened.snapshot()) is None or state != self._initial:
            await self.close()
        return made

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Opened]:
        """Open an environment in which nothing has been done; the one of the reads is closed before."""
        await self.close()
        async with self._world.open() as opened:
            yield opened

    async def close(self) -> None:
        """Close the environment; the next call opens another one."""
        self._opened = None
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()

    async def _environment(self) -> Opened:
        if self._opened is None:
            self._opened = await self._stack.enter_async_context(self._world.open())
        return self._opened


@dataclass(kw_only=True)
class Recruiter:
    """Fills the pool; `state` is the initial one where it can be read, `told` hears of each tool that has enough."""

    world: World
    cards: Cards
    taxonomy: Taxonomy
    state: State | None = None
    size: int = 12
    may_write: bool = False
    allowed: frozenset[str] = frozenset()
    told: Callable[[str], None] = lambda _: None
    _entries: dict[str, list[PoolEntry]] = field(init=False, default_factory=lambda: defaultdict(list))
    _behind: dict[str, list[PoolEntry]] = field(init=False, default_factory=lambda: defaultdict(list))
    _refused: dict[str, list[Arguments]] = field(init=False, default_factory=lambda: defaultdict(list))
    _why: dict[str, str] = field(init=False, default_factory=dict)
    _changed: dict[str, bool | None] = field(init=False, default_factory=dict)
    _watch: Watch = field(init=False, default_factory=Watch)

    async def recruit(self, tools: Sequence[str]) -> tuple[Pool, dict[str, str]]:
        """Give the pool of the tools, and for each that stays without a verified call the reason.

        Calls of tools that want a session are made in those of a few people, each for itself.
        """
        openers = {tool: card.opener for tool in tools if (card := self.cards.get(tool)) is not None and card.opener}
        pool, why = await self._recruit([tool for tool in tools if tool not in openers])
        starts = [one for one in pool.entries if one.tool in openers.values() and FAILURE not in one.id][:_SESSIONS]
        entries, missing = list(pool.entries), dict.fromkeys(openers, "no call that opens a session works")
        for number, start in enumerate(starts):
            world = replace(self.world, opener=(start.tool, start.arguments))
            own = replace(self, world=world, size=max(_OF_ONE, self.size // len(starts)))
            found, reasons = await own._recruit(list(openers))
            entries += [_in_session(one, start) for one in found.entries]
            missing = {tool: reasons[tool] for tool in (missing if number else openers) if tool in reasons}
        return Pool(entries=tuple(entries)), why | missing

    async def _recruit(self, tools: Sequence[str]) -> tuple[Pool, dict[str, str]]:
        cards = [card for tool in tools if (card := self.cards.get(tool)) is not None and self._may_call(card)]
        reads_first = sorted(cards, key=lambda card: card.writes is not False)
        self._lease = Lease(self.world)
        try:
            for _ in range(_ROUNDS):
                if not any([await self._round(card) for card in reads_first]):
                    break
            for card in reads_first:
                await self._by_name(card)
            for card in cards:
                if card.destructive:
                    self._entries[card.tool] = effective(self._entries[card.tool], self._changed)
                self._entries[card.tool] = self._lasting(self._entries[card.tool])
            if self.world.resettable:
                await self._check_elsewhere(card for card in cards if card.writes is False)
                await self._check_later(cards if self.world.spec.now else ())
            failures = [entry for card in cards if card.writes is False for entry in await self._failures(card)]
            if self.world.resettable:
                changes = [card for card in cards if card.writes is not False]
                failures += [entry for card in changes for entry in await self._declined(card)]
                await self._follow(cards)
        finally:
            await self._lease.close()
        found = [entry for tool in tools for entry in (*self._entries[tool], *self._behind[tool])]
        unanswered = "none of its calls was answered as it should"
        why = {tool: self._why.get(tool, "" if self._entries[tool] else unanswered) for tool in tools}
        why = {tool: reason for tool, reason in why.items() if reason and not self._behind[tool]}
        return Pool(entries=(*found, *failures)), why

    def _may_call(self, card: Card) -> bool:
        if not card.called:
            self._why[card.tool] = card.partial
            return False
        is_allowed = card.tool in self.allowed or (self.may_write and not card.destructive)
        if card.writes is False or self.world.resettable or is_allowed:
            return True
        what = "destroys" if card.destructive else "changes"
        how = how_to_reset(self.world.spec)
        self._why[card.tool] = f"it {what} what cannot be reset: {how} (`allow_writes: true` makes writes all the same)"
        return False

    async def _round(self, card: Card) -> bool:
        """Make the calls that are proposed for a tool; give whether any was verified."""
        entries, refused = self._entries[card.tool], self._refused[card.tool]
        before = len(entries)
        if before >= self.size:
            return False
        tried = [*(entry.arguments for entry in entries), *refused]
        suggested = list(self._suggested(card))
        wanted = proposed(card, self._shown, suggested, tried)
        if not (wanted or entries):  # it takes no words that nobody made up for it
            wanted = proposed(card, self._shown, suggested, tried, is_worded=False)
        for arguments in wanted:
            is_known = any(alike(arguments, entry.arguments) for entry in entries)
            if len(entries) >= self.size or is_known or self._is_coded(arguments, card):
                continue
            if not await self._verify(card, arguments, len(entries) + 1, entries):
                refused.append(arguments)
        if entries:
            self._why.pop(card.tool, None)
        if len(entries) > before:
            self.told(f"{card.tool}: {count(len(entries), 'verified call')}")
        return len(entries) > before

    async def _made(self, card: Card, arguments: Arguments) -> Watched:
        """Make a call where nothing has been done, between reads that tell what it did."""
        reads = chain.from_iterable(self._entries.values())
        self._watch = self._watch if self._watch.reads else Watch(first_reads(reads, self.cards))
        return await self._lease.change(lambda opened: self._watch.call(opened, card, arguments))

    async def _by_name(self, card: Card) -> None:
        """Make the calls that names lead to; with enough of them keep no others of which nobody could speak."""
        entries = self._entries[card.tool]
        handles = Handles(Pool(entries=tuple(chain(*self._entries.values()))), self.cards, self.taxonomy)
        named = [entry for entry in entries if handles.of(entry) is not None]
        known = {call_key("", one) for one in (*self._refused[card.tool], *(entry.arguments for entry in entries))}
        needed = {one.path for one in card.parameters if is_needed(one)}
        number = len(entries)
        for arguments in handles.calls(card):
            key = call_key("", arguments)
            if len(named) < self.size and needed <= read_slots(arguments).keys() and key not in known:
                known.add(key)
                number += await self._verify(card, arguments, number + 1, named)
        if len(named) >= _NAMED:
            spoken = [one for one in entries if one not in named and all(map(_is_spoken, _values(one)))]
            self._entries[card.tool] = [*named, *spoken]

    async def _verify(self, card: Card, arguments: Arguments, number: int, into: list[PoolEntry]) -> bool:
        """Keep a call that is answered as it should; of one that changes something, with dates far away where it can
        be: `inspect(day="2032-05-09")` will be right next year, too.
        """
        far = moved_away(arguments) if card.writes is not False else arguments
        if far != arguments and await self._verify_with(card, far, number, into):
            return True
        return await self._verify_with(card, arguments, number, into)

    async def _verify_with(self, card: Card, arguments: Arguments, number: int, into: list[PoolEntry]) -> bool:
        """Make a call and keep it where it is answered as it should: a read where reads are made, else in a fresh
        environment, between reads.
        """
        if card.writes is False:
            watched = Watched(await self._lease.read(card.tool, arguments))
        else:
            watched = await self._made(card, arguments)
        judged = judge(watched.answer)
        if judged.verdict != "ok" or len(watched.answer.content) > _LONGEST_RESULT:
            if into is self._entries[card.tool]:
                why = judged.reason or judged.verdict
                self._why[card.tool] = f"its calls are not answered as they should: {why}"
            return False
        into.append(_entry(card.tool, f"{card.tool}.{number}", arguments, watched.answer))
        self._changed[into[-1].id] = watched.changed
        return True

    async def _check_elsewhere(self, cards: Iterable[Card]) -> None:
        """Drop reads that work only in the environment in which they were made, such as those of a run's folder."""
        await self._lease.close()
        for card in cards:
            entries = self._entries[card.tool]
            kept = [one for one in entries if judge(await self._lease.read(card.tool, one.arguments)).verdict == "ok"]
            if entries and not kept:
                self._why[card.tool] = "its calls hold values that are others in each environment"
            self._entries[card.tool] = kept

    async def _check_later(self, cards: Iterable[Card]) -> None:
        """Drop changes that are right today and refused once time has gone by, where others of the tool are left."""
        await self._lease.close()
        for card in cards:
            kept = self._entries[card.tool]
            for days in LATER if card.writes is not False else ():
                lease = Lease(self.world.later(days))
                answers = [await lease.change(partial(_asked, entry)) for entry in kept]
                await lease.close()
                kept = [one for one, then in zip(kept, answers, strict=True) if judge(then.answer).verdict == "ok"]
            self._entries[card.tool] = kept or self._entries[card.tool]

    def _lasting(self, entries: list[PoolEntry]) -> list[PoolEntry]:
        """Leave out calls that name a day which neither recipe nor state names, where others are left."""
        known = {str(value) for values in self.world.hints.values() for value in values}

        def lasts(entry: PoolEntry) -> bool:
            return all(str(value) in known for value in read_slots(entry.arguments).values() if is_dated(value))

        return [one for one in entries if lasts(one)] or entries

    async def _failures(self, card: Card) -> list[PoolEntry]:
        """Keep calls with a slip of the user's that find nothing, where the tool does not call that an error."""
        found: list[PoolEntry] = []
        slipped = [wrong for entry in self._entries[card.tool] for wrong in slips(entry.arguments)]
        for arguments in slipped[:CANDIDATES]:
            if len(found) == _FAILURES:
                break
            answer = await self._lease.read(card.tool, arguments)
            if not answer.error and judge(answer).verdict in ("empty", "refused"):
                found.append(_entry(card.tool, f"{card.tool}{FAILURE}{len(found) + 1}", arguments, answer))
        return found

    async def _declined(self, card: Card) -> list[PoolEntry]:
        """Keep changes that a user may well ask for and the tool declines: what nominal calls were refused."""
        found: list[PoolEntry] = []
        for arguments in self._refused[card.tool][:CANDIDATES] if self._entries[card.tool] else ():
            if len(found) == _FAILURES:
                break
            answer = (await self._made(card, arguments)).answer
            if answer.wrote is not True and judge(answer).verdict == "refused":
                found.append(_entry(card.tool, f"{card.tool}{FAILURE}{len(found) + 1}", arguments, answer))
        return found

    async def _follow(self, cards: Sequence[Card]) -> None:
        """Find calls behind others for the tools that have none that is founded."""
        for card in cards:
            founded = [one for one in self._entries[card.tool] if not self._is_baseless(one)]
            self._entries[card.tool] = founded or self._entries[card.tool]
        missing = [card for card in cards if all(map(self._is_baseless, self._entries[card.tool]))]
        tried: dict[str, set[str]] = defaultdict(set)
        for _ in range(_LONGEST_CHAIN - 1):
            if not any([await self._look_behind(card, tried[card.tool]) for card in missing]):
                break
        for tool in [tool for tool, entries in self._behind.items() if entries]:
            self._entries[tool] = [one for one in self._entries[tool] if not self._is_baseless(one)]

    async def _look_behind(self, card: Card, tried: set[str]) -> bool:
        """Look for calls of a tool behind those of the pool and those found, the most promising chains first."""
        pool = Pool(entries=tuple(chain(*self._entries.values(), *self._behind.values())))
        found, before = self._behind[card.tool], len(self._behind[card.tool])
        chains = [pool.chain(one) for one in self._starts(card, pool) if one.id not in tried]
        short = [one for one in chains if len(one) < _LONGEST_CHAIN]
        for entries in sorted(short, key=lambda one: -self._covered(card, one))[:_ENVIRONMENTS]:
            if len(found) < _BEHIND:
                tried.add(entries[-1].id)
                found += await self._after(card, entries, len(found))
        if len(found) > before:
            self.told(f"{card.tool}: {count(len(found), 'verified call')} behind others")
        return len(found) > before

    async def _after(self, card: Card, entries: Sequence[PoolEntry], number: int) -> list[PoolEntry]:
        """Give calls that work once those of a chain were made."""
        found: list[PoolEntry] = []
        async with self._lease.fresh() as opened:
            again = await replayed(opened, entries)
            if again is None:
                return []
            suggested = self._given_by(card, again)[:3]
            every = {call_key("", one): one for one in (*suggested, *proposed(card, self._shown, suggested, ()))}
            moved = {
                str(new) for one, done in zip(entries, again, strict=True) for _, new in _moved(one, done).values()
            }
            wanted = list(every.values())[:_TRIED]
            if card.writes is not False:
                away = [(moved_away(one), one) for one in wanted]
                wanted = [one for far, near in away for one in ((near,) if far == near else (far, near))]
            for arguments in wanted:
                if not is_sayable(arguments) or moved.intersection(map(str, read_slots(arguments).values())):
                    continue  # no scenario could expect what is another value in each environment
                answer = await opened.call(card.tool, arguments)
                if judge(answer).verdict != "ok" or len(answer.content) > _LONGEST_RESULT:
                    continue
                name = f"{card.tool}.b{number + len(found) + 1}"
                found.append(_entry(card.tool, name, arguments, answer, after=entries[-1].id))
                if card.writes is not False or len(found) == _EACH:
                    break
        return found

    def _given_by(self, card: Card, entries: Sequence[PoolEntry]) -> list[Arguments]:
        """Give the arguments that the calls of a chain give a tool, the last call's first."""
        found: dict[str, Arguments] = {}
        needed = {one.path for one in card.parameters if is_needed(one)}
        for entry in reversed(entries):
            for row in handed_on(self.taxonomy, entry.tool, entry.result, card):
                slots = read_slots(dict(row.arguments))
                kept = {path: value for path, value in slots.items() if path in needed} or slots
                found.setdefault(call_key("", kept), kept)
        merged = {path: value for one in reversed(found.values()) for path, value in one.items()}
        return [build({**merged, **one}) for one in found.values()]

    def _starts(self, card: Card, pool: Pool) -> Iterator[PoolEntry]:
        """Yield the entries whose results, or whose effects, may make calls of a tool possible."""
        for entry in pool.entries:
            leads = bool(connecting(self.taxonomy, entry.tool, card.tool))
            if entry.tool != card.tool and (leads or self._writes(entry.tool)):
                yield entry

    def _covered(self, card: Card, entries: Sequence[PoolEntry]) -> int:
        """Count the needed arguments that the calls of a chain give; what changes something counts a little."""
        types = [one for entry in entries for one in connecting(self.taxonomy, entry.tool, card.tool)]
        given = {place.path for one in types for place in one.consumed if place.tool == card.tool}
        needed = [one.path for one in card.parameters if is_needed(one)]
        return 2 * sum(path in given for path in needed) + self._writes(entries[-1].tool)

    def _writes(self, tool: str) -> bool:
        card = self.cards.get(tool)
        return card is not None and bool(card.writes)

    def _is_coded(self, arguments: Arguments, card: Card) -> bool:
        """Whether a call needs a code that nobody remembers; it is made behind what gives the code, or by a name."""
        known = self._shown.known(card)
        return self.world.resettable and any(
            is_opaque(value) and value not in known.get(path, ()) for path, value in read_slots(arguments).items()
        )

    def _is_baseless(self, entry: PoolEntry) -> bool:
        """Whether a change is of what nobody has: a value that nothing shows, where another tool gives values."""
        card = self.cards.get(entry.tool)
        if card is None or card.writes is False:
            return False
        makers = [one for one in self.taxonomy.types if any(place.tool != card.tool for place in one.produced)]
        taken = {place.path for one in makers for place in one.consumed if place.tool == card.tool}
        slots = read_slots(entry.arguments)
        return not all(self._shown.holds(value) for path, value in slots.items() if path in taken)

    @cached_property
    def _tables(self) -> list[list[dict[str, JsonValue]]]:
        return list(tables_in(to_json(self.state or {})))

    @cached_property
    def _shown(self) -> Shown:
        return Shown(self.cards, self.world.hints)

    def _suggested(self, card: Card) -> Iterator[Arguments]:
        """Give what results in the pool and rows of the state give this tool, one of each in turn.

        What a change made is not there where an environment has just opened, so it suggests nothing.
        """
        rows: list[list[Arguments]] = [list(siblings(card, self._tables))]
        for source in sorted(self._entries):
            maker = self.cards.get(source)
            if self.world.resettable and maker is not None and maker.writes is not False:
                continue
            for entry in self._entries[source]:
                found = handed_on(self.taxonomy, source, entry.result, card)
                rows.append([dict(one.arguments) for one in found[:CANDIDATES]])
        for several in zip_longest(*rows):
            yield from (one for one in several if one is not None)


async def replayed(opened: Opened, entries: Sequence[PoolEntry]) -> list[PoolEntry] | None:
    """Make verified calls again, one after the other, with the values of today; None where one does not work."""
    made: list[PoolEntry] = []
    now: dict[str, JsonValue] = {}
    for entry in entries:
        slots = {path: now.get(str(value), value) for path, value in read_slots(entry.arguments).items()}
        arguments = build(slots) if now else entry.arguments
        answer = await opened.call(entry.tool, arguments)
        if judge(answer).verdict != "ok":
            return None
        made.append(_entry(entry.tool, entry.id, arguments, answer, after=entry.after))
        now |= dict(_moved(entry, made[-1]).values())
    return made


def _moved(then: PoolEntry, now: PoolEntry) -> dict[str, tuple[str, JsonValue]]:
    """Give the values that a call gives today and gave as others before, by path: the old and the new one."""
    before = dict(scalars_in(then.result))
    return {
        path: (str(before[path]), value)
        for path, value in scalars_in(now.result)
        if path in before and not same(before[path], value)
    }


def _in_session(entry: PoolEntry, opener: PoolEntry) -> PoolEntry:
    """Give an entry, told from those of other sessions, with the one whose call opened its own."""
    names = {key: f"{name}@{opener.id}" for key, name in (("id", entry.id), ("after", entry.after)) if name}
    return entry.model_copy(update={**names, "opener": opener.id})


async def _asked(entry: PoolEntry, opened: Opened) -> Watched:
    return Watched(await opened.call(entry.tool, entry.arguments))


def _values(entry: PoolEntry) -> Iterable[JsonValue]:
    return read_slots(entry.arguments).values()


def _is_spoken(value: JsonValue) -> bool:
    """Whether a person may say a value in the place of a name: no drawn code, no coordinate."""
    return not is_opaque(value) and not isinstance(value, float)


def _entry(tool: str, name: str, arguments: Arguments, answer: Answer, *, after: str = "") -> PoolEntry:
    content = answer.content
    return PoolEntry(id=name, tool=tool, arguments=arguments, content=content, result=parsed(content), after=after)
