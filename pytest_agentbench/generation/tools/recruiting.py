"""The Recruiter: a pool of verified (arguments, result) pairs for each tool, each made on the real tools.

Tool-to-scenario (§4.4, D.2): a scout proposes ten sets of arguments a time, each is executed, and only those that are
answered as they should stay, until a tool has as many as asked for. The scout without a model takes the values that
the card saw accepted and those that results of other tools give.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.seams import Role
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.tools.flows import assignments, connecting
from pytest_agentbench.generation.tools.grounding import Grounds
from pytest_agentbench.generation.tools.oracle import judge
from pytest_agentbench.generation.tools.pool import FAILURE, Pool, call_key
from pytest_agentbench.generation.tools.reading import parsed
from pytest_agentbench.generation.tools.schemas import build, read_slots
from pytest_agentbench.generation.tools.values import Card, Cards, ParameterCard, PoolEntry, Taxonomy
from pytest_agentbench.generation.tools.world import Answer, Opened, World

CANDIDATES = 10
"""Sets of arguments that a scout proposes at a time (D.2)."""
_ROUNDS = 4
"""Times that every tool is asked about: results of one round are values for the next."""
_LONGEST_VALUE = 120
"""Characters of a value that a user would say."""
_LONGEST_RESULT = 200_000
"""Characters of a result that is kept: values are taken from it, and a scenario tells where."""
_LIKELY = frozenset(("nominal", "observed", "proposed", "cross_parameter"))
"""Kinds of probes with values that a user may have; the others try limits."""
_FAILURES = 3
"""Planned failures kept for each tool."""


class ScoutGiven(Model):
    """What a scout sees: the card, calls that other results suggest, what is in the pool and what was refused.

    `known` are values that recipe and state name for arguments. `made_up` are values that probing put in to see what
    happens; no user has them.
    """

    card: Card
    suggested: tuple[dict[str, JsonValue], ...] = ()
    have: tuple[dict[str, JsonValue], ...] = ()
    refused: tuple[dict[str, JsonValue], ...] = ()
    known: dict[str, tuple[JsonValue, ...]] = {}
    made_up: tuple[str, ...] = ()


class Scouted(Model):
    """Sets of arguments that are worth a try."""

    candidates: tuple[dict[str, JsonValue], ...] = ()


Scout = Role[ScoutGiven, Scouted]


class TemplateScout:
    """Proposes what the card saw accepted, and what other results suggest; optional arguments every third time."""

    async def __call__(self, given: ScoutGiven, /) -> Scouted:
        """Give up to ten sets of arguments that are neither in the pool nor refused."""
        tried = {call_key("", arguments) for arguments in (*given.have, *given.refused)}
        found: dict[str, dict[str, JsonValue]] = {}
        every = [*_proven(given.card), *_combined(given)]
        natural = [arguments for arguments in every if not _holds(arguments, given.made_up)]
        for arguments in natural or every:
            key = call_key("", arguments)
            if key not in tried and _is_sayable(arguments):
                found.setdefault(key, arguments)
            if len(found) == CANDIDATES:
                break
        return Scouted(candidates=tuple(found.values()))


@dataclass(kw_only=True)
class Recruiter:
    """Fills the pool; `told` hears of each tool that has what was asked for."""

    world: World
    cards: Cards
    taxonomy: Taxonomy
    scout: Scout = field(default_factory=TemplateScout)
    size: int = 12
    may_write: bool = False
    told: Callable[[str], None] = lambda _: None
    _entries: dict[str, list[PoolEntry]] = field(default_factory=dict)
    _refused: dict[str, list[dict[str, JsonValue]]] = field(default_factory=dict)
    _why: dict[str, str] = field(default_factory=dict)

    async def recruit(self, tools: Sequence[str]) -> tuple[Pool, dict[str, str]]:
        """Give the pool of the tools, and for each that stays without a verified call the reason."""
        cards = [card for tool in tools if (card := self.cards.get(tool)) is not None and self._may_call(card)]
        async with self.world.open() as reads:
            for _ in range(_ROUNDS):
                grown = [await self._round(card, reads) for card in cards]
                if not any(grown):
                    break
            failures = [entry for card in cards for entry in await self._failures(card, reads)]
        found = [entry for tool in tools for entry in self._entries.get(tool, ())]
        for tool in tools:
            if not self._entries.get(tool):
                self._why.setdefault(tool, "none of its calls was answered as it should")
        return Pool(entries=(*found, *failures)), {tool: self._why[tool] for tool in tools if tool in self._why}

    def _may_call(self, card: Card) -> bool:
        if card.writes is False or self.world.resettable or (self.may_write and not card.destructive):
            return True
        what = "destroys" if card.destructive else "changes"
        self._why[card.tool] = f"it {what} what cannot be reset (`allow_writes: true` lets writes be made)"
        return False

    async def _round(self, card: Card, reads: Opened) -> bool:
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
            arguments = trimmed(candidate, card)
            key = call_key("", arguments)
            if len(entries) >= self.size or key in known or not _is_sayable(arguments):
                continue
            known.add(key)
            answer = await self._call(card, arguments, reads)
            judged = judge(answer)
            if judged.verdict == "ok" and len(answer.content) <= _LONGEST_RESULT:
                entries.append(_entry(card.tool, f"{card.tool}.{len(entries) + 1}", arguments, answer))
            else:
                refused.append(arguments)
                self._why[card.tool] = f"its calls are not answered as they should: {judged.reason or judged.verdict}"
        if entries:
            self._why.pop(card.tool, None)
        if len(entries) > before:
            self.told(f"{card.tool}: {len(entries)} verified calls")
        return len(entries) > before

    async def _call(self, card: Card, arguments: dict[str, JsonValue], reads: Opened) -> Answer:
        """Call a read where all reads are made, anything else in an environment of its own."""
        if card.writes is False:
            return await reads.call(card.tool, arguments)
        async with self.world.open() as fresh:
            return await fresh.call(card.tool, arguments)

    def _known(self, card: Card) -> dict[str, tuple[JsonValue, ...]]:
        """Give what recipe and state name for the arguments of a tool, by path."""
        hints = self.world.hints
        found = {}
        for parameter in card.parameters:
            name = next((part for part in reversed(parameter.path.split(".")) if part != "*"), parameter.path)
            values = hints.get(f"{card.tool}.{name}") or hints.get(name)
            if values:
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
        """Give what results in the pool give this tool, one of each result in turn."""
        rows: list[list[dict[str, JsonValue]]] = []
        for source in sorted(self._entries):
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

    async def _failures(self, card: Card, reads: Opened) -> list[PoolEntry]:
        """Keep calls that a user may well make and that find nothing, where the tool does not call that an error."""
        found: list[PoolEntry] = []
        for probe in card.probes:
            likely = probe.kind in ("boundary", "out_of_range", "observed", "proposed", "cross_parameter")
            if card.writes is not False or not likely or probe.error or probe.verdict not in ("empty", "refused"):
                continue
            declared = probe.arguments.keys() <= {parameter.path.split(".")[0] for parameter in card.parameters}
            if not probe.arguments or not declared or not _is_sayable(probe.arguments) or len(found) == _FAILURES:
                continue
            answer = await reads.call(card.tool, probe.arguments)
            if not answer.error and judge(answer).verdict == probe.verdict:
                found.append(_entry(card.tool, f"{card.tool}{FAILURE}{len(found) + 1}", probe.arguments, answer))
        return found


def trimmed(arguments: Mapping[str, JsonValue], card: Card) -> dict[str, JsonValue]:
    """Leave out what makes no difference: nulls, defaults of optional arguments, arguments without effect."""
    known = {parameter.path: parameter for parameter in card.parameters}
    kept: dict[str, JsonValue] = {}
    for name, value in arguments.items():
        parameter = known.get(name)
        if value is None and not (parameter and is_needed(parameter)):
            continue
        if parameter is not None and not is_needed(parameter):
            default = parameter.schema_.get("default")
            if parameter.no_effect or ("default" in parameter.schema_ and same(default, value)):
                continue
        kept[name] = value
    return kept


def is_needed(parameter: ParameterCard) -> bool:
    """Whether an argument must be given: as probing found, else as declared."""
    return parameter.declared_required if parameter.required is None else parameter.required


def _entry(tool: str, name: str, arguments: dict[str, JsonValue], answer: Answer) -> PoolEntry:
    return PoolEntry(id=name, tool=tool, arguments=arguments, content=answer.content, result=parsed(answer.content))


def _proven(card: Card) -> Iterator[dict[str, JsonValue]]:
    """Give the arguments of probes that worked, those with fewest arguments first."""
    names = {parameter.path.split(".")[0] for parameter in card.parameters}
    good = [
        probe.arguments
        for probe in card.probes
        if probe.verdict == "ok" and probe.kind in _LIKELY and probe.arguments.keys() <= names
    ]
    seen: set[str] = set()
    for arguments in sorted(good, key=len):
        if (key := call_key("", arguments).casefold()) not in seen:
            seen.add(key)
            yield trimmed(arguments, card)


def _combined(given: ScoutGiven) -> Iterator[dict[str, JsonValue]]:
    """Give sets of accepted values, what other results suggest in their place; each value with different others."""
    card, suggested = given.card, given.suggested
    choices = {parameter.path: _values(parameter, given.known.get(parameter.path, ())) for parameter in card.parameters}
    needed = [parameter for parameter in card.parameters if is_needed(parameter)]
    extra = [parameter for parameter in card.parameters if parameter not in needed and not parameter.no_effect]
    if not card.parameters:
        yield {}
        return
    most = max([*map(len, choices.values()), len(suggested), 1])
    for turn in range(4 * most):
        chosen = [*needed, *(extra if turn % 3 == 2 else ())]
        values = {}
        for place, parameter in enumerate(chosen):
            if accepted := choices[parameter.path]:
                values[parameter.path] = accepted[(turn + place * (turn // max(most, 1))) % len(accepted)]
        hint = read_slots(suggested[turn // 2 % len(suggested)]) if suggested else {}
        if turn % 2 or not all(path in values for path in hint):  # what a result gave may be of another world
            values |= hint
        if all(parameter.path in values for parameter in needed):
            yield trimmed(build(values), card)


def _values(parameter: ParameterCard, known: Sequence[JsonValue]) -> tuple[JsonValue, ...]:
    """Give the values to try for an argument: those seen accepted, those known of, those that the schema lists."""
    declared = parameter.schema_
    spelt: dict[str, JsonValue] = {}
    for value in (*parameter.accepted, *known, *declared.get("enum", ()), *declared.get("examples", ())):
        if not any(same(value, bad) for bad in parameter.refused):
            spelt.setdefault(str(value).casefold(), value)  # probing tries other spellings of what it knows
    return tuple(spelt.values())


def _holds(arguments: Mapping[str, JsonValue], texts: Sequence[str]) -> bool:
    return any(isinstance(value, str) and value in texts for value in read_slots(dict(arguments)).values())


def _is_sayable(arguments: Mapping[str, JsonValue]) -> bool:
    """Whether a person could say all values: no long texts, no line breaks, nothing empty."""
    values = read_slots(arguments).values()
    return all(
        value is not None
        and str(value).strip() == str(value)
        and 0 < len(str(value)) <= _LONGEST_VALUE
        and str(value).isprintable()
        for value in values
    )
