"""Suites as pytest modules and runs as pytest functions, so that fixtures, marks and selection work as for any test."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_agentbench.core.errors import AgentBenchError, SuiteError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.environment.kinds import ask_for_kinds, unknown_kinds
from pytest_agentbench.generation.recipe import reviews_of, staleness
from pytest_agentbench.llm.cassette.file import cassette_path, read_cassette
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.names import RunName
from pytest_agentbench.llm.cassette.recorder import TO_RECORD
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.accounts import secrets_of, spelled_in
from pytest_agentbench.plugin.awaiting import play
from pytest_agentbench.plugin.extending import extensions_of
from pytest_agentbench.plugin.failing import ScenarioFailed
from pytest_agentbench.plugin.keys import BENCH
from pytest_agentbench.plugin.reading import is_base, key_of, planned, read_suite
from pytest_agentbench.plugin.wire import Meta, SuiteInfo
from pytest_agentbench.results.document import policy_record
from pytest_agentbench.results.standing import standing_of
from pytest_agentbench.runs.forecast import unmeasurable_gates
from pytest_agentbench.runs.gates import expired, impossible_gates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.result import blank
from pytest_agentbench.suites.script_lines import Unlabelled, unlabelled

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr  # noqa: TID251 - the signature that mypy asks for


class SuiteModule(pytest.Module):
    """One suite file, or one scenario file of it. A `Module`, because module-scoped fixtures look for one."""

    info: SuiteInfo
    declared: tuple[str, ...] = ()
    suite: Suite
    suite_path: Path
    """The suite's own file."""
    names: tuple[str, ...] = ()
    """The names of the items, for who mistypes one."""
    kinds: str = ""
    unlabelled: tuple[Unlabelled, ...] = ()

    def _getobj(self) -> types.ModuleType:
        module = types.ModuleType(ascii_slug(self.name).replace(".", "_").replace("-", "_"))
        module.__file__ = str(self.path)
        return module

    def collect(self) -> Iterator[pytest.Item]:
        """Give an item per run; a bad file raises `SuiteError` with every problem in it."""
        bench = self.config.stash[BENCH]
        if is_base(self.suite_path, self.config.rootpath):
            return
        suite, toolset = read_suite(self.suite_path)
        self.suite = suite
        if problems := list(expired(suite, bench.today)):
            raise SuiteError(problems)
        bench.secrets |= {*suite.secrets, *secrets_of(suite)}
        bench.public |= spelled_in(suite)
        is_recorded = self._recorded(suite, Mode(bench.options.cassette))
        if told := staleness(suite, toolset):
            self.warn(pytest.PytestCollectionWarning(told))
        key = key_of(self.suite_path, self.config.rootpath)
        asked = bench.options
        plans = list(
            planned(
                suite,
                key,
                asked.variants,
                toolset,
                trials=asked.trials,
                stops_early=asked.early_stop,
                extensions=extensions_of(self.ihook),
            )
        )
        if problems := [*impossible_gates(suite, plans, toolset), *unmeasurable_gates(suite, plans)]:
            raise SuiteError(problems)
        recorded = suite.agent.kind == "transcripts"
        self.declared = tuple(dict.fromkeys(plan.variant for plan in plans)) if recorded else tuple(suite.variants)
        if names := unknown_kinds(suite.environment, toolset):
            self.kinds = ask_for_kinds(names)
        self.unlabelled = tuple(unlabelled(suite, toolset))
        self.info = SuiteInfo(
            key=key,
            name=suite.name,
            owner=suite.owner,
            content_hash=suite.content_hash,
            gates=suite.gates,
            variants=self.declared,
            trials=max((plan.trial for plan in plans), default=1),
            scenarios=len(suite.scenarios),
            total=sum(not is_left_out(plan) and is_recorded(plan) for plan in plans),
            kinds=self.kinds,
            unlabelled=len(self.unlabelled),
            auditor=standing_of(suite),
            review=reviews_of(suite),
            policies=tuple(map(policy_record, suite.policies)),
        )
        policies = {policy.id: policy for policy in suite.policies}
        self.names = tuple(plan.name for plan in plans)
        for position, plan in enumerate(plans):
            if not self._has(plan):
                continue
            item = ScenarioItem.from_parent(self, name=plan.name, callobj=play, plan=plan, position=position)
            for mark in marks(plan, policies):
                item.add_marker(mark)
            if not is_recorded(plan):
                item.is_unrecorded = True
                where = cassette_path(suite.path, suite.cassette.file).name
                item.add_marker(pytest.mark.skip(reason=f"not recorded in {where}; {TO_RECORD}"))
            yield item

    def _recorded(self, suite: Suite, mode: Mode) -> Callable[[RunPlan], bool]:
        """Read the suite's cassette; give whether a run can be played, as far as that depends on what is recorded."""
        if mode is Mode.OFF:
            return lambda _: True
        held = read_cassette(cassette_path(suite.path, suite.cassette.file)).runs
        if mode is not Mode.REPLAY or suite.cassette.unrecorded == "fail":
            return lambda _: True
        return lambda plan: RunName.of(plan.key) in held

    def _has(self, plan: RunPlan) -> bool:
        """Whether the file of this module has the run: a suite's has all, a scenario file its own."""
        return self.path == self.suite_path or Path(plan.scenario.file or "").resolve() == self.path.resolve()

    def repr_failure(self, excinfo: ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]
        """Show what is wrong in the file, and nothing of our own code."""
        if isinstance(excinfo.value, AgentBenchError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class ScenarioItem(pytest.Function):
    """One run: a scenario, for a variant, a fault and a trial."""

    is_unrecorded = False
    """Whether it is left out because a cassette is replayed that does not hold it."""

    def __init__(self, *, plan: RunPlan, position: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        compat.read_id_as_pytest_does(self)
        self.plan = plan
        self.position = position
        complexity = plan.scenario.rated_complexity({policy.id: policy for policy in plan.suite.policies})
        if complexity:
            self.extra_keyword_matches.add(f"c{complexity[0]:02d}")

    @property
    def suite(self) -> SuiteModule:
        """The suite that the run belongs to."""
        return cast("SuiteModule", self.parent)

    @property
    def is_left_out(self) -> bool:
        """Whether the scenario file, or a cassette without the run, keeps it out of every rate."""
        return self.is_unrecorded or is_left_out(self.plan)

    @cached_property
    def blank(self) -> Result:
        """What is known of the run before it starts."""
        return blank(self.plan, nodeid=self.nodeid)

    def reportinfo(self) -> tuple[Path | str, int | None, str]:
        """Point to the scenario in its file."""
        return Path(self.plan.scenario.file or self.path), max(self.plan.scenario.line - 1, 0), self.name

    def repr_failure(self, excinfo: ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]
        """Show a failed run as an assertion about the agent, anything else as pytest does."""
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


def is_left_out(plan: RunPlan) -> bool:
    """Whether a scenario says `skip` or `xfail`, and so is in no rate."""
    return bool(plan.scenario.skip or plan.scenario.xfail)


def meta_of(item: ScenarioItem) -> Meta:
    """Give what the controller must know of a run before it starts."""
    return Meta(blank=item.blank, suite=item.suite.info, position=item.position, is_left_out=item.is_left_out)


def marks(plan: RunPlan, policies: dict[str, Policy]) -> Iterator[pytest.MarkDecorator]:
    """Give the marks a run is selected by: one per policy and one per tag, each with all the rest."""
    scenario = plan.scenario
    complexity = scenario.rated_complexity(policies)
    common: dict[str, Any] = {"scenario": scenario.id}
    if plan.variant:
        common["variant"] = plan.variant
    if plan.key.fault:
        common["fault"] = plan.key.fault
    if complexity:
        common["complexity"] = complexity[0]
    if plan.suite.is_pending(scenario):
        common["review"] = "pending"
    if scenario.quarantine:
        common["quarantine"] = scenario.quarantine.owner
    several = [*({"policy": policy} for policy in scenario.policies), *({"tag": tag} for tag in scenario.tags)]
    for own in several or [{}]:
        yield pytest.mark.agentbench(**common, **own)
    if scenario.skip:
        yield pytest.mark.skip(reason=scenario.skip)
    if scenario.xfail:
        yield pytest.mark.xfail(reason=scenario.xfail, strict=False)
