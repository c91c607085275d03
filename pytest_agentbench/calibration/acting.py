"""What the recipes of situations have in common: requests, reports, and calls with something wrong about them."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from random import Random

from pytest_agentbench.calibration.scene import InexpressibleError, Play, Scene
from pytest_agentbench.calibration.wording import Fact, Line, Words, altered, chosen, facts_of, flat, spoken
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.fault import FaultKind, FaultSpec
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.validation.values import another, near, scalars

_TRIES = 8

_CHECKING = {"account", "audit", "authenticate", "compliance", "customer", "human", "identity", "member", "patient"}
_CHECKING |= {"person", "security", "user", "verify"}
"""Words in the names of tools that check or look up people."""


@dataclass(frozen=True)
class Actor:
    """Who plays a scene: its words and its chances; `is_near` keeps a wrong call to values that are at hand."""

    scene: Scene
    words: Words
    language: str
    random: Random
    is_near: bool = False

    @property
    def target(self) -> ToolCall:
        """The call that the request comes down to."""
        return self.scene.calls[self.scene.target]

    @property
    def task(self) -> str:
        """The request in words: the tool that it comes down to."""
        return spoken(self.target.name)

    @asynccontextmanager
    async def talk(
        self, closing: str, *faults: FaultSpec, asked: Sequence[ToolCall] | None = None
    ) -> AsyncIterator[Play]:
        """Open a conversation in which the user asks for `asked` (the right calls), and close it with a phrase.

        Raise `InexpressibleError` where a fault found nothing to strike.
        """
        async with self.scene.opened(self.random, faults) as play:
            self._ask(play, asked)
            yield play
            if faults and not play.schedule.met:
                raise InexpressibleError(f"{faults[0].kind} finds nothing to change in the answer that counts")
            if closing:
                self.user(play, closing)

    def _ask(self, play: Play, asked: Sequence[ToolCall] | None) -> None:
        """Let the user ask, giving every value that no answer will give, and the agent greet."""
        play.asked = asked
        says = " ".join(self.scene.plan.scenario.lines)
        is_own = asked is None and says and self.scene.language == self.language and self.random.random() < 0.7
        text = says if is_own else self.words.say("task_request", task=self.task)
        play.wish = self._wish(asked)
        supplied = self.scene.supplied(self.scene.calls if asked is None else asked)
        given = [(key, str(item)) for name, value in supplied for key, item in scalars(value, name)]
        missing = [f"{spoken(key)} {item}" for key, item in given if item.casefold() not in text.casefold()]
        if missing:
            text = f"{text} {self.words.say('details', values=', '.join(missing))}"
        listed = {str(value) for call in self.scene.calls for value in self._listed(call)}
        stay = tuple(item for _, item in given if item not in listed)
        play.say(Line("user", "task_request", text, stay, said=tuple(item for _, item in given)))
        name = self.random.choice(self.words.entries("names"))
        greeting = f"{self.words.say('greeting', name=name)} {self.words.say('looking')}".strip()
        play.say(Line("agent", "looking", greeting))

    def _wish(self, asked: Sequence[ToolCall] | None) -> str:
        """Give the scenario's own request, with the values of `asked`; the tool in words where there is none."""
        pairs = zip(self.scene.calls, asked or (), strict=False)
        changed = [
            (str(old), str(new))
            for one, other in pairs
            for (_, old), (_, new) in zip(scalars(one.arguments), scalars(other.arguments), strict=False)
            if not same(old, new)
        ]
        says = self.scene.wish or self.task
        for old, new in changed:
            says = says.replace(old, new)
        return says

    def _listed(self, call: ToolCall) -> Iterator[JsonValue]:
        """Give the values that a tool's schema lists: a person says them in other words."""
        for schema in self.scene.spec(call.name).parameters.get("properties", {}).values():
            yield from schema.get("enum", ()) if isinstance(schema, dict) else ()

    def user(self, play: Play, kind: str, **values: str) -> None:
        """Let the user say a phrase; `values` stay in it however it is worded."""
        play.say(Line("user", kind, self.words.say(kind, **values), (given := tuple(values.values())), said=given))

    def agent(self, play: Play, kind: str, **values: str) -> None:
        """Let the agent say a phrase in which nothing has to stay."""
        play.say(Line("agent", kind, self.words.say(kind, **values)))

    def report(self, play: Play, facts: Sequence[Fact], stay: Sequence[Fact] = (), task: str = "") -> None:
        """Let the agent tell facts as the result; those that `stay` are in it however it is worded."""
        kind = "report_write" if self.scene.writes(self.scene.target) and not task else "report"
        text = self.words.say(kind, task=task or self.task, facts="; ".join(map(str, facts)))
        play.say(Line("agent", kind, text, tuple(fact.text for fact in stay), told=tuple(facts)))

    async def make(self, play: Play, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Make calls one after the other; give their answers."""
        return [await play.call(call) for call in calls]

    def refusable(self) -> Iterator[list[ToolCall]]:
        """Give the right calls up to the target, with one value of the user's that the tool may refuse.

        Values of the target alone come first: others exist for them, and nothing else in the request changes.
        """
        calls = self.scene.calls[: self.scene.target + 1]
        given = [name for name, _ in self.scene.supplied(calls) if name in self.target.arguments]
        leads = dumps([call.arguments for call in calls[:-1]])
        given.sort(key=lambda one: str(self.target.arguments[one]) in leads)
        listed = [str(one) for one in self._listed(self.target)]
        # nobody asks in so many words for what a tool's list has not: that comes last
        free, rest = ([one for one in given if (str(self.target.arguments[one]) in listed) == flag] for flag in (0, 1))
        for names in (free, rest):
            for of_other in (True, False):
                for name in names:
                    value = self.target.arguments[name]
                    for other in self.others(name) if of_other else _beyond(value):
                        yield [_exchanged(call, value, other) for call in calls]

    def facts(self, result: ToolResult, play: Play | None = None, *, figure: bool = False) -> list[Fact]:
        """Choose what to tell of an answer; raise `InexpressibleError` where it tells nothing, or no `figure`.

        With `play` it is a right report: it holds all that the scenario wants told, from whichever answer.
        """
        found = chosen(facts_of(result.content), self.random)
        wanted = self.wanted(play) if play is not None else []
        found = wanted + [fact for fact in found if fact not in wanted]
        if not any(fact.has_figure or not figure for fact in found):
            kind = "figure of two digits or more to get wrong" if figure else "value that could be told"
            raise InexpressibleError(f"the answer that counts holds no {kind}")
        return found

    def wanted(self, play: Play) -> list[Fact]:
        """Give one fact for each text that the scenario wants told; raise where no answer holds it."""
        criteria = self.scene.plan.scenario.task.evaluation_criteria
        texts = [message.text for message in play.messages if message.role == "tool" and not message.error]
        known = [fact for text in reversed(texts) for fact in facts_of(text)]
        found: list[Fact] = []
        for wanted in (criteria.communicate_info if criteria else None) or ():
            holds = re.compile(rf"(?<!\w){re.escape(wanted.casefold())}(?!\w)")
            fact = next((one for one in known if holds.search(one.text.casefold())), None)
            if fact is None:
                raise InexpressibleError("what has to be told stands in no answer")
            found += [fact] if fact not in found else []
        return found

    def wrong(self, facts: Sequence[Fact], elsewhere: str) -> tuple[list[Fact], Fact]:
        """Give facts with one figure changed to what stands nowhere in `elsewhere`, and that one."""
        for place, fact in enumerate(facts):
            if fact.has_figure and (other := altered(fact, elsewhere, self.random)) is not None:
                return [*facts[:place], other, *facts[place + 1 :]], other
        raise InexpressibleError("no figure of the answer that counts can be got wrong")

    def fault(self, kind: FaultKind, *, every: bool = False, place: int | None = None) -> FaultSpec:
        """Strike the target or the call at `place`, told from equal tools by its arguments."""
        call = self.target if place is None else self.scene.calls[place]
        return FaultSpec(kind=kind, tool=call.name, where=call.arguments, calls=() if every else (1,))

    async def misdirected(self, play: Play) -> ToolResult:
        """Make the target with a value of the user's exchanged for another; raise where no such call succeeds.

        Where values at hand are not wanted, another scenario's calls take the place of all that was called.
        """
        for call in self._swapped():
            if (result := await self._useful(play, call)) is not None:
                return result
        names = [call.name for call in self.scene.calls]
        others = [one for one in self.scene.siblings if [call.name for call in one.calls] == names]
        if not others or self.is_near:
            raise InexpressibleError("no call with another value than the user's succeeds")
        del play.messages[len(play.lines) :]
        result = (await self.make(play, self.random.choice(others).calls))[self.scene.target]
        if result.error:
            raise InexpressibleError("the calls with other values fail")
        return result

    def _swapped(self) -> list[ToolCall]:
        given = self.scene.supplied(self.scene.calls)
        own = [flat(str(value)) for _, value in scalars(self.target.arguments)]
        found: list[ToolCall] = []
        for name, value in self.target.arguments.items():
            if not any(name == other and same(one, value) for other, one in given):
                continue
            for other in (*self._misread(value), *self.others(name)):
                call = self.target.model_copy(update={"arguments": {**self.target.arguments, name: other}})
                # `W1` and `w-1` are no different values
                if [flat(str(one)) for _, one in scalars(call.arguments)] != own:
                    found.append(call)
        return found

    def _misread(self, value: JsonValue) -> list[JsonValue]:
        """Give what a value with a digit is misread as: another digit."""
        return [near(value)] if isinstance(value, str | int | float) and any(map(str.isdigit, str(value))) else []

    def others(self, name: str) -> list[JsonValue]:
        """Give values that an argument of the target could have instead."""
        schema = self.scene.spec(self.target.name).parameters.get("properties", {}).get(name, {})
        columns, value = self.scene.columns, self.target.arguments[name]
        found = (another(value, name, schema, columns, self.random) for _ in range(_TRIES))
        return [one for one in found if one is not None]

    async def _useful(self, play: Play, call: ToolCall) -> ToolResult | None:
        """Make a call; take it back and give None where it fails or tells nothing."""
        kept = len(play.messages)
        result = await play.call(call)
        if not result.error and facts_of(result.content):
            return result
        del play.messages[kept:]
        return None

    async def first_useful(self, play: Play, calls: Sequence[ToolCall]) -> ToolResult:
        """Make the first of some calls that succeeds and tells something; raise where none does."""
        for call in calls:
            if (result := await self._useful(play, call)) is not None:
                return result
        raise InexpressibleError("no other call succeeds with the values at hand")

    def other_tools(self) -> list[ToolCall]:
        """Give a call of each tool that the right run does not use, with values that are at hand."""
        used = {call.name for call in self.scene.calls}
        names = [spec.name for spec in self.scene.plan.toolset.of("assistant") if spec.name not in used]
        self.random.shuffle(names)
        return self._nearest(call for name in names if (call := self._filled(name)) is not None)

    @cached_property
    def checks(self) -> list[ToolCall]:
        """Give calls of other tools that check or look up people, none where the request is not harmless."""
        if any(map(self.scene.writes, range(len(self.scene.heard)))):
            return []
        named = [(call, self.scene.spec(call.name)) for call in self.other_tools()]
        return [
            call
            for call, spec in named
            if _CHECKING & {word for name in (spec.name, *(spec.arguments or ())) for word in spoken(name).split()}
        ]

    def _filled(self, name: str) -> ToolCall | None:
        """Give a call of a tool with values known under its arguments' names; None where one is not known."""
        schema = self.scene.spec(name).parameters
        at_hand: dict[str, JsonValue] = {}
        for one in self.scene.heard:
            for key, value in scalars([one.call.arguments, one.result.content]):
                at_hand.setdefault(key, value)
        arguments: dict[str, JsonValue] = {}
        for key in schema.get("required", list(schema.get("properties", {}))):
            known = self.scene.pool.get(key, [])
            if key in at_hand:
                arguments[key] = at_hand[key]
            elif known:
                arguments[key] = self.random.choice([one for one in known if self._is_at_hand(one)] or known)
            else:
                return None
        return ToolCall(name=name, arguments=arguments)

    def _is_at_hand(self, value: JsonValue) -> bool:
        """Whether a value stands in the right calls or their answers."""
        return all(flat(str(one)) in self.scene.values_at_hand for _, one in scalars(value, "value"))

    def _nearest(self, calls: Iterable[ToolCall]) -> list[ToolCall]:
        """Give the calls with most values at hand first, with `is_near` only those without any other."""
        listed = list(calls)
        far = [sum(not self._is_at_hand(value) for value in call.arguments.values()) for call in listed]
        ranked = sorted(zip(far, range(len(listed)), strict=True))
        return [listed[place] for count, place in ranked if not (count and self.is_near)]

    def unrelated(self) -> list[ToolCall]:
        """Give reads that other scenarios of the suite make and this one does not."""
        own = {dumps([call.name, call.arguments]) for call in self.scene.calls}
        found: dict[str, ToolCall] = {}
        for one in self.scene.siblings:
            for place, heard in enumerate(one.heard):
                mark = dumps([heard.call.name, heard.call.arguments])
                if mark not in own and not one.writes(place) and one.initial == self.scene.initial:
                    found[mark] = heard.call
        calls = list(found.values())
        self.random.shuffle(calls)
        return self._nearest(calls)


def _exchanged(call: ToolCall, value: JsonValue, other: JsonValue) -> ToolCall:
    arguments = {name: other if same(one, value) else one for name, one in call.arguments.items()}
    return call.model_copy(update={"arguments": arguments})


def _beyond(value: JsonValue) -> list[JsonValue]:
    """Give values of the same look that are beyond what there is: `W1013` is `W91013`, 12 is 1200, `fr` is `fr-fr`."""
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [value * 100, -abs(value) - 1000]
    if not isinstance(value, str):
        return []
    place = next((place for place, char in enumerate(value) if char.isdigit()), None)
    return [f"{value}-{value}" if place is None else f"{value[:place]}9{value[place:]}"]
