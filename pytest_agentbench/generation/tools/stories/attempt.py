"""One attempt at one walk: its calls are made and its lines said, turn after turn, in one environment."""

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.recruiting.choosing import alike, distinct, fresh, speakable
from pytest_agentbench.generation.tools.recruiting.pool import FAILURE, call_key
from pytest_agentbench.generation.tools.recruiting.stock import Stock, turns_of
from pytest_agentbench.generation.tools.recruiting.watching import Watch
from pytest_agentbench.generation.tools.stories.context import said_once
from pytest_agentbench.generation.tools.stories.facts import Fact
from pytest_agentbench.generation.tools.stories.flows import assignments, connecting
from pytest_agentbench.generation.tools.stories.narrator import Answered, ExtractGiven, Narrator, SelectGiven, WishGiven
from pytest_agentbench.generation.tools.stories.natural import is_natural, natural
from pytest_agentbench.generation.tools.stories.propagation import Made, Propagated, propagated
from pytest_agentbench.generation.tools.stories.recalling import lasting, recalled, recalling
from pytest_agentbench.generation.tools.stories.referring import is_spoken
from pytest_agentbench.generation.tools.stories.searching import Choice, Memory, situation_of
from pytest_agentbench.generation.tools.stories.telling import HydrationError, Telling, WordingError
from pytest_agentbench.generation.tools.stories.tracing import option_of, trace_to_result
from pytest_agentbench.generation.tools.stories.usage import Usage
from pytest_agentbench.generation.tools.stories.worth_telling import worth_telling
from pytest_agentbench.generation.tools.values import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Card,
    Handle,
    PoolEntry,
    Provenance,
    Step,
    Walk,
)
from pytest_agentbench.generation.tools.walks.conditioned import REPEATED
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES
from pytest_agentbench.generation.tools.world import Answer, Opened

_TURNS = 12
"""Times that a turn is begun in one attempt, as long as nothing was changed in it."""
SHOWN = 12
"""Entries of the pool that a narrator chooses from."""
_ELSEWHERE = frozenset(("nothing to propagate", "verified calls fail in the story"))
"""Reasons for which other reads may lead on."""
_TRIED = 6
"""Combinations of arguments that are tried for one arc."""
_FACTS = 4
"""Values of a result among which the one to be told is chosen."""


class Attempt:
    """One attempt at one walk."""

    def __init__(  # noqa: PLR0917 - all of it is what an attempt is made with
        self,
        stock: Stock,
        narrator: Narrator,
        opened: Opened,
        telling: Telling,
        random: Random,
        memory: Memory,
        usage: Usage,
    ) -> None:
        self._stock = stock
        self._narrator = narrator
        self._opened = opened
        self._tongue = TONGUES[telling.language]
        self._random = random
        self._memory = memory
        self._usage = usage
        self._choices: list[Choice] = []
        self._steps: list[Step] = []
        self._made: list[Made] = []
        self._used: set[str] = set()
        self._withdrawn: set[str] = set()
        self._gone: set[str] = set()
        self._known: set[str] = set()
        self._telling = telling
        self._turn = 0

    async def run(self, walk: Walk) -> list[Step]:
        """Hydrate turn after turn."""
        planned = walk.enriched.partition(":")[0]
        place = 0
        for tools, ends in turns_of(walk):
            fails = planned.isdigit() and place + 1 == int(planned)
            await self._play(tools, ends=ends, fails=fails)
            place += len(tools) + 1
        return self._steps

    async def _play(self, tools: Sequence[str], *, ends: str, fails: bool) -> None:
        cards = [self._stock.card(tool) for tool in tools]
        first = len(self._steps)
        wishes, self._known = said_once(await self._calls(cards, fails=fails), self._stock.context, self._known)
        facts = [] if fails else await self._facts()
        fact = self._random.choice(facts[:_FACTS]) if facts else None
        line = await self._telling.request(wishes, fact.name if fact and not fact.answers else "")
        self._steps[first] = self._steps[first].model_copy(update={"sentence": line})
        turn = [made for made in self._made if made.turn == self._turn]
        for made in turn:
            self._telling.learn(made.result)
        told = {fact.name: fact.text} if fact else {}
        answers = [Answered(card=made.card, arguments=made.arguments, content=made.content) for made in turn]
        sentence = await self._telling.tell(answers, told)
        where = {fact.name: fact.path} if fact else {}
        self._steps.append(
            Step(operation="tell", source=tools[-1], target=RUN_CONVERSATION, sentence=sentence, facts=where)
        )
        self._turn += 1
        if ends == END_OF_SIMULATION:
            closing = await self._telling.close()
            self._steps.append(
                Step(operation="close", source=RUN_CONVERSATION, target=END_OF_SIMULATION, sentence=closing)
            )

    async def _facts(self) -> list[Fact]:
        stock, said, lost = self._stock, self._telling.said, self._memory.lost
        return await worth_telling(
            self._made, self._steps, said=said, stock=stock, opened=self._opened, tongue=self._tongue, lost=lost
        )

    async def _calls(self, cards: Sequence[Card], *, fails: bool) -> list[WishGiven]:
        """Make the calls of a turn; where reads lead nowhere others are made in their place."""
        steps, made, used, withdrawn = len(self._steps), len(self._made), set(self._used), set(self._withdrawn)
        for left in range(_TURNS - 1, -1, -1):
            try:
                wishes = [await self._select(cards, fails=fails)]
                for source, card in itertools.pairwise(cards):
                    wishes.append(await self._extract(source, card))
            except HydrationError as error:
                if not left or error.reason not in _ELSEWHERE or any(one.writes for one in self._choices[made:]):
                    raise
                del self._steps[steps:], self._made[made:], self._choices[made:]
                self._used, self._withdrawn = set(used), set(withdrawn)
                continue
            return wishes
        raise AssertionError("the last time returns or raises")

    async def _select(self, cards: Sequence[Card], *, fails: bool) -> WishGiven:
        """Choose and make the first call of a turn."""
        card = cards[0]
        entries = self._candidates(card, cards[1] if len(cards) > 1 else None, fails=fails)
        if not entries:
            return await self._recall(card, fails=fails)
        shown = entries[:SHOWN] if self._made else self._usage.least(entries, self._stock.handles)
        given = SelectGiven(
            card=card,
            entries=tuple(shown),
            handles=tuple(self._stock.handles.of(entry) for entry in shown),
            then=tuple(cards[1:]),
            **self._telling.given("select"),
        )
        index = (await self._narrator.select(given)).entry_index
        if not 0 <= index < len(given.entries):
            detail = f"entry {index} of {len(given.entries)} for {card.tool}"
            raise WordingError("index out of range", detail, operation="select")
        ordered = [entries[index], *(entry for place, entry in enumerate(entries) if place != index)]
        for entry in ordered[:_TRIED]:
            answer = await self._call(card, entry.arguments, fails=FAILURE in entry.id)
            if answer is None:
                continue
            self._withdrawn.add(entry.id)
            provenance = tuple(
                Provenance(argument=name, source="pool", entry=entry.id) for name in read_slots(entry.arguments)
            )
            handle = self._stock.handles.of(entry)
            self._note(RUN_CONVERSATION, card, entry.arguments, answer, provenance, handle=handle)
            return WishGiven(card=card, given=read_slots(entry.arguments) or dict(entry.arguments), handle=handle)
        raise HydrationError("verified calls fail in the story", card.tool)

    async def _recall(self, card: Card, *, fails: bool) -> WishGiven:
        """Make the first call of a turn with what earlier turns gave."""
        entries = [one for one in self._stock.pool.behind(card.tool) if one.id not in self._withdrawn and not fails]
        self._random.shuffle(entries)
        options = recalled(card, self._made, self._stock, entries, self._memory.lost)
        for option in [one for one in options if self._is_new(card, one.arguments)][:_TRIED]:
            answer = await self._call(card, option.arguments)
            if answer is not None:
                self._withdrawn |= {one.entry for one in option.provenance if one.entry}
                wish = recalling(card, option, self._made)
                self._note(RUN_CONVERSATION, card, option.arguments, answer, option.provenance, handle=None)
                return wish
        self._memory.stuck(self._choices, card.tool)
        raise HydrationError("no verified call left", card.tool)

    def _candidates(self, card: Card, following: Card | None, *, fails: bool) -> list[PoolEntry]:
        pool = self._stock.pool
        entries = [
            entry
            for entry in (pool.failures(card.tool) if fails else pool.of(card.tool))
            if entry.id not in self._withdrawn
            and call_key(card.tool, entry.arguments) not in self._used
            and self._may_try(card, entry.arguments)
        ]
        if following is not None:
            types = connecting(self._stock.taxonomy, card.tool, following.tool)
            leading = [
                entry
                for entry in entries
                if assignments(types, card.tool, entry.result, following, arguments=entry.arguments)
            ]
            entries = leading or entries
        entries = (
            natural(entries, card)
            if not fails
            else [entry for entry in entries if is_natural(entry, card, pool.of(card.tool))]
        )
        self._random.shuffle(entries)
        entries.sort(key=lambda entry: self._usage.of(entry, self._stock.handles.of(entry)))
        entries = distinct(speakable(entries, self._stock.handles))
        return fresh(entries, self._calls_of(card), self._random) if self._stock.conditioned else entries

    def _calls_of(self, card: Card) -> list[Mapping[str, JsonValue]]:
        return [made.arguments for made in self._made if made.card.tool == card.tool]

    async def _extract(self, source: Card, card: Card) -> WishGiven:
        """Choose and make a call whose arguments come from the result before."""
        before = self._made[-1]
        self._telling.learn(before.result)
        for _ in range(_TRIED):
            options = [option for option in self._options(source, card) if self._is_new(card, option.arguments)]
            if not options:
                break
            given = ExtractGiven(
                card=card,
                source=source.tool,
                result=before.content,
                options=tuple(option.arguments for option in options[:_TRIED]),
                **self._telling.given("extract"),
            )
            option, sentence = await self._telling.extract(given, partial(self._chosen, options=options, card=card))
            answer = await self._call(card, option.arguments)
            if answer is None:
                continue
            handle = self._handle(option)
            self._note(source.tool, card, option.arguments, answer, option.provenance, handle=handle)
            self._steps[-1] = self._steps[-1].model_copy(update={"sentence": sentence})
            self._withdrawn |= {one.entry for one in option.provenance if one.entry}
            told = [one for one in option.provenance if one.argument not in option.given]
            return WishGiven(
                card=card,
                given=dict(option.given),
                handle=handle,
                places=option.places,
                count=option.count,
                taken=tuple(one.argument for one in told),
                earlier=tuple(one.argument for one in told if one.call != len(self._made) - 2),
            )
        self._memory.barren(self._choices[-1])  # another start leads elsewhere
        raise HydrationError("nothing to propagate", f"{source.tool} -> {card.tool}")

    def _chosen(self, arguments: Mapping[str, JsonValue], options: Sequence[Propagated], card: Card) -> Propagated:
        """Give the option that a narrator means; raise `HydrationError` for a value that no result and no pool has."""
        place = option_of(arguments, [option.arguments for option in options])
        if place is not None:
            return options[place]
        call = len(self._made) - 1
        traced = trace_to_result(arguments, self._made[-1].result, call)
        if isinstance(traced, str):
            detail = f"{card.tool}({traced}={arguments.get(traced)!r})"
            raise WordingError("invented argument", detail, operation="extract")
        if not self._is_new(card, arguments):
            raise HydrationError("arguments used before", card.tool)
        said = {path: one for path, one in read_slots(dict(arguments)).items() if is_spoken(path, one, card)}
        return Propagated(arguments=dict(arguments), provenance=traced, given=said)

    def _handle(self, option: Propagated) -> Handle | None:
        """Give what the user calls a pool entry that a call takes as a whole, since no type leads to it."""
        entry = (
            self._stock.pool.get(option.provenance[0].entry) if option.places is None and option.provenance else None
        )
        return self._stock.handles.of(entry) if entry is not None else None

    def _options(self, source: Card, card: Card) -> list[Propagated]:
        pool = self._stock.pool
        entries = (*pool.of(card.tool), *pool.behind(card.tool))
        companions = natural([entry for entry in entries if entry.id not in self._withdrawn], card)
        self._random.shuffle(companions)
        said = {str(value) for made in self._made for value in read_slots(made.arguments).values()}
        companions.sort(key=lambda entry: -len(said & set(map(str, read_slots(entry.arguments).values()))))
        options = propagated(source.tool, card, self._made, self._stock.taxonomy, companions)
        return lasting(options, self._made, card, self._memory.lost)

    def _is_new(self, card: Card, arguments: Mapping[str, JsonValue]) -> bool:
        if call_key(card.tool, dict(arguments)) in self._used or not self._may_try(card, arguments):
            return False
        is_repeated = self._stock.conditioned and any(alike(arguments, made) for made in self._calls_of(card))
        return not is_repeated or self._random.random() < REPEATED

    def _may_try(self, card: Card, arguments: Mapping[str, JsonValue]) -> bool:
        if self._gone.intersection(map(str, read_slots(dict(arguments)).values())):
            return False
        key = call_key(card.tool, dict(arguments))
        return self._memory.may_try(len(self._choices), situation_of(self._choices), key)

    async def _call(self, card: Card, arguments: dict[str, JsonValue], *, fails: bool = False) -> Answer | None:
        """Make a call; None where it is not answered as the story needs it, or changes nothing that reads tell."""
        watch = self._stock.watch if card.tool in self._stock.visible else Watch()
        watched = await watch.call(self._opened, card, arguments)
        answer, is_void = watched.answer, watched.changed is False
        verdict = judge(answer).verdict
        key = call_key(card.tool, arguments)
        if (verdict == "ok" and not is_void) or (fails and not answer.error and verdict in ("empty", "refused")):
            self._used.add(key)
            self._gone |= watched.gone
            return answer
        self._memory.failed(situation_of(self._choices), key)
        detail = shorten(printable(answer.content), 200)
        if verdict == "environment":
            raise HydrationError("the environment does not answer", detail)
        if card.writes is not False and answer.wrote is not False and not is_void:
            raise HydrationError("a change fails in the story", f"{card.tool}: {detail}")  # who knows what it left
        return None

    def _note(
        self,
        source: str,
        card: Card,
        arguments: dict[str, JsonValue],
        answer: Answer,
        provenance: tuple[Provenance, ...],
        *,
        handle: Handle | None,
    ) -> None:
        call = ExpectedCall(name=card.tool, arguments=arguments, compare_args=sorted(arguments))
        key = call_key(card.tool, arguments)
        writes = card.writes is not False
        self._memory.reached = max(self._memory.reached, len(self._choices) + 1)
        self._choices.append(Choice(len(self._choices), situation_of(self._choices), card.tool, key, writes))
        self._made.append(Made(card, arguments, parsed(answer.content), answer.content, self._turn))
        self._telling.learn(arguments)
        self._steps.append(
            Step.model_validate(
                {
                    "operation": "select" if source == RUN_CONVERSATION else "extract",
                    "source": source,
                    "target": card.tool,
                    "call": call,
                    "content": answer.content,
                    "provenance": provenance,
                    "handle": handle,
                }
            )
        )
