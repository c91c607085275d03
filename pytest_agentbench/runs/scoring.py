"""Recorded conversations judged one after the other: each is read, judged and forgotten, however many there are."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.cast import Cast
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.recorded import judge_recorded, plan_of_recording
from pytest_agentbench.runs.replaying import RecordedWorlds
from pytest_agentbench.runs.result import blank, result_of
from pytest_agentbench.suites.recording import Recording, ScenarioIndex
from pytest_agentbench.suites.transcripts import read_recordings

Told = Callable[[int, int], None]

_MOST_PROBLEMS = 20
"""Recordings without a scenario that are named; a million of them would say no more."""


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
    """What a first look at all recordings tells: how many there are, of which variants, and whether some are trials."""

    count: int = 0
    variants: dict[str, None] = field(default_factory=dict)
    trials: int = 1


def look_over(suite: Suite, toolset: Toolset, asked: tuple[str, ...]) -> Overview:
    """Read all recordings once; raise `SuiteError` naming those whose scenario the suite does not have."""
    index, found, problems = ScenarioIndex(suite.scenarios), Overview(), []
    for recording in read_recordings(suite.agent.files, tools=toolset.names()):
        if index.find(recording) is None:
            problems.append(_unknown(recording))
            if len(problems) == _MOST_PROBLEMS:
                break
        elif wanted(recording, asked):
            found.count += 1
            found.variants.setdefault(recording.variant)
            found.trials = max(found.trials, recording.trial + 1)
    if problems:
        raise SuiteError(problems)
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
    index = ScenarioIndex(suite.scenarios)
    places = {id(scenario): place for place, scenario in enumerate(suite.scenarios)}
    worlds = RecordedWorlds()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()  # `runner.run` sets a signal handler each time, which takes longer than the judging
        reached = None if models is None else models()
        pending: deque[asyncio.Task[Scored]] = deque()

        async def judged(plan: RunPlan, recording: Recording, place: int) -> Scored:
            cast = Cast(plan, reached, seed=seed, paused=nullcontext)
            found = await judge_recorded(plan, recording, worlds, cast=cast)
            no_key = found.not_run if cast.lacks_key else None
            if no_key is not None:
                found = await judge_recorded(plan, recording, worlds)
            result = result_of(plan, found, blank(plan, nodeid=f"{suite_key}::{plan.name}"))
            return Scored(recording=recording, result=result, place=place, no_key=no_key or "")

        for recording in read_recordings(suite.agent.files, tools=toolset.names()):
            scenario = index.find(recording)
            if scenario is None or not wanted(recording, asked):
                continue
            plan = plan_of_recording(
                suite, suite_key, scenario, recording, toolset=toolset, shows_trial=overview.trials > 1
            )
            pending.append(loop.create_task(judged(plan, recording, places[id(scenario)])))
            if len(pending) >= at_once:
                yield loop.run_until_complete(pending.popleft())
        while pending:
            yield loop.run_until_complete(pending.popleft())
        if reached is not None:
            loop.run_until_complete(reached.close())


def wanted(recording: Recording, asked: tuple[str, ...]) -> bool:
    """Whether a recording is of one of the variants asked for; none asked for, or `all`, means any."""
    return asked in ((), ("all",)) or recording.variant in asked


def _unknown(recording: Recording) -> Problem:
    return Problem(
        file=recording.source,
        line=recording.line,
        column=1,
        message=f"the suite has no scenario {recording.scenario!r}",
        hint="add it to `scenarios`, or leave the recording out",
    )
