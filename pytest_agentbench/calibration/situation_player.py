"""How situations are played: a conversation held against its scene, the right run of a scenario."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from random import Random
from typing import Any, cast

from pytest_agentbench.calibration.dataset import data
from pytest_agentbench.checks.judges.evidence import Goal, goal_of
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.json_values import JsonValue, decoded, same
from pytest_agentbench.core.scenario import Instructions
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import flat
from pytest_agentbench.core.tool import ToolCall, ToolResult, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.environment.injection import Schedule
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.runs.expected_state import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.simulation.transcript_builder import result_message
from pytest_agentbench.validation.mutants import WrongCalls, mark_of
from pytest_agentbench.validation.oracle import Heard, Rules, Writer
from pytest_agentbench.validation.scripted_run import ScriptPlayer
from pytest_agentbench.validation.world_values import Columns, leaves, misread, scalars

_LONGEST = 60
"""Characters of a value that can be told."""


class InexpressibleError(Exception):
    """A situation cannot be made of a scene; the message says why."""


@dataclass(frozen=True)
class Fact:
    """A value of an answer and the words for where it stands."""

    key: str
    value: JsonValue
    path: str = ""

    @property
    def text(self) -> str:
        """The value as it is told."""
        return f"{self.value}"

    @property
    def has_figure(self) -> bool:
        """Whether it holds a figure of at least two digits, which cannot be there by accident."""
        return sum(map(str.isdigit, self.text)) > 1

    def __str__(self) -> str:
        return f"{self.key} {self.text}" if self.key else self.text


@dataclass(frozen=True)
class Line:
    """Something that user or agent say: which plain phrase it is, the values that stay in it, and what it tells.

    `values` stay in it however it is worded, `said` are all those of a user and `told` the facts of an agent.
    `is_fixed` words are what the situation is about, and are never worded otherwise.
    """

    by: str
    kind: str
    text: str
    values: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    told: tuple[Fact, ...] = ()
    is_fixed: bool = False


@cache
def languages() -> tuple[str, ...]:
    """Give the languages that have plain phrases: one is added by adding its file."""
    return tuple(sorted(one.name.removesuffix(".toml") for one in (files(__package__) / "wordings").iterdir()))


def phrases(language: str) -> Mapping[str, list[str]]:
    """Give the plain phrases of a language by kind, the English ones where it has none."""
    return data(f"wordings/{language if language in languages() else 'en'}")


def spoken(name: str) -> str:
    """Give an identifier in words: `brewTea` and `brew_tea` are `brew tea`."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().lower()


def facts_of(content: str) -> list[Fact]:
    """Give what an answer holds that can be told: its short texts and numbers, or the text itself."""
    value = decoded(content)
    if isinstance(value, str):
        plain = value.strip().rstrip(".")
        return [Fact("", plain)] if plain and len(plain) <= 5 * _LONGEST else []
    found: list[Fact] = []
    for path, leaf in leaves(value):
        is_short = 0 < len(leaf) <= _LONGEST if isinstance(leaf, str) else isinstance(leaf, int | float)
        if is_short and not isinstance(leaf, bool):
            names = [part for part in re.split(r"[.\[\]]+", path) if part and not part.isdigit()]
            found.append(Fact(" ".join(map(spoken, names[-2:])), leaf, path))
    return found


@dataclass(frozen=True)
class Scene:
    """The right run of a scenario: its calls with what they gave.

    `pool` are argument values used in the suite, `goal` is what a judge that sees the goal is shown. In the scenario's
    own words, `wish` is what the user wants, "" where it does not say, and `known` what the user knows besides.
    """

    plan: RunPlan
    player: ScriptPlayer
    heard: tuple[Heard, ...]
    initial: State | None
    final: State | None
    goal: Goal
    wish: str
    known: tuple[str, ...]
    pool: dict[str, list[JsonValue]] = field(default_factory=dict)
    siblings: tuple["Scene", ...] = field(default=(), repr=False)

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the right run."""
        return tuple(one.call for one in self.heard)

    def spec(self, name: str) -> ToolSpec:
        """Give a tool of the scene's by name."""
        return cast("ToolSpec", self.plan.toolset.get(name))

    def writes(self, place: int) -> bool:
        """Whether a call changed the state, or is of a tool that is declared to."""
        one = self.heard[place]
        return bool(one.result.wrote) or self.spec(one.call.name).kind == "write"

    @cached_property
    def target(self) -> int:
        """The position of the call that the request comes down to: the last write, else the last call."""
        return max(filter(self.writes, range(len(self.heard))), default=len(self.heard) - 1)

    @cached_property
    def columns(self) -> Columns:
        """The values of the state and of the suite's calls, by column."""
        return Columns([self.initial or {}, [{name: value} for name, many in self.pool.items() for value in many]])


async def scene_of(plan: RunPlan, isolation: IsolationGate, now: Callable[[], float]) -> Scene:
    """Play a scenario's right run once; raise `InexpressibleError` where it makes no calls, or some fail."""
    player = ScriptPlayer(plan=plan, isolation=isolation, now=now, expected=ExpectedStates())
    rules = Rules(plan.policies, plan.toolset, plan.resolve, plan.suite.now)
    writer = Writer(plan.scenario, rules, plan.toolset, plan.resolve)
    async with player.world() as world:
        initial = await world.snapshot()
        oracle = await writer.write(world, Columns(initial or {}), can_fail=True)
        final = await world.snapshot()
    if not oracle.heard or oracle.failed:
        raise InexpressibleError("its right run makes no calls, or some of them fail")
    if any(one.call.requestor != "assistant" for one in oracle.heard):
        raise InexpressibleError("the user makes calls of its own")
    state = plan.suite.environment.state
    goal = goal_of(plan.scenario, plan.policies, (initial, final), ignore=state.ignore if state else ())
    user = plan.scenario.task.user_scenario
    told = user.instructions if user and isinstance(user.instructions, Instructions) else Instructions()
    wish = " / ".join(plan.scenario.lines) or told.reason_for_call or ""
    known = tuple(filter(None, [told.known_info]))
    return Scene(plan, player, tuple(oracle.heard), initial, final, goal, wish, known)


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
