"""The mutation score of a scenario: which of its mutants its checks catch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.run import Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.validation.known import Known
from pytest_agentbench.validation.likely import likely_calls
from pytest_agentbench.validation.mutants import Bench, Mutation, mutations
from pytest_agentbench.validation.oracle import Oracle
from pytest_agentbench.validation.report import Mutant
from pytest_agentbench.validation.screenplay import perform
from pytest_agentbench.validation.theatre import Theatre
from pytest_agentbench.validation.values import Columns

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


async def score(theatre: Theatre, bench: Bench, right: Right) -> Score:
    """Perform and judge every mutant.

    A mutant that does not fail is equivalent, and left out, where its calls lead to the very state that the right run
    leads to (nothing ignored), unless it differs in what the scenario or a rule asks for besides the state. Where no
    state can be read it is equivalent where it makes the same writes, all of which succeed.
    """
    found = Score()
    for mutation in mutations(bench):
        done = await theatre.performed(mutation.screenplay)
        judgement = await theatre.judge_as(right.run, done)
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


async def other_writes(theatre: Theatre, oracle: Oracle, known: Known, columns: Columns) -> tuple[ToolCall, ...]:
    """Find one write outside of the goal that succeeds after the right run: of a tool that it does not call if any."""
    scenario, toolset = theatre.plan.scenario, theatre.plan.toolset
    called = {want.name for want in scenario.expected_calls}
    tools = [spec for spec in toolset.of("assistant") if spec.kind == "write"]
    tools.sort(key=lambda spec: spec.name in called)
    near = [want.arguments for want in scenario.expected_calls]
    made = [(heard.call.name, heard.call.arguments) for heard in oracle.heard]
    async with theatre.world() as world:
        await perform(oracle.screenplay, world)
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
