"""Scenes: a scenario's right run taken apart, and worlds in which its calls are made anew, with or without faults."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import cast

from pytest_agentbench.calibration.wording import Line, flat
from pytest_agentbench.checks.judges.evidence import Goal, goal_of
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.scenario import Instructions
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall, ToolResult, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.injection.schedule import Schedule
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.replay import prepare
from pytest_agentbench.runs.expected import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.simulation.recording import result_message
from pytest_agentbench.validation.oracle import Heard, Writer
from pytest_agentbench.validation.rules import Rules
from pytest_agentbench.validation.scripted_run import ScriptPlayer
from pytest_agentbench.validation.values import Columns, scalars

SATISFIED = "thanks"
"""The one phrase by which a user closes content."""


class InexpressibleError(Exception):
    """A situation cannot be made of a scene; the message says why."""


@dataclass
class Play:
    """One conversation being made: what is said, and real calls on a world of its own.

    `wish` is what the user wants, in the scenario's words where it has some. `asks_otherwise` says that this is
    something else than the scenario's goal: the calls `asked` for. `result` is the answer that counts so far.
    """

    world: LocalEnvironment
    initial: State | None
    schedule: Schedule
    messages: list[Message] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    final: State | None = None
    wish: str = ""
    asked: Sequence[ToolCall] | None = None
    result: ToolResult = field(default_factory=lambda: ToolResult(content=""))

    def say(self, line: Line) -> None:
        """Let a party say something; nothing where there is no text."""
        if line.text:
            self.lines.append(line)
            self.messages.append(Message(role="user" if line.by == "user" else "assistant", content=line.text))

    async def call(self, call: ToolCall) -> ToolResult:
        """Let the agent make a call; give what came of it."""
        made = call.model_copy(update={"id": f"call_{len(self.messages)}"})
        result = await self.world.call(made)
        self.messages += [Message(role="assistant", tool_calls=(made,)), result_message(made, result)]
        return result

    @property
    def transcript(self) -> Transcript:
        """All of it."""
        return Transcript(messages=tuple(self.messages))

    @property
    def text(self) -> str:
        """Everything in it, as one text to look values up in."""
        return dumps([message.model_dump(mode="json") for message in self.messages])


@dataclass(frozen=True)
class Scene:
    """The right run of a scenario: its calls with what they gave, the gold that every conversation is held against.

    `pool` are argument values used in the suite, `goal` is what a judge that sees the goal is shown.
    """

    plan: RunPlan
    player: ScriptPlayer
    heard: tuple[Heard, ...]
    initial: State | None
    final: State | None
    goal: Goal
    pool: dict[str, list[JsonValue]] = field(default_factory=dict)
    siblings: tuple["Scene", ...] = field(default=(), repr=False)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the right run."""
        return tuple(one.call for one in self.heard)

    @cached_property
    def values_at_hand(self) -> str:
        """Everything in the right calls and their answers, to look values up in."""
        return flat(" ".join(dumps([one.call.arguments, one.result.content]) for one in self.heard))

    @property
    def language(self) -> str:
        """The language of the scenario's own lines, as scenario or suite say."""
        return self.plan.scenario.language or self.plan.suite.language

    @property
    def wish(self) -> str:
        """What the user wants, in the scenario's words: its lines, else the reason for its call; "" without either."""
        task = _instructions(self.plan)
        return " / ".join(self.plan.scenario.lines) or (task.reason_for_call if task else None) or ""

    @property
    def known(self) -> tuple[str, ...]:
        """What the user knows besides, in the scenario's words."""
        task = _instructions(self.plan)
        return (task.known_info,) if task and task.known_info else ()

    def spec(self, name: str) -> ToolSpec:
        """Give a tool of the scene's by name."""
        return cast("ToolSpec", self.plan.toolset.get(name))

    def writes(self, place: int) -> bool:
        """Whether a call changed the state, or is of a tool that is declared to."""
        one = self.heard[place]
        return bool(one.result.wrote) or self.spec(one.call.name).kind == "write"

    @property
    def target(self) -> int:
        """The position of the call that the request comes down to: the last write, else the last call."""
        writes = [place for place in range(len(self.heard)) if self.writes(place)]
        return writes[-1] if writes else len(self.heard) - 1

    @property
    def columns(self) -> Columns:
        """The values of the state and of the suite's calls, by column."""
        return Columns([self.initial or {}, [{name: value} for name, many in self.pool.items() for value in many]])

    def supplied(self, calls: Sequence[ToolCall]) -> list[tuple[str, JsonValue]]:
        """Give (name, value) of the arguments of calls that no earlier answer gives, so that the user must.

        Each value stands there once, several of one name among them.
        """
        known = ""
        found: list[tuple[str, JsonValue]] = []
        results = {one.call.name + dumps(one.call.arguments): one.result.content for one in self.heard}
        for call in calls:
            for name, value in call.arguments.items():
                is_given = all(flat(str(scalar)) in flat(known) for _, scalar in scalars(value, name))
                if not is_given and not any(name == other and same(value, one) for other, one in found):
                    found.append((name, value))
            known += f"\n{results.get(call.name + dumps(call.arguments), '')}"
        return found

    @asynccontextmanager
    async def opened(self, random: Random, faults: Sequence[FaultSpec] = ()) -> AsyncIterator[Play]:
        """Open a fresh world, struck by `faults`; its final state is read at the end."""
        self.player._performances += 1
        name = f"{self.player.name}-{self.player._performances}"
        async with self.player.new_environment(name) as world:
            await prepare(world, self.plan.scenario)
            schedule = Schedule(faults, seed=str(random.getrandbits(32)))
            if faults:
                await world.strike(schedule)
            play = Play(world, self.initial, schedule)
            yield play
            play.final = await world.snapshot()


def _instructions(plan: RunPlan) -> Instructions | None:
    user = plan.scenario.task.user_scenario
    return user.instructions if user and isinstance(user.instructions, Instructions) else None


async def scene_of(plan: RunPlan, isolation: IsolationGate, now: Callable[[], float]) -> Scene:
    """Play a scenario's right run once; raise `InexpressibleError` where it makes no calls, or some fail."""
    player = ScriptPlayer(
        plan=plan, isolation=isolation, now=now, slot=None, expected=ExpectedStates(), all_blocked=Counter
    )

    def resolve(path: str) -> Callable[[JsonValue], object]:
        return cast("Callable[[JsonValue], object]", load_object(path, plan.suite.root))

    writer = Writer(plan.scenario, Rules(plan.policies, plan.toolset, resolve, plan.suite.now), plan.toolset, resolve)
    async with player.new_environment(f"{player.name}-first") as world:
        await prepare(world, plan.scenario)
        initial = await world.snapshot()
        oracle = await writer.write(world, Columns(initial or {}), can_fail=True)
        final = await world.snapshot()
    heard = tuple(oracle.heard)
    if not heard or oracle.failed:
        raise InexpressibleError("its right run makes no calls, or some of them fail")
    if any(one.call.requestor != "assistant" for one in heard):
        raise InexpressibleError("the user makes calls of its own")
    state = plan.suite.environment.state
    goal = goal_of(plan.scenario, plan.policies, (initial, final), ignore=state.ignore if state else ())
    return Scene(plan, player, heard, initial, final, goal)
