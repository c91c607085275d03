"""A walk hydrated: real calls in one fresh environment, in the order of the conversation, turn after turn.

An argument comes from a verified call of the pool, which the user says, or from an earlier result, at which the user
points (tool-to-scenario §4.4). Where a rule of the suite wants another call first, it is made; what would break a rule
is not made. What cannot be hydrated is tried again with other entries; calls that failed are not tried again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.spoken import says
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.draft import Turn, Wanted
from pytest_agentbench.generation.owned_rows import CallRecord
from pytest_agentbench.generation.ownership import About, Ownership, conflicts, people_of
from pytest_agentbench.generation.tools.data_types import Card, PoolEntry, Walk
from pytest_agentbench.generation.tools.flows import connecting, handed_on
from pytest_agentbench.generation.tools.hydration.arguments import (
    Argument,
    Executed,
    Option,
    about_the_same,
    is_of_another,
    of_entry,
    options_of,
    recalled,
    signs_of,
)
from pytest_agentbench.generation.tools.hydration.stock import HydrationError, Memory, Stock, Usage, changes_of
from pytest_agentbench.generation.tools.hydration.turns import (
    numbered,
    said_at,
    spoken_form,
    turns_of_calls,
    unsteady_values,
    wanted_of,
)
from pytest_agentbench.generation.tools.probing.result_parser import parsed
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.recruiting.pool import FAILURE, Pool, Watch, alike, call_key, distinct
from pytest_agentbench.generation.tools.recruiting.proposals import is_needed
from pytest_agentbench.generation.tools.walks.walk_sampling import turns_of
from pytest_agentbench.generation.tools.walks.weights import REPEATED
from pytest_agentbench.generation.tools.world import Answer, Opened
from pytest_agentbench.validation.world_values import scalars

ATTEMPTS = 24
"""Times that a walk is hydrated before it is lost."""
TRIES = 240
"""Calls that are tried for one walk, over all attempts: where rules leave hardly any, each costs others before it."""
TWO_PEOPLE: Final = "it would mix the affairs of two people"
BROKEN: Final = "it would break a rule"
NONE_LEFT: Final = "no verified call left"
NOTHING: Final = "nothing to hand on"
READS_FAIL: Final = "verified calls fail behind others"
CHANGE_FAILS: Final = "a change fails behind others"
TRIED_OUT: Final = "too many calls were tried"
OF_ONE: Final = "values that are others in each environment"
"""Reasons of walks that are lost; of one with too many tries nobody knows whether another would have led to its end."""
_AGAIN = 12
"""Times that a turn is begun in one attempt, as long as nothing was changed in it."""
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
    last = HydrationError(TRIED_OUT)
    furthest = -1
    longest: tuple[Turn, ...] = ()
    for number in range(attempts):
        memory.reached = 0
        try:
            async with stock.world.open() as opened:
                attempt = Attempt(stock, opened, random, memory, usage or Usage(), most, by_name=number % 2 == 0)
                try:
                    turns = await attempt.run(walk)
                except HydrationError:
                    longest = max(longest, tuple(attempt.turns), key=len)
                    raise
            if lost := await unsteady_values(turns, stock):
                memory.unsteady |= lost
                raise HydrationError(OF_ONE, ", ".join(f"{one} -> {other} ({at})" for one, other, at in sorted(lost)))
            return tuple(map(numbered, turns))
        except HydrationError as error:
            if memory.reached >= furthest and (furthest < 0 or error.reason != TRIED_OUT):
                last, furthest = error, memory.reached
            if memory.is_over:
                break
    last.turns = tuple(map(numbered, longest))
    raise last


@dataclass(eq=False)
class Attempt:
    """One attempt at one walk; in an attempt `by_name` things are spoken of by their names.

    `refusal` says why the last call was not made, or not kept.
    """

    stock: Stock
    opened: Opened
    random: Random
    memory: Memory
    usage: Usage
    most: int
    by_name: bool
    turns: list[Turn] = field(default_factory=list)
    made: list[Executed] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    withdrawn: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    refusal: str = ""
    _mattered: tuple[list[Executed], Ownership, list[About]] | None = None

    @property
    def pool(self) -> Pool:
        """The verified calls that work in the session that is open, all before one is."""
        return self.stock.pool.of_session(self.stock.session(self.made))

    async def run(self, walk: Walk) -> list[Turn]:
        """Hydrate turn after turn."""
        failing = walk.enriched.partition(":")[0]
        place = 1
        for tools in turns_of(walk):
            fails = failing.isdigit() and place == int(failing)
            first = len(self.made)
            await self._play([self.stock.card(tool) for tool in tools], fails=fails)
            wanted = () if fails else await self.wanted()
            self.turns += turns_of_calls(self.made[first:], wanted, self.stock, first)
            place += len(tools) + 1
        self.check_owner()
        return self.turns

    def check_owner(self) -> None:
        """Raise `HydrationError` where the calls are about the affairs of two people."""
        for place, why in self.stock.mixed([one.record for one in self.made]):
            self.memory.barren(place, self.made[place])
            raise HydrationError(TWO_PEOPLE, why)

    async def _play(self, cards: Sequence[Card], *, fails: bool) -> None:
        """Make the calls of a turn; where reads lead nowhere others are made in their place."""
        mark, used, withdrawn = len(self.made), set(self.used), set(self.withdrawn)
        for left in range(_AGAIN - 1, -1, -1):
            try:
                await self._select(cards, fails=fails)
                for card in cards[1:]:
                    await self._extract(card)
            except HydrationError as error:
                has_changed = any(one.writes for one in self.made[mark:])
                if not left or error.reason not in (NOTHING, READS_FAIL) or has_changed:
                    raise
                self._undo(mark)
                self.used, self.withdrawn = set(used), set(withdrawn)
                continue
            return

    async def _select(self, cards: Sequence[Card], *, fails: bool) -> None:
        """Choose and make the first call of a turn: a verified one, else one with what earlier turns gave."""
        card = cards[0]
        entries = self._candidates(card, cards[1] if len(cards) > 1 else None, fails=fails)
        if not entries:
            behind = [one for one in self.pool.behind(card.tool) if one.id not in self.withdrawn and not fails]
            self.random.shuffle(behind)
            if not await self._first_that_works(card, list(recalled(card, self.made, self.stock.taxonomy, behind))):
                self.memory.stuck(self.made, card.tool)
                raise HydrationError(NONE_LEFT, card.tool)
            return
        if not self.made:
            known = self._affairs[0]
            counts = {entry.id: self._used(entry.arguments, known, entry) for entry in entries}
            least = [one for one in entries if counts[one.id] == min(counts.values())][:_OPENING]
            entries = [*self.random.sample(least, len(least)), *(one for one in entries if one not in least)]
        for entry in entries[:_TRIED]:
            mark = len(self.made)
            option = await self._named(entry, card) or of_entry(entry)
            if await self.make(card, option, fails=FAILURE in entry.id):
                self.withdrawn.add(entry.id)
                return
            self._undo(mark)
        raise HydrationError(READS_FAIL, card.tool)

    async def _extract(self, card: Card) -> None:
        """Choose and make a call whose arguments come from the result before, as far as a type leads there."""
        taxonomy, source = self.stock.taxonomy, self.made[-1].card.tool
        entries = [*self.pool.of(card.tool), *self.pool.behind(card.tool)]
        entries = [entry for entry in entries if entry.id not in self.withdrawn]
        self.random.shuffle(entries)
        said = {str(value) for one in self.made for value in read_slots(one.arguments).values()}
        entries.sort(key=lambda entry: -len(said & set(map(str, read_slots(entry.arguments).values()))))
        if connecting(taxonomy, source, card.tool):
            options = options_of(card, self.made, taxonomy, entries)
        else:
            options = [of_entry(entry) for entry in entries if not entry.after]
            options += recalled(card, self.made, taxonomy, [one for one in entries if one.after])
        if not await self._first_that_works(card, options):
            self.memory.barren(len(self.made) - 1, self.made[-1])  # another start leads elsewhere
            raise HydrationError(NOTHING, f"{source} -> {card.tool}")

    async def _first_that_works(
        self, card: Card, options: Sequence[Option], *, ahead: Sequence[About] = (), **how: Any
    ) -> bool:
        for option in self._worth_trying(card, options, ahead):
            if await self.make(card, option, **how):
                self.withdrawn |= {option.entry} - {""} if not how else set()
                return True
        return False

    def _candidates(self, card: Card, following: Card | None, *, fails: bool) -> list[PoolEntry]:
        """Give the verified calls that a turn may begin with, those of the same owner and least used values first."""
        pool, taxonomy = self.pool, self.stock.taxonomy
        entries = [
            entry
            for entry in (pool.failures(card.tool) if fails else pool.of(card.tool))
            if entry.id not in self.withdrawn and self._may_try(card, entry.arguments)
        ]
        if following is not None:
            leading = [entry for entry in entries if handed_on(taxonomy, card.tool, entry.result, following)]
            entries = leading or entries
        self.random.shuffle(entries)
        known, made = self._affairs
        against = {one.id: conflicts(known.about(self.stock.record(one)), made) for one in entries}
        entries = [entry for entry in entries if not against[entry.id][0]]
        named = [entry for entry in entries if self.by_name and self.stock.handles.of(entry) is not None]
        entries = named or entries
        entries = distinct(sorted(entries, key=lambda one: (against[one.id], self._used(one.arguments, known, one))))
        if self.made and self.made[-1].fails:
            said = signs_of(self.made[-1].arguments)
            entries.sort(key=lambda one: -len(said & signs_of(one.arguments)))  # what was meant, or the next best
        return [one for one in entries if self._is_fresh(card, one.arguments)] or entries

    def _used(self, arguments: dict[str, Any], known: Ownership, entry: PoolEntry | None = None) -> int:
        """Count how often earlier drafts were about what a call is about: its values, and whose they are."""
        people = known.about(self.stock.record(entry)).people.values() if entry else ()
        opener = self.stock.pool.get(entry.opener) if entry else None
        return self.usage.of({"own": dict(arguments), "opener": opener.arguments if opener else {}}) + self.usage.of(
            {"people": sorted(key for keys in people for key in keys)}
        )

    async def _named(self, entry: PoolEntry, card: Card) -> Option | None:
        """Make the lookup that leads from a name to what an entry takes; give the arguments with what it found.

        None where no name does, or the lookup finds something else today.
        """
        handle = self.stock.handles.of(entry) if self.by_name else None
        found = self.stock.pool.get(handle.entry) if handle else None
        if handle is None or found is None or found.opener not in ("", entry.opener):
            return None
        lookup, mark = self.stock.card(handle.tool), len(self.made)
        key = call_key(lookup.tool, build({handle.path: handle.value}))
        place = next((at for at, one in enumerate(self.made) if one.key == key), None)
        if place is None:
            if not await self.make(lookup, of_entry(found)):
                return None
            place = len(self.made) - 1
        whole = of_entry(entry)
        for option in options_of(card, self.made[: place + 1], self.stock.taxonomy, [entry], source=place):
            pointed = {path: one for path, one in option.parts.items() if path in handle.replaces and one.reference}
            is_same = all(str(one.value) == str(whole.parts[path].value) for path, one in pointed.items())
            if is_same and len(pointed) == len(handle.replaces):
                exact = {path: one._replace(value=whole.parts[path].value) for path, one in pointed.items()}
                return replace(whole, parts={**whole.parts, **exact})
        self._undo(mark)
        return None

    def _worth_trying(self, card: Card, options: Sequence[Option], ahead: Sequence[About]) -> list[Option]:
        """Give the options that nothing speaks against, those of the same owner first, then those used least.

        Before a call that comes next (`ahead`) the order given decides, since it says what leads there.
        """
        known, made = self._affairs
        found = [one for one in map(self._steady(card), options) if one and self._may_try(card, one.arguments)]
        if self.stock.conditioned:
            found = [one for one in found if self._is_fresh(card, one.arguments)]
        against = [conflicts(known.about(self._record(card, one)), [*made, *ahead]) for one in found]
        used = [0 if ahead else self._used(one.arguments, known) for one in found]
        order = sorted(range(len(found)), key=lambda place: (against[place], used[place]))
        return [found[place] for place in order if not against[place][0]][:_TRIED]

    def _record(self, card: Card, option: Option) -> CallRecord:
        entry = self.stock.pool.get(option.entry) if option.whole is not None else None
        if entry is not None:
            return self.stock.record(entry)
        return CallRecord(card.tool, option.arguments, writes=card.writes is not False)

    def _steady(self, card: Card) -> Any:
        """Give what leaves out values that are others in each environment, None for options that need one."""
        needed = {one.path for one in card.parameters if is_needed(one)}

        def is_gone(path: str, one: Argument) -> bool:
            call = one.origin.call
            return call is not None and (self.made[call].card.tool, card.tool, path) in self.memory.unsteady

        def steady(option: Option) -> Option | None:
            gone = {path for path, one in option.parts.items() if is_gone(path, one)}
            if gone & needed:
                return None
            kept = {path: one for path, one in option.parts.items() if path not in gone}
            return replace(option, parts=kept, whole=None) if gone else option

        return steady

    def _is_fresh(self, card: Card, arguments: Mapping[str, JsonValue]) -> bool:
        """Whether no call like it was made; now and then a person asks again."""
        before = [one.arguments for one in self.made if one.card.tool == card.tool]
        return not any(alike(arguments, one) for one in before) or self.random.random() < REPEATED

    def _may_try(self, card: Card, arguments: Mapping[str, JsonValue]) -> bool:
        key = call_key(card.tool, dict(arguments))
        if card.tool in self.stock.openers and self.stock.session(self.made):
            return False  # one conversation is one person's
        if key in self.used or self.gone.intersection(map(str, read_slots(dict(arguments)).values())):
            return False
        return self.memory.may_try(len(self.made), changes_of(self.made), key)

    @property
    def _affairs(self) -> tuple[Ownership, list[About]]:
        """What is known of ownership by now, and what each call is about."""
        if self._mattered is None or self._mattered[0] != self.made:
            known = self.stock.ownership.plus([one.record for one in self.made])
            self._mattered = (list(self.made), known, [known.about(one.record) for one in self.made])
        return self._mattered[1:]

    async def make(self, card: Card, option: Option, *, fails: bool = False, asked: bool = True, deep: int = 0) -> bool:
        """Make what rules want first, then the call; False where it is not answered as the draft needs it."""
        stock, rules = self.stock, self.stock.rules
        if self.memory.tries >= self.most:
            self.memory.is_over = True
            raise HydrationError(TRIED_OUT, card.tool)
        self.memory.tries += 1
        before, mark = changes_of(self.made), len(self.made)
        key = call_key(card.tool, option.arguments)
        turn = len(self.turns)
        is_ready = await self._prepare(card, option, deep)
        self.refusal = "" if is_ready else "a rule wants another call first, and none of it works"
        if is_ready and (
            broken := rules.broken([*self.made, Executed(card, option, turn=turn)], stock.state, self.states)
        ):
            self.refusal = f"it breaks {', '.join(broken)}"
        if self.refusal:
            self.memory.failed(before, key)
            self._undo(mark)
            return False
        answer = await self._call(card, option.arguments, fails=fails)
        if answer is None:
            self._undo(mark)
            return False
        done = Executed(card, option, answer.content, turn, answer.error, fails, asked, changes_of(self.made))
        states = [*self.states]
        if done.writes and stock.state is not None and (state := await self.opened.snapshot()) is not None:
            if not fails and state == (states[-1] if states else stock.state):
                self.memory.failed(before, key)
                self._undo(mark)
                self.refusal = "it leaves all as it was"
                return False
            states.append(state)
        broken = rules.broken([*self.made, done], stock.state, states)
        about = stock.ownership.plus([*(one.record for one in self.made), done.record]).about(done.record)
        if broken or conflicts(about, self._affairs[1])[0]:
            self.memory.failed(before, key)
            if done.writes:
                detail = f"{card.tool}: {', '.join(broken)}" if broken else card.tool
                raise HydrationError(BROKEN if broken else TWO_PEOPLE, detail)
            self._undo(mark)
            self.refusal = f"it breaks {', '.join(broken)}" if broken else "it is about somebody else's affairs"
            return False
        self.made.append(done)
        self.states = states
        self.memory.reached = max(self.memory.reached, len(self.made))
        self.used |= {key} if asked else set()  # a user may ask for what was looked up for another reason
        return True

    def _undo(self, mark: int) -> None:
        """Take back the calls from number `mark` on, where they only read."""
        if not any(one.writes for one in self.made[mark:]):
            del self.made[mark:]

    async def _prepare(self, card: Card, option: Option, deep: int) -> bool:
        """Make the calls that rules want before a call."""
        if not await self._open_session(card, option, deep):
            return False
        for _ in range(_NEEDED + 1):
            names = next(self.stock.rules.needed(card.tool, option.arguments, self.made), None)
            if names is None:
                proofs = self.stock.rules.proofs(card.tool, option.arguments, self.made)
                return not any(is_of_another(one, card, option, self.stock.taxonomy) for one in proofs)
            if deep >= _NEEDED or not await self._first_of(names, card, option, deep):
                return False
        return False

    async def _open_session(self, card: Card, option: Option, deep: int) -> bool:
        """Make the call that opens the session which a call needs: that of its entry, once."""
        entry, session = self.stock.pool.get(option.entry), self.stock.session(self.made)
        if session or not card.opener:
            return not session or entry is None or entry.opener in ("", session)
        opener = self.stock.pool.get(entry.opener) if entry else None
        start, ordered = self.stock.card(card.opener), self.stock.rules.needed(card.tool, option.arguments, self.made)
        asked = not any(card.opener in names for names in ordered)  # else an agent makes it on its own
        return opener is not None and await self.make(start, of_entry(opener), asked=asked, deep=deep + 1)

    async def _first_of(self, tools: Sequence[str], caller: Card, option: Option, deep: int) -> bool:
        """Make a call of one of the tools, of what the call after it takes and for the same person: first those that
        tell whose the things are.
        """
        known = self._affairs[0]
        ahead = known.about(self._record(caller, option))
        about = {str(value) for value in read_slots(option.arguments).values()}
        entry = self.stock.pool.get(option.entry)
        owner = {key for keys in ahead.people.values() for key in keys}
        owner = owner or {str(value) for _, value in scalars(entry.result if entry else None)}
        so_far = {str(value) for one in self.made for _, value in scalars([one.arguments, one.result])}

        def rank(one: Option) -> tuple[bool, bool, bool, bool, int]:
            found = self.stock.pool.get(one.entry)
            values = {str(value) for _, value in scalars([one.arguments, found.result if found else None])}
            least = self._used(one.arguments, known)
            return one.whole is None, not values & owner, not values & about, not values & so_far, least

        for tool in tools:
            card = self.stock.card(tool)
            every = [about_the_same(of_entry(one), tool, option, caller.tool) for one in self.pool.of(tool)]
            options = list({call_key(tool, one.arguments): one for one in sorted(every, key=rank)[::-1]}.values())[::-1]
            if await self._first_that_works(card, options, ahead=[ahead], asked=False, deep=deep + 1):
                return True
        return False

    async def _call(self, card: Card, arguments: dict[str, Any], *, fails: bool) -> Answer | None:
        """Make a call; None where it is not answered as the draft needs it, or a change leaves all as it was."""
        watch = self.stock.watch(self.stock.session(self.made)) if card.tool in self.stock.visible else Watch()
        watched = await watch.call(self.opened, card, arguments)
        answer = watched.answer
        is_void = watched.changed is False or (card.writes is True and answer.wrote is False)
        verdict = judge(answer).verdict
        is_refusal = verdict in ("empty", "refused") and (not answer.error or card.writes is not False)
        if (verdict == "ok" and not is_void) or (fails and is_refusal and answer.wrote is not True):
            self.gone |= watched.gone
            return answer
        self.memory.failed(changes_of(self.made), call_key(card.tool, arguments))
        detail = self.refusal = shorten(printable(answer.content), 200)
        if verdict == "environment":
            raise HydrationError("the environment does not answer", detail)
        if card.writes is not False and answer.wrote is not False and not is_void:
            raise HydrationError(CHANGE_FAILS, f"{card.tool}: {detail}")  # who knows what it left
        return None

    async def wanted(self) -> tuple[Wanted, ...]:
        """Give what the user asks to be told of the last answer, if anything: what stays as it is, and is new.

        Nothing is asked of a change: what it answers may be of anything. Left out is what an earlier turn told, what a
        read answers otherwise when it is asked again (the time, a counter, a drawn number), and what another
        environment was found to have another value for.
        """
        last, unsteady = self.made[-1], self.memory.unsteady
        if last.writes:
            return ()
        known = self._affairs[0]
        used = [value for one in self.made for _, value in scalars(one.arguments)]
        used += [value for one in self.made if one.turn < last.turn for _, value in scalars(one.result)]
        told = {spoken_form(value) for one in self.made[:-1] for _, value in scalars(one.result)}
        people = people_of(known, [one.record for one in self.made])
        used += [*known.names(people), *known.owner_of(people).facts.values()]  # nobody asks who he is
        found = [
            one
            for one in wanted_of(last.result, used, last.card.tool, last.arguments)
            if (last.card.tool, "", one.path) not in unsteady
        ]
        found = [one for one in found if one.text not in told] or found
        said = [str(value) for one in self.made for value in one.option.said.values()]
        found = [one for one in found if not any(says(one.text, text) for text in said)]  # who echoes tells nothing
        if found:
            again = parsed((await self.opened.call(last.card.tool, last.arguments)).content)
            found = [one for one in found if said_at(again, one.path) == one.text]
        return (self.random.choice(found[:_FACTS]),) if found else ()
