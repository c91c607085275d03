"""The source of drafts of one deed each: a change or a question, with the lookups that lead to it, and nothing else.

A person comes for one thing. Each way to a tool, by itself or behind the lookups whose answers it takes, is drawn for
one person after the other: first what covers a tool or an edge that none has covered, then the shortest that was drawn
least. Now and then a tool refuses what is asked for first, and the user asks for the nearest thing that it takes; the
user says no when asked; or it asks for one more than a rule of the suite allows.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from random import Random
from typing import Literal

from pytest_agentbench.core.json_values import JsonValue, is_number, same
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.draft import Draft, Loss, Origin, PlannedCall, Reference, Stated, Turn
from pytest_agentbench.generation.language.plain import words_of
from pytest_agentbench.generation.owned_rows import records_of
from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk
from pytest_agentbench.generation.tools.flows import scalars_in
from pytest_agentbench.generation.tools.hydration.display_names import is_name
from pytest_agentbench.generation.tools.hydration.hydrate import hydrate
from pytest_agentbench.generation.tools.hydration.stock import HydrationError, Stock, Usage
from pytest_agentbench.generation.tools.labels import is_identifier, name_of
from pytest_agentbench.generation.tools.probing.result_parser import parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.pool import Pool, call_key
from pytest_agentbench.generation.tools.recruiting.proposals import is_needed, slips
from pytest_agentbench.generation.tools.ruled_deeds import RuledDeeds
from pytest_agentbench.generation.tools.source import draft_of
from pytest_agentbench.generation.tools.walks.coverage import Covered, Step, covered_by
from pytest_agentbench.generation.tools.walks.rehearsal import ways_to

_LOOKUPS = 2
"""Lookups in a row that lead to a deed."""
_AGAIN = 3
"""Times in a row that a way gives nothing new before it is left."""
_LOST = 2
"""Drafts with a step that may be lost, before no other one is tried with it."""
_FIRST_OTHER = 2
"""Scenarios before the first one in which not all is done."""

Kind = Literal["done", "failure", "declined", "beyond"]
"""What becomes of a deed: it is done; a tool refuses it first; the user says no when asked; it is more than allowed."""

Way = tuple[str, ...]
"""The tools of a chain, the deed's last."""

_Plan = tuple[Kind, Way]


@dataclass
class DeedSource:
    """Gives drafts of one deed each (`draft.Source`), the same for the same seed and the same answers about them.

    `closed` edges lead nowhere, `unfit` tools cannot be called; `enriched` is the share of scenarios of each kind in
    which not all is done. `left` says what was not rehearsed; `leading` are the tools that others take values from,
    `vain` the steps that no person takes, with the reason.
    """

    graph: Graph
    stock: Stock
    seed: int
    closed: Collection[Step] = ()
    unfit: Collection[str] = ()
    enriched: float = 0.1
    languages: Sequence[str] = ("en",)
    left: str = ""
    leading: set[str] = field(default_factory=set, init=False)
    vain: dict[str, str] = field(default_factory=dict, init=False)
    walks: dict[str, Walk] = field(default_factory=dict)
    _usage: Usage = field(default_factory=Usage)
    _plans: dict[str, _Plan] = field(default_factory=dict)
    _vain: Counter[_Plan] = field(default_factory=Counter)
    _drawn: Counter[_Plan] = field(default_factory=Counter)
    _seen: set[tuple[str, ...]] = field(default_factory=set)
    _lost_by: Counter[_Plan] = field(default_factory=Counter)
    _made: Counter[Kind] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.stock = replace(self.stock, pool=_asked_for(self.stock.pool))
        self._open = Covered.of_graph(self.graph)
        self._ruled = RuledDeeds(self.stock)
        ways = list(self._every_way())
        self.leading = {tool for way in ways for tool in way[:-1]}
        self._persons = {key for _, key in self.stock.ownership.persons()}
        tools = [one for one in self.graph.tools if one not in self.unfit]
        changes_first = sorted(tools, key=lambda tool: self.stock.card(tool).writes is False)
        confirmed = {tool for tool in tools if self._ruled.must_confirm(tool)}
        self._ways: dict[Kind, list[Way]] = {
            "failure": [(tool, tool) for tool in changes_first if self._may_refuse(tool)],
            "declined": [way for way in ways if way[-1] in confirmed],
            "beyond": [(tool,) * (most + 1) for tool in tools if (most := self._ruled.most(tool))],
            "done": ways,
        }

    def chosen(self, count: int) -> list[Walk]:
        """Give the chains that are drawn first, as long as nothing is known of their drafts."""
        plans = [self._next("done") for _ in range(count) if self._ways["done"]]
        return [_walk(f"d{number:02d}", *plan) for number, plan in enumerate(filter(None, plans), start=1)]

    async def drafts(self) -> AsyncIterator[Draft | Loss]:
        """Give drafts until no way leads to a new one.

        A way that never led to one is a loss, where no other is left to its tool; else it is told as missing.
        """
        number = 0
        while True:
            plan = self._due(number) or self._next("done")
            if plan is None:
                return
            kind, way = plan
            walk = _walk(f"d{number + 1:02d}", kind, way)
            random = Random(f"{self.seed}/{walk.id}/{self._vain[plan]}")  # noqa: S311 - a choice, no secret
            try:
                turns = await self._hydrated(plan, walk, random)
            except HydrationError as error:
                self._vain[plan] = _AGAIN
                if kind == "done" and any(self._left(kind, way[-1:])):
                    for name in (" -> ".join(way[-2:]), way[-1]):
                        self.vain.setdefault(name, f"tried in vain: {error.reason}")
                elif kind == "done" and self._drawn[plan] == 1:
                    self.walks[walk.id] = walk
                    yield self._lost(walk, error)
                    number += 1
                continue
            turns = self._told(plan, turns)
            if not turns:
                self._vain[plan] = _AGAIN
                continue
            every = [one.call for turn in turns for one in (*turn.calls, *turn.refused)]
            calls = (kind, *(call_key(one.name, dict(one.arguments)) for one in every))
            if calls in self._seen:
                self._vain[plan] += 1
                continue
            self._seen.add(calls)
            self._vain[plan] = 0
            self._made[kind] += 1
            number += 1
            self._plans[walk.id] = plan
            self.walks[walk.id] = walk if kind in ("done", "failure") else _walk(walk.id, kind, way[:-1])
            draft = draft_of(self.walks[walk.id], turns, self.stock, {})
            draft = draft if kind in ("done", "failure") else self._ruled.ruled(draft)
            language = self.languages[len(self._plans) % len(self.languages)]
            yield draft.model_copy(update={"language": language})

    async def _hydrated(self, plan: _Plan, walk: Walk, random: Random) -> tuple[Turn, ...]:
        """Give the turns of a walk; every second change of a tool is one with arguments that it does not need."""
        kind, way = plan
        times = sum(count for (_, other), count in self._drawn.items() if other[-1] == way[-1])
        if kind == "done" and times % 2 == 0 and way[-1] in self._fuller[0]:
            with suppress(HydrationError):
                return await hydrate(walk, self._fuller[1], random, usage=self._usage)
        stock = self._ruled.unlimited if kind == "beyond" else self.stock
        return await hydrate(walk, stock, random, usage=self._usage)

    @cached_property
    def _fuller(self) -> tuple[Collection[str], Stock]:
        """The changes that some calls give more than they need, and the stock without their calls that do not."""
        pool, bare, tools = self.stock.pool, set(), set()
        for tool in self.graph.tools:
            every = [*pool.of(tool), *pool.behind(tool)]
            least = {one.id for one in every if self._needs(tool).issuperset(read_slots(one.arguments))}
            if len(least) < len(every) and self.stock.card(tool).writes is not False:
                tools.add(tool)
                bare |= least
        kept = tuple(one for one in pool.entries if one.id not in bare or one.tool in self.stock.openers)
        return tools, replace(self.stock, pool=Pool(entries=kept))

    def accepted(self, draft: Draft) -> None:
        """Use what this draft names less in later ones; what its chain covers is covered."""
        self._usage.note(draft)
        self._open -= covered_by(self.walks[draft.id].nodes)

    def lost(self, loss: Loss) -> None:
        """Have the lookup of a lost draft asked for from now on; leave all ways with it once that is lost, too."""
        if loss.draft in self._plans:
            kind, way = self._plans[loss.draft]
            self._lost_by[kind, way[-2:]] += 1

    def _due(self, number: int) -> _Plan | None:
        """Give the next deed that is not all done, where one of its kind is due among so many scenarios."""
        kinds = [kind for kind in self._ways if kind != "done"]
        for first, kind in enumerate(kinds, start=_FIRST_OTHER):
            if self._made[kind] < ceil(self.enriched * (number + 1 - first)) and (plan := self._next(kind)):
                return plan
        return None

    def _told(self, plan: _Plan, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Give the turns of a deed as a person speaks, () where nobody asks for it this way."""
        kind, way = plan
        if any(map(self._is_pointless, _asked(turns))):
            self.vain[" -> ".join(way[-2:])] = "nobody asks for it this way"
            return ()
        needed = self._needs if not self._lost_by[kind, way[-2:]] else lambda _: set()
        told = tuple(of_one_deed(turns, self.stock.rules.confirms, needed))
        if kind in ("declined", "beyond"):
            return self._ruled.declined(told) if kind == "declined" else self._ruled.beyond(told)
        if not (told := _untold(told)):
            self.vain[" -> ".join(way[-2:])] = "it tells what was told before"
        return told

    def _needs(self, tool: str) -> set[str]:
        """Give the arguments that a tool needs, or says that it does, which an agent looks up on its own."""
        return {one.path for one in self.stock.card(tool).parameters if is_needed(one) or one.declared_required}

    def _is_pointless(self, one: tuple[PlannedCall, Sequence[PlannedCall]]) -> bool:
        """Whether nobody would look up what a call takes: it is known before, it only says whose a thing is or what
        it is called, or it stands among other people's things.
        """
        call, before = one
        slots = read_slots(dict(call.call.arguments))
        taken = [(at, path) for path, at in call.origins.items() if at.call is not None and path in slots]
        read = [(at, path) for at, path in taken if not before[at.call or 0].writes]

        def is_known(at: Origin, path: str) -> bool:
            place = at.call or 0
            lookups = [one for one in before if not one.writes]
            named = (
                one
                for lookup in lookups
                for where, one in read_slots(dict(lookup.call.arguments)).items()
                if where not in lookup.origins or lookup.origins[where].call != place  # it is not the same answer's
            )
            told = (
                value
                for earlier in before[:place]
                for where, value in scalars_in(parsed(earlier.answer))
                if _is_called(where, path, earlier.call.name)
            )
            return any(same(value, slots[path]) for value in (*named, *told))

        def is_only_whose(at: Origin, path: str) -> bool:
            asked, value = read_slots(dict(before[at.call or 0].call.arguments)), slots[path]
            is_of_person = any(str(one) in self._persons for one in asked.values())
            is_owner = str(value) in self._persons and not is_of_person
            return any(map(is_identifier, asked)) and (is_owner or (not call.writes and is_name(value)))

        every = records_of(before)
        known = self.stock.ownership.plus(every)
        if any(known.about(every[at.call or 0]).listed for at, _ in read):
            return True
        return bool(read) and (all(is_known(*one) for one in read) or any(is_only_whose(*one) for one in read))

    def _may_refuse(self, tool: str) -> bool:
        """Whether a user may well ask a tool for what it refuses: a change that it declines, a name with a slip."""
        pool = self.stock.pool
        is_change = self.stock.card(tool).writes is not False
        can_slip = any(True for entry in pool.of(tool) for _ in slips(entry.arguments))
        return bool(pool.of(tool) and pool.failures(tool)) and (is_change or can_slip)

    def _lost(self, walk: Walk, error: HydrationError) -> Loss:
        way = (node for node in walk.nodes if node not in (RUN_CONVERSATION, END_OF_SIMULATION))
        detail = f"{' -> '.join(way)}: {shorten(printable(error.detail), 300)}"
        return Loss(draft=walk.id, stage="hydration", reason=error.reason, detail=detail)

    def _next(self, kind: Kind) -> _Plan | None:
        """Draw a way: one that covers most of what is open, then of the tool that was drawn least, then the shortest.

        Changes are drawn twice as often as questions.
        """
        left = list(self._left(kind))
        if not left:
            return None
        drawn = Counter(tool for (_, way), count in self._drawn.items() for tool in way[-1:] * count)

        def rank(way: Way) -> tuple[float, ...]:
            found, times = covered_by(way), self._drawn[kind, way]
            new = 2 * (way[-1] in self._open.tools) + len(self._open.edges & found.edges) if kind == "done" else 0
            share = 1 if self.stock.card(way[-1]).writes is not False else 2
            return -new * (times == 0), share * (drawn[way[-1]] + 1), times, len(way)

        way = min(left, key=rank)
        self._drawn[kind, way] += 1
        return kind, way

    def _left(self, kind: Kind, ends: Way = ()) -> Iterator[Way]:
        """Yield the ways, those that end so, that may still lead to a new draft."""
        for way in self._ways[kind]:
            is_left = self._vain[kind, way] < _AGAIN and self._lost_by[kind, way[-2:]] < _LOST
            if is_left and way[len(way) - len(ends) :] == ends:
                yield way

    def _every_way(self) -> Iterator[Way]:
        """Yield the ways to each tool: by itself or behind what it needs, and behind lookups that it takes from."""
        typed = {(one.source, one.target) for one in self.graph.edges if one.via} - set(self.closed)
        tools = [tool for tool in self.graph.tools if tool not in self.unfit]
        reads = {tool for tool in tools if self.stock.card(tool).writes is False and self.stock.pool.of(tool)}
        leading: Mapping[str, list[str]] = {
            tool: [source for source in tools if source in reads and source != tool and (source, tool) in typed]
            for tool in tools
        }
        for tool in tools:
            ways = list(ways_to(tool, self.stock))
            yield from ways
            for _ in range(_LOOKUPS if ways else 0):
                ways = [(source, *way) for way in ways for source in leading[way[0]] if source not in way]
                yield from ways


def _asked_for(pool: Pool) -> Pool:
    """Leave out the calls with less than none of something, where a tool takes other calls: nobody asks for them."""
    odd = {entry.id for entry in pool.entries if any(map(_is_below_none, read_slots(entry.arguments).values()))}
    others = {entry.tool for entry in pool.entries if entry.id not in odd}
    needed = {name for entry in pool.entries for name in (entry.after, entry.opener)}
    kept = [one for one in pool.entries if one.id not in odd or one.tool not in others or one.id in needed]
    return Pool(entries=tuple(kept))


def _is_below_none(value: JsonValue) -> bool:
    """Whether a value is a negative whole number, as probes try it; degrees of a place have decimals."""
    return is_number(value) and value < 0 and value == int(value)


def _walk(name: str, kind: Kind, way: Way) -> Walk:
    """Give the walk of a deed; one that is asked for more than once begins anew each time."""
    nodes = [RUN_CONVERSATION]
    for place, tool in enumerate(way):
        nodes += [RUN_CONVERSATION] * (place > 0 and kind in ("failure", "beyond")) + [tool]
    enriched = "1: failure" if kind == "failure" else ""
    return Walk(id=name, nodes=(*nodes, RUN_CONVERSATION, END_OF_SIMULATION), enriched=enriched)


def _asked(turns: Sequence[Turn]) -> Iterator[tuple[PlannedCall, Sequence[PlannedCall]]]:
    """Yield each call that is asked for, with those before it."""
    calls = [call for turn in turns for call in turn.calls]
    return ((call, calls[:place]) for place, call in enumerate(calls) if call.asked)


def of_one_deed(
    turns: Sequence[Turn], confirms: Callable[[PlannedCall], bool], needed: Callable[[str], set[str]]
) -> Iterator[Turn]:
    """Give the turns of one chain as a person speaks: what they choose from is a request of its own, before the deed.

    A lookup that gives one thing is not asked for: the agent makes it on its own with what the user says.
    """
    calls = [call for turn in turns for call in turn.calls]
    firsts = [sum(len(one.calls) for one in turns[:place]) for place in range(len(turns))]
    references: list[Reference] = []
    said: list[Stated] = []
    for first, turn in zip(firsts, turns, strict=True):  # from here on calls are counted over all turns
        references += [one.model_copy(update={"call": first + one.call}) for one in turn.references]
        said += [one.model_copy(update={"call": first + one.call}) for one in turn.states]
    implied = _implied(calls, said, references, needed)
    states = []
    for one in said:
        found = None if calls[one.call].asked else _told(one, calls, implied)
        if found is None:
            states.append(one)
        else:  # nobody says what a lookup tells anyway
            origins = {**calls[one.call].origins, one.argument: found}
            calls[one.call] = calls[one.call].model_copy(update={"origins": origins})
    for group in _requests(calls, implied):
        parts: list[list[int]] = [[]]
        for place in group:
            if confirms(calls[place]):
                parts.append([])
            parts[-1].append(place)
        for part in parts:
            own = [calls[at].model_copy(update={"asked": calls[at].asked and at not in implied}) for at in part]
            turn = Turn(calls=tuple(own))
            if part is parts[0]:
                own_said = [one for one in states if one.call in group]
                own_said = [one.model_copy(update={"call": group.index(one.call)}) for one in own_said]
                shown = [one for one in references if one.call in group and one.source not in implied]
                shown = [one.model_copy(update={"call": group.index(one.call)}) for one in shown]
                refused = next((tuple(one.call.arguments.values()) for one in own if one.fails), ())
                update = {"states": tuple(own_said), "references": tuple(shown), "about": refused}
                turn = turn.model_copy(update=update)
            else:
                about = tuple(calls[part[0]].call.arguments.values())
                turn = turn.model_copy(update={"act": "confirm", "about": about})
            if part and part[-1] == len(calls) - 1:
                wanted = [one.model_copy(update={"call": len(part) - 1}) for one in turns[-1].wanted]
                turn = turn.model_copy(update={"wanted": tuple(wanted)})
            yield turn


def _untold(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Give turns whose last asks for no fact that an earlier one told, () where it could tell nothing else."""
    last, told = turns[-1], [value for turn in turns[:-1] for call in turn.calls for value in _tells(call)]
    if not any(call.writes for call in last.calls) and all(
        any(same(value, one) for one in told) for call in last.calls for value in _tells(call)
    ):
        return tuple(turns) if len(turns) == 1 else ()
    wanted = tuple(one for one in last.wanted if one.text not in map(str, told))
    return (*turns[:-1], last.model_copy(update={"wanted": wanted}))


def _tells(call: PlannedCall) -> list[JsonValue]:
    return [value for _, value in scalars_in(parsed(call.answer))]


def _implied(
    calls: Sequence[PlannedCall],
    states: Sequence[Stated],
    references: Sequence[Reference],
    needed: Callable[[str], set[str]],
) -> set[int]:
    """Give the lookups that nobody has to ask for: an agent knows from names alone what it needs their answers for."""
    found = set()
    for place, call in enumerate(calls[:-1]):
        taken = [one for one in references if one.source == place]
        own = [one.argument for one in references if one.call == place]
        own += [one.argument for one in states if one.call == place]
        is_plain = all(one.count < 2 and _is_called(one.path, one.argument, call.call.name) for one in taken)
        is_plain = is_plain and all(one.argument in needed(calls[one.call].call.name) for one in taken)
        is_plain = is_plain and all(one in needed(call.call.name) for one in own)  # nobody filters what is not shown
        is_after_refusal = any(one.fails for one in calls[:place])  # else what was refused may be meant again
        if call.asked and not call.writes and taken and is_plain and not is_after_refusal:
            found.add(place)
    return found


def _requests(calls: Sequence[PlannedCall], implied: Collection[int]) -> list[list[int]]:
    """Give the places of the calls of each request: one ends with what the next one is about."""
    groups: list[list[int]] = [[]]
    for place, call in enumerate(calls):
        groups[-1].append(place)
        if call.asked and place not in implied and place < len(calls) - 1:
            groups.append([])
    return groups


def _told(one: Stated, calls: Sequence[PlannedCall], lookups: Collection[int]) -> Origin | None:
    """Give where a lookup that the agent makes anyway tells a value, under the name of the argument that takes it."""
    for place in lookups:
        for path, value in scalars_in(parsed(calls[place].answer)) if place < one.call else ():
            if same(value, one.value) and _is_called(path, one.argument, calls[place].call.name):
                return Origin(source="result", call=place, path=path)
    return None


def _is_called(path: str, argument: str, tool: str) -> bool:
    """Whether an answer of a tool calls a value as the argument that takes it is called: an agent needs no word to find
    it. A bare `id` is that of what the tool is about.
    """
    name, wanted = words_of(name_of(path)), words_of(name_of(argument))
    is_own = name == "id" and "." not in path.lstrip("0123456789.") and wanted.removesuffix(" id") in _nouns(tool)
    return not path[-1:].isdigit() and (name == wanted or is_own)


def _nouns(tool: str) -> set[str]:
    """Give the last word of a tool's name, as it stands and as of one thing."""
    last = words_of(tool).rpartition(" ")[2]
    return {last, last.removesuffix("s")}
