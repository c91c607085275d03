"""The oracle: which calls a right run of an event makes, which it must not make, and who decides about each policy.

It follows the policies as far as they are bound to tools (`binding.py`) and to rows (`conditions.py`), and makes the
calls in a fresh environment, so that every id and value in them is real and every expected call succeeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pytest_agentbench.checks.rules import AtMost, Before, read_rule
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.acts import Argument, Proposal, Scene, arguments_of, proposals
from pytest_agentbench.generation.policies.binding import Bound, prerequisites
from pytest_agentbench.generation.policies.conditions import Condition, conditions_of
from pytest_agentbench.generation.policies.plans import Act, OracleError, Performed, Planned
from pytest_agentbench.generation.policies.samples import Place, Samples
from pytest_agentbench.generation.policies.values import ExtractedPolicy, PolicyBinding
from pytest_agentbench.generation.tools.reading import parsed
from pytest_agentbench.generation.tools.world import Answer, Opened, World

_MOST_ACTS = 2
"""Requests in one event."""


@dataclass(kw_only=True)
class Oracle:
    """Knows the tools, the policies' bindings and the sampled rows of a suite."""

    world: World
    samples: Samples
    tools: tuple[ToolSpec, ...]
    policies: tuple[ExtractedPolicy, ...]
    rules: Mapping[str, Policy]
    bound: Mapping[str, tuple[Bound, ...]]
    _arguments: dict[str, tuple[Argument, ...]] = field(default_factory=dict)
    _facts: dict[Place, dict[str, Any]] = field(default_factory=dict)
    _works: dict[tuple[str, Place, Place], int | None] = field(default_factory=dict)
    _conditions: dict[str, tuple[Condition, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read what the tools take, and which calls the rules want before others."""
        for spec in self.tools:
            found = arguments_of(spec, self.samples)
            if found is not None:
                self._arguments[spec.name] = found
        self._before: list[Before] = prerequisites(self.rules)
        self._by_name = {spec.name: spec for spec in self.tools}
        self.root = next((name for name in self.samples.roots), "")
        self.main = self._main_table()

    @property
    def usable(self) -> tuple[str, ...]:
        """The tools whose arguments can be told from the schema."""
        return tuple(self._arguments)

    async def learn(self) -> None:
        """Read what the tools tell of each sampled row, which conditions may be about."""
        reader = self._reader(self.main)
        async with self.world.open() as opened:
            for at, row in enumerate(self.samples.rows.get(self.main, ())):
                place = (self.main, at)
                self._facts[place] = dict(row)
                if reader is not None:
                    key = self._arguments[reader][0]
                    answer = await opened.call(reader, {key.name: row.get(key.column)})
                    content = parsed(answer.content)
                    if not answer.error and isinstance(content, Mapping):
                        plain = {name: value for name, value in content.items() if not isinstance(value, list | dict)}
                        self._facts[place] = {**plain, **row}
        table = self.samples.schema.get(self.main)
        example: dict[str, Any] = {}
        for facts in self._facts.values():
            example |= {name: value for name, value in facts.items() if value is not None or name not in example}
        for policy in self.policies:
            if table is not None and policy.id in self.bound:
                self._conditions[policy.id] = conditions_of(policy, table, example)

    def conditions(self, tool: str) -> tuple[Condition, ...]:
        """Give what all policies about a tool demand of the row that it is called for."""
        return tuple(
            condition
            for policy, bound in self.bound.items()
            if any(one.tool == tool for one in bound)
            for condition in self._conditions.get(policy, ())
        )

    async def plan(self, policies: Sequence[str], random: Random) -> Planned:
        """Choose requests that the policies of a set are about, and sampled rows on which they come out as they should.

        Raise `OracleError` where no tool and row serve.
        """
        wanted, others = self._tools_for(policies, random)
        if not wanted:
            raise OracleError("no tool of the suite can be asked for with what its rows hold")
        roots = [(self.root, at) for at in range(len(self.samples.rows.get(self.root, ())))]
        random.shuffle(roots)
        acts: list[Act] = []
        root: Place | None = None
        counts: dict[str, int] = {}
        for tool in (*wanted, *others):
            is_spare = tool not in wanted and bool(acts)
            if len(acts) == _MOST_ACTS or is_spare or not self._admits(tool, counts):
                continue
            found = await self._act(tool, [root] if root else roots, policies, acts, random)
            if found is not None:
                root, act = found
                acts.append(act)
                counts[tool] = counts.get(tool, 0) + 1
        if root is None:
            raise OracleError(f"no sampled row lets {wanted[0]} come out, nor any other tool")
        return Planned(root=root, acts=tuple(acts))

    async def perform(
        self, planned: Planned, scene: Scene, opened: Opened, random_of: Mapping[Place, str]
    ) -> Performed:
        """Make the calls of a right run on fresh rows; raise `OracleError` for the first that fails."""
        made: list[Proposal] = []
        answers: list[Answer] = []
        acts: list[tuple[Act, Proposal]] = []
        forbidden: list[Proposal] = []
        wrote = False
        for act in planned.acts:
            proposal = self._proposals(act.tool, scene, act.focus, random_of[act.focus])[act.choice]
            acts.append((act, proposal))
            needed = self._needed(act.tool, scene, act.focus, [one.tool for one in made])
            steps = [one for one in needed if one not in made]
            if act.is_refused:
                forbidden.append(proposal)
            elif proposal not in made:
                steps.append(proposal)
            for step in steps:
                answer = await opened.call(step.tool, step.arguments)
                if answer.error or answer.hung or answer.crashed:
                    raise OracleError(f"{step.tool} fails on the event's rows: {answer.content}")
                made.append(step)
                answers.append(answer)
                wrote = wrote or bool(answer.wrote)
        if not made:
            raise OracleError("a right run would make no call")
        return Performed(
            expected=tuple(made), answers=tuple(answers), acts=tuple(acts), forbidden=tuple(forbidden), wrote=wrote
        )

    def decide(self, policies: Sequence[str], performed: Performed) -> tuple[PolicyBinding, ...]:
        """Say of each policy whether calls decide about it, which, and why only a judge can where none does."""
        names = [one.tool for one in performed.expected]
        found = []
        for policy in policies:
            bound = {one.tool: one for one in self.bound.get(policy, ())}
            refusing = [
                (at, act)
                for at, (act, _) in enumerate([pair for pair in performed.acts if pair[0].is_refused])
                if any(one.policy == policy for one in act.refused_by)
            ]
            expected = tuple(at for at, name in enumerate(names) if name in bound)
            if refusing:
                evidence = next(one.evidence for one in refusing[0][1].refused_by if one.policy == policy)
                places = tuple(at for at, _ in refusing)
                found.append(PolicyBinding(policy=policy, handling="refuses", reason=evidence, forbidden=places))
            elif expected:
                evidence = bound[names[expected[-1]]].evidence
                found.append(PolicyBinding(policy=policy, handling="calls", reason=evidence, expected=expected))
            else:
                tools = ", ".join(sorted(bound)[:3])
                reason = f"about {tools}, which this event does not call" if bound else "its words are about no tool"
                found.append(PolicyBinding(policy=policy, handling="judge_only", reason=reason))
        return tuple(found)

    async def _act(
        self, tool: str, roots: Sequence[Place], policies: Sequence[str], acts: Sequence[Act], random: Random
    ) -> tuple[Place, Act] | None:
        """Find a row on which a tool is refused by one of the policies, or one on which it works and all allow it."""
        conditions = self.conditions(tool)
        own = [one for one in conditions if one.policy in policies]
        wants_refusal = bool(own) and self._by_name[tool].kind != "read" and random.random() < 0.5
        taken = {act.focus for act in acts}
        for refusing in (True, False) if wants_refusal else (False, True):
            for root in roots:
                places = [one for one in self._focuses(tool, root) if one not in taken or one == root]
                random.shuffle(places)
                for place in places:
                    broken = [one for one in conditions if one.holds(self._facts.get(place, {})) is False]
                    if refusing and any(one in own for one in broken) and self._by_name[tool].kind != "read":
                        offered = self._proposals(tool, self.sampled(root, place), place, "")
                        if offered:
                            return root, Act(tool=tool, focus=place, choice=_telling(offered), refused_by=tuple(broken))
                    if not refusing and not broken:
                        choice = await self._working(tool, root, place)
                        if choice is not None:
                            return root, Act(tool=tool, focus=place, choice=choice)
        return None

    async def _working(self, tool: str, root: Place, focus: Place) -> int | None:
        """Find the first call of a tool that succeeds on sampled rows; learned once for each row."""
        key = (tool, root, focus)
        if key not in self._works:
            self._works[key] = None
            scene = self.sampled(root, focus)
            for number, proposal in enumerate(self._proposals(tool, scene, focus, "")):
                async with self.world.open() as opened:
                    answer = await opened.call(tool, proposal.arguments)
                is_write = self._by_name[tool].kind == "write"
                if not answer.error and not answer.crashed and (answer.wrote is not False or not is_write):
                    self._works[key] = number
                    break
        return self._works[key]

    def sampled(self, root: Place, *focuses: Place) -> Scene:
        """Give the sampled rows around a root as a scene."""
        cluster = self.samples.cluster(root, *focuses)
        rows = {place: self.samples.row(place) for place in cluster.rows}
        return Scene(samples=self.samples, rows=rows, root=root, focuses=focuses)

    def _proposals(self, tool: str, scene: Scene, focus: Place, seed: str) -> list[Proposal]:
        texts = " ".join(one.text for one in self.policies if any(b.tool == tool for b in self.bound.get(one.id, ())))
        random = Random(f"{seed}/{tool}")  # noqa: S311 - a choice, no secret
        return proposals(self._by_name[tool], self._arguments[tool], scene, focus, random, policies=texts)

    def _tools_for(self, policies: Sequence[str], random: Random) -> tuple[list[str], list[str]]:
        """Give the tools that can be asked for, those that the most policies of the set are about first, and the rest.

        Ties are drawn.
        """
        scores: dict[str, float] = {}
        for name, arguments in self._arguments.items():
            spec = self._by_name[name]
            keyed = any(one.role == "key" and not one.new for one in arguments)
            if not keyed or any(one.role == "text" for one in arguments):
                continue
            about = [one for policy in policies for one in self.bound.get(policy, ()) if one.tool == name]
            telling = sum(0.2 if one.by_rule else 1.0 for one in about)
            needs = any(self.conditions(name)[at].policy in policies for at in range(len(self.conditions(name))))
            scores[name] = (
                telling + (1.0 if needs else 0) + (0.1 if spec.kind == "write" else 0) + random.random() * 0.3
            )
        best = sorted(scores, key=lambda name: (-scores[name], name))
        covered: set[str] = set()
        chosen: list[str] = []
        for name in best:
            own = {policy for policy in policies if any(one.tool == name for one in self.bound.get(policy, ()))}
            if own - covered or not chosen:
                chosen.append(name)
                covered |= own
        return chosen, [name for name in best if name not in chosen]

    def _focuses(self, tool: str, root: Place) -> list[Place]:
        tables = {one.table for one in self._arguments[tool] if one.role == "key" and not one.many and not one.new}
        if self.main in tables:
            return self.samples.focuses(root, self.main)
        return [root] if self.root in tables else []

    def _needed(self, tool: str, scene: Scene, focus: Place, made: Sequence[str]) -> list[Proposal]:
        """Give the calls that come before: who it is, what it is about, and what rules want before it."""
        spec = self._by_name[tool]
        wanted: list[str] = []
        reader = self._reader(focus[0])
        if reader is not None and reader != tool and spec.kind != "read" and focus != scene.root:
            wanted.append(reader)
        for name in (tool, *wanted):
            for rule in self._before:
                about = rule.calls
                concerned = name in about if not isinstance(about, str) else about == "any" or spec.kind == "write"
                if concerned and not set(rule.first) & {*wanted, *made}:
                    first = [one for one in rule.first if self._lookup(one, scene, focus) is not None]
                    if first:
                        wanted.insert(0, first[0])
        finder = self._finder(scene, focus)
        if finder is not None and finder != tool and not set(self._finders(scene, focus)) & {*wanted, *made}:
            wanted.insert(0, finder)
        return [one for name in dict.fromkeys(wanted) if (one := self._lookup(name, scene, focus)) is not None]

    def _lookup(self, tool: str, scene: Scene, focus: Place) -> Proposal | None:
        if tool not in self._arguments:
            return None
        found = self._proposals(tool, scene, focus, "")
        return found[0] if found else None

    def _finders(self, scene: Scene, focus: Place) -> list[str]:
        """Give the tools that find the root by what its owner knows, without a key."""
        return [
            name
            for name, arguments in self._arguments.items()
            if arguments
            and all(one.role == "column" for one in arguments)
            and self._by_name[name].kind != "write"
            and any(one.column in scene.rows[scene.root] for one in arguments)
        ]

    def _finder(self, scene: Scene, focus: Place) -> str | None:
        return next(iter(self._finders(scene, focus)), None)

    def _reader(self, table: str) -> str | None:
        """Give the tool that looks a row of a table up by its key alone."""
        found = [
            name
            for name, arguments in self._arguments.items()
            if len(arguments) == 1
            and arguments[0].role == "key"
            and not arguments[0].many
            and arguments[0].table == table
            and self._by_name[name].kind == "read"
        ]
        singular = table.removesuffix("s")
        return min(found, key=lambda name: (not name.endswith(singular), len(name)), default=None)

    def _admits(self, tool: str, counts: Mapping[str, int]) -> bool:
        """Whether the rules allow for one more call of a tool beside those planned."""
        for policy in self.rules.values():
            rule = read_rule(policy.rule) if policy.rule else None
            if isinstance(rule, AtMost) and not isinstance(rule.about.calls, str) and tool in rule.about.calls:
                planned = sum(counts.get(name, 0) for name in rule.about.calls)
                if planned >= rule.times:
                    return False
        return True

    def _main_table(self) -> str:
        """Find the table that most tools work on, beside the root."""
        owned = self.samples.owned(self.root) - {self.root} if self.root else set()
        uses = dict.fromkeys(sorted(owned), 0)
        for arguments in self._arguments.values():
            for name in {one.table for one in arguments if one.role == "key" and not one.many}:
                if name in uses:
                    uses[name] += 1
        used = [name for name in uses if uses[name]]
        return max(used, key=lambda name: (uses[name], -list(uses).index(name)), default=self.root)


def _telling(offered: Sequence[Proposal]) -> int:
    """Choose the first call; where a user would say nothing of it but what it is about, the one that says most."""
    if len(offered[0].said) > 1 or all(len(one.said) == len(offered[0].said) for one in offered):
        return 0
    return max(range(len(offered)), key=lambda at: (len(offered[at].said), -at))
