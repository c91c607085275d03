"""Scenes: the right run of a scenario, played once, which is the gold that every conversation is held against."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import cast

from pytest_agentbench.calibration.labelled import data
from pytest_agentbench.checks.judges.evidence import Goal, goal_of
from pytest_agentbench.core.scenario import Instructions
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall, ToolSpec
from pytest_agentbench.core.values import JsonValue, decoded
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.runs.expected import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.validation.oracle import Heard, Writer
from pytest_agentbench.validation.rules import Rules
from pytest_agentbench.validation.scripted_run import ScriptPlayer
from pytest_agentbench.validation.values import Columns, leaves

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
