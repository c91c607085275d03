"""How situations are played: a conversation in a scene, made by the moves that `situations.toml` lists."""

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any, cast

from pytest_agentbench.calibration.labelled import data
from pytest_agentbench.calibration.scene import (
    Fact,
    InexpressibleError,
    Line,
    Scene,
    facts_of,
    phrases,
    spoken,
)
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import flat
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.values import same
from pytest_agentbench.environment.injection.schedule import Schedule
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.simulation.recording import result_message
from pytest_agentbench.validation.values import misread, scalars
from pytest_agentbench.validation.wrong_calls import WrongCalls, mark_of

_OWN_LINES = 0.7
"""How often the user asks in the scenario's own lines, where there are some in the language."""

_MOST_FACTS, _ERROR = 5, 200
"""Facts of a report, and characters of an error that are told."""

_CHECKING = frozenset(data("situations")["checking"])
"""Words in the names of tools that check or look up people."""


@dataclass
class Play:
    """One conversation being made in a scene: what is said, and real calls on a world of its own.

    The user asks for something else than the scenario's goal where there are calls `asked` for. `is_near` keeps a wrong
    call to values that are at hand. `wish` is what the user wants, in the scenario's words where it has some; `result`
    is the answer that counts so far.
    """

    scene: Scene
    language: str
    random: Random
    is_near: bool = False
    asked: Sequence[ToolCall] | None = None
    world: LocalEnvironment = field(init=False)
    schedule: Schedule = field(init=False)
    messages: list[Message] = field(default_factory=list, init=False)
    lines: list[Line] = field(default_factory=list, init=False)
    final: State | None = field(default=None, init=False)
    wish: str = field(default="", init=False)
    result: ToolResult = field(default_factory=lambda: ToolResult(content=""), init=False)

    @property
    def transcript(self) -> Transcript:
        """All of it."""
        return Transcript(messages=tuple(self.messages))

    @property
    def target(self) -> ToolCall:
        """The call that the request comes down to."""
        return self.scene.calls[self.scene.target]

    @property
    def right(self) -> ToolResult:
        """What the right run got from it."""
        return self.scene.heard[self.scene.target].result

    @property
    def task(self) -> str:
        """The request in words: the tool that it comes down to."""
        return spoken(self.target.name)

    @cached_property
    def wrong_calls(self) -> WrongCalls:
        """What makes the wrong calls."""
        scene = self.scene
        return WrongCalls(scene.plan.toolset, scene.heard, scene.columns, scene.pool, self.random, self.is_near)

    @asynccontextmanager
    async def opened(self, faults: Sequence[FaultSpec]) -> AsyncIterator[None]:
        """Open a fresh world, struck by `faults`, in which the user asks; its final state is read at the end."""
        async with self.scene.player.world() as world:
            self.world = cast("LocalEnvironment", world)
            self.schedule = Schedule(faults, seed=str(self.random.getrandbits(32)))
            if faults:
                await self.world.strike(self.schedule)
            self._ask()
            yield
            self.final = await self.world.snapshot()

    # what is said

    def phrase(self, kind: str, **values: str) -> str:
        """Draw a plain phrase and put `values` in."""
        return self.random.choice(phrases(self.language)[kind]).format(**values).strip()

    def say(self, by: str, kind: str, text: str = "", **more: Any) -> None:
        """Let a party say a text, or a phrase; `more` is what else a `Line` holds."""
        error = f"{self.result.content.removeprefix('Error: ').rstrip('.')[:_ERROR]}."
        line = Line(by, kind, text or self.phrase(kind, task=self.task, error=error), **more)
        self.lines.append(line)
        self.messages.append(Message(role="user" if by == "user" else "assistant", content=line.text))

    def answer(self, kind: str, **values: str) -> None:
        """Let the user say a phrase; `values` stay in it however it is worded."""
        given = tuple(values.values())
        self.say("user", kind, self.phrase(kind, **values), values=given, said=given)

    def report(self, facts: Sequence[Fact], stay: Sequence[Fact] = (), task: str = "") -> None:
        """Let the agent tell facts as the result; those that `stay` are in it however it is worded."""
        kind = "report_write" if self.scene.writes(self.scene.target) and not task else "report"
        text = self.phrase(kind, task=task or self.task, facts="; ".join(map(str, facts)))
        self.say("agent", kind, text, values=tuple(fact.text for fact in stay), told=tuple(facts))

    def _ask(self) -> None:
        """Let the user ask, giving every value that no answer will give, and the agent greet.

        The wish is the scenario's own request, with the values of `asked`; the tool in words where there is none.
        """
        scene, asked = self.scene, self.asked
        says = " ".join(scene.plan.scenario.lines)
        is_native = self.language == (scene.plan.scenario.language or scene.plan.suite.language)
        is_own = asked is None and says and is_native and self.random.random() < _OWN_LINES
        text = says if is_own else self.phrase("task_request", task=self.task)
        self.wish = scene.wish or self.task
        for one, other in zip(scene.calls, asked or (), strict=False):
            for (_, old), (_, new) in zip(scalars(one.arguments), scalars(other.arguments), strict=False):
                self.wish = self.wish if same(old, new) else self.wish.replace(str(old), str(new))
        supplied = self.wrong_calls.supplied(scene.calls if asked is None else asked)
        given = [(key, str(item)) for name, value in supplied for key, item in scalars(value, name)]
        missing = [f"{spoken(key)} {item}" for key, item in given if item.casefold() not in text.casefold()]
        if missing:
            text = f"{text} {self.phrase('details', values=', '.join(missing))}"
        said = tuple(item for _, item in given)
        listed = {value for call in scene.calls for value in self.wrong_calls.listed(call)}
        self.say("user", "task_request", text, values=tuple(item for item in said if item not in listed), said=said)
        name = self.random.choice(phrases(self.language)["names"])
        self.say("agent", "looking", f"{self.phrase('greeting', name=name)} {self.phrase('looking')}".strip())

    # what can be told

    def facts(self, result: ToolResult | None = None, *, figure: bool = False, rightly: bool = False) -> list[Fact]:
        """Choose what to tell of an answer, those with figures first; raise where it tells nothing, or no `figure`.

        A right report holds all that the scenario wants told, from whichever answer.
        """
        facts = facts_of((result or self.result).content)
        ranked = sorted(facts, key=lambda fact: (not fact.has_figure, self.random.random()))[:_MOST_FACTS]
        wanted = self.wanted() if rightly else []
        found = wanted + [fact for fact in facts if fact in ranked and fact not in wanted]
        if not any(fact.has_figure or not figure for fact in found):
            kind = "figure of two digits or more to get wrong" if figure else "value that could be told"
            raise InexpressibleError(f"the answer that counts holds no {kind}")
        return found

    def wanted(self) -> list[Fact]:
        """Give one fact for each text that the scenario wants told; raise where no answer holds it."""
        texts = [message.text for message in self.messages if message.role == "tool" and not message.error]
        known = [fact for text in reversed(texts) for fact in facts_of(text)]
        found: dict[Fact, None] = {}
        for wanted in self.scene.plan.scenario.communicate_info:
            pattern = re.compile(rf"(?<!\w){re.escape(wanted.casefold())}(?!\w)")
            fact = next((one for one in known if pattern.search(one.text.casefold())), None)
            if fact is None:
                raise InexpressibleError("what has to be told stands in no answer")
            found[fact] = None
        return list(found)

    def wrong(self, facts: Sequence[Fact], elsewhere: str = "") -> tuple[list[Fact], list[Fact]]:
        """Give facts with one digit changed to what stands nowhere in the conversation or `elsewhere`, and that one."""
        known = flat(dumps([message.model_dump(mode="json") for message in self.messages]) + elsewhere)
        for number, fact in enumerate(facts):
            if (text := misread(fact.text, known, self.random)) is not None:
                other = replace(fact, value=text)
                return [*facts[:number], other, *facts[number + 1 :]], [other]
        raise InexpressibleError("no figure of the answer that counts can be got wrong")

    # what is called

    async def make(self, calls: Sequence[ToolCall], counts: int = -1) -> ToolResult:
        """Make calls one after the other; give the answer that `counts`, an empty one without calls."""
        results = []
        for call in calls:
            made = call.model_copy(update={"id": f"call_{len(self.messages)}"})
            results.append(await self.world.call(made))
            self.messages += [Message(role="assistant", tool_calls=(made,)), result_message(made, results[-1])]
        return results[counts] if results else ToolResult(content="")

    async def first_useful(
        self, calls: Iterable[ToolCall], problem: str = "no other call succeeds with the values at hand"
    ) -> ToolResult:
        """Make the first of some calls that succeeds and tells something, others are taken back; raise without one."""
        for call in calls:
            kept = len(self.messages)
            result = await self.make([call])
            if not result.error and facts_of(result.content):
                return result
            del self.messages[kept:]
        raise InexpressibleError(problem)

    def unrelated(self) -> list[ToolCall]:
        """Give reads that other scenarios of the suite make and this one does not."""
        own = set(map(mark_of, self.scene.calls))
        siblings = [one for one in self.scene.siblings if one.initial == self.scene.initial]
        calls = [call for one in siblings for place, call in enumerate(one.calls) if not one.writes(place)]
        found = list({mark_of(call): call for call in calls if mark_of(call) not in own}.values())
        self.random.shuffle(found)
        return self.wrong_calls.nearest(found)

    @cached_property
    def checks(self) -> list[ToolCall]:
        """Give calls of other tools that check or look up people, none where the request is not harmless."""
        if any(map(self.scene.writes, range(len(self.scene.heard)))):
            return []
        calls = self.wrong_calls.of_other_tools()
        named = [(call, (call.name, *(self.scene.spec(call.name).arguments or ()))) for call in calls]
        return [call for call, names in named if _CHECKING & set(" ".join(map(spoken, names)).split())]

    # what fails

    def faults(self, name: str) -> list[FaultSpec]:
        """Give the faults of a situation, which strike the target or a read, told from equal tools by arguments."""
        scene, place = self.scene, self.scene.target
        if name == "corrupted read":
            records = [n for n, one in enumerate(scene.heard) if len(facts_of(one.result.content)) > 1]
            reads = [n for n in records if not scene.writes(n)]
            if not reads or scene.initial is None:
                raise InexpressibleError("no read gives a record that could be wrong, with a state that shows it")
            name, place = "corrupted", self.random.choice(reads)
        elif name == "nothing":
            name = self.random.choice(["timeout", "empty"])
        elif name == "other row":
            name = "empty" if scene.initial is None else "wrong_row"
        elif name == "no_op" and (scene.initial is None or not self.right.wrote):
            raise InexpressibleError("there is no change in a state that an action could fail to make")
        kind, _, always = name.partition(" ")
        where, calls = scene.calls[place], () if always else (1,)
        fault = {"kind": kind, "tool": where.name, "where": where.arguments, "calls": calls}
        return [FaultSpec.model_validate(fault)] if kind else []

    def spoilt(self) -> tuple[ToolResult, list[Fact], list[Fact]]:
        """Give the answer that a fault struck, what it changed there, and what is right in these places."""
        pairs = zip(self.transcript.trajectory, self.scene.heard, strict=False)
        struck = [(one.result.content, gold.result.content) for one, gold in pairs if one.result]
        given, wanted = next(((one, gold) for one, gold in struck if one != gold), ("", ""))
        right = {fact.path: fact for fact in facts_of(wanted)}
        found = [fact for fact in facts_of(given) if fact != right.get(fact.path, fact)]
        if not found:
            raise InexpressibleError("what the fault spoils does not show in what can be told")
        return ToolResult(content=given), found, [right[fact.path] for fact in found]
