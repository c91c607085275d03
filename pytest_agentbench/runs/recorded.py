"""Recorded transcripts as runs: no agent is asked, each recording is judged by what it says and what it did."""

from collections.abc import Iterator
from contextlib import nullcontext

from pytest_agentbench.core.errors import AgentBenchError, NotRunError, Problem, SuiteError
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.runs.cast import Cast, judges_of
from pytest_agentbench.runs.conduct import Judged
from pytest_agentbench.runs.judging import Considered, best_of, judge_in_time, undecided
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.replaying import RecordedWorlds
from pytest_agentbench.runs.run_thread import GRACE, RunnerInThread
from pytest_agentbench.suites.recording import Recording, ScenarioIndex
from pytest_agentbench.suites.transcripts import read_recordings

_OTHERS = {
    "user_error": Blame.USER,
    "infrastructure_error": Blame.PROVIDER,
    "context_window_exceeded": Blame.PROVIDER,
    "unexpected_error": Blame.ENVIRONMENT,
}
"""Recorded stop reasons (τ²: TerminationReason) that are not the agent's."""


def recorded_plans(suite: Suite, suite_key: str, asked: tuple[str, ...], toolset: Toolset) -> Iterator[RunPlan]:
    """Give a run per recording, in the order of scenarios; several of one scenario and variant are its trials.

    Raises `SuiteError` naming every recording whose scenario the suite does not have.
    """
    index = ScenarioIndex(suite.scenarios)
    problems: list[Problem] = []
    found: dict[str, list[Recording]] = {}
    for recording in read_recordings(suite.agent.files, tools=toolset.names()):
        scenario = index.find(recording)
        if scenario is None:
            message = f"the suite has no scenario {recording.scenario!r}"
            hint = "add it to `scenarios`, or leave the recording out"
            problems.append(Problem(file=recording.source, line=recording.line, column=1, message=message, hint=hint))
        elif asked in ((), ("all",)) or recording.variant in asked:
            found.setdefault(scenario.id, []).append(recording)
    if problems:
        raise SuiteError(problems)
    several = any(recording.trial > 0 for recordings in found.values() for recording in recordings)
    for scenario in suite.scenarios:
        for recording in sorted(found.get(scenario.id, ()), key=lambda recording: (recording.variant, recording.trial)):
            yield plan_of_recording(suite, suite_key, scenario, recording, toolset=toolset, shows_trial=several)


def plan_of_recording(
    suite: Suite, suite_key: str, scenario: Scenario, recording: Recording, *, toolset: Toolset, shows_trial: bool
) -> RunPlan:
    """Give the run that a recording is; `shows_trial` says whether ids name trials."""
    return RunPlan(
        suite=suite,
        suite_key=suite_key,
        scenario=scenario,
        variant=recording.variant,
        trial=recording.trial + 1,
        shows_trial=shows_trial,
        toolset=_lent(toolset) if recording.extra.get("solo") else toolset,
        recording=recording,
    )


def _lent(toolset: Toolset) -> Toolset:
    """Give the tools of an agent that worked alone (τ²: solo mode): the user's, too."""
    names = {spec.name for spec in toolset.of("assistant")}
    lent = [spec.model_copy(update={"requestor": "assistant"}) for spec in toolset.of("user") if spec.name not in names]
    return Toolset(specs=(*toolset, *lent))


async def judge_recorded(
    plan: RunPlan, recording: Recording, worlds: RecordedWorlds, grace: float = GRACE, *, cast: Cast | None = None
) -> Judged:
    """Judge a recording as if it had just been played; checks get a thread of their own, and `grace` seconds.

    It is made again in one of the `worlds` where that can be done; `cast` has the models that judge it.
    """
    cast = cast or Cast(plan, None, seed=0, paused=nullcontext)
    termination = recording.termination or Termination.FINISHED
    blame = None if termination is Termination.FINISHED else _OTHERS.get(recording.stop_reason, Blame.AGENT)
    if recording.extra.get("blame") in list(Blame):
        blame = Blame(recording.extra["blame"])  # what a run of ours came to
    run = Run(
        key=plan.key,
        scenario=plan.scenario,
        policies=plan.policies,
        now=plan.suite.now,
        transcript=recording.transcript,
        termination=termination,
        stop_reason=recording.stop_reason,
        blame=blame,
        toolset=plan.toolset,
        approvals_visible=any(message.approvals for message in recording.transcript.messages),
    )
    runner = RunnerInThread(f"agentbench-{plan.task_name}")
    try:
        run = await worlds.replayed(run, plan, runner)
        considered, judgement = await best_of(plan.ways, lambda way: _judge_by(way, run, worlds, runner, grace))
        if cast.has_judge:
            cast.begin(plan.suite.limits)
        judgement = await cast.judged(considered, judgement, runner)
        cast.finished()
    except NotRunError as error:
        cast.stop(error)
    finally:
        runner.close()
    players = {"agent": "recorded", "user": "recorded", **judges_of(plan.suite)}
    return Judged(run=run, judgement=judgement, players=players, usage=cast.usage, not_run=cast.not_run)


async def _judge_by(
    plan: RunPlan, run: Run, worlds: RecordedWorlds, runner: RunnerInThread, grace: float
) -> Considered:
    try:
        run = await worlds.expected(run.model_copy(update={"scenario": plan.scenario}), plan, runner)
    except AgentBenchError as error:
        return run, undecided(f"{run.key.suite}: the state that the expected calls lead to cannot be told: {error}")
    return run, await judge_in_time(run, plan, runner, grace)
