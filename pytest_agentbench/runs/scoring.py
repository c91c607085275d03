"""Recorded conversations judged one after the other: each is read, judged and forgotten, however many there are."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.recorded import judge_recorded, plan_of_recording, recordings_of
from pytest_agentbench.runs.replaying import RecordedWorlds
from pytest_agentbench.runs.result import blank, result_of
from pytest_agentbench.runs.roles import Roles
from pytest_agentbench.suites.recording import Recording


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
            found = await judge_recorded(plan, recording, worlds, roles=roles)
            no_key = found.not_run if roles.lacks_key else None
            if no_key is not None:
                found = await judge_recorded(plan, recording, worlds)
            result = result_of(plan, found, blank(plan, nodeid=f"{suite_key}::{plan.name}"))
            return Scored(recording=recording, result=result, place=place, no_key=no_key or "")

        for scenario, recording in recordings_of(suite, toolset, asked):
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
