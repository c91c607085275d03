"""One conversation simulated outside of a suite's items: what its plan is, and who builds its agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_agentbench.agents.callables import adapt
from pytest_agentbench.agents.factory import agent_of
from pytest_agentbench.agents.frameworks.recognition import framework_of
from pytest_agentbench.api.options import check_list
from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.protocols import Agent
from pytest_agentbench.core.scenario import EvaluationCriteria, ExpectedCall, Scenario, Task
from pytest_agentbench.core.suite import AgentSpec, Suite
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.runner import AgentBuilder, RunContext
from pytest_agentbench.suites.task_fields import approvals_of, call_form, handoffs_of, stated_calls

Says = Sequence[str | Mapping[str, Any]]
"""The lines of a scripted user, as a scenario file has them."""


def plan_of(plan: RunPlan | None, agent: Any, given: Mapping[str, Any], *, name: str, file: Path, hint: str) -> RunPlan:
    """Give the plan of a simulation: a suite's own or a bare one, in which what is `given` replaces the scenario's.

    Raise `ValueError` for an agent that is none, for lines that are none, for either beside a recording, and where
    neither a plan nor both agent and lines are there; `hint` says what else would do.
    """
    if agent is not None:
        _refuse_no_agent(agent)
    for key, what in (("says", "lines"), ("expect", "calls"), ("communicate", "texts")):
        check_list(key, given[key], what)
    if given["knows"] is not None and not isinstance(given["knows"], Mapping):
        raise ValueError(f"knows must be a mapping of names to values, got {given['knows']!r}")
    if plan is None and (agent is None or given["says"] is None):
        raise ValueError(f"simulate() without a suite needs `agent=` and `says=`; {hint}")
    if plan is not None and plan.recording is not None and not (agent is None and given["says"] is None):
        key = "agent" if agent is not None else "says"
        raise ValueError(
            f"{key} cannot be given: the suite judges recorded conversations, and plays none; leave `agent=` and "
            "`says=` out, or the suite"
        )
    plan = plan or _bare_plan(agent, name=name, file=file)
    return replace(plan, scenario=_changed(plan.scenario, given))


def builder_of(agent: Any) -> AgentBuilder | None:
    """Give what makes a run's agent of whatever a factory may return; None leaves it to the suite."""
    if agent is None:
        return None

    async def build(run: RunContext) -> Agent:
        return await agent_of(
            agent,
            session_id=run.session_id,
            context=run.environment.context,
            run_sync=run.runner,
            root=run.root,
        )

    return build


def _bare_plan(agent: Any, *, name: str, file: Path) -> RunPlan:
    target = str(getattr(agent, "__qualname__", type(agent).__qualname__))
    suite = Suite(name=name, path=file, root=file.parent, agent=AgentSpec(kind="callable", target=target))
    scenario = Scenario(id=name, title=name, task=Task(id=name), file=str(file))
    return RunPlan(suite=suite, suite_key=file.name, scenario=scenario)


def _changed(scenario: Scenario, given: Mapping[str, Any]) -> Scenario:
    changes: dict[str, Any] = {}
    if given["says"] is not None:
        changes["says"] = tuple(map(Line.model_validate, given["says"]))
    if given["knows"] is not None:
        changes["knows"] = dict(given["knows"])
    criteria = scenario.task.evaluation_criteria or EvaluationCriteria()
    wanted: dict[str, Any] = {}
    if given["expect"] is not None:
        changes["asks"] = approvals_of(given["expect"])
        changes["handoffs"] = handoffs_of(given["expect"])
        if (calls := stated_calls(given["expect"])) is not None:
            wanted["actions"] = [ExpectedCall.model_validate(call_form(call)) for call in calls]
    if given["communicate"] is not None:
        wanted["communicate_info"] = list(given["communicate"])
    if wanted:
        criteria = criteria.model_copy(update=wanted)
        changes["task"] = scenario.task.model_copy(update={"evaluation_criteria": criteria})
    return scenario.model_copy(update=changes)


def _refuse_no_agent(agent: Any) -> None:
    """Raise `ValueError` for what no run could use; nothing of it is called."""

    async def unused(_work: Callable[[], Any]) -> Any:
        raise AssertionError("a plan runs nothing")

    try:
        if framework_of(agent) is None:
            adapt(agent, run_sync=unused)
    except SuiteFaultError as error:
        raise ValueError(f"simulate(agent=…): {error}") from None
