"""Recorded transcripts as runs: no agent is asked, each recording is judged by what it says and what it did.

`score` judges one after the other: each is read, judged and forgotten, however many there are.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pytest_agentbench.core.errors import NotRunError, Problem, SuiteError
from pytest_agentbench.core.run import Result, Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.judgement import Considered, best_of, judge_by
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.result import result_of
from pytest_agentbench.runs.roles import Roles, judges_of
from pytest_agentbench.runs.run_thread import GRACE, RunnerInThread
from pytest_agentbench.runs.transcript_replay import RecordedWorlds
from pytest_agentbench.suites.message_log import is_cut_off
from pytest_agentbench.suites.transcripts import Recording, ScenarioIndex, read_recordings

_OTHERS = {
    "user_error": Blame.USER,
    "infrastructure_error": Blame.PROVIDER,
    "context_window_exceeded": Blame.PROVIDER,
    "unexpected_error": Blame.ENVIRONMENT,
}
"""Recorded stop reasons (τ²: TerminationReason) that are not the agent's."""


_MOST_PROBLEMS = 20
"""Recordings without a scenario that are named; a million of them would say no more."""


def recordings_of(
    suite: Suite, toolset: Toolset, asked: tuple[str, ...], most: int = _MOST_PROBLEMS
) -> Iterator[tuple[Scenario, Recording]]:
    """Read a suite's recordings of the variants asked for, each with its scenario; none asked for, or `all`, means any.

    Raise `SuiteError` naming recordings whose scenario the suite does not have, at the end or once there are `most`.
    """
    index, problems = ScenarioIndex(suite.scenarios), list[Problem]()
    for one in read_recordings(suite.agent.files, tools=toolset.names()):
        scenario = index.find(one)
        if scenario is None:
            message = f"the suite has no scenario {one.scenario!r}"
            hint = "add it to `scenarios`, or leave the recording out"
            problems.append(Problem(file=one.source, line=one.line, column=1, message=message, hint=hint))
            if len(problems) == most:
                break
        elif asked in ((), ("all",)) or one.variant in asked:
            yield scenario, one
    if problems:
        raise SuiteError(problems)


def recorded_plans(suite: Suite, suite_key: str, asked: tuple[str, ...], toolset: Toolset) -> Iterator[RunPlan]:
    """Give a run per recording, in the order of scenarios; several of one scenario and variant are its trials.

    Raises `SuiteError` naming every recording whose scenario the suite does not have.
    """
    found = list(recordings_of(suite, toolset, asked, most=sys.maxsize))
    places = {id(scenario): place for place, scenario in enumerate(suite.scenarios)}
    found.sort(key=lambda one: (places[id(one[0])], one[1].variant, one[1].trial))
    several = any(recording.trial > 0 for _, recording in found)
    for scenario, recording in found:
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
    plan: RunPlan, recording: Recording, worlds: RecordedWorlds, grace: float = GRACE, *, roles: Roles | None = None
) -> tuple[Run, Result]:
    """Judge a recording as if it had just been played; checks get a thread of their own, and `grace` seconds.

    It is made again in one of the `worlds` where that can be done; `roles` has the models that judge it.
    """
    roles = roles or Roles(plan, None, seed=0)
    termination = recording.termination or Termination.FINISHED
    other = Blame.UNCLEAR if is_cut_off(recording.stop_reason) else _OTHERS.get(recording.stop_reason, Blame.AGENT)
    blame = None if termination is Termination.FINISHED else other
    if recording.extra.get("blame") in list(Blame):
        blame = Blame(recording.extra["blame"])  # what a run of ours came to
    run = plan.closed_run(
        recording.transcript,
        termination=termination,
        stop_reason=recording.stop_reason,
        blame=blame,
        approvals_visible=any(message.approvals for message in recording.transcript.messages),
    )
    runner = RunnerInThread(f"agentbench-{plan.task_name}")

    async def judged(way: RunPlan) -> Considered:
        expecting = worlds.expected(run.model_copy(update={"scenario": way.scenario}), way, runner)
        return await judge_by(expecting, run, way, runner, grace)

    try:
        run = await worlds.replayed(run, plan, runner)
        considered, judgement = await best_of(plan.ways, judged)
        if roles.judge is not None:
            roles.begin(plan.suite.limits)
        judgement = await roles.judged(considered, judgement, runner)
        roles.finished()
    except NotRunError as error:
        roles.stop(error)
    finally:
        runner.close()
    players = {"agent": "recorded", "user": "recorded", **judges_of(plan.suite)}
    return run, result_of(plan, run, judgement, roles, players)


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A judged recording; `place` is the position of its scenario in the suite.

    `no_key` says which key the judge's model lacks, so that what it would have told is not measured.
    """

    recording: Recording
    result: Result
    place: int
    no_key: str = ""


@dataclass(kw_only=True)
class Overview:
    """What a first look at all recordings tells: how many there are, of which variants, and the most trials."""

    count: int = 0
    variants: dict[str, None] = field(default_factory=dict)
    trials: int = 1


def look_over(suite: Suite, toolset: Toolset, asked: tuple[str, ...]) -> Overview:
    """Read all recordings once; raise `SuiteError` naming those whose scenario the suite does not have."""
    found = Overview()
    for _, recording in recordings_of(suite, toolset, asked):
        found.count += 1
        found.variants.setdefault(recording.variant)
        found.trials = max(found.trials, recording.trial + 1)
    return found


def score(
    suite: Suite,
    suite_key: str,
    toolset: Toolset,
    overview: Overview,
    asked: tuple[str, ...],
    *,
    models: Callable[[], SessionModels] | None = None,
    at_once: int = 1,
    seed: int = 0,
) -> Iterator[Scored]:
    """Judge the recordings in the order of their files; node ids are those that pytest gives them.

    `models` gives the way to the suite's judge, None where none is asked; so many recordings are judged `at_once`. A
    recording that would need a model whose key is missing is judged without one.
    """
    places = {id(scenario): place for place, scenario in enumerate(suite.scenarios)}
    worlds = RecordedWorlds()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()  # `runner.run` sets a signal handler each time, which takes longer than the judging
        reached = None if models is None else models()
        pending: deque[asyncio.Task[Scored]] = deque()

        async def judged(plan: RunPlan, recording: Recording, place: int) -> Scored:
            roles = Roles(plan, reached, seed=seed)
            _, result = await judge_recorded(plan, recording, worlds, roles=roles)
            no_key = result.not_run if roles.lacks_key else None
            if no_key is not None:
                _, result = await judge_recorded(plan, recording, worlds)
            return Scored(recording=recording, result=result, place=place, no_key=no_key or "")

        for scenario, recording in recordings_of(suite, toolset, asked):
            plan = plan_of_recording(
                suite, suite_key, scenario, recording, toolset=toolset, shows_trial=overview.trials > 1
            )
            plan = replace(plan, nodeid=f"{suite_key}::{plan.name}")
            pending.append(loop.create_task(judged(plan, recording, places[id(scenario)])))
            if len(pending) >= at_once:
                yield loop.run_until_complete(pending.popleft())
        while pending:
            yield loop.run_until_complete(pending.popleft())
        if reached is not None:
            loop.run_until_complete(reached.close())
