"""Wrong runs: weak agents, and mutants of the oracle's run, each by one change that a user would not accept.

- drop: an expected call is not made, though the agent says at the end what it would say had it been made
- swap: two neighbouring expected calls change places
- wrong argument: one argument is another value that could stand there: of the tool's schema, or of the state
- invented value: one argument is a value that exists nowhere
- extra write: a further call that changes something: an expected write once more, or another write
- wrong order: a change before the user's yes that a rule asks for, or before the lookup that a rule asks for
- false claim: no write is made, or none was due, and the agent says that the change was made
- wrong statement: something that must be communicated is said wrongly, or left out

Reads decide only where the scenario asks for them (`expected_calls: all`, an order) or a rule does, so they are
mutated only there; so is an argument only where it counts (`compare_args`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from pytest_agentbench.checks.effects import tool_writes
from pytest_agentbench.checks.findings import call_text, value_text
from pytest_agentbench.checks.matching import argument_matches, compared_arguments
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.validation.known import Known, likely_calls
from pytest_agentbench.validation.oracle import DONE, Oracle, opening
from pytest_agentbench.validation.report import Mutant
from pytest_agentbench.validation.rules import Rules
from pytest_agentbench.validation.scripted_run import ScriptedRun, ScriptPlayer, Step, numbered, perform
from pytest_agentbench.validation.values import Columns, another, near


@dataclass(frozen=True)
class Mutation:
    """A mutant and its run; `demanded` says that it differs in what the scenario asks for whatever the state."""

    mutant: Mutant
    script: ScriptedRun
    demanded: bool = False


@dataclass(frozen=True)
class Bench:
    """What mutants are made from: a scenario, its right run, the tools, the values there are, and other writes."""

    scenario: Scenario
    oracle: Oracle
    toolset: Toolset
    rules: Rules
    columns: Columns
    extra: tuple[ToolCall, ...] = ()
    seed: int = 0

    @property
    def reads_count(self) -> bool:
        """Whether the scenario asks for reads too."""
        match = self.scenario.match
        return match.expected_calls == "all" or match.order != "any_order"

    def writes(self, want: ExpectedCall) -> bool:
        """Whether an expected call is a write; one of unknown kind counts as one, as in the verdict."""
        return tool_writes(want.name, want.requestor, self.toolset) is not False

    def counts(self, position: int) -> bool:
        """Whether it makes a difference that an expected call is made."""
        return self.reads_count or self.writes(self.scenario.expected_calls[position])

    def random(self, *names: object) -> Random:
        """Give a source of chance that depends on the seed, the scenario and `names` alone."""
        return Random(f"{self.seed} {self.scenario.id} {' '.join(map(str, names))}")  # noqa: S311 - no secret


def mutations(bench: Bench) -> Iterator[Mutation]:
    """Give every mutant of a scenario's right run, the same ones for the same seed."""
    for operator in _OPERATORS:
        yield from operator(bench)


def _dropped(bench: Bench) -> Iterator[Mutation]:
    for step in _expected(bench):
        if step.call is not None and step.position is not None and bench.counts(step.position):
            rest = tuple(other for other in bench.oracle.script if other is not step)
            yield Mutation(Mutant(operator="drop", change=f"{_shown(step.call)} is not made"), rest)


def _swapped(bench: Bench) -> Iterator[Mutation]:
    steps = bench.oracle.script
    expected = _expected(bench)
    for first, second in pairwise(expected):
        if first.call is None or second.call is None or first.party != second.party or first.call == second.call:
            continue
        if not (bench.counts(first.position or 0) and bench.counts(second.position or 0)):
            continue
        exchanged = {id(first): second, id(second): first}
        change = f"{_shown(second.call)} before {_shown(first.call)}"
        # a call and the question about it go together, else the swap would be one more call without a yes
        blocks = _blocks_swapped(steps, first, second) or tuple(exchanged.get(id(step), step) for step in steps)
        yield Mutation(Mutant(operator="swap", change=change), numbered(blocks))


def _blocks_swapped(steps: ScriptedRun, first: Step, second: Step) -> ScriptedRun | None:
    """Exchange all steps of two expected calls where they follow each other, needed lookups staying in front."""
    own = [step for step in steps if step.position == first.position and step.part != "needed"]
    other = [step for step in steps if step.position == second.position and step.part != "needed"]
    moved = {id(step) for step in (*own, *other)}
    places = [place for place, step in enumerate(steps) if id(step) in moved]
    if not places:
        return None
    between = [step for step in steps[places[0] : places[-1] + 1] if id(step) not in moved]
    return (*steps[: places[0]], *between, *other, *own, *steps[places[-1] + 1 :])


def _wrong_argument(bench: Bench) -> Iterator[Mutation]:
    yield from _changed(bench, "wrong argument", lambda value, name, schema, random: another(
        value, name, schema, bench.columns, random
    ))  # fmt: skip


def _invented(bench: Bench) -> Iterator[Mutation]:
    def invent(value: JsonValue, _name: str, schema: dict[str, JsonValue], _random: Random) -> JsonValue:
        is_listed = bool(schema.get("enum")) or isinstance(value, bool) or value is None
        return None if is_listed else near(value)

    yield from _changed(bench, "invented value", invent)


Change = Callable[[JsonValue, str, dict[str, JsonValue], Random], JsonValue]
"""Gives another value for (value, argument, schema, chance), or None."""


def _changed(bench: Bench, operator: str, change: Change) -> Iterator[Mutation]:
    for step in _expected(bench):
        call, position = step.call, step.position
        if call is None or position is None or not bench.counts(position):
            continue
        want = bench.scenario.expected_calls[position]
        spec = bench.toolset.get(call.name, call.requestor)
        schemas = spec.parameters.get("properties", {}) if spec else {}
        for name in compared_arguments(want):
            value = call.arguments[name]
            other = change(value, name, schemas.get(name, {}), bench.random(operator, position, name))
            made = call.model_copy(update={"arguments": {**call.arguments, name: other}})
            if other is None or same(other, value):
                continue
            if holds_matcher(want.arguments[name]) and argument_matches(want, name, made):
                continue  # the scenario allows this value as well
            text = f"{call.name}: {name}={value_text(other)} instead of {value_text(value)}"
            changed = step.model_copy(update={"call": made})
            script = tuple(changed if other_step is step else other_step for other_step in bench.oracle.script)
            yield Mutation(Mutant(operator=operator, change=text), script)  # type: ignore[arg-type]  # see callers


def _extra_write(bench: Bench) -> Iterator[Mutation]:
    steps = bench.oracle.script
    repeated = [step.call for step in _expected(bench) if step.call is not None and bench.writes(_want(bench, step))]
    for call in (*repeated[-1:], *bench.extra):
        what = "once more" if call in repeated else "besides"
        further = Step(party="assistant", part="call", call=call)
        script = numbered([*steps[:-1], further, steps[-1]])
        yield Mutation(Mutant(operator="extra write", change=f"{_shown(call)} {what}"), script)


def _wrong_order(bench: Bench) -> Iterator[Mutation]:
    steps = bench.oracle.script
    for step in steps:
        if step.call is None or step.party != "assistant" or step.part != "call":
            continue
        asked = [other for other in steps if other.position == step.position and other.part in ("question", "consent")]
        if asked:
            at = steps.index(asked[0])
            moved = [other for other in steps if other is not step]
            script = (*moved[:at], step, *moved[at:])
            change = f"{_shown(step.call)} before asking the user"
            yield Mutation(Mutant(operator="wrong order", change=change), script, demanded=True)
        earlier = [
            other
            for other in steps[: steps.index(step)]
            if other.call is not None and bench.rules.orders(other.call.name, step.call)
        ]
        if earlier:
            late = {id(other) for other in earlier}
            rest = [other for other in steps if id(other) not in late]
            at = rest.index(step) + 1
            names = " and ".join(dict.fromkeys(other.call.name for other in earlier if other.call))
            change = f"{_shown(step.call)} before {names}"
            script = (*rest[:at], *earlier, *rest[at:])
            yield Mutation(Mutant(operator="wrong order", change=change), script, demanded=True)


def _false_claim(bench: Bench) -> Iterator[Mutation]:
    steps = bench.oracle.script
    writes = [step for step in _expected(bench) if bench.writes(_want(bench, step))]
    if writes:
        gone = {id(step) for step in writes}
        rest = tuple(step for step in steps if id(step) not in gone)
        names = ", ".join(dict.fromkeys(step.call.name for step in writes if step.call))
        change = f"says that {names} was done, and did nothing"
        yield Mutation(Mutant(operator="false claim", change=change), rest, demanded=True)
        return
    claim = "Your request was carried out as you wished."
    told = steps[-1].model_copy(update={"text": "\n".join([claim, *bench.oracle.words, DONE])})
    change = "says that the request was carried out, in place of what is to be communicated"
    yield Mutation(Mutant(operator="false claim", change=change), (*steps[:-1], told), demanded=True)


def _wrong_statement(bench: Bench) -> Iterator[Mutation]:
    steps = bench.oracle.script
    infos = bench.scenario.communicate_info
    for index, info in enumerate(infos):
        others = [other for place, other in enumerate(infos) if place != index]
        wrong = str(near(info))
        stated = [wrong] if any(char.isdigit() for char in info) else []
        told = steps[-1].model_copy(update={"text": "\n".join([*others, *stated, *bench.oracle.words, DONE])})
        change = f"says {value_text(wrong)} for {value_text(info)}" if stated else f"does not say {value_text(info)}"
        yield Mutation(Mutant(operator="wrong statement", change=change), (*steps[:-1], told), demanded=True)


_OPERATORS = (
    _dropped, _swapped, _wrong_argument, _invented, _extra_write, _wrong_order, _false_claim, _wrong_statement,
)  # fmt: skip


def _expected(bench: Bench) -> list[Step]:
    return [step for step in bench.oracle.script if step.part == "call" and step.position is not None]


def _want(bench: Bench, step: Step) -> ExpectedCall:
    return bench.scenario.expected_calls[step.position or 0]


def _shown(call: ToolCall) -> str:
    return call_text(call.name, call.arguments)


_TRIED = (3, 4)
"""Values of an argument, and calls of a tool, tried in the search for a write outside of the goal."""


@dataclass
class Score:
    """What became of the mutants: how many per operator (caught, judged), which passed, how many were equivalent."""

    judged: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    survivors: list[Mutant] = field(default_factory=list)
    equivalent: int = 0

    @property
    def operators(self) -> dict[str, tuple[int, int]]:
        """Give (caught, judged) per operator."""
        return {name: (self.caught[name], count) for name, count in self.judged.items()}


@dataclass(frozen=True)
class Right:
    """The oracle's run as it was judged: what a mutant's run is held against."""

    run: Run
    transcript: Transcript
    final: State | None


async def score(player: ScriptPlayer, bench: Bench, right: Right) -> Score:
    """Perform and judge every mutant.

    A mutant that does not fail is equivalent, and left out, where its calls lead to the very state that the right run
    leads to (nothing ignored), unless it differs in what the scenario or a rule asks for besides the state. Where no
    state can be read it is equivalent where it makes the same writes, all of which succeed.
    """
    found = Score()
    for mutation in mutations(bench):
        done = await player.performed(mutation.script)
        judgement = await player.judge_as(right.run, done)
        name = mutation.mutant.operator
        if judgement.verdict is Verdict.FAILED:
            found.judged[name] += 1
            found.caught[name] += 1
        elif _is_equivalent(mutation, right, done.transcript, done.final):
            found.equivalent += 1
        else:
            found.judged[name] += 1
            found.survivors.append(mutation.mutant)
    return found


async def other_writes(player: ScriptPlayer, oracle: Oracle, known: Known, columns: Columns) -> tuple[ToolCall, ...]:
    """Find one write outside of the goal that succeeds after the right run: of a tool that it does not call if any."""
    scenario, toolset = player.plan.scenario, player.plan.toolset
    called = {want.name for want in scenario.expected_calls}
    tools = [spec for spec in toolset.of("assistant") if spec.kind == "write"]
    tools.sort(key=lambda spec: spec.name in called)
    near = [want.arguments for want in scenario.expected_calls]
    made = [(heard.call.name, heard.call.arguments) for heard in oracle.heard]
    async with player.world() as world:
        await perform(oracle.script, world)
        before = await world.snapshot()
        for spec in tools:
            for call in likely_calls(spec, near, known, columns, most=_TRIED):
                if (call.name, call.arguments) in made:
                    continue
                result = await world.call(call)
                if result.error or result.wrote is False:
                    continue
                # what is written anew as it stood is a write to the database, and none to anybody else
                if before is None or await world.snapshot() != before:
                    return (call,)
    return ()


def _is_equivalent(mutation: Mutation, right: Right, transcript: Transcript, final: State | None) -> bool:
    if mutation.demanded:
        return False
    if right.final is not None:
        return final == right.final
    return _successes(transcript, right.run) == _successes(right.transcript, right.run)


def _successes(transcript: Transcript, run: Run) -> Sequence[str]:
    """Give the calls that succeeded and may have written, in no order; of unknown kinds nobody can tell."""
    return sorted(
        f"{record.call.requestor} {record.call.name} {sorted(record.call.arguments.items())}"
        for record in transcript.trajectory
        if not record.failed
        and (
            (spec := run.toolset.get(record.call.name, record.call.requestor)) is None
            or spec.kind not in ("read", "unknown")
        )
    )


NOTHING = "does nothing"
ECHO = "echoes the user"
WRONG = "uses wrong arguments"


def weak_agents(
    scenario: Scenario, oracle: Oracle | None, toolset: Toolset, columns: Columns, seed: int
) -> Iterator[tuple[str, ScriptedRun]]:
    """Give each weak agent's name and run; wrong arguments only where some expected call has arguments."""
    lines = opening(scenario)
    yield NOTHING, numbered(lines)
    yield ECHO, numbered([_echoed(lines[place - 1], step) for place, step in enumerate(lines)])
    if oracle is not None and (wrong := _all_wrong(oracle, toolset, columns, seed)):
        yield WRONG, wrong


def _echoed(before: Step, step: Step) -> Step:
    return step.model_copy(update={"text": before.text}) if step.party == "assistant" else step


def _all_wrong(oracle: Oracle, toolset: Toolset, columns: Columns, seed: int) -> ScriptedRun | None:
    """Give the oracle's run with one argument of every expected call wrong and nothing communicated."""
    steps: list[Step] = []
    changed = 0
    for step in oracle.script:
        made = step
        if step.part == "told":
            made = step.model_copy(update={"text": DONE})
        elif step.part == "call" and step.call is not None:
            spec = toolset.get(step.call.name, step.call.requestor)
            schema = spec.parameters.get("properties", {}) if spec else {}
            for name, value in step.call.arguments.items():
                chance = Random(f"{seed} {step.position} {name}")  # noqa: S311 - no secret
                wrong = another(value, name, schema.get(name, {}), columns, chance)
                if wrong is not None:
                    arguments = {**step.call.arguments, name: wrong}
                    made = step.model_copy(update={"call": step.call.model_copy(update={"arguments": arguments})})
                    changed += 1
                    break
        steps.append(made)
    return tuple(steps) if changed else None
