"""What the recipes of situations have in common: requests, right reports, and calls with something wrong about them."""

import re
from dataclasses import dataclass
from random import Random

from pytest_agentbench.calibration.scene import InexpressibleError, Play, Scene, flat
from pytest_agentbench.calibration.wording import Fact, Words, altered, facts_of, has_figure, spoken, telling
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.validation.values import another, scalars

_TRIES = 8
_LEAST_TOLD = 2
"""Facts that a right report tells where so many are known."""


@dataclass(frozen=True)
class Actor:
    """Who plays a scene: its words and its chances."""

    scene: Scene
    words: Words
    random: Random

    @property
    def task(self) -> str:
        """The request in words: the tool that it comes down to."""
        return spoken(self.scene.calls[self.scene.target].name)

    def opens(self, play: Play, calls: tuple[ToolCall, ...] | None = None) -> None:
        """Let the user ask, giving every value of `calls` (the right ones) that no answer will give."""
        scene, words = self.scene, self.words
        own = calls is None
        play.asks_otherwise = not own
        calls = scene.calls if calls is None else calls
        says = " ".join(scene.plan.scenario.lines)
        is_own = own and says and scene.language == words.language and self.random.random() < 0.7
        text = says if is_own else words.say("task_request", task=self.task)
        needed = [
            f"{spoken(name)} {value}"
            for name, value in self._values(calls)
            if f"{value}".casefold() not in text.casefold()
        ]
        if needed:
            text = f"{text} {words.say('details', values=', '.join(needed))}"
        play.user(text)
        greeting = words.say("greeting", name=self.random.choice(words.entries("names")))
        play.agent(f"{greeting} {words.say('looking')}")

    def _values(self, calls: tuple[ToolCall, ...]) -> list[tuple[str, JsonValue]]:
        return [(name, scalar) for name, value in self.scene.supplied(calls) for _, scalar in scalars(value, name)]

    async def leads(self, play: Play, end: int | None = None) -> list[ToolResult]:
        """Make the right calls up to, but not including, position `end` (the target)."""
        return [await play.call(call) for call in self.scene.calls[: self.scene.target if end is None else end]]

    async def plays(self, play: Play) -> ToolResult:
        """Make all the right calls; give the answer of the target."""
        results = [await play.call(call) for call in self.scene.calls]
        return results[self.scene.target]

    def facts(self, result: ToolResult, play: Play | None = None) -> list[Fact]:
        """Choose what to tell of an answer; raise `InexpressibleError` where it tells nothing.

        With `play` it is a right report: it holds all that the scenario says must be told, from whichever answer.
        """
        said = " ".join(self.scene.plan.scenario.lines)
        found = telling(facts_of(result.content), self.random, near=said)
        if not found:
            raise InexpressibleError("the answer that counts holds nothing that could be told")
        wanted = self._wanted(play) if play is not None else []
        more = [fact for fact in found if fact not in wanted]
        return wanted + more[: max(0, _LEAST_TOLD - len(wanted))] if wanted else found

    def _wanted(self, play: Play) -> list[Fact]:
        """Give one fact for each text that the scenario wants told; raise where an answer holds none for it."""
        criteria = self.scene.plan.scenario.task.evaluation_criteria
        texts = [message.text for message in play.messages if message.role == "tool" and not message.error]
        known = [fact for text in texts for fact in facts_of(text)]
        found: list[Fact] = []
        for wanted in (criteria.communicate_info if criteria else None) or ():
            holds = re.compile(rf"(?<!\w){re.escape(wanted.casefold())}(?!\w)")
            fact = next((one for one in reversed(known) if holds.search(one.text.casefold())), None)
            if fact is None:
                raise InexpressibleError("what has to be told stands in no answer")
            found += [fact] if fact not in found else []
        return found

    def report(self, facts: list[Fact]) -> str:
        """Tell facts as the result."""
        name = "report_write" if self.scene.writes(self.scene.target) else "report"
        return self.words.say(name, task=self.task, facts=self.words.told(facts))

    def wrong(self, facts: list[Fact], elsewhere: str) -> list[Fact]:
        """Give the facts with at least one figure that stands nowhere in `elsewhere`."""
        changed = [altered(fact, elsewhere, self.random) if has_figure(fact) else None for fact in facts]
        if not any(changed):
            raise InexpressibleError("the answer that counts holds no figure of two digits or more to get wrong")
        return [new or old for new, old in zip(changed, facts, strict=True)]

    async def misdirected(self, play: Play) -> ToolResult:
        """Make the right calls with a value of the user's exchanged for another; raise where no such call succeeds."""
        scene = self.scene
        wanted = scene.calls[scene.target]
        swapped = self._swapped(wanted)
        await self.leads(play)
        for call in swapped:
            if _flat_values(call) == _flat_values(wanted):
                continue
            kept = len(play.messages)
            result = await play.call(call)
            if not result.error and facts_of(result.content):
                return result
            del play.messages[kept:]
        return await self._as_sibling(play)

    def _swapped(self, call: ToolCall) -> list[ToolCall]:
        scene = self.scene
        properties = scene.spec(call.name).parameters.get("properties", {})
        given = scene.supplied(scene.calls)
        found: list[ToolCall] = []
        for name, value in call.arguments.items():
            if not any(name == other and same(one, value) for other, one in given):
                continue
            for _ in range(_TRIES):
                other = another(value, name, properties.get(name, {}), scene.columns, self.random)
                if other is not None and not same(other, value):
                    found.append(call.model_copy(update={"arguments": {**call.arguments, name: other}}))
        self.random.shuffle(found)
        return found[:_TRIES]

    async def _as_sibling(self, play: Play) -> ToolResult:
        """Make the calls of another scenario that uses the same tools: the right tools about something else."""
        scene = self.scene
        names = [call.name for call in scene.calls]
        others = [one for one in scene.siblings if [call.name for call in one.calls] == names]
        if not others:
            raise InexpressibleError("no call with another value than the user's succeeds")
        other = self.random.choice(others)
        del play.messages[2:]
        results = [await play.call(call) for call in other.calls]
        if results[scene.target].error:
            raise InexpressibleError("the calls with other values fail")
        return results[scene.target]

    async def other_tool(self, play: Play) -> tuple[ToolCall, ToolResult]:
        """Call another tool than the target's, with values that are at hand; raise where none succeeds."""
        scene = self.scene
        used = {call.name for call in scene.calls}
        target = scene.calls[scene.target]
        candidates = [spec for spec in scene.plan.toolset.of("assistant") if spec.name not in used]
        self.random.shuffle(candidates)
        for spec in candidates:
            call = self.filled(spec.name)
            if call is None or call.name == target.name:
                continue
            kept = len(play.messages)
            result = await play.call(call)
            if not result.error and facts_of(result.content):
                return call, result
            del play.messages[kept:]
        raise InexpressibleError("no other tool succeeds with the values at hand")

    def filled(self, name: str) -> ToolCall | None:
        """Give a call of a tool with values known under its arguments' names; None where one is not known."""
        schema = self.scene.spec(name).parameters
        at_hand: dict[str, JsonValue] = {}
        for one in self.scene.heard:
            for key, value in scalars([one.call.arguments, one.result.content]):
                at_hand.setdefault(key, value)
        arguments: dict[str, JsonValue] = {}
        for key in schema.get("required", list(schema.get("properties", {}))):
            if key in at_hand:
                arguments[key] = at_hand[key]
            elif self.scene.pool.get(key):
                arguments[key] = self.random.choice(self.scene.pool[key])
            else:
                return None
        return ToolCall(name=name, arguments=arguments)

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
        return calls


def _flat_values(call: ToolCall) -> list[str]:
    """Give the values of a call by letters and digits alone: `W1` and `w-1` are no different values."""
    return [flat(str(value)) for _, value in scalars(call.arguments)]
