"""What the oracle knows: the tools that can be asked for, what policies demand of rows, which calls come before others.

It follows the policies as far as they are bound to tools (`binding.py`), to rows (`conditions.py`) and to what happens
(`occasions.py`). `planning.py` chooses the requests of an event by it, `performing.py` makes their calls in a fresh
environment, so that every id and value in them is real and every expected call succeeds.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pytest_agentbench.checks.rules import AtMost, Before, read_rule
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.events.acts import Argument, Proposal, Scene, arguments_of
from pytest_agentbench.generation.policies.events.binding import Bound, prerequisites
from pytest_agentbench.generation.policies.events.choices import choices_of, is_broken
from pytest_agentbench.generation.policies.events.conditions import Condition, conditions_of
from pytest_agentbench.generation.policies.events.learning import derived, merged
from pytest_agentbench.generation.policies.events.occasions import Occasion, occasions_of, topics_of
from pytest_agentbench.generation.policies.events.offers import proposals
from pytest_agentbench.generation.policies.events.requests import Speech
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.policies.values import ExtractedPolicy
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.world import Opened, World

_OTHER_SEEDS = 4
"""Seeds that are tried for a call that differs in what the user says of it."""
AMOUNT = re.compile(r"(?<![\w.,-])\d+[.,]\d{2}(?![\w,]|\.\d)")
"""Amounts in the text of an answer: numbers with two decimals that stand alone."""
_ROW = frozenset(("which", "of"))
"""The parts of a wish that say which row is meant."""


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
    facts: dict[Place, dict[str, Any]] = field(default_factory=dict)
    _works: dict[tuple[str, Place, Place], int | None] = field(default_factory=dict)
    _conditions: dict[tuple[str, str], tuple[Condition, ...]] = field(default_factory=dict)
    _choices: dict[str, tuple[Condition, ...]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _tables: dict[str, str] = field(default_factory=dict)
    _scenes: dict[tuple[Place, ...], Scene] = field(default_factory=dict)
    _focuses: dict[tuple[str, Place], list[Place]] = field(default_factory=dict)
    tell_amounts: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Read what the tools take, and which calls the rules want before others."""
        for spec in self.tools:
            found = arguments_of(spec, self.samples)
            if found is not None:
                self._arguments[spec.name] = found
        self._before: list[Before] = prerequisites(self.rules)
        self.by_name = {spec.name: spec for spec in self.tools}
        self.occasions: dict[str, tuple[Occasion, ...]] = {
            one.id: kinds for one in self.policies if (kinds := occasions_of(one, self.rules.get(one.id)))
        }
        self.root = next((name for name in self.samples.roots), "")
        self.main = self._main_table()

    @property
    def usable(self) -> tuple[str, ...]:
        """The tools whose arguments can be told from the schema."""
        return tuple(self._arguments)

    @property
    def speech(self) -> Speech:
        """What requests for the tools are worded with."""
        asking = self.root if self.samples.is_person(self.root) else ""
        return Speech(tools=self.by_name, arguments=self._arguments, asking=asking)

    async def learn(self) -> None:
        """Read what the tools tell of each sampled row, which conditions may be about."""
        async with self.world.open() as opened:
            for name in self._own_tables():
                await self._learn_table(name, opened)

    def _own_tables(self) -> list[str]:
        owned = self.samples.owned(self.root) if self.root else set()
        return [one.name for one in self.samples.schema.tables if one.name in {*owned, self.main}]

    async def _learn_table(self, name: str, opened: Opened) -> None:
        reader = self.reader(name)
        table = self.samples.schema.get(name)
        example: dict[str, Any] = {}
        for at, row in enumerate(self.samples.rows.get(name, ())):
            place = (name, at)
            told: dict[str, Any] = {}
            if reader is not None:
                key = self._arguments[reader][0]
                answer = await opened.call(reader, {key.name: row.get(key.column)})
                content = parsed(answer.content)
                if not answer.error and isinstance(content, Mapping):
                    told = {field: value for field, value in content.items() if not isinstance(value, list | dict)}
            self.facts[place] = merged(derived(self.samples, place), told, row)
            known = {field: value for field, value in self.facts[place].items() if value is not None}
            example = {**self.facts[place], **example, **known}
        for policy in self.policies:
            if table is not None and policy.id in self.bound:
                self._conditions[policy.id, name] = conditions_of(policy, table, example)

    def conditions(self, tool: str) -> tuple[Condition, ...]:
        """Give what all policies about a tool demand of the row that it is called for."""
        return tuple(
            condition
            for policy, bound in self.bound.items()
            if any(one.tool == tool for one in bound)
            for condition in self._conditions.get((policy, self.table_of(tool)), ())
        )

    async def working(self, tool: str, root: Place, focus: Place) -> int | None:
        """Find the first call of a tool that succeeds on sampled rows and keeps limits; learned once for each row."""
        key = (tool, root, focus)
        if key not in self._works:
            self._works[key] = None
            scene = self.sampled(root, focus)
            for number, proposal in enumerate(self.proposals(tool, scene, focus, "")):
                broken = self.broken_choices(tool, proposal.arguments, scene, focus)
                if any(one.is_measured for one in broken):
                    continue
                async with self.world.open() as opened:
                    answer = await opened.call(tool, proposal.arguments)
                is_write = self.by_name[tool].kind == "write"
                if not answer.error and not answer.crashed and (answer.wrote is not False or not is_write):
                    self._works[key] = number
                    if is_write and AMOUNT.search(answer.content):
                        self.tell_amounts.add(tool)
                    break
        return self._works[key]

    def sampled(self, root: Place, *focuses: Place) -> Scene:
        """Give the sampled rows around a root as a scene."""
        key = (root, *focuses)
        if key not in self._scenes:
            cluster = self.samples.cluster(root, *focuses)
            rows = {place: self.samples.row(place) for place in cluster.rows}
            self._scenes[key] = Scene(samples=self.samples, rows=rows, root=root, focuses=focuses)
        return self._scenes[key]

    def proposals(self, tool: str, scene: Scene, focus: Place, seed: str) -> list[Proposal]:
        """Give the calls of a tool that a scene allows for; the seed draws the values that a change takes."""
        random = Random(f"{seed}/{tool}")  # noqa: S311 - a choice, no secret
        texts = self.texts_about(tool)
        return proposals(self.by_name[tool], self._arguments[tool], scene, focus, random, policies=texts)

    def texts_about(self, tool: str) -> str:
        """Give the words of all policies about a tool, of those that are about few tools first."""
        if tool not in self._texts:
            bound = {one.id: [b.tool for b in self.bound.get(one.id, ())] for one in self.policies}
            about = sorted((one for one in self.policies if tool in bound[one.id]), key=lambda one: len(bound[one.id]))
            self._texts[tool] = " ".join(one.text for one in about)
        return self._texts[tool]

    def broken_choices(
        self, tool: str, values: Mapping[str, Any], scene: Scene, focus: Place, policies: Sequence[str] = ()
    ) -> tuple[Condition, ...]:
        """Give what policies about a tool demand of its arguments, and these break; of some, what they surely break."""
        arguments = self._arguments[tool]
        if tool not in self._choices:
            about = (one for one in self.policies if any(b.tool == tool for b in self.bound.get(one.id, ())))
            table = self.table_of(tool)
            found = [one for policy in about for one in choices_of(policy, arguments, self.samples, table)]
            self._choices[tool] = tuple(found)
        return tuple(
            one
            for one in self._choices[tool]
            if (not policies or one.policy in policies)
            and is_broken(one, values, arguments, scene, focus, surely=bool(policies))
        )

    def another(self, tool: str, scene: Scene, focus: Place, seed: str, than: Proposal) -> Proposal | None:
        """Give a call on the same row that a user could name by mistake: it says something else of what is wanted."""
        wanted = [(one.how, one.text) for one in than.said]
        for number in range(_OTHER_SEEDS):
            for proposal in self.proposals(tool, scene, focus, f"{seed}/{number}"):
                said = [(one.how, one.text) for one in proposal.said]
                same_row = [one for one in said if one[0] in _ROW] == [one for one in wanted if one[0] in _ROW]
                differ = _telling_words(said) ^ _telling_words(wanted)
                if same_row and differ and len(said) == len(wanted) and proposal.arguments != than.arguments:
                    return proposal
        return None

    def tools_for(self, policies: Sequence[str], random: Random) -> tuple[list[str], list[str]]:
        """Give the tools that can be asked for, those that the most policies of the set are about first, and the rest.

        Ties are drawn.
        """
        scores: dict[str, float] = {}
        for name, arguments in self._arguments.items():
            spec = self.by_name[name]
            keyed = any(one.role == "key" and not one.new for one in arguments)
            if not keyed or (any(one.role == "text" for one in arguments) and not topics_of(self.texts_about(name))):
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

    def table_of(self, tool: str) -> str:
        """Give the table of the row that a tool is asked for about: the farthest from its owner that it takes."""
        if tool not in self._tables:
            owned = self._owned()
            keys = [one for one in self._arguments.get(tool, ()) if one.role == "key" and not one.many and not one.new]
            tables = [one.table for one in keys if one.table in owned]
            others = [name for name in tables if name != self.root]
            farthest = min(others, key=lambda name: (len(self.samples.referring(name)), name), default="")
            self._tables[tool] = self.main if self.main in tables else farthest or next(iter(tables), "")
        return self._tables[tool]

    def focuses(self, tool: str, root: Place) -> list[Place]:
        """Give the rows that a tool may be asked for about, of those that belong to a root row."""
        table = self.table_of(tool)
        if table == self.root:
            return [root]
        key = (table, root)
        if key not in self._focuses:
            self._focuses[key] = self.samples.focuses(root, table) if table else []
        return list(self._focuses[key])

    def needed(self, tool: str, scene: Scene, focus: Place, made: Sequence[str]) -> list[Proposal]:
        """Give the calls that come before: who it is, what it is about, and what rules want before it."""
        spec = self.by_name[tool]
        wanted: list[str] = []
        reader = self.reader(focus[0])
        if reader is not None and reader != tool and spec.kind != "read" and focus != scene.root:
            wanted.append(reader)
        for name in (tool, *wanted):
            for rule in self._before:
                about = rule.calls
                concerned = name in about if not isinstance(about, str) else about == "any" or spec.kind == "write"
                if concerned and not set(rule.first) & {*wanted, *made}:
                    first = [one for one in rule.first if self.lookup(one, scene, focus) is not None]
                    if first:
                        wanted.insert(0, first[0])
        finder = self.finder(scene, focus)
        if finder is not None and finder != tool and not set(self._finders(scene, focus)) & {*wanted, *made}:
            wanted.insert(0, finder)
        return [one for name in dict.fromkeys(wanted) if (one := self.lookup(name, scene, focus)) is not None]

    def lookup(self, tool: str, scene: Scene, focus: Place) -> Proposal | None:
        if tool not in self._arguments:
            return None
        found = self.proposals(tool, scene, focus, "")
        return found[0] if found else None

    def _finders(self, scene: Scene, focus: Place) -> list[str]:
        """Give the tools that find the root by what its owner knows, without a key."""
        return [
            name
            for name, arguments in self._arguments.items()
            if arguments
            and all(one.role == "column" for one in arguments)
            and self.by_name[name].kind != "write"
            and any(one.column in scene.rows[scene.root] for one in arguments)
        ]

    def finder(self, scene: Scene, focus: Place) -> str | None:
        return next(iter(self._finders(scene, focus)), None)

    def reader(self, table: str) -> str | None:
        """Give the tool that looks a row of a table up by its key alone."""
        found = [
            name
            for name, arguments in self._arguments.items()
            if len(arguments) == 1
            and arguments[0].role == "key"
            and not arguments[0].many
            and arguments[0].table == table
            and self.by_name[name].kind == "read"
        ]
        singular = table.removesuffix("s")
        return min(found, key=lambda name: (not name.endswith(singular), len(name)), default=None)

    def admits(self, tool: str, counts: Mapping[str, int]) -> bool:
        """Whether the rules allow for one more call of a tool beside those planned."""
        for policy in self.rules.values():
            rule = read_rule(policy.rule) if policy.rule else None
            if isinstance(rule, AtMost) and not isinstance(rule.about.calls, str) and tool in rule.about.calls:
                planned = sum(counts.get(name, 0) for name in rule.about.calls)
                if planned >= rule.times:
                    return False
        return True

    def _owned(self) -> set[str]:
        """Give the tables of what belongs to the root's rows, without the places that these only take for a while."""
        return self.samples.owned(self.root) - self.samples.pools(self.root) if self.root else set()

    def _main_table(self) -> str:
        """Find the table that most tools work on, beside the root."""
        owned = self._owned() - {self.root}
        uses = dict.fromkeys(sorted(owned), 0)
        for arguments in self._arguments.values():
            for name in {one.table for one in arguments if one.role == "key" and not one.many}:
                if name in uses:
                    uses[name] += 1
        used = [name for name in uses if uses[name]]
        return max(used, key=lambda name: (uses[name], -list(uses).index(name)), default=self.root)

    @property
    def finders(self) -> tuple[str, ...]:
        """The tools that find somebody by what only they know, without a key."""
        return tuple(
            name
            for name, arguments in self._arguments.items()
            if arguments and all(one.role == "column" for one in arguments) and self.by_name[name].kind != "write"
        )

    def is_reader(self, tool: str) -> bool:
        """Whether a tool looks one row up by its key."""
        arguments = self._arguments.get(tool, ())
        return len(arguments) == 1 and arguments[0].role == "key" and not arguments[0].many

    def is_worded(self, tool: str) -> bool:
        """Whether a tool takes text of one's own."""
        return any(one.role == "text" for one in self._arguments.get(tool, ()))

    def is_first_by_rule(self, tool: str) -> bool:
        """Whether a rule wants a call of this tool before others."""
        return any(tool in rule.first for rule in self._before)


def _telling_words(said: Sequence[tuple[str, str]]) -> set[str]:
    """Give the words that tell two wishes apart for whoever hears them; a single letter is easily missed."""
    words = (word.strip(".,;:()").lower() for _, text in said for word in text.split())
    return {word for word in words if len(word) > 2 or any(map(str.isdigit, word))}
