"""τ²'s reward of a run, as metrics beside our own verdict, which it never changes."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from random import Random
from threading import Lock

from pytest_agentbench.checks.judges.evidence import of_run
from pytest_agentbench.checks.judges.judge import judge_criteria
from pytest_agentbench.checks.tau2 import Tau2Reward, tau2_reward
from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError, NotRunError
from pytest_agentbench.core.rubric import Criterion
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.environment.tau2_bridge.replay import Replayed, Replayer
from pytest_agentbench.environment.tau2_bridge.source import find_source
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.runs.plan import RunPlan

_REASON = 300
"""Characters of a reason."""

_REPLAYING = Lock()
"""Expected worlds are shared by the runs of a process, each judged in a thread of its own."""


def is_graded(plan: RunPlan) -> bool:
    """Whether τ² grades the run's task: it states a `reward_basis`, or the suite's environment is a domain of τ²."""
    criteria = plan.scenario.task.evaluation_criteria
    return (criteria is not None and criteria.reward_basis is not None) or plan.suite.environment.tau2 is not None


def in_replayed_world(run: Run, plan: RunPlan, replayed: Replayed | None) -> Run:
    """Give a recording the states of its replay; where that answered something else they stay unknown."""
    if plan.recording is None or replayed is None or run.final_state is not None or not run.calls_visible:
        return run
    if replayed.difference:
        return run.model_copy(update={"replay_differs": replayed.difference})
    # τ² passes over expected calls that fail in the task's own world, and so does whoever plays such a task
    failed = {} if run.scenario.states_whole_calls else replayed.failed
    states = {"final_state": replayed.final, "expected_state": replayed.expected, "unreplayed": failed}
    return run.model_copy(update=states)


def with_reward(run: Run, plan: RunPlan, judgement: Judgement, replayed: Replayed | None, why: str) -> Judgement:
    """Add τ²'s reward and its parts to the metrics, and to the findings why a part is not measured."""
    if not is_graded(plan):
        return judgement
    return _noted(judgement, tau2_reward(run, replayed), why, run.scenario.task.evaluation_criteria is not None)


async def with_assertions(
    run: Run, plan: RunPlan, judgement: Judgement, *, chat_for: Callable[[], Chat], random: Random, system: str
) -> Judgement:
    """Measure NL_ASSERTION anew by a model, one answer per sentence; without a usable answer it stays not measured.

    τ² asks another model in other words: this answer is a judge's, and no figure of τ²'s. Raise `NotRunError` where
    the model may not be asked.
    """
    criteria = run.scenario.task.evaluation_criteria
    sentences = (criteria.nl_assertions if criteria else None) or []
    if not (sentences and is_graded(plan) and run.finished):
        return judgement
    asked = [Criterion(id=f"nl-{number}", text=text, max_score=1) for number, text in enumerate(sentences, start=1)]
    try:
        scores = await judge_criteria(chat_for(), asked, of_run(run, system=system), random=random)
    except NotRunError:
        raise
    except AgentBenchError as error:
        return _noted(judgement, None, f"NL_ASSERTION: {error}", is_measured=True)
    met = {score.criterion.id: score.value == 1 for score in scores}
    replayed, why = replayed_in_domain(run, plan)
    return _noted(judgement, tau2_reward(run, replayed, [met[one.id] for one in asked]), why, is_measured=True)


def _noted(judgement: Judgement, reward: Tau2Reward | None, why: str, is_measured: bool) -> Judgement:
    """Put a reward in place of one measured before."""
    kept = tuple(one for one in judgement.findings if one.check != "tau2") if reward else judgement.findings
    told = [*(reward.reasons if reward and reward.reward is None else ()), *([why] if why else [])]
    notes = (_note(text) for text in told if is_measured)
    metrics = judgement.metrics | (reward.metrics() if reward else {})
    return judgement.model_copy(update={"findings": (*kept, *notes), "metrics": metrics})


def _note(text: str) -> Finding:
    message = shorten(printable(f"τ² reward, not measured: {text}"), _REASON)
    return Finding(check="tau2", kind="check", passed=None, message=message, required=False)


def replayed_in_domain(run: Run, plan: RunPlan, *, whole: bool = False) -> tuple[Replayed | None, str]:
    """Replay a run's calls in the suite's domain; None, and why, where that cannot be done.

    The answers of a recording are held against those of the replay; `whole` gives its states as a whole.
    """
    spec = plan.suite.environment.tau2
    if spec is None or run.scenario.task.evaluation_criteria is None or not (run.finished or plan.recording):
        return None, ""
    records = run.transcript.trajectory
    solo = bool(plan.recording is not None and plan.recording.extra.get("solo"))
    answers = None if plan.recording is None else [record.result for record in records]
    try:
        with _REPLAYING:
            return _replayer(spec.domain, spec.checkout).replay(
                run.scenario.task, [record.call for record in records], solo=solo, answers=answers, whole=whole
            ), ""
    except EnvironmentFaultError as error:
        return None, str(error)


@lru_cache(maxsize=16)
def _replayer(domain: str, checkout: Path | None) -> Replayer:
    """Give the one replayer of a domain, which keeps what expected calls lead to."""
    return Replayer(find_source(domain, checkout))
