"""A walk hydrated: real calls in one fresh environment, in the order of the conversation, turn after turn.

An argument comes from a verified call of the pool, which the user says, or from an earlier result, at which the user
points (tool-to-scenario §4.4). Where a rule of the suite wants another call first, it is made; what would break a rule
is not made. What cannot be hydrated is tried again with other entries; calls that failed are not tried again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Origin, PlannedCall, Turn, Wanted
from pytest_agentbench.generation.ownership import About, CallRecord, conflicts, mixed_owners, people_of
from pytest_agentbench.generation.tools.flows import assignments, connecting
from pytest_agentbench.generation.tools.hydration.arguments import (
    Executed,
    Option,
    of_entry,
    options_of,
    recalled,
)
from pytest_agentbench.generation.tools.hydration.facts import said_at, wanted_of
from pytest_agentbench.generation.tools.hydration.memory import (
    Choice,
    HydrationError,
    Memory,
    Usage,
    changes_of,
)
from pytest_agentbench.generation.tools.hydration.stock import Stock
from pytest_agentbench.generation.tools.hydration.turns import numbered, turns_of_calls, unsteady_values
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.recruiting.choosing import alike, distinct
from pytest_agentbench.generation.tools.recruiting.pool import FAILURE, call_key
from pytest_agentbench.generation.tools.recruiting.proposing import is_needed
from pytest_agentbench.generation.tools.recruiting.watching import Watch
from pytest_agentbench.generation.tools.values import Card, PoolEntry, Walk
from pytest_agentbench.generation.tools.walks.sampling import turns_of
from pytest_agentbench.generation.tools.walks.weights import REPEATED
from pytest_agentbench.generation.tools.world import Answer, Opened
from pytest_agentbench.validation.values import scalars

ATTEMPTS = 24
"""Times that a walk is hydrated before it is lost."""
TRIES = 240
"""Calls that are tried for one walk, over all attempts: where rules leave hardly any, each costs others before it."""
TWO_PEOPLE = "it would mix the affairs of two people"
"""The reason of a walk in which two owners meet."""
TRIED_OUT = "too many calls were tried"
"""The reason of a walk of which nobody knows whether another try would have led to its end."""
EXHAUSTED = frozenset((
    "no verified call left", "nothing to hand on", "verified calls fail behind others", "a change fails behind others",
    "it would break a rule", TWO_PEOPLE,
))  # fmt: skip
"""Reasons that say that a walk asks more of a tool than the world bears."""
OF_ONE = "values that are others in each environment"
"""The reason of a walk that would hold on the day it was made."""
_AGAIN = 12
"""Times that a turn is begun in one attempt, as long as nothing was changed in it."""
_ELSEWHERE = frozenset(("nothing to hand on", "verified calls fail behind others"))
"""Reasons for which other reads may lead on."""
_TRIED = 6
"""Combinations of arguments that are tried for one call."""
_OPENING = 5
"""Entries that a draft begins with one of: those that are used least."""
_FACTS = 4
"""Values of an answer among which the one to be told is chosen."""
_NEEDED = 3
"""Calls in a row that rules may want before one."""


async def hydrate(
    walk: Walk,
    stock: Stock,
    random: Random,
    *,
    attempts: int = ATTEMPTS,
    tries: int = TRIES,
    memory: Memory | None = None,
    usage: Usage | None = None,
) -> tuple[Turn, ...]:
    """Give the turns of a walk; raise `HydrationError` where no attempt comes to its end, or after so many tries.

    `memory` is what attempts learn; what `usage` counts least is used first.
    """
    memory = memory or Memory()
    memory.unsteady |= stock.unsteady
    most = memory.tries + tries
    last: HydrationError | None = None
    furthest = -1
    longest: tuple[Turn, ...] = ()
    for number in range(attempts):
        memory.reached = 0
        try:
            async with stock.world.open() as opened:
                attempt = _Attempt(stock, opened, random, memory, usage or Usage(), most=most, by_name=number % 2 == 0)
                try:
                    turns = await attempt.run(walk)
                except HydrationError:
                    longest = max(longest, attempt.turns, key=len)
                    raise
            if lost := await unsteady_values(turns, stock):
                memory.unsteady |= lost
                raise HydrationError(OF_ONE, ", ".join(f"{one} -> {other} ({at})" for one, other, at in sorted(lost)))
        except HydrationError as error:
            if memory.reached >= furthest and (last is None or error.reason != TRIED_OUT):
                last, furthest = error, memory.reached
            if memory.is_over:
                break
            continue
        return tuple(map(numbered, turns))
    assert last is not None  # noqa: S101 - at least one attempt was made, and it failed
    last.turns = tuple(map(numbered, longest))
    raise last


class _Attempt:
    """One attempt at one walk."""

    def __init__(
        self, stock: Stock, opened: Opened, random: Random, memory: Memory, usage: Usage, *, most: int, by_name: bool
    ) -> None:
        self._stock = stock
        self._opened = opened
        self._random = random
        self._memory = memory
        self._usage = usage
        self._most = most
        self._is_by_name = by_name
        self._turns: list[Turn] = []
        self._made: list[Executed] = []
        self._planned: list[PlannedCall] = []
        self._options: list[Option] = []
        self._choices: list[Choice] = []
        self._states: list[State] = []
        self._used: set[str] = set()
        self._withdrawn: set[str] = set()
        self._gone: set[str] = set()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that are complete."""
        return tuple(self._turns)

    async def run(self, walk: Walk) -> tuple[Turn, ...]:
        """Hydrate turn after turn."""
        failing = walk.enriched.partition(":")[0]
        place = 0
        for tools in turns_of(walk):
            fails = failing.isdigit() and place + 1 == int(failing)
            first = len(self._made)
            await self._play([self._stock.card(tool) for tool in tools], fails=fails)
            planned = list(zip(self._planned[first:], self._options[first:], strict=True))
            wanted = () if fails else await self._wanted()
            self._turns += turns_of_calls(planned, wanted, self._stock)
            place += len(tools) + 1
        if why := next(mixed_owners(self._stock.ownership, self._records), None):
            raise HydrationError(TWO_PEOPLE, why)
        return tuple(self._turns)

    @property
    def _records(self) -> list[CallRecord]:
        return [_record(one) for one in self._made]

    def _about(self, card: Card, arguments: dict[str, JsonValue], result: JsonValue = None) -> About:
        call = CallRecord(card.tool, arguments, result, card.writes is not False)
        known = self._stock.ownership.plus([*self._records, *([call] if result is not None else [])])
        return known.about(call)

    @property
    def _abouts(self) -> list[About]:
        known = self._stock.ownership.plus(self._records)
        return [known.about(one) for one in self._records]

    async def _play(self, cards: Sequence[Card], *, fails: bool) -> None:
        """Make the calls of a turn; where reads lead nowhere others are made in their place."""
        marks = (len(self._made), set(self._used), set(self._withdrawn))
        for left in range(_AGAIN - 1, -1, -1):
            try:
                await self._select(cards, fails=fails)
                for card in cards[1:]:
                    await self._extract(card)
            except HydrationError as error:
                has_changed = any(one.writes for one in self._choices[marks[0] :])
                if not left or error.reason not in _ELSEWHERE or has_changed:
                    raise
                for made in (self._made, self._planned, self._options, self._choices):
                    del made[marks[0] :]
                self._used, self._withdrawn = set(marks[1]), set(marks[2])
                continue
            return

    async def _select(self, cards: Sequence[Card], *, fails: bool) -> None:
        """Choose and make the first call of a turn: a verified one, else one with what earlier turns gave."""
        card = cards[0]
        entries = self._candidates(card, cards[1] if len(cards) > 1 else None, fails=fails)
        if not entries:
            await self._recall(card, fails=fails)
            return
        if not self._made:
            counts = [self._usage.of(list(read_slots(entry.arguments).values())) for entry in entries]
            least = [one for one, count in zip(entries, counts, strict=True) if count == min(counts)][:_OPENING]
            entries = [*self._random.sample(least, len(least)), *(one for one in entries if one not in least)]
        for entry in entries[:_TRIED]:
            mark = len(self._made)
            option = await self._by_name(entry, card) or of_entry(entry)
            if await self._try(card, option, fails=FAILURE in entry.id):
                self._withdrawn.add(entry.id)
                return
            self._undo(mark)
        raise HydrationError("verified calls fail behind others", card.tool)

    async def _recall(self, card: Card, *, fails: bool) -> None:
        entries = [one for one in self._stock.pool.behind(card.tool) if one.id not in self._withdrawn and not fails]
        self._random.shuffle(entries)
        for option in self._worth_trying(card, list(recalled(card, self._made, self._stock.taxonomy, entries))):
            if await self._try(card, option):
                self._withdrawn |= {option.entry}
                return
        self._memory.stuck(self._choices, card.tool, self._owned(card))
        raise HydrationError("no verified call left", card.tool)

    def _owned(self, card: Card) -> Choice | None:
        """Give the choice that named the owner, where verified calls of a tool are left that are about others."""
        made = self._abouts
        left = (entry for entry in self._stock.pool.of(card.tool) if self._may_try(card, entry.arguments))
        others = (self._about(card, one.arguments, self._stock.record(one).result) for one in left)
        if not any(conflicts(one, made)[0] for one in others):
            return None
        named = (place for place, one in enumerate(made) if one.people)
        return next((self._choices[place] for place in named), None)

    async def _extract(self, card: Card) -> None:
        """Choose and make a call whose arguments come from the result before, as far as a type leads there."""
        source = self._made[-1].card.tool
        pool = self._stock.pool
        entries = [*pool.of(card.tool), *pool.behind(card.tool)]
        entries = [entry for entry in entries if entry.id not in self._withdrawn]
        self._random.shuffle(entries)
        said = {str(value) for made in self._made for value in read_slots(made.arguments).values()}
        entries.sort(key=lambda entry: -len(said & set(map(str, read_slots(entry.arguments).values()))))
        if connecting(self._stock.taxonomy, source, card.tool):
            options = options_of(card, self._made, self._stock.taxonomy, entries)
        else:
            options = [of_entry(entry) for entry in entries if not entry.after]
            options += recalled(card, self._made, self._stock.taxonomy, [one for one in entries if one.after])
        for option in self._worth_trying(card, options):
            if await self._try(card, option):
                self._withdrawn |= {option.entry} - {""}
                return
        if self._choices:
            self._memory.barren(self._choices[-1])  # another start leads elsewhere
        raise HydrationError("nothing to hand on", f"{source} -> {card.tool}")

    def _candidates(self, card: Card, following: Card | None, *, fails: bool) -> list[PoolEntry]:
        """Give the verified calls that a turn may begin with, those of the same owner and least used values first."""
        pool = self._stock.pool
        entries = [
            entry
            for entry in (pool.failures(card.tool) if fails else pool.of(card.tool))
            if entry.id not in self._withdrawn and self._may_try(card, entry.arguments)
        ]
        if following is not None:
            types = connecting(self._stock.taxonomy, card.tool, following.tool)
            leading = [
                entry
                for entry in entries
                if assignments(types, card.tool, entry.result, following, arguments=entry.arguments)
            ]
            entries = leading or entries
        self._random.shuffle(entries)
        made = self._abouts

        def rank(entry: PoolEntry) -> tuple[int, int, int]:
            about = self._about(card, entry.arguments, self._stock.record(entry).result)
            people, things = conflicts(about, made)
            return people, things, self._usage.of(list(read_slots(entry.arguments).values()))

        entries = [entry for entry in entries if not rank(entry)[0]]
        named = [entry for entry in entries if self._is_by_name and self._stock.handles.of(entry) is not None]
        entries = distinct(sorted(named or entries, key=rank))
        fresh = [one for one in entries if self._is_fresh(card, one.arguments)]
        return fresh or entries

    async def _by_name(self, entry: PoolEntry, card: Card) -> Option | None:
        """Make the lookup that leads from a name to what an entry takes; give the arguments with what it found.

        None where no name does, or the lookup finds something else today.
        """
        handle = self._stock.handles.of(entry) if self._is_by_name else None
        if handle is None:
            return None
        lookup = self._stock.card(handle.tool)
        made = {call_key(one.card.tool, one.arguments): place for place, one in enumerate(self._made)}
        arguments = build({handle.path: handle.value})
        place = made.get(call_key(lookup.tool, arguments))
        mark = len(self._made)
        if place is None:
            found = self._stock.pool.get(handle.entry)
            if found is None or not await self._try(lookup, of_entry(found)):
                return None
            place = len(self._made) - 1
        slots = read_slots(entry.arguments)
        for option in options_of(card, self._made[: place + 1], self._stock.taxonomy, [entry], source=place):
            given = read_slots(option.arguments)
            pointed = [one for one in option.references if one.argument in handle.replaces]
            is_same = all(str(given.get(path)) == str(slots[path]) for path in handle.replaces)
            if is_same and len(pointed) == len(handle.replaces):
                origins = {path: Origin(source="user", entry=entry.id) for path in slots}
                return Option(
                    arguments=entry.arguments,
                    origins={**origins, **{one.argument: option.origins[one.argument] for one in pointed}},
                    states={path: value for path, value in slots.items() if path not in handle.replaces},
                    references=tuple(pointed),
                    entry=entry.id,
                )
        self._undo(mark)
        return None

    def _worth_trying(self, card: Card, options: Sequence[Option]) -> list[Option]:
        """Give the options that nothing speaks against, those of the same owner first."""
        made = self._abouts
        found = [one for one in self._steady(card, options) if self._may_try(card, one.arguments)]
        fresh = [one for one in found if self._is_fresh(card, one.arguments)] if self._stock.conditioned else found

        def rank(option: Option) -> tuple[int, int]:
            return conflicts(self._about(card, option.arguments), made)

        return sorted([one for one in fresh if not rank(one)[0]], key=rank)[:_TRIED]

    def _steady(self, card: Card, options: Sequence[Option]) -> list[Option]:
        """Leave out values that are others in each environment, and the options that need one."""
        needed = {one.path for one in card.parameters if is_needed(one)}
        found: list[Option] = []
        for option in options:
            gone = {
                path
                for path, origin in option.origins.items()
                if origin.call is not None
                and (self._made[origin.call].card.tool, card.tool, path) in self._memory.unsteady
            }
            if gone & needed:
                continue
            kept = {path: value for path, value in read_slots(option.arguments).items() if path not in gone}
            left = replace(
                option,
                arguments=build(kept),
                origins={path: one for path, one in option.origins.items() if path not in gone},
                references=tuple(one for one in option.references if one.argument not in gone),
            )
            found.append(left if gone else option)
        return found

    def _is_fresh(self, card: Card, arguments: Mapping[str, JsonValue]) -> bool:
        """Whether no call like it was made; now and then a person asks again."""
        made = [one.arguments for one in self._made if one.card.tool == card.tool]
        return not any(alike(arguments, one) for one in made) or self._random.random() < REPEATED

    def _may_try(self, card: Card, arguments: Mapping[str, JsonValue]) -> bool:
        key = call_key(card.tool, dict(arguments))
        if key in self._used or self._gone.intersection(map(str, read_slots(dict(arguments)).values())):
            return False
        return self._memory.may_try(len(self._choices), changes_of(self._choices), key)

    async def _try(self, card: Card, option: Option, *, fails: bool = False, asked: bool = True, deep: int = 0) -> bool:
        """Make what rules want first, then the call; False where it is not answered as the draft needs it."""
        stock = self._stock
        if self._memory.tries >= self._most:
            self._memory.is_over = True
            raise HydrationError(TRIED_OUT, card.tool)
        self._memory.tries += 1
        key = call_key(card.tool, option.arguments)
        turn = len(self._turns)
        before = changes_of(self._choices)
        mark = len(self._made)
        if not await self._prepare(card, option, deep):
            self._undo(mark)
            self._memory.failed(before, key)
            return False
        assumed = Executed(card, option.arguments, {}, "{}", turn)
        if stock.rules.broken([*self._made, assumed], stock.state, self._states):
            self._memory.failed(before, key)
            self._undo(mark)
            return False
        answer = await self._call(card, option.arguments, fails=fails)
        if answer is None:
            self._undo(mark)
            return False
        done = Executed(
            card,
            option.arguments,
            parsed(answer.content),
            answer.content,
            turn,
            answer.error,
            option.origins,
            option.references,
        )
        states = [*self._states]
        if stock.rules and card.writes is not False and (state := await self._opened.snapshot()) is not None:
            states.append(state)
        broken = stock.rules.broken([*self._made, done], stock.state, states)
        if broken or conflicts(self._about(card, done.arguments, done.result), self._abouts)[0]:
            self._memory.failed(before, key)
            if card.writes is not False:
                reason = "it would break a rule" if broken else TWO_PEOPLE
                raise HydrationError(reason, f"{card.tool}: {', '.join(broken)}" if broken else card.tool)
            self._undo(mark)
            return False
        self._note(done, option, key, states, fails=fails, asked=asked)
        return True

    def _undo(self, mark: int) -> None:
        """Take back the calls from number `mark` on, where they only read."""
        if not any(one.writes for one in self._choices[mark:]):
            for made in (self._made, self._planned, self._options, self._choices):
                del made[mark:]

    async def _prepare(self, card: Card, option: Option, deep: int) -> bool:
        """Make the calls that rules want before a call, about the same things where they can be."""
        for _ in range(_NEEDED):
            names = next(self._stock.rules.needed(card.tool, option.arguments, self._made), None)
            if names is None:
                return True
            if deep >= _NEEDED or not await self._first_of(names, option, deep):
                return False
        return next(self._stock.rules.needed(card.tool, option.arguments, self._made), None) is None

    async def _first_of(self, tools: Sequence[str], option: Option, deep: int) -> bool:
        """Make a call of one of the tools: first those that tell whose the things are that the call is about."""
        about = {str(value) for value in read_slots(option.arguments).values()}
        entry = self._stock.pool.get(option.entry)
        if entry is not None:
            people = self._about(self._stock.card(entry.tool), entry.arguments, entry.result).people
            owner = {key for keys in people.values() for key in keys}
            given = owner or {str(value) for _, value in scalars(entry.result)}
        else:
            owner, given = set(), set()
        so_far = {str(value) for one in self._made for _, value in scalars([one.arguments, one.result])}

        def rank(one: PoolEntry) -> tuple[bool, bool, bool]:
            values = {str(value) for _, value in scalars([one.arguments, one.result])}
            return not values & (owner or given), not values & about, not values & so_far

        for tool in tools:
            card = self._stock.card(tool)
            entries = [one for one in self._stock.pool.of(tool) if self._may_try(card, one.arguments)]
            for one in self._worth_trying(card, [of_entry(entry) for entry in sorted(entries, key=rank)])[:_TRIED]:
                if await self._try(card, one, asked=False, deep=deep + 1):
                    return True
        return False

    async def _call(self, card: Card, arguments: dict[str, JsonValue], *, fails: bool) -> Answer | None:
        """Make a call; None where it is not answered as the draft needs it, or changes nothing that reads tell."""
        watch = self._stock.watch if card.tool in self._stock.visible else Watch()
        watched = await watch.call(self._opened, card, arguments)
        answer, is_void = watched.answer, watched.changed is False
        verdict = judge(answer).verdict
        key = call_key(card.tool, arguments)
        if (verdict == "ok" and not is_void) or (fails and not answer.error and verdict in ("empty", "refused")):
            self._gone |= watched.gone
            return answer
        self._memory.failed(changes_of(self._choices), key)
        detail = shorten(printable(answer.content), 200)
        if verdict == "environment":
            raise HydrationError("the environment does not answer", detail)
        if card.writes is not False and answer.wrote is not False and not is_void:
            raise HydrationError("a change fails behind others", f"{card.tool}: {detail}")  # who knows what it left
        return None

    def _note(self, done: Executed, option: Option, key: str, states: list[State], *, fails: bool, asked: bool) -> None:
        writes = done.card.writes is not False
        self._memory.reached = max(self._memory.reached, len(self._choices) + 1)
        self._choices.append(Choice(len(self._choices), changes_of(self._choices), done.card.tool, key, writes))
        self._made.append(done)
        self._used |= {key} if asked else set()  # a user may ask for what was looked up for another reason
        self._options.append(option)
        self._states = states
        call = ExpectedCall(name=done.card.tool, arguments=done.arguments, compare_args=sorted(done.arguments))
        self._planned.append(
            PlannedCall(call=call, origins=option.origins, answer=done.content, writes=writes, fails=fails, asked=asked)
        )

    async def _wanted(self) -> tuple[Wanted, ...]:
        """Give what the user asks to be told of the last answer, if anything: what stays as it is.

        Left out is what a read answers otherwise when it is asked again (the time, a counter, a drawn number), and what
        another environment was found to have another value for.
        """
        last = self._made[-1]
        known = self._stock.ownership.plus(self._records)
        used = [value for one in self._made for _, value in scalars(one.arguments)]
        used += list(known.names(people_of(known, self._records)))
        found = [
            one for one in wanted_of(last.result, used) if (last.card.tool, "", one.path) not in self._memory.unsteady
        ]
        if found and last.card.writes is False:
            again = parsed((await self._opened.call(last.card.tool, last.arguments)).content)
            found = [one for one in found if said_at(again, one.path) == one.text]
        return (self._random.choice(found[:_FACTS]),) if found else ()


def _record(one: Executed) -> CallRecord:
    sources = frozenset(origin.call for origin in one.origins.values() if origin.call is not None)
    return CallRecord(one.card.tool, one.arguments, one.result, one.card.writes is not False, sources)
