"""A closed run and its plan: the built-in checks, the scenario's own, and what import paths lead to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial, wraps
from typing import cast

from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError, ServiceFaultError
from pytest_agentbench.core.protocols import Check
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.suite import OfferedSpec
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Blame, Finding, NotMeasured, Verdict
from pytest_agentbench.environment.diff import arranged, ignored_in_vain
from pytest_agentbench.environment.structural_sharing import shared
from pytest_agentbench.environment.toolset import opened
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.run_thread import GRACE, RunnerInThread

Considered = tuple[Run, Judgement]
"""A run with what is expected of it, and how it was judged by that."""

_REASON = 300
"""Characters of why a metric is not measured."""


def judge_run(run: Run, plan: RunPlan, *, notes: bool = True) -> Considered:
    """Judge a run by all that its suite and scenario ask for; what they name in vain is the scenario's fault.

    The run that is given back knows what making its calls again showed, in an environment that can do so. Without
    `notes` nothing is looked for that decides nothing.
    """
    judged = run
    state = plan.suite.environment.state
    language = run.scenario.language or plan.suite.language
    run = run.model_copy(update={"scenario": run.scenario.model_copy(update={"language": language})})

    try:
        checks = [cast("Check", plan.resolve(path)) for path in run.scenario.checks]
        own = own_states(run)
        if plan.suite.environment.offered is not None:
            asking = (*checks, *plan.extensions.checks(own))
            # who looks at a state may look anywhere in it
            whole = bool(state and (state.ignore or state.unordered)) or any(map(looks_at_states, asking))
            run = _replayed(run, plan, whole=whole) if notes or asking else run
            judged = judged.model_copy(update={"replay": run.replay})
            own = own.model_copy(update={"replay": run.replay})
        checks = list(map(_on_its_own, (*checks, *plan.extensions.checks(own))))
        metrics = plan.extensions.metrics(own) if notes else {}
    except AgentBenchError as error:
        return judged, undecided(str(error))
    ignore = state.ignore if state else ()
    if state is not None and run.final_state is not None:
        states = (run.initial_state, run.expected_state, run.final_state)
        in_vain = ignored_in_vain(ignore, *states) or ignored_in_vain(state.unordered, *states, key="unordered")
        if in_vain:
            return judged, undecided(in_vain)
        if state.unordered:
            named = {"final_state": run.final_state, "expected_state": run.expected_state}
            lists = {key: arranged(one, state.unordered) for key, one in named.items() if one is not None}
            run = run.model_copy(update=lists)
    prompt = "\n".join([plan.system, *(policy.text for policy in plan.suite.policies)])
    judgement = judge(run, checks, ignore, resolve=plan.resolve, prompt=prompt, notes=notes)
    return judged, with_metrics(judgement, metrics)


def _replayed(run: Run, plan: RunPlan, *, whole: bool) -> Run:
    """Have the suite's environment make the calls again; a recording is judged without it where it is not at hand."""
    try:
        environment = opened(cast("OfferedSpec", plan.suite.environment.offered))
    except EnvironmentFaultError as error:
        if plan.recording is None:
            raise
        return run.model_copy(update={"replay": str(error)})
    return environment.replayed(run, None if plan.recording is None else plan.recording.extra, whole=whole)


def with_metrics(judgement: Judgement, metrics: Mapping[str, float | NotMeasured | None]) -> Judgement:
    """Add metrics to a judgement, and why some are not measured; both replace what was said of them before."""
    if not metrics:
        return judgement
    numbers = {name: None if isinstance(one, NotMeasured) else one for name, one in metrics.items()}
    notes = (not_measured(name, one.why) for name, one in metrics.items() if isinstance(one, NotMeasured))
    kept = (one for one in judgement.findings if one.check not in metrics)
    update = {"findings": (*kept, *notes), "metrics": {**judgement.metrics, **numbers}}
    return judgement.model_copy(update=update)


def not_measured(name: str, why: str) -> Finding:
    """Say why something that decides nothing is not measured."""
    message = shorten(printable(f"{name}, not measured: {why}"), _REASON)
    return Finding(check=name, kind="check", passed=None, message=message, required=False)


def looks_at_states(check: Check) -> bool:
    """Whether a check may look at states; one that has `reads_states = False` says that it does not."""
    return getattr(check, "reads_states", True) is not False


def own_states(run: Run) -> Run:
    """Give the run with states that may be changed: those of runs share what no run touched."""
    states = {name: getattr(run, name) for name in ("initial_state", "final_state", "expected_state")}
    return run.model_copy(update={name: shared(state) for name, state in states.items() if state is not None})


def _on_its_own(check: Check) -> Check:
    """Let a check change the states that it is given, without anybody else seeing that."""

    @wraps(check)
    def checked(run: Run) -> Iterable[Finding]:
        return check(own_states(run))

    return checked


async def best_of(ways: Iterable[RunPlan], judge_by: Callable[[RunPlan], Awaitable[Considered]]) -> Considered:
    """Judge one run by each of its scenario's ways; of those that it passes by, else of all, give the closest.

    Closest is where most expected calls were made with their arguments, the first of several.
    """
    found = [await judge_by(plan) for plan in ways]
    passed = [one for one in found if one[1].verdict is Verdict.PASSED]
    return max(passed or found, key=lambda one: one[1].metrics.get("strict_recall") or 0.0)


async def judge_by(
    expecting: Awaitable[Run], run: Run, plan: RunPlan, runner: RunnerInThread, seconds: float
) -> Considered:
    """Judge a run by one way once it is known what that expects; else it is the scenario's fault, or the world's."""
    try:
        run = await expecting
    except AgentBenchError as error:
        is_of_world = isinstance(error, ServiceFaultError)
        why = f"{run.key.suite}: the state that the expected calls lead to cannot be told: {error}"
        return run, undecided(why, Blame.ENVIRONMENT if is_of_world else Blame.SCENARIO)
    return await judge_in_time(run, plan, runner, seconds)


async def judge_in_time(
    run: Run, plan: RunPlan, runner: RunnerInThread, seconds: float = GRACE, *, notes: bool = True
) -> Considered:
    """Judge a run in its own thread; checks that do not decide within `seconds` are left to themselves."""
    try:
        async with asyncio.timeout(seconds):
            return await runner(partial(judge_run, run, plan, notes=notes))
    except TimeoutError:
        runner.abandon()
        return run, undecided(f"the checks did not decide within {seconds:g} s")
    except AgentBenchError as error:
        return run, undecided(str(error))


def undecided(why: str, blame: Blame = Blame.SCENARIO) -> Judgement:
    """Give the judgement on a run that could not be judged."""
    finding = Finding(check="checks", kind="check", passed=False, message=why)
    return Judgement(verdict=Verdict.ERROR, blame=blame, findings=(finding,))
