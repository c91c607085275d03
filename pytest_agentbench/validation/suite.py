"""A suite validated: its files, then scenario after scenario. Its agent is neither built nor called."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_agentbench.core.errors import AgentBenchError, Problem, SuiteError
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.kinds import ask_for_kinds, unknown_kinds
from pytest_agentbench.environment.listing import drift, real_toolset
from pytest_agentbench.environment.toolset import load_toolset, remote_parts
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.script_lines import unlabelled
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.report import Issue, ScenarioReport, Skipped, SuiteReport
from pytest_agentbench.validation.scenario import Shared, validate_scenario

Told = Callable[[int, int], None]
"""Is told how many scenarios of how many are done."""

_CALLS_ONLY = "calls are not made here, so what they would change and answer is not known: calls alone are judged"


def validate(
    path: Path,
    *,
    environ: Mapping[str, str],
    only: Sequence[str] = (),
    seed: int = 0,
    mutate: bool = True,
    now: Callable[[], float] = time.monotonic,
    told: Told = lambda _done, _total: None,
) -> SuiteReport:
    """Validate the suite in a file, or the scenarios `only` of it; same seed, same report but for `seconds`.

    Tools that another process executes are those that it lists; a committed list that differs is a problem. Raise
    `SuiteError` where the suite cannot be read, its tools cannot be loaded, or it has no such scenario.
    """
    begun = now()
    suite = load_suite(path, environ=environ)
    try:
        toolset = load_toolset(suite.environment, suite.root, recorded=suite.agent.kind == "transcripts")
        drifted: list[Problem] = []
        if remote_parts(suite.environment) and suite.agent.kind != "transcripts":
            toolset, drifted = _listed(suite, toolset)
    except AgentBenchError as error:
        raise SuiteError([Problem(file=path, key="environment", message=str(error))]) from error
    chosen = _chosen(suite, only)
    with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
        shared = Shared(isolation=IsolationGate(Path(directory), starts_ahead=True), now=now, seed=seed, mutate=mutate)
        scenarios = asyncio.run(_validated(suite, chosen, toolset, shared, told))
    return SuiteReport(
        name=suite.name,
        path=str(path),
        seed=seed,
        problems=tuple(str(problem) for problem in [*drifted, *_suite_problems(suite, toolset)]),
        unlabelled=tuple(one.told(Path.cwd()) for one in unlabelled(suite, toolset, chosen)),
        skipped=tuple(_skipped(suite, toolset, scenarios)),
        scenarios=tuple(scenarios),
        seconds=now() - begun,
    )


def _listed(suite: Suite, known: Toolset) -> tuple[Toolset, list[Problem]]:
    """Give the tools as what executes them lists them, and where a committed list differs: the list is what is used."""
    with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
        real = asyncio.run(real_toolset(suite.environment, suite.root, IsolationGate(Path(directory))))
    if not known:
        return real, []
    hint = "`agentbench tools SUITE -o FILE` lists them anew"
    return known, [
        Problem(file=suite.path, key="environment.tools", message=message, hint=hint) for message in drift(known, real)
    ]


async def _validated(
    suite: Suite, scenarios: Sequence[Scenario], toolset: Toolset, shared: Shared, told: Told
) -> list[ScenarioReport]:
    reports: list[ScenarioReport] = []
    variant = next(iter(suite.variants), "")
    silent = suite.environment.model_copy(update={"reads": (), "writes": ()})
    for scenario in scenarios:
        plan = RunPlan(suite=suite, suite_key=str(suite.path), scenario=scenario, variant=variant, toolset=toolset)
        alone = {"scenarios": (scenario,), "policies": (), "environment": silent}
        problems = check_calls(suite.model_copy(update=alone), toolset)
        reports.append(_refused(scenario, problems) if problems else await validate_scenario(plan, shared))
        told(len(reports), len(scenarios))
    return reports


def _chosen(suite: Suite, only: Sequence[str]) -> tuple[Scenario, ...]:
    names = [scenario.id for scenario in suite.scenarios]
    if missing := [name for name in only if name not in names]:
        message = f"there is no scenario {missing[0]!r}; there are {listing(names)}"
        raise SuiteError([Problem(file=suite.path, message=message, hint=suggestion(missing[0], names))])
    return tuple(scenario for scenario in suite.scenarios if not only or scenario.id in only)


def _suite_problems(suite: Suite, toolset: Toolset) -> list[Problem]:
    """Give what is wrong in the suite itself and in its policies."""
    problems = check_calls(suite.model_copy(update={"scenarios": ()}), toolset)
    if names := unknown_kinds(suite.environment, toolset):
        problems.append(Problem(file=suite.path, key="environment", message=ask_for_kinds(names)))
    return problems


def _refused(scenario: Scenario, problems: Sequence[Problem]) -> ScenarioReport:
    skipped = Skipped(what="everything else", why="the expected calls cannot be made as they stand")
    issues = tuple(Issue(kind="static", message=str(problem)) for problem in problems)
    return ScenarioReport.of(scenario, issues=issues, skipped=(skipped,))


def _skipped(suite: Suite, toolset: Toolset, scenarios: Sequence[ScenarioReport]) -> Iterator[Skipped]:
    if all(scenario.mode == "played" for scenario in scenarios):
        return
    described = [Path(tools.target).name for tools in suite.environment.providers if tools.kind == "schema"]
    why = f"the tools are only described ({', '.join(described)})" if described else "some tools cannot be called"
    if not toolset:
        why = "the suite names no tools (its agent brings its own)"
    if suite.agent.kind == "transcripts":
        why = "recorded conversations are judged without an environment"
    yield Skipped(what="ids, replay, results of tools", why=f"{why}: {_CALLS_ONLY}")
