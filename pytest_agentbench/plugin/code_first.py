"""Tests that a user writes: the `agentbench` fixture, and what a simulated conversation gives to assertions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pytest_agentbench.agents.callables import adapt
from pytest_agentbench.agents.factory import agent_of
from pytest_agentbench.agents.frameworks.recognition import framework_of
from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, SuiteFaultError, with_hint
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.scenario import EvaluationCriteria, ExpectedCall, Scenario, Task
from pytest_agentbench.core.suite import AgentSpec, Suite
from pytest_agentbench.core.text import ascii_slug, printable
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.plugin.accounts import secrets_of, spelled_in
from pytest_agentbench.plugin.awaiting import show_output
from pytest_agentbench.plugin.bench import Bench, Finished
from pytest_agentbench.plugin.extending import extensions_of
from pytest_agentbench.plugin.keys import BEGUN, BENCH, SIMULATED
from pytest_agentbench.plugin.reading import key_of, planned, read_suite
from pytest_agentbench.plugin.simulation import Simulation
from pytest_agentbench.runs.judging import own_states
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.result import blank
from pytest_agentbench.runs.runner import RunContext
from pytest_agentbench.suites.calls import approvals_of, call_form, handoffs_of, stated_calls

_FILTERS = frozenset({"policy", "complexity", "tag", "scenario", "variant", "fault"})


def parametrize(metafunc: pytest.Metafunc, bench: Bench) -> None:
    """Run a function marked with a suite once per scenario that fits the mark's keywords."""
    mark = metafunc.definition.get_closest_marker("agentbench")
    if mark is None or not mark.args:
        return
    where = metafunc.definition.nodeid
    if "agentbench" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{where}: a test marked agentbench({mark.args[0]!r}) must take `agentbench`"
        )
    if unknown := sorted(mark.kwargs.keys() - _FILTERS):
        allowed = ", ".join(sorted(_FILTERS))
        raise pytest.Collector.CollectError(f"{where}: agentbench(…) has no keyword {unknown[0]!r}; allowed: {allowed}")
    path = metafunc.definition.path.parent / str(mark.args[0])
    if not path.is_file():
        raise pytest.Collector.CollectError(f"{where}: agentbench({mark.args[0]!r}): there is no file {path}")
    try:
        suite, toolset = read_suite(path)
    except AgentBenchError as error:
        raise pytest.Collector.CollectError(f"{where}: {error}") from None
    bench.secrets |= {*suite.secrets, *secrets_of(suite)}
    bench.public |= spelled_in(suite)
    bench.variants |= set(suite.variants)
    asked = (mark.kwargs["variant"],) if "variant" in mark.kwargs else bench.options.variants
    extensions = extensions_of(metafunc.definition.ihook)
    every = planned(suite, key_of(path, metafunc.config.rootpath), asked, toolset, extensions=extensions)
    fitting = [plan for plan in every if fits(plan, mark.kwargs)]
    if not fitting:
        unfit = pytest.mark.skip(reason=_unfit(suite, mark))
        metafunc.parametrize("agentbench", [pytest.param(None, marks=unfit)], indirect=True, ids=["no-scenario"])
        return
    metafunc.parametrize("agentbench", fitting, indirect=True, ids=[plan.name for plan in fitting])


def _unfit(suite: Suite, mark: pytest.Mark) -> str:
    """Say that no scenario fits a mark, and what a mistyped value of it probably meant."""
    wanted = ", ".join(f"{name}={value!r}" for name, value in mark.kwargs.items())
    there: dict[str, Iterable[str]] = {
        "policy": (policy.id for policy in suite.policies),
        "tag": {tag for scenario in suite.scenarios for tag in scenario.tags},
        "scenario": (scenario.id for scenario in suite.scenarios),
        "variant": suite.variants,
    }
    hints = (suggestion(str(value), there.get(name, ())) for name, value in mark.kwargs.items())
    return with_hint(
        f"no scenario of {str(mark.args[0])!r} fits {wanted or 'the chosen variants'}", next(filter(None, hints), "")
    )


def fits(plan: RunPlan, wanted: Mapping[str, Any]) -> bool:
    """Whether a run is one of those that a mark asks for."""
    scenario = plan.scenario
    rated = scenario.rated_complexity({policy.id: policy for policy in plan.suite.policies})
    return all(
        {
            "policy": value in scenario.policies,
            "tag": value in scenario.tags,
            "scenario": value == scenario.id,
            "complexity": rated is not None and rated[0] == value,
            "fault": value == plan.key.fault,
        }.get(name, True)
        for name, value in wanted.items()
    )


def agentbench_for(request: pytest.FixtureRequest) -> AgentBench:
    """Give the fixture's value for a test: bound to a scenario where the mark names a suite."""
    plan: RunPlan | None = getattr(request, "param", None)
    return AgentBench(item=request.node, bench=request.config.stash[BENCH], plan=plan)


@dataclass(frozen=True, kw_only=True, repr=False)
class AgentBench:
    """Simulates conversations; each call is a fresh one."""

    item: pytest.Item
    bench: Bench
    plan: RunPlan | None

    def __repr__(self) -> str:
        return f"<agentbench for {self.plan.key if self.plan else self.item.name}>"

    def simulate(
        self,
        *,
        agent: Any = None,
        says: Sequence[str | Mapping[str, Any]] | None = None,
        knows: Mapping[str, Any] | None = None,
        expect: Sequence[Any] | None = None,
        communicate: Sequence[str] | None = None,
    ) -> Simulation:
        """Play one conversation on the session's loop and wait for it.

        `agent` is whatever a factory may return; without it the suite's own is built. `says`, `knows`, `expect` and
        `communicate` are as in a scenario file and replace what the scenario has. Raises `ValueError` when there is
        neither a suite nor both `agent` and `says`, and for an `agent` that is none.
        """
        plan = self._plan(agent, says=says, knows=knows, expect=expect, communicate=communicate)
        key = plan.key
        self.bench.pool.start(key, self.bench.work_once(plan, self._known(plan), _builder(agent)))
        return self._simulation(self.bench.pool.take(key, limit=plan.limits.seconds))

    async def simulate_async(
        self,
        *,
        agent: Any = None,
        says: Sequence[str | Mapping[str, Any]] | None = None,
        knows: Mapping[str, Any] | None = None,
        expect: Sequence[Any] | None = None,
        communicate: Sequence[str] | None = None,
    ) -> Simulation:
        """Play one conversation on the loop of the test itself; see `simulate`."""
        plan = self._plan(agent, says=says, knows=knows, expect=expect, communicate=communicate)
        return self._simulation(await self.bench.conduct_here(plan, self._known(plan), _builder(agent)))

    def _plan(self, agent: Any, **given: Any) -> RunPlan:
        if agent is not None:
            _refuse_no_agent(agent)
        if isinstance(given["says"], str):
            raise ValueError(f"says must be a list of lines, got the text {given['says']!r}")
        if given["knows"] is not None and not isinstance(given["knows"], Mapping):
            raise ValueError(f"knows must be a mapping of names to values, got {given['knows']!r}")
        plan = self.plan or _bare_plan(self.item, agent, given["says"])
        begun = self.item.stash[BEGUN] = self.item.stash.get(BEGUN, 0) + 1
        own = blank_of(self.item).key
        name = own.scenario if begun == 1 else f"{own.scenario}-{begun}"
        # whoever asserts on a scenario vouches for it, so that a test of the user's own waits for no reviewer
        scenario = _changed(plan.scenario, given).model_copy(update={"id": name, "review": None, "quarantine": None})
        return replace(plan, suite_key=own.suite, scenario=scenario)

    def _known(self, plan: RunPlan) -> Result:
        """Give what is known of a simulation before it starts; where its scenario stands only its suite's key tells."""
        file = blank(self.plan or plan).file
        return blank(plan, nodeid=self.item.nodeid).model_copy(update={"file": file})

    def _simulation(self, finished: Finished) -> Simulation:
        self.item.stash.setdefault(SIMULATED, []).append(finished)
        if finished.result.not_run is not None:
            pytest.skip(f"not run: {printable(finished.result.not_run)}")
        run, judgement = finished.run, finished.judgement
        if run is None or judgement is None:
            raise ValueError("a simulation of a test is never taken from an earlier session")
        show_output(self.item, finished)
        return Simulation(run=own_states(run), judgement=judgement, result=finished.result)


def blank_of(item: pytest.Item) -> Result:
    """Give what is known of a test that simulates before it does; its node id names it."""
    suite, _, rest = item.nodeid.partition("::")
    slug = ascii_slug(rest)
    name = slug if slug == rest.replace("[", "-").rstrip("]") else f"{slug[:80]}-{digest(rest)[:6]}"
    key = RunKey(suite=suite, scenario=name)
    return Result(key=key, nodeid=item.nodeid, title=item.nodeid, file=suite, verdict=Verdict.ERROR, not_run="not run")


def _bare_plan(item: pytest.Item, agent: Any, says: Sequence[str | Mapping[str, Any]] | None) -> RunPlan:
    if agent is None or says is None:
        raise ValueError(
            "simulate() without a suite needs `agent=` and `says=`; or mark the test: "
            '@pytest.mark.agentbench("bench/agentbench.yaml")'
        )
    suite = Suite(
        name=item.nodeid, path=item.path, root=item.path.parent, agent=AgentSpec(kind="callable", target=_name(agent))
    )
    scenario = Scenario(id=item.name, title=item.nodeid, task=Task(id=item.nodeid), file=str(item.path))
    return RunPlan(suite=suite, suite_key=item.nodeid.partition("::")[0], scenario=scenario)


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

    async def unused(_work: Any) -> Any:
        raise AssertionError("a plan runs nothing")

    try:
        if framework_of(agent) is None:
            adapt(agent, run_sync=unused)
    except SuiteFaultError as error:
        raise ValueError(f"simulate(agent=…): {error}") from None


def _builder(agent: Any) -> Any:
    if agent is None:
        return None

    async def build(run: RunContext) -> Any:
        return await agent_of(
            agent,
            session_id=run.session_id,
            context=run.environment.context,
            run_sync=run.runner,
            root=run.root,
        )

    return build


def _name(agent: Any) -> str:
    return str(getattr(agent, "__qualname__", type(agent).__qualname__))
