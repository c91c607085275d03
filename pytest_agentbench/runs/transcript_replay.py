"""Recordings made again in fresh worlds of their suite, so that their state decides as that of a played run does."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError
from pytest_agentbench.core.json_values import same, to_json
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.suite import StateSpec
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.call_replay import prepare
from pytest_agentbench.environment.correspondence import Correspondence
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from pytest_agentbench.environment.state_access import HungError
from pytest_agentbench.environment.state_provider import build_provider
from pytest_agentbench.runs.expected_state import ExpectedStates, World
from pytest_agentbench.runs.judgement import looks_at_states
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.run_thread import GRACE, RunnerInThread

_KEPT = 200
"""Scenarios whose expected states are kept: a log may hold a hundred thousand."""


@dataclass
class RecordedWorlds:
    """Where recordings are made again: a fresh world each, whose state is its run's own.

    Nothing is made again of a suite whose state is shared between runs or told by tools, nor where another process
    executes the tools: what they do could not be taken back.
    """

    _expected: ExpectedStates = field(default_factory=ExpectedStates)
    _seen: set[str] = field(default_factory=set)
    _may: dict[int, tuple[StateSpec, bool]] = field(default_factory=dict)
    wall: Callable[[], float] = time.time

    async def replayed(self, run: Run, plan: RunPlan, runner: RunnerInThread) -> Run:
        """Give the run with the states of its replay, or with where that answered something else.

        A run whose writes are the expected ones, one by one, is given as it is: equal calls lead to equal states.
        """
        needs_state = plan.keeps_states or _has_checks(run, plan)
        if not self._can_be_replayed(plan) or not (plan.scenario.states_calls or needs_state):
            return run
        if not needs_state and _writes_as_expected(run):
            return run
        try:
            return await self._made_again(run, plan, runner)
        except AgentBenchError as error:
            return run.model_copy(update={"replay_differs": str(error)})

    async def expected(self, run: Run, plan: RunPlan, runner: RunnerInThread) -> Run:
        """Give a run that was made again the state that the expected calls of its plan lead to."""
        if run.final_state is None:
            return run
        if len(self._seen) >= _KEPT and plan.scenario.id not in self._seen:
            self._seen, self._expected = set(), ExpectedStates()
        self._seen.add(plan.scenario.id)
        world = World(
            environment=partial(_environment, plan, runner),
            runner=runner,
            resolve=plan.resolve,
            seconds=plan.suite.limits.seconds,
            wall=self.wall,
        )
        return await self._expected.expect(plan, run, world)

    async def _made_again(self, run: Run, plan: RunPlan, runner: RunnerInThread) -> Run:
        records = run.transcript.trajectory
        effects: list[bool | None] = []
        seconds = plan.scenario.limits.seconds or plan.suite.limits.seconds
        began = self.wall()
        async with _environment(plan, runner, digest(f"{plan.key} replayed")) as environment:
            try:
                async with asyncio.timeout(seconds):
                    await prepare(environment, plan.scenario)
                    initial = await environment.snapshot()
                    if plan.keeps_states:
                        environment.calls.keeps_states = True
                    known = Correspondence(records, initial)
                    for place, record in enumerate(records):
                        found, why = await _call_again(environment, known, place, record)
                        if why:
                            what = f"call {place + 1} ({printable(record.call.name)}) is another: {why}"
                            return run.model_copy(update={"replay_differs": what})
                        effects.append(found.wrote if found is not None else None)
                    final = await environment.snapshot(like=initial)
            except TimeoutError:
                runner.abandon()
                raise HungError(f"it has not ended within {seconds:g} s{environment.calls.busy}") from None
        wanted = plan.scenario.expected_calls
        # predicates of the suite are asked about broken tools alone: nothing bounds them here
        useless = {
            name: why
            for name, why in environment.calls.broken.items()
            if any(
                one.call.name == name and any(is_call_of(want, one.call, plan.resolve) for want in wanted)
                for one in records
            )
        }
        return run.model_copy(
            update={
                "transcript": run.transcript.with_effects(effects),
                "initial_state": known.ids_in_run(initial),
                "final_state": known.ids_in_run(final),
                "states": tuple(map(known.ids_in_run, environment.states)),
                "played": (began, self.wall()),
                "down": environment.calls.down,
                "useless_tools": useless,
            }
        )

    def _can_be_replayed(self, plan: RunPlan) -> bool:
        """Whether each run has a world here that is made anew; what a plugin offers has a replay of its own."""
        spec = plan.suite.environment
        if spec.offered is not None or spec.state is None or spec.state.kind == "tools":
            return False
        if not spec.providers or any(part.kind != "python" for part in spec.providers):
            return False
        known = self._may.get(id(spec.state))
        if known is None:
            try:
                provider = build_provider(spec.state, plan.suite.root, plan.extensions.state)
            except AgentBenchError:
                return False
            known = self._may[id(spec.state)] = (spec.state, provider.isolation == "per_run")
        return known[1]


def _environment(plan: RunPlan, runner: RunnerInThread, name: str) -> LocalEnvironment:
    gate = IsolationGate(plan.suite.root)  # nobody waits for a state of one's own
    return plan.environment(name, runner, gate, patience=GRACE)


async def _call_again(
    environment: LocalEnvironment, known: Correspondence, place: int, record: CallRecord
) -> tuple[ToolResult | None, str]:
    """Make a recorded call; give its answer, and why it is not the recorded one, else ""."""
    call = record.call
    spec = environment.tools.get(call.name, call.requestor)
    if spec is None or call.raw is not None:
        # whoever played it worded the refusal of a call that reaches no tool
        return None, "" if record.result is None or record.failed else f"no tool takes it here: {call.name!r}"
    if record.result is None:
        return None, "" if spec.kind in ("read", "generic") else "it has no recorded answer"
    asked = ToolCall(name=call.name, arguments=known.in_replay(to_json(call.arguments)), requestor=call.requestor)
    result = await environment.call(asked)
    if environment.calls.fault is not None:
        raise EnvironmentFaultError(str(environment.calls.fault))
    differs = known.follow(place, asked, result)
    if differs and record.failed and result.failed and result.wrote is False and _same_refusal(record.result, result):
        differs = None
    return result, differs or ""


def _same_refusal(recorded: ToolResult, replayed: ToolResult) -> bool:
    """Whether one of two refusals holds the other's words: whoever played it wrapped them in its own."""
    one, other = (text.content.removeprefix("Error:").strip() for text in (recorded, replayed))
    return bool(one and other) and (one in other or other in one)


def _has_checks(run: Run, plan: RunPlan) -> bool:
    return bool(run.scenario.checks) or any(map(looks_at_states, plan.extensions.checks(run)))


def _writes_as_expected(run: Run) -> bool:
    """Whether the calls that write are the expected ones in their order, with all arguments, by tools of known kind.

    An expected tool that failed says no: it may fail in any world.
    """
    scenario, tools, records = run.scenario, run.toolset, run.transcript.trajectory
    asked = {(want.name, want.requestor) for want in scenario.expected_calls}
    fails = any(one.failed and (one.call.name, one.call.requestor) in asked for one in records)
    if scenario.ways[1:] or not scenario.states_calls or fails:
        return False
    every: list[ToolCall | ExpectedCall] = [*(record.call for record in records), *scenario.expected_calls]
    if any(_kind(tools, one) == "unknown" for one in every):
        return False
    made = [record.call for record in records if not record.failed]
    wrote, wanted = (
        [[one.name, one.requestor, one.arguments] for one in calls if _kind(tools, one) == "write"]
        for calls in (made, scenario.expected_calls)
    )
    return same(to_json(wrote), to_json(wanted))


def _kind(tools: Toolset, call: ToolCall | ExpectedCall) -> str:
    spec = tools.get(call.name, call.requestor)
    return spec.kind if spec is not None else "unknown"
