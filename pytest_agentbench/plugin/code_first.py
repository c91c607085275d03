"""Tests that a user writes: the `agentbench` fixture, and what a simulated conversation gives to assertions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pytest_agentbench.api.simulation import Simulation, simulation_of
from pytest_agentbench.api.simulation_plan import builder_of, plan_of
from pytest_agentbench.api.suite_loader import key_of, planned, read_suite
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, with_hint
from pytest_agentbench.core.extensions import Extensions
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.run import PlannedRun, Result, Run, RunKey
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import ascii_slug, printable
from pytest_agentbench.plugin.items import show_output
from pytest_agentbench.plugin.run_store import SESSION, Session
from pytest_agentbench.runs.plan import RunPlan

SIMULATED = pytest.StashKey[list[Simulation]]()
"""The conversations that a test of the user's simulated."""

_BEGUN = pytest.StashKey[int]()
"""How many conversations a test of the user's has begun in this attempt."""

_ATTEMPT = pytest.StashKey[int]()
"""How often a test of the user's was set up: more than once where another plugin reruns it."""

_MARK = 'or mark the test: @pytest.mark.agentbench("bench/agentbench.yaml")'

_FILTERS = frozenset({"policy", "complexity", "tag", "scenario", "variant", "fault"})


def parametrize(metafunc: pytest.Metafunc, session: Session) -> None:
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
    session.secrets.add(suite)
    session.variants |= set(suite.variants)
    asked = (mark.kwargs["variant"],) if "variant" in mark.kwargs else session.options.variants
    extensions = Extensions(metafunc.definition.ihook)
    every = planned(suite, key_of(path, metafunc.config.rootpath), asked, toolset, extensions=extensions)
    fitting = [plan for plan in every if fits(plan, mark.kwargs)]
    if not fitting:
        if told := _unknown(suite, mark):
            raise pytest.Collector.CollectError(f"{where}: agentbench({str(mark.args[0])!r}): {told}")
        unfit = pytest.mark.skip(reason=_unfit(suite, mark))
        metafunc.parametrize("agentbench", [pytest.param(None, marks=unfit)], indirect=True, ids=["no-scenario"])
        return
    metafunc.parametrize("agentbench", fitting, indirect=True, ids=[plan.name for plan in fitting])


def _unknown(suite: Suite, mark: pytest.Mark) -> str:
    """Say that a mark names a scenario, policy or variant that the suite does not have; "" where it names none such.

    A test whose scenario was renamed would else be skipped for ever.
    """
    there = {
        "scenario": [scenario.id for scenario in suite.scenarios],
        "policy": [policy.id for policy in suite.policies],
        "variant": list(suite.variants),
    }
    for name, known in there.items():
        value = mark.kwargs.get(name)
        if value is not None and value not in known:
            hint = suggestion(str(value), known) or f"there are {listing(known) or 'none'}"
            return with_hint(f"the suite has no {name} {value!r}", hint)
    return ""


def _unfit(suite: Suite, mark: pytest.Mark) -> str:
    """Say that no scenario fits a mark, and what a mistyped tag of it probably meant."""
    wanted = ", ".join(f"{name}={value!r}" for name, value in mark.kwargs.items())
    tags = {tag for scenario in suite.scenarios for tag in scenario.tags}
    tag = str(mark.kwargs.get("tag", ""))
    hint = suggestion(tag, tags) if tag and tag not in tags else ""
    return with_hint(f"no scenario of {str(mark.args[0])!r} fits {wanted or 'the chosen variants'}", hint)


def fits(plan: RunPlan, wanted: Mapping[str, Any]) -> bool:
    """Whether a run is one of those that a mark asks for."""
    scenario, rated = plan.scenario, plan.complexity
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
    item: pytest.Item = request.node
    item.stash[_BEGUN], item.stash[_ATTEMPT] = 0, item.stash.get(_ATTEMPT, 0) + 1
    return AgentBench(item=item, session=request.config.stash[SESSION], plan=plan)


@dataclass(frozen=True, kw_only=True, repr=False)
class AgentBench:
    """Simulates conversations; each call is a fresh one."""

    item: pytest.Item
    session: Session
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
        return self._simulation(plan, *self.session.runs.simulate(plan, builder_of(agent)))

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
        return self._simulation(plan, *await self.session.runs.simulate_here(plan, builder_of(agent)))

    def _plan(self, agent: Any, **given: Any) -> RunPlan:
        path, stash = self.item.path, self.item.stash
        own = planned_test(self.item).key
        plan = plan_of(self.plan, agent, given, name=self.item.nodeid, file=path, hint=_MARK)
        stash[_BEGUN] += 1
        name = own.scenario if stash[_BEGUN] == 1 else f"{own.scenario}-{stash[_BEGUN]}"
        # whoever asserts on a scenario vouches for it, so that a test of the user's own waits for no reviewer
        scenario = plan.scenario.model_copy(update={"id": name, "review": None, "quarantine": None})
        # where its scenario stands only its suite's key tells
        file = self.plan.shown_file if self.plan else own.suite
        named = replace(plan, suite_key=own.suite, nodeid=self.item.nodeid, file=file)
        return replace(named, scenario=scenario, attempt=stash[_ATTEMPT])

    def _simulation(self, plan: RunPlan, run: Run, result: Result) -> Simulation:
        simulation = simulation_of(plan, run, result)
        self.item.stash.setdefault(SIMULATED, []).append(simulation)
        if result.not_run is not None:
            pytest.skip(f"not run: {printable(result.not_run)}")
        show_output(self.item, run)
        return simulation


def planned_test(item: pytest.Item) -> PlannedRun:
    """Give what is known of a test that simulates before it does; its node id names it."""
    suite, _, rest = item.nodeid.partition("::")
    slug = ascii_slug(rest)
    name = slug if slug == rest.replace("[", "-").rstrip("]") else f"{slug[:80]}-{digest(rest)[:6]}"
    return PlannedRun(key=RunKey(suite=suite, scenario=name), nodeid=item.nodeid, title=item.nodeid, file=suite)
