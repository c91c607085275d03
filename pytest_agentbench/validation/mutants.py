"""Wrong runs: weak agents, and mutants of the oracle's run by one change or a call that a right run does not make.

Reads decide only where the scenario asks for them (`expected_calls: all`, an order) or a rule does, so they are
mutated only there; so is an argument only where it counts (`compare_args`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from random import Random
from typing import Any

from pytest_agentbench.checks.answers import is_said
from pytest_agentbench.checks.effects import tool_writes
from pytest_agentbench.checks.findings import call_text, value_text
from pytest_agentbench.checks.matching import argument_matches
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import JsonValue, same
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.text import flat
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.environment.fresh_values import rekeyed
from pytest_agentbench.validation.known import Known, likely_calls
from pytest_agentbench.validation.oracle import DONE, Heard, Oracle, Rules, opening, wish_for
from pytest_agentbench.validation.report import Mutant, Operator
from pytest_agentbench.validation.scripted_run import (
    Performance,
    ScriptedRun,
    ScriptPlayer,
    Step,
    numbered,
    perform,
)
from pytest_agentbench.validation.world_values import Columns, another, beyond, cut_short, near, scalars

_TRIES = 8
"""Values that are drawn in the place of one."""

_CUTTABLE = 4
"""Characters from which half of a value is still something."""

Given = tuple[str, JsonValue]
"""An argument: its name and value."""


def mark_of(call: ToolCall) -> str:
    """Give what equal calls have in common."""
    return dumps([call.name, call.arguments])


def holds(pairs: Iterable[Given], name: str, value: JsonValue) -> bool:
    """Whether an argument is among some."""
    return any(name == other and same(value, one) for other, one in pairs)


def with_argument(call: ToolCall, name: str, value: JsonValue) -> ToolCall:
    """Give a call with another value for one argument."""
    return call.model_copy(update={"arguments": {**call.arguments, name: value}})


def schema_of(toolset: Toolset, call: ToolCall, name: str) -> Mapping[str, JsonValue]:
    """Give the schema of an argument, an empty one where there is none."""
    spec = toolset.get(call.name, call.requestor)
    schema = (spec.parameters.get("properties", {}) if spec else {}).get(name)
    return schema if isinstance(schema, Mapping) else {}


@dataclass(frozen=True)
class WrongCalls:
    """Makes the wrong calls beside a right run, whose calls were `heard` with what they gave.

    `pool` are values by the name of their argument, `columns` those by column, and `is_near` keeps to values at hand.
    """

    toolset: Toolset
    heard: Sequence[Heard]
    columns: Columns
    pool: Mapping[str, Sequence[JsonValue]]
    random: Random
    is_near: bool = False

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the right run."""
        return tuple(one.call for one in self.heard)

    def supplied(self, calls: Sequence[ToolCall]) -> list[Given]:
        """Give the arguments of calls that no earlier answer gives, so that the user must, each once."""
        known, found = "", list[Given]()
        results = {mark_of(one.call): one.result.content for one in self.heard}
        for call in calls:
            for name, value in call.arguments.items():
                is_given = all(flat(one) in flat(known) for _, one in scalars(value, name))
                if not is_given and not holds(found, name, value):
                    found.append((name, value))
            known += f"\n{results.get(mark_of(call), '')}"
        return found

    def listed(self, call: ToolCall) -> list[str]:
        """Give the values that the schema of a tool lists: a person says them in other words."""
        spec = self.toolset.get(call.name, call.requestor)
        names = spec.parameters.get("properties", {}) if spec else {}
        return [str(one) for name in names for one in schema_of(self.toolset, call, name).get("enum", ())]

    def swapped(self, call: ToolCall) -> list[ToolCall]:
        """Give a call with a value of the user's exchanged for another: misread by a digit, or one that exists."""
        given = self.supplied(self.calls)
        own = [flat(value) for _, value in scalars(call.arguments)]
        found: list[ToolCall] = []
        for name, value in call.arguments.items():
            if not holds(given, name, value):
                continue
            has_digit = isinstance(value, str | int | float) and any(map(str.isdigit, str(value)))
            for other in [*([near(value)] if has_digit else []), *self._others(call, name)]:
                changed = with_argument(call, name, other)
                # `W1` and `w-1` are no different values
                if [flat(one) for _, one in scalars(changed.arguments)] != own:
                    found.append(changed)
        return found

    def of_other_tools(self) -> list[ToolCall]:
        """Give a call of each tool that the right run does not use, with values that are at hand."""
        used = {call.name for call in self.calls}
        specs = [spec for spec in self.toolset.of("assistant") if spec.name not in used]
        self.random.shuffle(specs)
        return self.nearest([call for spec in specs if (call := self._filled(spec)) is not None])

    def nearest(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Give the calls with most values at hand first, with `is_near` only those without any other."""
        far = [(sum(not self._is_at_hand(value) for value in call.arguments.values()), call) for call in calls]
        return [call for count, call in sorted(far, key=lambda one: one[0]) if not (count and self.is_near)]

    def cut(self) -> Iterator[Sequence[ToolCall]]:
        """Give the right calls up to one with a value of the user's, which is cut short."""
        given = self.supplied(self.calls)
        for place, call in enumerate(self.calls):
            for name, value in call.arguments.items():
                if isinstance(value, str) and len(value) >= _CUTTABLE and holds(given, name, value):
                    yield [*self.calls[:place], with_argument(call, name, cut_short(value))]

    def refusable(self, target: int) -> Iterator[Sequence[ToolCall]]:
        """Give the right calls up to that at `target`, with one value of the user's that its tool may refuse.

        Values of the target alone come first: others exist for them, and nothing else in the request changes.
        """
        *before, last = calls = self.calls[: target + 1]
        own, leads = last.arguments, dumps([call.arguments for call in before])
        given = [name for name, _ in self.supplied(calls) if name in own]
        given.sort(key=lambda name: str(own[name]) in leads)
        listed = self.listed(last)
        # nobody asks in so many words for what a tool's list has not: that comes last
        for names in ([one for one in given if (str(own[one]) in listed) == flag] for flag in (False, True)):
            for is_beyond in (False, True):
                for name in names:
                    others = beyond(own[name]) if is_beyond else self._others(last, name)
                    yield from ([_exchanged(call, own[name], other) for call in calls] for other in others)

    def _others(self, call: ToolCall, name: str) -> list[JsonValue]:
        """Give values that an argument could have instead."""
        value, schema = call.arguments[name], schema_of(self.toolset, call, name)
        found = (another(value, name, schema, self.columns, self.random) for _ in range(_TRIES))
        return [one for one in found if one is not None]

    def _filled(self, spec: ToolSpec) -> ToolCall | None:
        """Give a call of a tool with values known under its arguments' names; None where one is not known."""
        at_hand: dict[str, JsonValue] = {}
        for one in self.heard:
            for key, value in scalars([one.call.arguments, one.result.content]):
                at_hand.setdefault(key, value)
        arguments: dict[str, JsonValue] = {}
        for key in spec.parameters.get("required", list(spec.parameters.get("properties", {}))):
            known = self.pool.get(key, [])
            if key not in at_hand and not known:
                return None
            nearest = [one for one in known if self._is_at_hand(one)] or known
            arguments[key] = at_hand[key] if key in at_hand else self.random.choice(nearest)
        return ToolCall(name=spec.name, arguments=arguments)

    @cached_property
    def _values_at_hand(self) -> str:
        """Everything in the right calls and their answers, to look values up in."""
        return flat(" ".join(dumps([one.call.arguments, one.result.content]) for one in self.heard))

    def _is_at_hand(self, value: JsonValue) -> bool:
        return all(flat(one) in self._values_at_hand for _, one in scalars(value, "value"))


def _exchanged(call: ToolCall, value: JsonValue, other: JsonValue) -> ToolCall:
    arguments = {name: other if same(one, value) else one for name, one in call.arguments.items()}
    return call.model_copy(update={"arguments": arguments})


@dataclass(frozen=True)
class Mutation:
    """A mutant and its run; `demanded` says that it differs in what the scenario asks for whatever the state."""

    mutant: Mutant
    script: ScriptedRun
    demanded: bool = False


@dataclass(frozen=True)
class MutantSource:
    """What mutants are made from: a scenario, its right run, the tools, the values there are, and other writes."""

    scenario: Scenario
    oracle: Oracle
    toolset: Toolset
    rules: Rules
    columns: Columns
    extra: tuple[ToolCall, ...] = ()
    seed: int = 0

    @property
    def expected(self) -> list[tuple[Step, ToolCall, int]]:
        """The steps of the right run that are expected calls, with the call and its position."""
        steps = self.oracle.script
        return [(one, one.call, one.position or 0) for one in steps if one.part == "call" and one.call is not None
                and one.position is not None]  # fmt: skip

    @property
    def deciding(self) -> list[tuple[Step, ToolCall, int]]:
        """Those of the expected calls of which it makes a difference that they are made."""
        match = self.scenario.match
        reads_count = match.expected_calls == "all" or match.order != "any_order"
        return [one for one in self.expected if reads_count or self.writes(one[2])]

    def writes(self, position: int) -> bool:
        """Whether an expected call is a write; one of unknown kind counts as one, as in the verdict."""
        want = self.scenario.expected_calls[position]
        return tool_writes(want.name, want.requestor, self.toolset) is not False

    def random(self, *names: object) -> Random:
        """Give a source of chance that depends on the seed, the scenario and `names` alone."""
        return Random(f"{self.seed} {self.scenario.id} {' '.join(map(str, names))}")  # noqa: S311 - no secret


Changes = Iterator[tuple[str, Sequence[Step]]]
"""What was changed in a right run, and the steps that came of it."""


def mutations(source: MutantSource) -> Iterator[Mutation]:
    """Give every mutant of a scenario's right run, the same ones for the same seed."""
    for name, (operator, demanded) in _OPERATORS.items():
        for change, steps in operator(source):
            yield Mutation(Mutant(operator=name, change=change), tuple(steps), demanded)


def _dropped(source: MutantSource) -> Changes:
    for step, call, _ in source.deciding:
        yield f"{_shown(call)} is not made", _but(source.oracle.script, [step])


def _swapped(source: MutantSource) -> Changes:
    deciding = {id(step) for step, _, _ in source.deciding}
    steps = source.oracle.script
    for (first, call, _), (second, other, _) in pairwise(source.expected):
        if first.party != second.party or call == other or not {id(first), id(second)} <= deciding:
            continue
        # a call and the question about it go together, else the swap would be one more call without a yes
        own, then = ([one for one in steps if one.position == at.position and one.part != "needed"]
                     for at in (first, second))  # fmt: skip
        places = [place for place, step in enumerate(steps) if any(step is one for one in (*own, *then))]
        between = [one for one in steps[places[0] : places[-1] + 1] if not any(one is step for step in (*own, *then))]
        yield (
            f"{_shown(other)} before {_shown(call)}",
            numbered([*steps[: places[0]], *between, *then, *own, *steps[places[-1] + 1 :]]),
        )


def _wrong_argument(source: MutantSource) -> Changes:
    def other(value: JsonValue, name: str, schema: Mapping[str, JsonValue], random: Random) -> JsonValue:
        return another(value, name, schema, source.columns, random)

    return _changed(source, "wrong argument", other)


def _invented(source: MutantSource) -> Changes:
    def invent(value: JsonValue, _name: str, schema: Mapping[str, JsonValue], _random: Random) -> JsonValue:
        return None if schema.get("enum") or isinstance(value, bool) or value is None else near(value)

    return _changed(source, "invented value", invent)


def _changed(
    source: MutantSource,
    operator: Operator,
    change: Callable[[JsonValue, str, Mapping[str, JsonValue], Random], JsonValue],
) -> Changes:
    """Change each argument that counts; `change` gives another value for (value, argument, schema, chance), or None."""
    for step, call, position in source.deciding:
        want = source.scenario.expected_calls[position]
        for name in want.compared:
            value = call.arguments[name]
            other = change(value, name, schema_of(source.toolset, call, name), source.random(operator, position, name))
            made = _with(step, name, other)
            if other is None or same(other, value):
                continue
            if holds_matcher(want.arguments[name]) and made.call and argument_matches(want, name, made.call):
                continue  # the scenario allows this value as well
            text = f"{call.name}: {name}={value_text(other)} instead of {value_text(value)}"
            yield text, _but(source.oracle.script, [], step, [made])


def _extra_write(source: MutantSource) -> Changes:
    steps = source.oracle.script
    repeated = [call for _, call, position in source.expected if source.writes(position)]
    for call in (*repeated[-1:], *source.extra):
        what = "once more" if call in repeated else "besides"
        further = Step(party="assistant", part="call", call=call)
        yield f"{_shown(call)} {what}", numbered([*steps[:-1], further, steps[-1]])


def _wrong_order(source: MutantSource) -> Changes:
    steps = source.oracle.script
    for step in steps:
        if (call := step.call) is None or step.party != "assistant" or step.part != "call":
            continue
        asked = [one for one in steps if one.position == step.position and one.part in ("question", "consent")]
        if asked:
            now = [*wish_for(step, steps, source.scenario), step, asked[0]]
            yield f"{_shown(call)} before asking the user", _but(steps, [step], asked[0], now)
        before = steps[: steps.index(step)]
        earlier = [one for one in before if one.call is not None and source.rules.orders(one.call.name, call)]
        if earlier:
            names = " and ".join(dict.fromkeys(one.call.name for one in earlier if one.call))
            yield f"{_shown(call)} before {names}", _but(steps, earlier, step, [step, *earlier])


def _false_claim(source: MutantSource) -> Changes:
    steps = source.oracle.script
    writes = [(step, call) for step, call, position in source.expected if source.writes(position)]
    if writes:
        names = ", ".join(dict.fromkeys(call.name for _, call in writes))
        yield f"says that {names} was done, and did nothing", _but(steps, [step for step, _ in writes])
        return
    is_told = bool(source.scenario.communicate_info)
    if (source.deciding or source.scenario.replies or source.scenario.output) and not is_told:
        return  # the lookups that decide were made, or what the agent answers decides, and no script knows that
    claim = ["Your request was carried out as you wished.", *source.oracle.words, DONE]
    change = f"says that the request was carried out{', in place of what is to be communicated' * is_told}"
    yield change, (*steps[:-1], steps[-1].model_copy(update={"text": "\n".join(claim)}))


def _wrong_statement(source: MutantSource) -> Changes:
    steps, infos, locale = source.oracle.script, source.scenario.communicate_info, source.scenario.language or "en"
    for index, info in enumerate(infos):
        words = [word for word in source.oracle.words if not is_said(info, word, locale)]
        wrong = str(near(info))
        stated = [wrong] if any(char.isdigit() for char in info) else []
        told = [*infos[:index], *infos[index + 1 :], *stated, *words, DONE]
        change = f"says {value_text(wrong)} for {value_text(info)}" if stated else f"does not say {value_text(info)}"
        yield change, (*steps[:-1], steps[-1].model_copy(update={"text": "\n".join(told)}))


_OPERATORS: dict[Operator, tuple[Callable[[MutantSource], Changes], bool]] = {
    "drop": (_dropped, False),
    "swap": (_swapped, False),
    "wrong argument": (_wrong_argument, False),
    "invented value": (_invented, False),
    "extra write": (_extra_write, False),
    "wrong order": (_wrong_order, True),
    "false claim": (_false_claim, True),
    "wrong statement": (_wrong_statement, True),
}
"""Each operator, and whether its mutants differ in what the scenario demands whatever the state."""


def _but(steps: Sequence[Step], gone: Sequence[Step], at: Step | None = None, now: Sequence[Step] = ()) -> ScriptedRun:
    """Give steps without those `gone`, with `now` in the place of the step `at`."""
    left = [step for step in steps if not any(step is one for one in gone)]
    return tuple(one for step in left for one in (now if step is at else (step,)))


def _with(step: Step, name: str, value: JsonValue) -> Step:
    """Give a step whose call has another value for one argument."""
    if step.call is None:
        return step
    return step.model_copy(update={"call": with_argument(step.call, name, value)})


def _shown(call: ToolCall) -> str:
    return call_text(call.name, call.arguments)


_TRIED = (3, 4)
"""Values of an argument, and calls of a tool, tried in the search for a write outside of the goal."""


async def score(player: ScriptPlayer, source: MutantSource, right: Run) -> dict[str, Any]:
    """Perform and judge every mutant of the `right` run; give what a `ScenarioReport` says of them.

    A mutant that does not fail is equivalent, and left out, where its calls lead to the very state that the right run
    leads to (nothing ignored), unless it differs in what the scenario or a rule asks for besides the state. Where no
    state can be read it is equivalent where it makes the same writes, all of which succeed.
    """
    equivalent, operators, survivors = 0, dict[str, tuple[int, int]](), list[Mutant]()
    for mutation in mutations(source):
        done = await player.performed(mutation.script)
        judgement = await player.judge_as(right, done, notes=False)
        is_caught = judgement.verdict is Verdict.FAILED
        if not is_caught and not mutation.demanded and _is_equivalent(done, right):
            equivalent += 1
            continue
        caught, judged = operators.get(mutation.mutant.operator, (0, 0))
        operators[mutation.mutant.operator] = (caught + is_caught, judged + 1)
        survivors += [] if is_caught else [mutation.mutant.model_copy(update={"conversation": _told(mutation.script)})]
    total = sum(judged for _, judged in operators.values())
    return {"mutants": total, "equivalent": equivalent, "operators": operators, "survivors": tuple(survivors)}


async def other_writes(player: ScriptPlayer, oracle: Oracle, known: Known, columns: Columns) -> tuple[ToolCall, ...]:
    """Find one write outside of the goal that succeeds after the right run: of a tool that it does not call if any."""
    scenario, toolset = player.plan.scenario, player.plan.toolset
    called = {want.name for want in scenario.expected_calls}
    tools = [spec for spec in toolset.of("assistant") if spec.kind == "write"]
    near_by = [want.arguments for want in scenario.expected_calls]
    made = [(heard.call.name, heard.call.arguments) for heard in oracle.heard]
    async with player.world() as world:
        await perform(oracle.script, world)
        before = await world.snapshot()
        for spec in sorted(tools, key=lambda spec: spec.name in called):
            for call in likely_calls(spec, near_by, known, columns, most=_TRIED):
                if (call.name, call.arguments) in made:
                    continue
                result = await world.call(call)
                if result.failed or result.wrote is False:
                    continue
                # what is written anew as it stood is a write to the database, and none to anybody else
                if before is None or await world.snapshot() != before:
                    return (call,)
    return ()


def _told(script: ScriptedRun) -> tuple[str, ...]:
    """Give a wrong run as lines: who says what, or makes which call."""
    return tuple(f"{step.party}: {_shown(step.call) if step.call is not None else step.text}" for step in script)


def _is_equivalent(done: Performance, right: Run) -> bool:
    same_writes = _writes(right.model_copy(update={"transcript": done.transcript})) == _writes(right)
    final = right.final_state
    if final is None or done.final is None:
        return final is done.final and same_writes
    if same_writes and right.scenario.match.order == "any_order":
        final = rekeyed(final, done.final, (right.initial_state, right.initial_state), ())
    return done.final == final


def _writes(run: Run) -> Sequence[str]:
    """Give the calls that succeeded and may have written, in no order; of unknown kinds nobody can tell."""
    calls = [record.call for record in run.transcript.trajectory if not record.failed]
    kinds = [(call, run.toolset.get(call.name, call.requestor)) for call in calls]
    return sorted(
        f"{call.requestor} {call.name} {sorted(call.arguments.items())}"
        for call, spec in kinds
        if spec is None or spec.kind not in ("read", "unknown")
    )


def weak_agents(
    scenario: Scenario, oracle: Oracle, toolset: Toolset, columns: Columns, seed: int
) -> Iterator[tuple[str, ScriptedRun]]:
    """Give each weak agent's name and run; wrong arguments only where some expected call has arguments."""
    lines = opening(scenario)
    yield "does nothing", numbered(lines)
    echoes = [one.model_copy(update={"text": before.text}) for before, one in pairwise(lines)]
    echoed = [echo if one.party == "assistant" else one for echo, one in zip([lines[0], *echoes], lines, strict=True)]
    yield "echoes the user", numbered(echoed)
    wrong = [_all_wrong(step, toolset, columns, seed) for step in oracle.script]
    if any(one is not step for one, step in zip(wrong, oracle.script, strict=True) if step.part == "call"):
        yield "uses wrong arguments", tuple(wrong)


def _all_wrong(step: Step, toolset: Toolset, columns: Columns, seed: int) -> Step:
    """Give a step with one argument of an expected call wrong, and without what is to be communicated."""
    if step.part == "told":
        return step.model_copy(update={"text": DONE})
    if step.part != "call" or step.call is None:
        return step
    for name, value in step.call.arguments.items():
        chance = Random(f"{seed} {step.position} {name}")  # noqa: S311 - no secret
        wrong = another(value, name, schema_of(toolset, step.call, name), columns, chance)
        if wrong is not None:
            return _with(step, name, wrong)
    return step
