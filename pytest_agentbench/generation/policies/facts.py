"""What is known of a service when rules are proposed for it: tools, rows, and what tools really answer.

The analyst is shown it, and its rules are held against it: a key, column or value that is nowhere makes a rule wrong.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.matchers import REFERENCES, is_matcher, is_reference
from pytest_agentbench.core.moments import clock_misfits, is_moment
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.generation.tools.world import Opened, World
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
            try:
                return json.loads(answer.content)
            except ValueError:
                return answer.content
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
