"""Suites as pytest modules and runs as pytest functions, so that fixtures, marks and selection work as for any test."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import pluggy
import pytest

from pytest_agentbench.api.suite_loader import (
    Owners,
    check_decidable,
    is_base,
    is_left_out,
    key_of,
    planned,
    read_suite,
    record_of,
)
from pytest_agentbench.core.errors import AgentBenchError, SuiteError
from pytest_agentbench.core.extensions import Extensions
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import PlannedRun, Result, Run
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import ascii_slug, printable
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.environment.kinds import ask_for_kinds, brings_own_tools, unknown_kinds
from pytest_agentbench.generation.recipe import staleness
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.report_payload import CollectedSuite
from pytest_agentbench.plugin.run_store import SESSION, Session
from pytest_agentbench.report.failure import failure_text
from pytest_agentbench.report.failures import rerun_command
from pytest_agentbench.results.calibration import standing_of
from pytest_agentbench.results.document import policy_record
from pytest_agentbench.results.run_directory import read_transcript
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.service import Attempts
from pytest_agentbench.suites.named_tools import places_of_named_tools
from pytest_agentbench.suites.script_lines import Unlabelled, reads_consent, unlabelled
from pytest_agentbench.suites.shared_services import on_one_port, shared_services

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr  # noqa: TID251 - the signature that mypy asks for


class SuiteModule(pytest.Module):
    """One suite file, or one scenario file of it. A `Module`, because module-scoped fixtures look for one."""

    collected: CollectedSuite
    declared: tuple[str, ...] = ()
    suite: Suite
    suite_path: Path
    """The suite's own file."""
    owners: Owners
    names: tuple[str, ...] = ()
    """The names of the items, for who mistypes one."""
    unlabelled: tuple[Unlabelled, ...] = ()

    def _getobj(self) -> types.ModuleType:
        module = types.ModuleType(ascii_slug(self.name).replace(".", "_").replace("-", "_"))
        module.__file__ = str(self.path)
        return module

    def collect(self) -> Iterator[pytest.Item]:
        """Give an item per run; a bad file raises `SuiteError` with every problem in it."""
        session = self.config.stash[SESSION]
        if is_base(self.suite_path, self.config.rootpath):
            return
        suite, toolset = read_suite(self.suite_path)
        self.suite = suite
        session.secrets.add(suite)
        if session.options.workers > 1 and (problems := on_one_port(suite)):
            raise SuiteError(problems)
        is_recorded = self._recorded(suite, Mode(session.options.cassette))
        for told in filter(None, (staleness(suite, toolset), *shared_services(suite, toolset))):
            self.warn(pytest.PytestCollectionWarning(told))
        key = key_of(self.suite_path, self.config.rootpath)
        asked = session.options
        plans = list(
            planned(
                suite,
                key,
                asked.variants,
                toolset,
                trials=asked.trials,
                extensions=Extensions(self.ihook),
            )
        )
        check_decidable(suite, plans, toolset, session.today)
        unknown = unknown_kinds(suite.environment, toolset)
        self.unlabelled = tuple(unlabelled(suite, toolset)) if reads_consent(suite) else ()
        total = sum(not is_left_out(plan) and is_recorded(plan) for plan in plans)
        record = record_of(suite, key, plans).model_copy(update={"selected": 0, "total": total})
        self.declared = record.variants
        own = brings_own_tools(suite.environment)
        self.collected = CollectedSuite(
            record=record,
            kinds=ask_for_kinds(unknown) if unknown else "",
            unlabelled=len(self.unlabelled),
            named=places_of_named_tools(suite, self.config.rootpath) if own else {},
            declared=(*suite.environment.reads, *suite.environment.writes),
        )
        policies = {policy.id: policy for policy in suite.policies}
        place = cache(self._place)
        self.names = tuple(plan.name for plan in plans)
        for position, plan in enumerate(plans):
            if not self._has(plan):
                continue
            item = ScenarioItem.from_parent(self, name=plan.name, callobj=play, plan=plan, position=position)
            item.path = place(Path(plan.scenario.file or self.path))
            for mark in marks(plan, policies):
                item.add_marker(mark)
            if not is_recorded(plan):
                from pytest_agentbench.llm.cassette.file import cassette_path  # noqa: PLC0415 - few suites record
                from pytest_agentbench.llm.cassette.record_replay import TO_RECORD  # noqa: PLC0415 - the same

                item.is_unrecorded = True
                where = cassette_path(suite.path, suite.cassette.file).name
                item.add_marker(pytest.mark.skip(reason=f"not recorded in {where}; {TO_RECORD}"))
            yield item

    def _recorded(self, suite: Suite, mode: Mode) -> Callable[[RunPlan], bool]:
        """Read the suite's cassette; give whether a run can be played, as far as that depends on what is recorded."""
        if mode is Mode.OFF:
            return lambda _: True
        from pytest_agentbench.llm.cassette.file import RunName, cassette_path, read_cassette  # noqa: PLC0415 - as above

        held = read_cassette(cassette_path(suite.path, suite.cassette.file)).runs
        if mode is not Mode.REPLAY or suite.cassette.unrecorded == "fail":
            return lambda _: True
        return lambda plan: RunName.of(plan.key) in held

    def _place(self, file: Path) -> Path:
        """Give the file that editors open for a scenario, and name to run it: its own, unless that leads elsewhere.

        A file that several suites use, or that lies outside their folders, leads to one of them or to none.
        """
        leads_here = file == self.path or self.owners.of(file) == self.suite_path.resolve()
        return Path(os.path.normpath(file)) if leads_here else self.path

    def _has(self, plan: RunPlan) -> bool:
        """Whether the file of this module has the run: a suite's has all, a scenario file its own."""
        return self.path == self.suite_path or Path(plan.scenario.file or "").resolve() == self.path.resolve()

    def repr_failure(self, excinfo: ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]  # as pytest has it
        """Show what is wrong in the file, and nothing of our own code."""
        if isinstance(excinfo.value, AgentBenchError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class ScenarioFailed(AssertionError):  # noqa: N818 - it says what happened, as pytest's own do
    """A run did not pass; the text is what the user reads, `transcript` what was said where that is known."""

    def __init__(self, text: str, transcript: Transcript | None = None) -> None:
        super().__init__(text)
        self.transcript = transcript


class ScenarioItem(pytest.Function):
    """One run: a scenario, for a variant, a fault and a trial.

    `results` are those of its attempts once it was called, the deciding one last; `was_unneeded` says that earlier
    trials had decided.
    """

    is_unrecorded = False
    """Whether it is left out because a cassette is replayed that does not hold it."""

    def __init__(self, *, plan: RunPlan, position: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        compat.read_id_as_pytest_does(self)
        self.plan = replace(plan, nodeid=self.nodeid)
        self.position = position
        self.results: tuple[Result, ...] = ()
        self.was_unneeded = False
        if complexity := plan.complexity:
            self.extra_keyword_matches.add(f"c{complexity[0]:02d}")

    @property
    def suite(self) -> SuiteModule:
        """The suite that the run belongs to."""
        return cast("SuiteModule", self.parent)

    @property
    def ihook(self) -> pluggy.HookRelay:
        """The hooks that apply: those of the suite's folder, wherever the scenario's file lies."""
        return self.suite.ihook

    @property
    def is_left_out(self) -> bool:
        """Whether the scenario file, or a cassette without the run, keeps it out of every rate."""
        return self.is_unrecorded or is_left_out(self.plan)

    @cached_property
    def planned(self) -> PlannedRun:
        """What is known of the run before it starts."""
        return self.plan.planned

    def reportinfo(self) -> tuple[Path | str, int | None, str]:
        """Point to the scenario in its file."""
        return Path(self.plan.scenario.file or self.path), max(self.plan.scenario.line - 1, 0), self.name

    def repr_failure(self, excinfo: ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]  # as pytest has it
        """Show a failed run as an assertion about the agent, anything else as pytest does."""
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


def play(request: pytest.FixtureRequest) -> None:
    """Await the run of an item; skip it where it could not take place, raise `ScenarioFailed` unless it passed."""
    item: ScenarioItem = request.node
    session = request.config.stash[SESSION]
    if reason := session.early_stop.unneeded(item.plan):
        item.was_unneeded = True
        pytest.skip(reason)
    attempts = await_run(session, item)
    run, result = attempts[-1]
    if item.plan.stops_early:
        session.early_stop.note(item.plan.key, result)
    item.results = tuple(found for _, found in attempts)
    show_output(item, run)
    if result.not_run is not None:
        pytest.skip(f"not run: {printable(result.not_run)}")
    if result.verdict is not Verdict.PASSED:
        transcript = stored_transcript(session, result) if run is None else session.secrets.transcript(run.transcript)
        raise ScenarioFailed(failure_of(item, session, result, transcript), transcript)


def show_output(item: pytest.Item, run: Run | None) -> None:
    """Give the item what the agent and its tools printed and logged; pytest shows it where the item fails."""
    if run is not None and run.printed:
        item.add_report_section("call", "agentbench output", printable(run.printed, newlines=True))


def await_run(session: Session, item: ScenarioItem) -> Attempts:
    """Give the stored result of a run, or wait for it to end, starting it unless it has been."""
    plan, runs = item.plan, session.runs
    item.plan = plan.again()
    session.store.look_for_crashes()
    if stored := session.store.stored(plan):
        return ((None, stored),)
    if session.store.is_suspect(plan):
        runs.drain(plan)
    return runs.finish(plan)


def stored_transcript(session: Session, result: Result) -> Transcript | None:
    """Read the conversation of a run that an earlier session played; None where its file is gone."""
    file = session.store.directory.path / result.transcript
    return read_transcript(file) if result.transcript and file.exists() else None


def failure_of(item: ScenarioItem, session: Session, result: Result, transcript: Transcript | None) -> str:
    """Describe a run that did not pass: which check, expected beside actual, the turn, and how to run it again."""
    config, plan, options = item.config, item.plan, session.options
    default = next(iter(plan.suite.variants), "") or (plan.variant if plan.recording else "")
    return failure_text(
        result,
        transcript,
        verbose=config.get_verbosity() > 0,
        rerun=rerun_command(from_here(result, config), default, cassette=options.cassette, seed=options.seed),
        transcript_path=path_shown(config, session, result),
        standing=standing_of(plan.suite),
        policies=tuple(map(policy_record, plan.suite.policies)),
    )


def path_shown(config: pytest.Config, session: Session, result: Result) -> str:
    """Give the file of a run's transcript as seen from where pytest was started; empty where there is none."""
    if not result.transcript:
        return ""
    file, here = session.store.directory.path / result.transcript, config.invocation_params.dir
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def is_scenario(item: pytest.Item) -> TypeGuard[ScenarioItem]:
    """Whether an item is a run of a suite file."""
    return isinstance(item, ScenarioItem)


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


def from_here(result: Result, config: pytest.Config) -> Result:
    """Give a result whose node id works in the folder that pytest was started in."""
    if config.invocation_params.dir == config.rootpath or not result.nodeid:
        return result
    path, separator, rest = result.nodeid.partition("::")
    shown = os.path.relpath(config.rootpath / path, config.invocation_params.dir)
    return result.model_copy(update={"nodeid": f"{shown}{separator}{rest}"})
