"""The blind solver: plays a draft's plain lines without a model, and without the calls behind them.

It gets what each line says as data (actions, labels, values, things pointed at), the tools' schemas, the suite's rules
and real tools in a sandbox. It finds tools and arguments by their names alone, keeps the rules, and must make the
same writes with equal values as the draft, or none where the draft refuses; order and reads are free. What two readings
fit is not solved. It shares no code with what plans drafts.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pytest_agentbench.checks.findings import call_text
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.rule_arguments import NotThereError, RuleFacts, UnreckonedError, led_to
from pytest_agentbench.checks.rule_evaluation import judge_rule
from pytest_agentbench.checks.rules import AllOf, Other, Rule, When, parts_of, read_rule
from pytest_agentbench.core.acts import Act
from pytest_agentbench.core.json_values import JsonValue, decoded, is_number, likeness, same, to_json
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.generation.argument_names import distinct, entries, fields_of, slots_of, under
from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.language.plain import (
    LAST,
    SaidCall,
    SaidReference,
    SaidTurn,
    label_of,
    phrases_of,
    said,
    worded,
    words_of,
)
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.simulation.transcript_builder import result_message
from pytest_agentbench.validation.oracle import HEARD, Rules, in_words
from pytest_agentbench.validation.scripted_run import Described, ScriptPlayer

_DEEPEST = 2
"""Calls that are needed for calls that are needed for a call."""
_LOOKUPS = 8
"""Tools that are tried to find a value that nobody says."""


class UnsolvedError(Exception):
    """Two readings fit, or none does."""


async def solve(draft: Draft, plan: RunPlan, player: ScriptPlayer, resolve: Resolver | None = None) -> str:
    """Play a draft's plain lines blind; say what was done otherwise, "" where the writes are the same."""
    turns = [said(draft, place) for place in range(len(draft.turns))]
    texts = [worded(turn, phrases_of(draft.language)) for turn in turns]
    async with player.world() as world:
        if isinstance(world, Described):
            return ""
        solver = _Solver(world, plan, await world.snapshot(), resolve)
        try:
            for turn, text in zip(turns, texts, strict=True):
                await solver.hear(turn, text)
        except UnsolvedError as error:
            return str(error)
    return differing_writes(draft, solver.writes, plan.toolset)


def differing_writes(draft: Draft, made: Sequence[ToolCall], toolset: Toolset) -> str:
    """Say how writes differ from those of a draft, "" where they are the same; order and reads are free.

    A tool reads where its kind says so; one of unknown kind, where the draft has calls of it that write nothing.
    """
    tools = toolset.of("assistant")
    wrote = {call.call.name for call in draft.calls if call.writes}
    planned = {call.call.name for call in draft.calls}
    reads = {one.name for one in tools if one.kind == "read" or (one.kind == "unknown" and one.name in planned)}
    left = [call for call in made if call.name not in reads - wrote]
    missing: list[ToolCall] = []
    for one in draft.calls:
        if one.writes and not one.fails and one.call.requestor == "assistant":
            mark = plainly(one.made, toolset)
            place = next((at for at, other in enumerate(left) if plainly(other, toolset) == mark), None)
            if place is None:
                missing.append(one.made)
            else:
                del left[place]
    extra = f"it makes {call_text(left[0].name, left[0].arguments)}" if left else ""
    if missing:
        return ", ".join(filter(None, (f"it does not make {call_text(missing[0].name, missing[0].arguments)}", extra)))
    return f"{extra} besides" if extra else ""


def plainly(call: ToolCall, toolset: Toolset) -> str:
    """Give what is equal for calls that ask a tool for the same: defaults and nothing do not count."""
    spec = toolset.get(call.name)
    declared = spec.parameters.get("properties", {}) if spec else {}
    schemas = {name: one for name, one in declared.items() if isinstance(one, Mapping)}
    counted: dict[str, JsonValue] = {}
    for name, value in call.arguments.items():
        schema = schemas.get(name, {})
        if value is not None and not ("default" in schema and same(schema["default"], value)):
            is_text = schema.get("type") == "string" and is_number(value)  # so that `101` is "101"
            counted[name] = str(value) if is_text else to_json(value)
    return likeness([call.name, counted])


@dataclass
class _Answer:
    """What a call gave."""

    call: ToolCall
    value: JsonValue
    failed: bool


def _named(answer: _Answer, labels: Collection[str]) -> Iterator[JsonValue]:
    """Yield what an answer calls by a label; the `id` of a book that `find_books` found is a *book id*."""
    yield from under(answer.value, set(labels))
    noun = words_of(answer.call.name).rpartition(" ")[2]
    rows = answer.value if isinstance(answer.value, list) else [answer.value]
    if not {f"{noun} id", f"{noun.removesuffix('s')} id", noun, noun.removesuffix("s")}.isdisjoint(labels):
        yield from (row["id"] for row in rows if isinstance(row, Mapping) and "id" in row)


@dataclass
class _Solver:
    """An agent that knows names, rules and what was said."""

    world: LocalEnvironment
    plan: RunPlan
    initial: State | None
    resolve: Resolver | None
    writes: list[ToolCall] = field(default_factory=list)
    _known: list[tuple[str, JsonValue]] = field(default_factory=list)
    _answers: list[_Answer] = field(default_factory=list)
    _messages: list[Message] = field(default_factory=list)
    _pending: list[ToolCall] = field(default_factory=list)
    _deferred: list[SaidCall] = field(default_factory=list)
    _apart: dict[str, JsonValue] = field(default_factory=dict)
    _latest: list[JsonValue] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tools = self.plan.toolset.of("assistant")
        self._rules = Rules(self.plan.policies, self.plan.toolset, self.resolve, self.plan.suite.now)

    async def hear(self, turn: SaidTurn, text: str) -> None:
        """Do what a turn of the user asks for, as far as the rules allow."""
        if self._messages and self._messages[-1].role != "assistant":
            self._messages.append(Message(role="assistant", content=HEARD))
        about = tuple(value for call in self._pending for value in call.arguments.values())
        acts = (Act(kind=turn.act, about=about if turn.act != "request" else ()),)
        self._messages.append(Message(role="user", content=text, acts=acts))
        self._known += [pair for call in turn.calls for pair in call.values]
        aside = [one for call in turn.calls if not call.action for one in call.references]
        pointed = [(one.label, self._pointed(one)) for one in aside]
        self._known += pointed
        told = [value for call in turn.calls for _, value in call.values]
        self._latest = [*told, *(value for _, value in pointed)] or self._latest
        self._apart |= {label: value for call in turn.calls if not call.action for label, value in call.values}
        pending, self._pending = self._pending, []
        deferred, self._deferred = self._deferred, []
        if turn.act == "confirm":
            for call in pending:
                await self._attempt(call, 0)
        for one in (*(deferred if turn.act == "confirm" else ()), *turn.calls):
            if one.action and (self._pending or self._deferred) and any(ref.nth == LAST for ref in one.references):
                self._deferred.append(one)  # it is about the answer to what waits for a yes
            elif one.action:
                spec = self._tool(one.action)
                await self._attempt(ToolCall(name=spec.name, arguments=await self._arguments(spec, one)), 0)

    def _tool(self, action: str) -> ToolSpec:
        fitting = [spec for spec in self._tools if words_of(spec.name) == action]
        if len(fitting) != 1:
            raise UnsolvedError(f"{len(fitting)} tools are called {action!r}")
        return fitting[0]

    async def _arguments(self, spec: ToolSpec, asked: SaidCall, depth: int = 0) -> dict[str, Any]:
        """Find the arguments of a call: by the labels of values, by what is pointed at, else in what is known."""
        arguments: dict[str, Any] = {}
        left = list(asked.values)
        pointed = list(asked.references)
        for path, (schema, labels) in slots_of(spec).items():
            mine = [value for name, value in left if name in labels]
            if mine:
                left = [pair for pair in left if pair[0] not in labels]
                _put(arguments, path, _of_schema(mine, schema))
                continue
            refs = [one for one in pointed if one.label in labels]
            if refs:
                pointed = [one for one in pointed if one not in refs]
                found = [self._pointed(one) for one in refs]
                _put(arguments, path, _of_schema(found, schema))
        for name in spec.parameters.get("required", ()):
            if name not in arguments:
                arguments[name] = await self._found(name, spec, depth)
        return arguments

    async def _found(self, name: str, spec: ToolSpec, depth: int) -> JsonValue:
        """Find a value that this line does not give: said before, or the only one of its name in the answers."""
        schema = spec.parameters.get("properties", {}).get(name, {})
        labels = slots_of(spec).get(name, (schema, {label_of(name, schema)}))[1]
        for values in (
            [value for known, value in self._known if known in labels],
            [value for answer in self._answers if not answer.failed for value in self._beside(answer.value, labels)],
            [value for answer in self._answers if not answer.failed for value in _named(answer, labels)],
            [answer.value for answer in self._answers if not answer.failed and self._is_key(answer, labels)],
        ):
            several = distinct(values)
            if len(several) == 1:
                return several[0]
            if several:
                raise UnsolvedError(f"{spec.name}: {len(several)} values are known for {name!r}")
        only = schema.get("enum") if isinstance(schema, Mapping) else None
        if isinstance(only, list) and len(only) == 1:
            return only[0]
        if depth < _DEEPEST:
            others = [one for one in self._tools if one.kind == "read" and one.name != spec.name]
            # what is said and asked for by no action is said for the lookup that takes it
            for other in sorted(others, key=lambda one: _labels(one).isdisjoint(self._apart))[:_LOOKUPS]:
                if (value := await self._looked_up(other, labels, depth + 1)) is not None:
                    return value
        raise UnsolvedError(f"{spec.name}: no value is known for {name!r}")

    def _beside(self, value: JsonValue, labels: Collection[str]) -> Iterator[JsonValue]:
        """Yield what stands under a label in the innermost records that hold something that was said last, or that
        have such a record as a field.
        """
        said = [one for known in self._latest for one in (known if isinstance(known, list) else [known])]
        if isinstance(value, Mapping):
            inner = [one for item in value.values() for one in self._beside(item, labels)]
            own = list(fields_of(value))
            if not inner and any(same(to_json(item), to_json(one)) for _, item in own for one in said):
                inner = [item for names, item in own if not names.isdisjoint(labels)]
            yield from inner
        elif isinstance(value, list):
            for item in value:
                yield from self._beside(item, labels)

    def _is_key(self, answer: _Answer, labels: Collection[str]) -> bool:
        """Whether a lookup's whole answer is one value, and no argument of its own is called like the wanted one."""
        spec = self.plan.toolset.get(answer.call.name)
        is_plain = isinstance(answer.value, str | int) and not isinstance(answer.value, bool)
        own = {words_of(one) for one in answer.call.arguments}
        return is_plain and spec is not None and spec.kind == "read" and own.isdisjoint(labels)

    async def _looked_up(self, spec: ToolSpec, wanted: set[str], depth: int) -> JsonValue:
        """Give the only value of a name that a lookup with known values gives, None where there is none."""
        values = self._known_of(spec)
        if not values and (depth >= _DEEPEST or not spec.parameters.get("required")):
            return None
        try:
            call = ToolCall(name=spec.name, arguments=await self._arguments(spec, SaidCall(values=values), depth))
        except UnsolvedError:
            return None
        answer = await self._make(call) if not self._broken(call) else None
        if answer is None or answer.failed:
            return None
        several = distinct(_named(answer, wanted)) or [answer.value] * self._is_key(answer, wanted)
        return several[0] if len(several) == 1 else None

    def _pointed(self, one: SaidReference) -> JsonValue:
        """Find a thing that the user points at: the entry of an answer, and the field that is called like the label."""
        answers = [answer for answer in self._answers if not answer.failed]
        if one.nth != LAST:
            named = [answer for answer in self._answers if words_of(answer.call.name) == one.action]
            answers = named[one.nth : one.nth + 1]
        for answer in reversed(answers):
            several = distinct(entries(answer.value, one))
            if len(several) == 1:
                return several[0]
            if several:
                raise UnsolvedError(f"{len(several)} values are {one.label!r} of entry {one.position + 1}")
        raise UnsolvedError(f"no answer has {one.count} of {one.thing!r} with a {one.label!r}")

    async def _attempt(self, call: ToolCall, depth: int) -> bool:
        """Make a call where no rule stands against it, after what rules need before; else ask, or refuse."""
        if self._broken(call):
            for names in self._rules.before(call) if depth < _DEEPEST else ():
                await self._prepare(names, call, depth + 1)
        if self._broken(call):
            if self._rules.must_confirm(call) and not depth and self._messages[-1].role != "assistant":
                terms = [value for around, term in self._rules.terms(call) for value in self._led(around, term)]
                text = f"I would now make this change: {in_words(call, terms)}. Shall I proceed, yes or no?"
                self._messages.append(Message(role="assistant", content=text))
                self._pending.append(call)
            elif self._pending and self._rules.must_confirm(call):
                self._pending.append(call)
                text = f"{self._messages[-1].content} And this: {in_words(call)}."
                self._messages[-1] = Message(role="assistant", content=text)
            return False
        await self._make(call)
        return True

    async def _prepare(self, names: Sequence[str], change: ToolCall, depth: int) -> None:
        """Make the first of these calls that can be made with what a call takes and what is known, unless the same one
        was.
        """
        own = {words_of(name): value for name, value in change.arguments.items() if words_of(name) != "id"}
        for spec in [one for one in self._tools if one.name in names]:
            with suppress(UnsolvedError):
                labels = _labels(spec)
                known = dict(self._known_of(spec)) | {name: value for name, value in own.items() if name in labels}
                arguments = await self._arguments(spec, SaidCall(values=tuple(known.items())), depth)
                call = ToolCall(name=spec.name, arguments=arguments)
                mark = plainly(call, self.plan.toolset)
                if any(plainly(one.call, self.plan.toolset) == mark and not one.failed for one in self._answers):
                    return
                if await self._attempt(call, depth):
                    return

    def _known_of(self, spec: ToolSpec) -> tuple[tuple[str, JsonValue], ...]:
        """Give what was said of each of a tool's arguments: beside all requests, else what was said last."""
        labels = _labels(spec)
        found = {name: value for name, value in self._known if name in labels}
        return tuple({**found, **{name: value for name, value in self._apart.items() if name in labels}}.items())

    async def _make(self, call: ToolCall) -> _Answer:
        made = call.model_copy(update={"id": f"call_{len(self._answers)}"})
        result = await self.world.call(made)
        self._messages += [Message(role="assistant", tool_calls=(made,)), result_message(made, result)]
        answer = _Answer(made, decoded(result.content), result.error)
        self._answers.append(answer)
        spec = self.plan.toolset.get(call.name)
        # of a tool whose kind nobody tells, behind which no state is read, every call counts
        wrote = result.wrote if result.wrote is not None else spec is not None and spec.kind != "read"
        if wrote and not result.error:
            self.writes.append(made)
        return answer

    def _broken(self, call: ToolCall) -> bool:
        """Whether a call would break a rule, as the rules' own engine says, whatever it gives."""
        made = call.model_copy(update={"id": "candidate"})
        messages = (*self._messages, Message(role="assistant", tool_calls=(made,)))
        tried = (*messages, result_message(made, ToolResult(content="")))
        run = Run(
            key=self.plan.key,
            scenario=self.plan.scenario,
            policies=self.plan.policies,
            now=self.plan.suite.now,
            transcript=Transcript(messages=tried),
            termination=Termination.FINISHED,
            toolset=self.plan.toolset,
            initial_state=self.initial,
            states=tuple(self.world.states) if self.plan.keeps_states else (),
        )
        facts = RuleFacts(run, self.resolve)
        last = len(facts.calls) - 1
        judged = [
            one
            for policy in self.plan.policies
            if policy.rule is not None and not _is_kept_later(rule := read_rule(policy.rule))
            for one in judge_rule(rule, facts)
        ]
        return any(one.kept is not True and one.point.call == last and not one.is_open for one in judged)

    def _led(self, around: Any, term: Mapping[str, Any]) -> Iterator[JsonValue]:
        fitting = [one for one in self._answers if not one.failed and self._rules.is_about(around, one.call)]
        for answer in fitting[-1:]:
            with suppress(NotThereError, UnreckonedError):
                yield led_to(term, answer.call.arguments, partial(lambda value: value, answer.value))


def _is_kept_later(rule: Rule) -> bool:
    """Whether a rule asks only for what comes after a call, so that no call breaks it: its fee is told."""
    if isinstance(rule, When | AllOf):
        return all(map(_is_kept_later, parts_of(rule)))
    return isinstance(rule, Other) and not rule.earlier


def _labels(spec: ToolSpec) -> set[str]:
    """Give all labels under which a tool's arguments may be said."""
    return {label for _, several in slots_of(spec).values() for label in several}


def _put(arguments: dict[str, Any], path: str, value: JsonValue) -> None:
    """Put a value at a dotted path; at `name.*.field` each of a list's values goes into an entry of its own."""
    names = path.split(".")
    if "*" in names:
        at = names.index("*")
        entries = arguments.setdefault(names[0], [])
        for place, one in enumerate(value if isinstance(value, list) else [value]):
            while len(entries) <= place:
                entries.append({})
            _put(entries[place], ".".join(names[at + 1 :]), one)
        return
    for name in names[:-1]:
        arguments = arguments.setdefault(name, {})
    arguments[names[-1]] = value


def _of_schema(values: Sequence[JsonValue], schema: Mapping[str, Any]) -> JsonValue:
    """Give one value, or the list where the argument is one or there are several."""
    if len(values) == 1:
        is_list = schema.get("type") == "array" and not isinstance(values[0], list)
        return [values[0]] if is_list else values[0]
    return list(values)
