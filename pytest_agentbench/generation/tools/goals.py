"""Goal-first: the second source of chains of calls, with a model that plays the right agent.

Code chooses a person with its rows, and two or three steps between tools that nothing covers yet, or a rule of the
suite. The model finds a reason and makes the calls, on the real tools in a sandbox. Code holds each call against
declarations, rows, rules and ownership, records what worked, and finds out where each value came from. From there on a
draft of a goal goes the way of all drafts.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

from pydantic import BaseModel

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.errors import EnvironmentFaultError, UnusableAnswerError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.draft import Draft, Loss, PolicyPart, Turn, WrongRun
from pytest_agentbench.generation.language.critic import signature
from pytest_agentbench.generation.ownership import About, conflicts
from pytest_agentbench.generation.roles import ask
from pytest_agentbench.generation.tools.artifacts import hash_of
from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Walk
from pytest_agentbench.generation.tools.hydration.arguments import traced
from pytest_agentbench.generation.tools.hydration.hydrate import OF_ONE, TRIES, Attempt
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.generation.tools.hydration.stock import HydrationError, Memory, Stock, Usage
from pytest_agentbench.generation.tools.hydration.turns import numbered, turns_of_calls, unsteady_values
from pytest_agentbench.generation.tools.labels import is_identifier, is_role, name_of
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.pool import call_key
from pytest_agentbench.generation.tools.recruiting.proposals import is_sayable
from pytest_agentbench.generation.tools.source import draft_of
from pytest_agentbench.generation.tools.template import TEMPLATES
from pytest_agentbench.generation.tools.walks.coverage import Covered, Step, covered_by, handed_on
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.suites.language import language_name
from pytest_agentbench.validation.world_values import scalars

PLAYER = "player"
"""The role that plays the right agent."""

PROMPT = "player.v2"
TEMPERATURE = 0.7

_QUESTIONS, _TOKENS = 6, 12_000
"""Answers of the model, repairs among them, and tokens (a quarter of the characters) sent for one play, at most."""
_CALLS = 8
"""Calls of one conversation."""
_LEAST = 2
"""Calls without which there is no scenario."""
_AT_ONCE = 4
"""Goals that are played at the same time."""
_EDGES = 3
"""Steps that one goal aims at."""
_EVERY = 3
"""One of so many goals is about a rule, where the suite has any."""
_ROWS, _FIELDS, _ANSWER, _EARLIER, _WORKS = 12, 12, 700, 12, 2
"""Rows shown with fields of each, characters of an answer, earlier goals, and verified calls of a tool."""
_RULES = 20
"""Texts of rules that are shown."""


_UNUSABLE, _UNREACHED = "the model gives no usable answer", "the environment does not answer"
"""Why a goal was lost that may do better another time."""


class PlayedCall(BaseModel):
    """A call that the model makes; `arguments` is the text of a JSON object."""

    tool: str
    arguments: str = "{}"


class PlayedStep(BaseModel):
    """What the model does next."""

    goal: str = ""
    calls: list[PlayedCall] = []
    asks_anew: bool = False
    done: bool = False


class Goal(Model):
    """What one play is about: whose affairs (kind and key; none where nobody owns anything), which steps or rule."""

    id: str
    person: tuple[str, str] | None = None
    edges: tuple[Step, ...] = ()
    rule: str = ""


class Played(Model):
    """What became of a goal, which the hash tells: a draft, or why there is none."""

    goal: str
    draft: Draft | None = None
    loss: Loss | None = None


class GoalFile(Model):
    """The goals that were played, so that a session that goes on asks nothing twice."""

    played: tuple[Played, ...] = ()


@dataclass(kw_only=True)
class GoalSource:
    """Gives drafts of goals (`draft.Source`); `wanted` are the scenarios asked for, `closed` steps that lead nowhere.

    `played` is what earlier sessions played; `keep` hears of all after each round. `agents` names which tools other
    agents have, `once` says that the user speaks once only.
    """

    chat: Chat
    graph: Graph
    stock: Stock
    seed: int
    wanted: int
    closed: frozenset[Step] = frozenset()
    languages: Sequence[str] = ("en",)
    agents: Mapping[str, str] = field(default_factory=dict)
    once: bool = False
    left: str = ""
    played: GoalFile = field(default_factory=GoalFile)
    keep: Callable[[GoalFile], None] = lambda _: None
    walks: dict[str, Walk] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._edges = sorted(Covered.of_graph(self.graph).edges - self.closed)
        self._rules = [policy for policy in self.stock.rules.policies if policy.rule]
        self._persons = _persons(self.stock, self.seed)
        self._aimed: Counter[Step] = Counter()
        self._tested: Counter[str] = Counter()
        self._covered = Covered()
        self._earlier: list[str] = []
        self._accepted = self._number = 0
        self._known = {one.goal: one for one in self.played.played}

    async def drafts(self) -> AsyncIterator[Draft | Loss]:
        """Play goals, several at a time where the world allows it, and give what came of them in order, without end."""
        most = _AT_ONCE if self.stock.world.opens_several else 1
        while True:
            count = max(1, min(most, self.wanted - self._accepted))
            goals = [self._next() for _ in range(count)]
            earlier = tuple(self._earlier[-_EARLIER:])
            found = await asyncio.gather(*(self._become(goal, earlier) for goal in goals))
            self.keep(GoalFile(played=tuple(self._known.values())))
            for one in found:
                if one.draft is not None:
                    self.walks[one.draft.id] = walk_of(one.draft)
                    self._earlier.append(str(one.draft.provenance["goal"]))
                    yield one.draft
                elif one.loss is not None:
                    yield one.loss

    def accepted(self, draft: Draft) -> None:
        """Note what a scenario covers."""
        self._accepted += 1
        self._covered |= covered_by(self.walks[draft.id].nodes) | Covered(edges=handed_on(draft))

    def lost(self, loss: Loss) -> None:
        """Nothing is covered by it; the same steps come again, with another person."""

    def _next(self) -> Goal:
        """Choose the next goal: a rule now and then, else steps that no scenario covers, those aimed at least first."""
        number = self._number
        self._number += 1
        random = Random(f"goal/{self.seed}/{number}")  # noqa: S311 - a choice, no secret
        person = self._persons[number % len(self._persons)] if self._persons else None
        name = f"g{number:04d}"
        if self._rules and (number % _EVERY == _EVERY - 1 or not self._edges):
            rule = min(self._rules, key=lambda one: self._tested[one.id])
            self._tested[rule.id] += 1
            return Goal(id=name, person=person, rule=rule.id)
        chosen: list[Step] = []
        while len(chosen) < min(_EDGES, len(self._edges)):
            left = [one for one in self._edges if one not in chosen]
            ends = {chosen[-1][1]} if chosen else set[str]()
            random.shuffle(left)
            chosen.append(min(left, key=lambda one: (one in self._covered.edges, self._aimed[one], one[0] not in ends)))
        self._aimed.update(chosen)
        return Goal(id=name, person=person, edges=tuple(chosen))

    async def _become(self, goal: Goal, earlier: Sequence[str]) -> Played:
        """Give what comes of a goal: as it was played before where the world still answers so, or played now."""
        mark = hash_of(goal, earlier, self.chat.spec.model)
        known = self._known.pop(mark, None)
        if known is None or (known.draft is not None and not await self._answers_as(known.draft)):
            known = await self._play(goal, earlier, mark)
        if known.loss is None or known.loss.reason not in (_UNUSABLE, _UNREACHED):  # those may pass
            self._known[mark] = known
        return known

    async def _answers_as(self, draft: Draft) -> bool:
        """Whether the calls of a draft, made again, give what its lines and expectations were made of."""
        try:
            async with self.stock.world.open() as opened:
                for call in draft.calls:
                    if (await opened.call(call.call.name, call.call.arguments)).content != call.answer:
                        return False
        except EnvironmentFaultError:
            return False
        return True

    async def _play(self, goal: Goal, earlier: Sequence[str], mark: str) -> Played:
        language = self.languages[int(goal.id[1:]) % len(self.languages)]
        try:
            async with self.stock.world.open() as opened:
                chance = Random(goal.id)  # noqa: S311 - no secret
                attempt = Attempt(self.stock, opened, chance, Memory(), Usage(), TRIES, by_name=False)
                play = _Play(self, goal, attempt, language, earlier)
                turns = await play.run()
            if lost := await unsteady_values(turns, self.stock):
                raise HydrationError(OF_ONE, ", ".join(f"{one} -> {other} ({at})" for one, other, at in sorted(lost)))
            draft = draft_of(_walk(goal.id, turns), tuple(map(numbered, turns)), self.stock, self.agents)
            draft = draft.model_copy(update={"language": language, "tags": (*draft.tags, "goal")})
        except HydrationError as error:
            detail = shorten(printable(error.detail), 300)
            return Played(goal=mark, loss=Loss(draft=goal.id, stage="hydration", reason=error.reason, detail=detail))
        except UnusableAnswerError as error:
            detail = shorten(printable(str(error)), 300)
            return Played(goal=mark, loss=Loss(draft=goal.id, stage="plan", reason=_UNUSABLE, detail=detail))
        except EnvironmentFaultError as error:
            detail = shorten(printable(str(error)), 300)
            return Played(goal=mark, loss=Loss(draft=goal.id, stage="hydration", reason=_UNREACHED, detail=detail))
        aims = [f"{source} -> {target}" for source, target in goal.edges] + ([goal.rule] if goal.rule else [])
        more = {**draft.provenance, "goal": play.goal, "aims": aims}
        policies = tuple(_parts(draft, self._rules, goal.rule, self.stock))
        return Played(goal=mark, draft=draft.model_copy(update={"provenance": more, "policies": policies}))


@dataclass
class _Play:
    """One conversation, played by the model."""

    source: GoalSource
    about: Goal
    attempt: Attempt
    language: str
    earlier: Sequence[str]
    goal: str = ""
    refused: list[dict[str, Any]] = field(default_factory=list)
    _first: int = 0
    _asked: int = 0

    async def run(self) -> list[Turn]:
        """Ask for calls and make them, until the person has what it wants, or enough was asked."""
        attempt, spent = self.attempt, 0
        while self._asked < _QUESTIONS and len(attempt.made) < _CALLS:
            data = self._data()
            spent += len(dumps(data)) // 4
            if spent > _TOKENS:
                break
            step, faults = await self._step(data)
            if faults and len(attempt.made) < _LEAST:
                raise HydrationError("the model makes calls that cannot be made", "; ".join(faults))
            if faults:
                break  # what was made stands
            self.goal = self.goal or " ".join(step.goal.split())
            if step.asks_anew and not self.source.once:
                await self._close_turn()
            await self._make(step.calls)
            if step.done:
                break
        await self._close_turn()
        if len(attempt.made) < _LEAST:
            why = "; ".join(f"{one['tool']}: {one['why']}" for one in self.refused)
            raise HydrationError("the model came to too few calls", why)
        attempt.check_owner()
        return attempt.turns

    async def _step(self, data: Mapping[str, Any]) -> tuple[PlayedStep, list[str]]:
        """Ask for the next step, with one repair; give it with the faults that are left."""

        def guard(step: PlayedStep) -> list[str]:
            self._asked += 1
            return list(self._faults(step))

        return await ask(
            self.source.chat,
            PlayedStep,
            TEMPLATES,
            PROMPT,
            values={"language": language_name(self.language)},
            data=data,
            seed=[self.about.id, self._asked],
            guard=guard,
            temperature=TEMPERATURE,
        )

    async def _make(self, calls: Sequence[PlayedCall]) -> None:
        """Make calls one after the other; what is refused is told to the model."""
        attempt, stock = self.attempt, self.source.stock
        for one in calls[: _CALLS - len(attempt.made)]:
            card, arguments = stock.card(one.tool), _arguments(one)
            if arguments is None or call_key(one.tool, arguments) in {made.key for made in attempt.made}:
                continue
            option = traced(card, arguments, attempt.made, stock.taxonomy)
            if not is_sayable(option.said):
                self._refuse(one, "no person could say these values")
            elif not await attempt.make(card, option):
                self._refuse(one, attempt.refusal)

    def _refuse(self, call: PlayedCall, why: str) -> None:
        self.refused.append({"tool": call.tool, "arguments": call.arguments, "why": why})

    async def _close_turn(self) -> None:
        """End the turn of the user whose calls were made since the last one."""
        attempt = self.attempt
        if len(attempt.made) > self._first:
            made = attempt.made[self._first :]
            attempt.turns += turns_of_calls(made, await attempt.wanted(), self.source.stock, self._first)
            self._first = len(attempt.made)

    def _faults(self, step: PlayedStep) -> Iterator[str]:
        """Say what is wrong with a step: a tool or an argument that there is none of, an identifier from nowhere."""
        known = self._known
        if not step.goal.strip() and not self.goal:
            yield "there is no goal"
        if not step.calls and not step.done:
            yield "there are no calls, and the person is not done"
        for call in step.calls:
            spec = self.source.stock.world.toolset.get(call.tool)
            arguments = _arguments(call)
            if spec is None or call.tool not in self.source.graph.tools:
                yield f"there is no tool {call.tool!r}, or no call of it works"
            elif arguments is None:
                yield f"{call.tool}: the arguments are no JSON object"
            else:
                properties = spec.parameters.get("properties", {})
                yield from (
                    f"{call.tool}: there is no argument {name!r}" for name in arguments if name not in properties
                )
                needed = [name for name in spec.parameters.get("required", ()) if name not in arguments]
                yield from (f"{call.tool}: the argument {name!r} is missing" for name in needed)
                for path, value in read_slots(arguments).items():
                    name = name_of(path)
                    is_key = is_identifier(name) or is_role(name)
                    if is_key and isinstance(value, str | int) and str(value) not in known:
                        yield f"{call.tool}: {path} {value!r} stands in no row and no answer"

    @property
    def _known(self) -> set[str]:
        """The values that the model may take: those of the rows, of verified calls, and of answers."""
        found: list[JsonValue] = [value for _, value in scalars([self._rows, self._works])]
        found += [value for one in self.attempt.made for _, value in scalars([one.arguments, one.result])]
        whole = " ".join(one.content for one in self.attempt.made)
        return {*map(str, found), *whole.replace('"', " ").replace(",", " ").split()}

    @property
    def _rows(self) -> list[dict[str, JsonValue]]:
        """The rows of the person."""
        if self.about.person is None:
            return []
        rows = self.source.stock.ownership.belongings(self.about.person)
        return [{"key": key, **dict(list(cells.items())[:_FIELDS])} for key, cells in rows][:_ROWS]

    @property
    def _works(self) -> dict[str, list[dict[str, Any]]]:
        """Verified calls of the tools that matter here, which are about the person or nobody."""
        stock, person = self.source.stock, self.about.person
        own = About({person[0]: frozenset({person[1]})} if person else {})
        aimed = [tool for edge in self.about.edges for tool in edge] or list(self.source.graph.tools)
        found: dict[str, list[dict[str, Any]]] = {}
        for tool in dict.fromkeys(aimed):
            entries = [
                one for one in stock.pool.of(tool) if not conflicts(stock.ownership.about(stock.record(one)), [own])[0]
            ]
            found[tool] = [one.arguments for one in entries[:_WORKS]]
        return {tool: several for tool, several in found.items() if several}

    def _data(self) -> dict[str, Any]:
        """Give what the model sees."""
        source, made = self.source, self.attempt.made
        rules = [policy for policy in source.stock.rules.policies if policy.rule]
        aims = [f"{one} -> {other}" for one, other in self.about.edges]
        aims += [f"rule: {policy.text}" for policy in rules if policy.id == self.about.rule]
        return {
            "person": dict([self.about.person]) if self.about.person else {},
            "rows": self._rows,
            "tools": [
                signature(spec)
                for spec in source.stock.world.toolset.of("assistant")
                if spec.name in source.graph.tools
            ],
            "rules": [policy.text for policy in rules[:_RULES]],
            "aims": aims,
            "works": self._works,
            "earlier": list(self.earlier),
            "goal": self.goal,
            "made": [
                {"tool": one.card.tool, "arguments": one.arguments, "answer": shorten(one.content, _ANSWER)}
                for one in made
            ],
            "refused": self.refused,
            "left": _QUESTIONS - self._asked,
        }


def _arguments(call: PlayedCall) -> dict[str, Any] | None:
    """Read the arguments of a call, None where they are no JSON object."""
    try:
        found = loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _persons(stock: Stock, seed: int) -> list[tuple[str, str]]:
    """Give the people who have something, in an order of the seed."""
    owned = [one for one in stock.ownership.persons() if sum(1 for _ in stock.ownership.belongings(one)) > 1]
    Random(f"persons/{seed}").shuffle(owned)  # noqa: S311 - a choice, no secret
    return owned


def _walk(name: str, turns: Sequence[Turn]) -> Walk:
    """Give the calls of turns as a path through the graph; a yes to a change does not begin a turn of its own."""
    nodes: list[str] = []
    for turn in turns:
        nodes += [RUN_CONVERSATION] * (turn.act == "request") + [call.call.name for call in turn.calls]
    return Walk(id=name, nodes=(*nodes, RUN_CONVERSATION, END_OF_SIMULATION))


def walk_of(draft: Draft) -> Walk:
    """Give the path of a draft."""
    return _walk(draft.id, draft.turns)


def _parts(draft: Draft, rules: Sequence[Policy], aim: str, stock: Stock) -> Iterator[PolicyPart]:
    """Give the policies that matter in a draft, each with the wrong runs that it must tell apart."""
    for policy in rules:
        runs = tuple(_wrong_runs(draft, SuiteRules((policy,), stock.world.toolset, stock.rules.now)))
        if runs or policy.id == aim:
            yield PolicyPart(policy=policy.id, involves=runs[0].change if runs else "", wrong_runs=runs)


def _wrong_runs(draft: Draft, rules: SuiteRules) -> Iterator[WrongRun]:
    """Give the runs that break a rule by leaving out a yes, or a call that must come before another."""
    names = [call.call.name for call in draft.calls]
    for place, turn in enumerate(draft.turns):
        if turn.act == "confirm" and any(map(rules.confirms, turn.calls)):
            call = turn.calls[0].call.name
            yield WrongRun(kind="unasked", change=f"{call} is made, and nobody asked the user", turn=place)
            yield WrongRun(kind="declined", change=f"the user says no, and {call} is made", turn=place)
            break
    for number, (before, after) in enumerate(pairwise(range(len(names)))):
        needed = [several for call in draft.calls[after:] for several in rules.first_of(call)]
        if any(names[before] in several and names.count(names[before]) == 1 for several in needed):
            yield WrongRun(kind="skipped", change=f"{names[before]} is left out", number=number)
            break
