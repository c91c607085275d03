"""The analyst: a model proposes for each entry a rule, the tools it concerns and how hard it is to keep.

Every part is held in code against the rule language, the tools and the rows. What does not hold is asked once more with
the reasons; what then does not hold is dropped and counted. A key, column or value that is nowhere makes a rule wrong.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, cast

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.json_values import decoded
from pytest_agentbench.core.matchers import REFERENCES, is_matcher, is_reference
from pytest_agentbench.core.moments import clock_misfits, is_moment
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.generation.policies.data_types import Challenge, ExtractedPolicy
from pytest_agentbench.generation.policies.identity import key_of
from pytest_agentbench.generation.policies.model_question import Answer, ask_twice
from pytest_agentbench.generation.tools.world import Opened, World
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.spec.loading import read_yaml
from pytest_agentbench.suites.rule_check import rule_faults, rule_misfits, state_misfits

_FEW = 12
"""Distinct texts up to which a column holds one of a fixed set of values."""

_REPEATED = 1.5
"""Times that such a text stands in the column, on average."""

_TRIES = 4
"""Calls that are made to see one answer of a tool."""

_WIDTH = 400
"""Characters of an example that are shown."""

_SPOKEN = ("user_said", "agent_said", "user_says", "agent_says", "must_say", "must_not_say")
_QUOTES = (('"', '"'), ("“", "”"), ("«", "»"), ("‘", "’"), ("'", "'"), ("„", "“"))

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A service: `state` as it begins (None: it cannot be read), `answers` of tools, `now` where it has a clock."""

    tools: tuple[ToolSpec, ...] = ()
    state: Mapping[str, Any] | None = None
    answers: Mapping[str, Any] = field(default_factory=dict)
    now: datetime | None = None

    @cached_property
    def tables(self) -> dict[str, list[tuple[str, Row]]]:
        """The rows of each table, with their keys."""
        return {name: _rows(table) for name, table in (self.state or {}).items()}

    @cached_property
    def columns(self) -> dict[str, set[str]]:
        """The columns of all tables, each with the texts that it holds where these are few, else with none."""
        return _columns(row for rows in self.tables.values() for _, row in rows)

    def lines(self) -> Iterator[str]:
        """Give what the analyst is shown."""
        if self.now:
            yield f"clock: {self.now.isoformat()}"
        for spec in self.tools:
            kind = {"read": "reads", "write": "writes"}.get(spec.kind, "unknown kind")
            yield f"tool {spec.name}({_arguments(spec)}) {kind}: {shorten(' '.join(spec.description.split()), 160)}"
            if spec.name in self.answers:
                yield f"  gives for example {shorten(dumps(self.answers[spec.name]), _WIDTH)}"
            elif spec.returns:
                yield f"  gives {', '.join(spec.returns.get('properties', {})) or spec.returns.get('type', 'a value')}"
        keys = {at for rows in self.tables.values() for at, _ in rows}
        for name, rows in self.tables.items():
            columns = _columns(row for _, row in rows)
            for at, row in rows[:1]:
                yield f"table {name}, at [{', '.join((name, *([at] if at else [])))}]: {shorten(dumps(row), _WIDTH)}"
                known = [(column, columns[column]) for column in row]
                yield from (
                    f"  {column}: {_list(all_)}" for column, all_ in known if len(all_) > 1 and not all_ <= keys
                )

    def faults(self, rule: object, text: str) -> list[str]:
        """Say what in a rule does not hold; `text` is the entry that it was read from."""
        wrong = [str(one) for one in rule_misfits(rule)]
        if wrong or not isinstance(rule, Mapping):
            return wrong or ["a rule is a mapping"]
        if not self.tools:
            return ["no tool of the service is known, so that nothing can be checked on calls"]
        policy = Policy(id="proposed", text=text or "-", rule=dict(rule))
        found = [message for _, message, _ in rule_faults(policy, Toolset(specs=self.tools))]
        if self.state is None:
            found += [one.message for one in state_misfits(dict(rule), ())]
        found += [one.message for one in clock_misfits(dict(rule), (), self.now)]
        return [*found, *self._nowhere(rule, (), text)]

    def _nowhere(self, form: Any, about: tuple[str, ...], text: str) -> Iterator[str]:
        """Yield what a rule names and no row and no answer has; `about` are the tools of the rule around."""
        for item in form if isinstance(form, list) else ():
            yield from self._nowhere(item, about, text)
        if not isinstance(form, Mapping):
            return
        if REFERENCES[1] in form:
            yield from self._steps(form[REFERENCES[1]], about)
            return
        own = _calls_of(form) or about
        for key, body in form.items():
            if key == "result":
                for tool in own:
                    yield from self._of_answer(tool, body, self.answers.get(tool))
            elif key == "state" and isinstance(body, Mapping):
                yield from self._of_state(body)
            elif key in _SPOKEN and _quotes_nothing(body, text):
                yield f"{key}: words that the entry does not put in quotes; use {{$result: …}} or {{$argument: …}}"
            yield from self._nowhere(body, (key == "then" and _calls_of(form.get("when"))) or own, text)

    def _steps(self, way: str, about: tuple[str, ...]) -> Iterator[str]:
        for tool in about:
            part = self.answers.get(tool)
            for step in () if way == "." else way.split("."):
                if isinstance(part, Mapping) and step not in part:
                    yield f"{tool} gives no {step!r}; it gives {', '.join(part)}"
                part = part.get(step) if isinstance(part, Mapping) else None

    def _of_answer(self, tool: str, body: Any, example: Any) -> Iterator[str]:
        if not isinstance(body, Mapping) or is_reference(body) or is_moment(body):
            return
        if is_matcher(body):
            for operator in ("$has", "$each"):
                if operator in body and isinstance(example, list) and example:
                    yield from self._of_answer(tool, body[operator], example[0])
            return
        for key, value in body.items():
            if isinstance(example, Mapping) and key not in example:
                yield f"{tool} gives no {key!r}; it gives {', '.join(map(str, example))}"
                continue
            yield from _never(f"{key!r} of {tool}", value, self.columns.get(key, set()))
            yield from self._of_answer(tool, value, example.get(key) if isinstance(example, Mapping) else None)

    def _of_state(self, body: Mapping[str, Any]) -> Iterator[str]:
        name, *steps = body.get("at") or ("",)
        rows = self.tables.get(name, []) if isinstance(name, str) else []
        if self.state is not None and not (isinstance(name, str) and name in self.state):
            yield f"there is no table {name!r}; there are {', '.join(self.state)}"
        columns, value = _columns(row for _, row in rows), body.get("value")
        if rows and rows[0][0] and steps:
            steps = steps[1:]
        if isinstance(value, Mapping) and "$has" in value:
            value = value["$has"]
        if steps and isinstance(steps[0], str):
            value = {steps[0]: value if len(steps) == 1 else {}}
        if not rows or not isinstance(value, Mapping) or is_matcher(value) or is_reference(value):
            return
        for column, wanted in value.items():
            if column in columns:
                yield from _never(f"{column!r} of {name}", wanted, columns[column])
            else:
                yield f"{name} has no column {column!r}; it has {_list(columns)}"


async def facts_of(world: World, now: datetime | None = None) -> Facts:
    """Look at a service: its rows as they begin, and an answer of each tool that they give the arguments of.

    Tools that write, and those whose kind nobody declared, are called where that can be taken back alone.
    """
    async with world.open() as opened:
        state = await opened.snapshot()
        tools = opened.tools.of("assistant")
        reads = [spec for spec in tools if spec.kind == "read" and spec.kind_from in ("declared", "listed", "seen")]
        answers = {spec.name: await _answer(opened, spec, state or {}) for spec in reads}
    for spec in tools:
        is_undone = world.resets(spec) and spec.name not in world.without_state
        if spec.name not in answers and is_undone:
            async with world.open() as opened:
                answers[spec.name] = await _answer(opened, spec, state or {})
    known = {name: answer for name, answer in answers.items() if answer is not None}
    shown = cast("State", world.redactor.json(state)) if state is not None else None
    return Facts(tools=tools, state=shown, answers=known, now=now)


async def _answer(opened: Opened, spec: ToolSpec, state: Mapping[str, Any]) -> Any:
    for arguments in _guesses(spec, state):
        answer = await opened.call(spec.name, arguments)
        if not answer.error:
            return decoded(answer.content)
    return None


def _guesses(spec: ToolSpec, state: Mapping[str, Any]) -> Iterator[Row]:
    """Give arguments that rows hold under the same name, and what a schema says of the others.

    The key of a keyed table is `<table>_id`, or `id`.
    """
    required, forms = spec.parameters.get("required", []), spec.parameters.get("properties", {})
    if not required:
        yield {}
    for name, table in state.items():
        rows = [{f"{name.removesuffix('s')}_id": at, "id": at, **row} if at else row for at, row in _rows(table)]
        for row in rows[:_TRIES]:
            values = {**{name: _usual(forms[name]) for name in required if name in forms}, **row}
            if any(name in row for name in required) and all(values.get(name) is not None for name in required):
                yield {name: values[name] for name in required}


def _usual(form: Mapping[str, Any]) -> Any:
    """Give a value of a declared form: the first of those listed, or 1; None where any text may stand."""
    listed = [*form.get("enum", ()), *form.get("examples", ()), *([form["default"]] if "default" in form else [])]
    return listed[0] if listed else 1 if form.get("type") in ("integer", "number") else None


def _rows(table: Any) -> list[tuple[str, Row]]:
    """Give the rows of a table with their keys: of a mapping from key to row, or of a list, whose rows have none."""
    items = (
        table.items()
        if isinstance(table, Mapping)
        else [("", row) for row in (table if isinstance(table, list) else ())]
    )
    return [(str(key), dict(row)) for key, row in items if isinstance(row, Mapping)]


def _columns(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Give the columns of rows, each with its texts where these are few, else with none."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, []).extend([value] if isinstance(value, str) else [])
    few = {name for name, texts in found.items() if len(set(texts)) <= min(_FEW, len(texts) / _REPEATED)}
    return {name: set(texts) if name in few else set() for name, texts in found.items()}


def _never(whose: str, wanted: Any, known: set[str]) -> Iterator[str]:
    """Yield the first of the wanted texts that is none of those known, if any is known."""
    several = wanted.get("$in", wanted.get("$not")) if is_matcher(wanted) else wanted
    texts = [one for one in (several if isinstance(several, list) else [several]) if isinstance(one, str)]
    if known and (unknown := [one for one in texts if one not in known]):
        yield f"{whose} is never {unknown[0]!r}; it is {_list(known)}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _arguments(spec: ToolSpec) -> str:
    required = spec.parameters.get("required", [])
    shown = []
    for name, form in spec.parameters.get("properties", {}).items():
        kind = "|".join(map(str, form["enum"])) if "enum" in form else str(form.get("type", "any"))
        shown.append(f"{name}{'' if name in required else '?'}: {kind}")
    return ", ".join(shown)


def _calls_of(trigger: Any) -> tuple[str, ...]:
    calls = trigger.get("calls") if isinstance(trigger, Mapping) else None
    return tuple(calls) if isinstance(calls, list) else ()


def _quotes_nothing(said: Any, text: str) -> bool:
    """Whether something to say is neither a reference nor words that the entry puts in quotes."""
    if isinstance(said, Mapping):
        return _quotes_nothing(said["text"], text) if "text" in said else not (is_reference(said) or is_moment(said))
    if isinstance(said, list):
        return any(_quotes_nothing(one, text) for one in said)
    return not any(f"{left}{said}{right}" in text or f"{left} {said} {right}" in text for left, right in _QUOTES)


_BATCH = 8
"""Entries in one question."""

_NOTE = 300
"""Characters of a note."""


class Analysed(Answer):
    """What one entry means."""

    number: int
    sentence: str = Field(description="the words of the entry that the rule says, copied exactly")
    tools: list[str] = Field(description="names of the tools that the entry concerns")
    challenge: Challenge
    rule: str = Field(description="a rule in one line of YAML, or an empty text")
    reason: str = Field(description="why there is no rule, or what of the entry it leaves out; may be empty")


class Analyses(Answer):
    """One for each entry, in order."""

    entries: list[Analysed]


class Dropped(Model):
    """A part of a proposal that did not hold: of which policy, which part, and why."""

    policy: str
    part: str
    reason: str


class Analysis(Model):
    """The policies with what was proposed for them, and what was dropped."""

    policies: tuple[ExtractedPolicy, ...] = ()
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True)
class Analyst:
    """Proposes with a model: a call for every 8 entries, what is refused once more."""

    chat: Chat
    facts: Facts
    random: Random

    async def __call__(self, policies: Sequence[ExtractedPolicy]) -> Analysis:
        """Propose for each policy; one that the model says nothing about stays as it is."""
        batches = [policies[at : at + _BATCH] for at in range(0, len(policies), _BATCH)]
        found = [pair for pairs in await asyncio.gather(*map(self._batch, batches)) for pair in pairs]
        return Analysis(
            policies=tuple(policy for policy, _ in found),
            dropped=tuple(
                Dropped(policy=policy.id, part=part, reason=reason)
                for policy, wrong in found
                for part, reason in wrong.items()
            ),
        )

    async def _batch(self, batch: Sequence[ExtractedPolicy]) -> list[tuple[ExtractedPolicy, dict[str, str]]]:
        """Give each policy with its proposal, and what of that did not hold."""
        entries = [f"{n}. [{' > '.join(one.under) or one.category}] {one.text}" for n, one in enumerate(batch, 1)]
        answers = await ask_twice(
            self.chat,
            Analyses,
            "analyst.v1",
            data="\n".join((*self.facts.lines(), "", *entries)),
            random=self.random,
            faults=lambda answer: list(self._faults(answer, batch)),
        )
        found = []
        for number, policy in enumerate(batch, 1):
            entries_of = [one for answer in answers for one in answer.entries if one.number == number]
            options = [(one, self._wrong(one, policy)) for one in entries_of]
            if options:
                proposed, wrong = min(options, key=lambda option: len(option[1]))
                found.append((self._proposed(policy, proposed, wrong), wrong))
            else:
                found.append((policy, {"entry": "the model left it out twice"}))
        return found

    def _proposed(self, policy: ExtractedPolicy, proposed: Analysed, wrong: dict[str, str]) -> ExtractedPolicy:
        names = {spec.name for spec in self.facts.tools}
        return policy.model_copy(
            update={
                "challenge": proposed.challenge,
                "tools": tuple(name for name in dict.fromkeys(proposed.tools) if name in names),
                "rule": None if {"rule", "sentence"} & wrong.keys() else _read(proposed.rule),
                "source": "" if "sentence" in wrong else proposed.sentence,
                "note": shorten(" ".join(printable(proposed.reason).split()), _NOTE),
            }
        )

    def _faults(self, answer: Analyses, batch: Sequence[ExtractedPolicy]) -> Iterator[str]:
        if sorted(one.number for one in answer.entries) != list(range(1, len(batch) + 1)):
            yield f"give each entry from 1 to {len(batch)} once"
        for one in answer.entries:
            if 1 <= one.number <= len(batch):
                wrong = self._wrong(one, batch[one.number - 1])
                yield from (f"entry {one.number}, {part}: {reason}" for part, reason in wrong.items())

    def _wrong(self, one: Analysed, policy: ExtractedPolicy) -> dict[str, str]:
        """Say of each part that does not hold why."""
        wrong = {}
        names = [spec.name for spec in self.facts.tools]
        if unknown := [name for name in one.tools if name not in names]:
            wrong["tools"] = f"there is no tool {printable(unknown[0])!r}; there are {', '.join(names)}"
        if one.rule.strip() and key_of(one.sentence) not in key_of(policy.text):
            wrong["sentence"] = "it does not stand in the entry"
        try:
            rule = _read(one.rule)
        except SuiteError as error:
            return {**wrong, "rule": f"no YAML: {shorten(str(error.problems[0].message), 200)}"}
        if rule is not None and (found := self.facts.faults(rule, policy.text)):
            wrong["rule"] = shorten("; ".join(dict.fromkeys(found)), 500)
        return wrong


def _read(rule: str) -> Any:
    """Read a rule; None for an empty text or `null`."""
    return read_yaml(rule, Path("rule")).value if rule.strip() else None
