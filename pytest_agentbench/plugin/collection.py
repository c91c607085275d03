"""Collection: suite files become modules, marked functions are parametrized, the end says what a run may cost."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pytest_agentbench.api.suite_loader import Owners, key_of
from pytest_agentbench.core.base import GivenFields, lean
from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.plugin.accounts import check_cassettes, check_models, last_costs
from pytest_agentbench.plugin.code_first import parametrize
from pytest_agentbench.plugin.items import ScenarioItem, SuiteModule, is_scenario
from pytest_agentbench.plugin.output_files import can_decide
from pytest_agentbench.plugin.prefetch import POSITION
from pytest_agentbench.plugin.report_payload import Collected, CollectedSuite, Meta, refuse
from pytest_agentbench.plugin.run_store import SEQUENTIAL, Session, bound_by_states
from pytest_agentbench.runs.forecast import asks_models, estimate, has_auditor
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.scenario_files import SUFFIXES, is_suite_file
from pytest_agentbench.suites.script_lines import CHOICES, YES_BEFORE

_MOST_LINES = 5
"""Lines without a label that are named."""


def _is_new(key: RunKey, seen: set[RunKey]) -> bool:
    """Whether a run is met for the first time; it is remembered."""
    is_new = key not in seen
    seen.add(key)
    return is_new


class Collecting:
    """Hooks of collection; they read files and call neither agent, tool nor model."""

    def __init__(self, session: Session, config: pytest.Config) -> None:
        self._session = session
        self._config = config
        self._owners = Owners(config.rootpath)
        self.suites: list[SuiteModule] = []

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SuiteModule | None:
        """Take `agentbench.yaml` and `*.agentbench.yaml`, and a scenario file of such a suite that is asked for."""
        suite: Path | None = file_path
        if not is_suite_file(file_path):
            asked = file_path.suffix.lower() in SUFFIXES and parent.session.isinitpath(file_path)
            suite = self._owners.of(file_path) if asked else None
        if suite is None:
            return None
        nodeid = key_of(suite, self._config.rootpath) if suite != file_path else None
        module: SuiteModule = SuiteModule.from_parent(parent, path=file_path, nodeid=nodeid)
        module.suite_path, module.owners = suite, self._owners
        self.suites.append(module)
        return module

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Iterator[None]:
        """Where `FILE::NAME` names no run of a suite, say which run was probably meant."""
        try:
            return (yield)
        except pytest.UsageError as error:
            told = " ".join(map(str, error.args))
            raise pytest.UsageError(*error.args, *self._meant(session.config.args, told)) from None

    def _meant(self, arguments: Sequence[str], told: str) -> Iterator[str]:
        """Give a line for each argument that names what its suite does not have; `told` is what pytest says."""
        for argument in arguments:
            path, _, name = argument.partition("::")
            file = (self._config.invocation_params.dir / path).resolve()
            names = [one for suite in self.suites if suite.path.resolve() == file for one in suite.names]
            if name and names and name not in names:
                hint = suggestion(name, names) or f"its runs: {listing(names)}"
                yield with_hint(f"{path} has no run {name!r}", hint)
            elif path in told and file.is_file() and file.suffix.lower() in SUFFIXES and not self._is_taken(file):
                yield f"{path} is neither a suite (agentbench.yaml, NAME.agentbench.yaml) nor a scenario file of one"

    def _is_taken(self, file: Path) -> bool:
        return is_suite_file(file) or self._owners.of(file) is not None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a marked function once per scenario that fits its mark."""
        parametrize(metafunc, self._session)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Give each run one item; where trials may prove not to be needed, play trial after trial.

        A run has two items where its suite and its scenario file are both asked for. Others may have chosen an order.
        """
        runs: set[RunKey] = set()
        items[:] = [item for item in items if not is_scenario(item) or _is_new(item.plan.key, runs)]
        store = self._session.store
        if trial_after_trial(items) and store.posting is not None and store.posting.plans:
            write_atomic(store.directory.path / SEQUENTIAL, "")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what was selected of each suite, decide which suites' gates will be evaluated, and tell the runs."""
        runs = [item for item in session.items if is_scenario(item)]
        for position, item in enumerate(session.items):
            item.stash[POSITION] = position
        kept = Counter(item.plan.suite_key for item in runs if not item.is_left_out)
        for suite in self.suites:
            if hasattr(suite, "collected"):
                self._count(suite, kept[suite.collected.key])
        if not session.testsfailed:
            self._check_variants()
        suites = {item.plan.suite_key: item.plan.suite for item in runs}.values()
        check_models(suites, self._session.options)
        if self._session.options.cassette != "off":
            check_cassettes(suites)
        if self._session.options.collect_only or not runs:
            return
        collected = self._session.collected = _collected([item for item in runs if not item.is_left_out])
        store = self._session.store
        if self._session.role == "single":
            store.open()
        elif store.posting is not None and store.posting.plans:
            store.write_plan(collected)

    @pytest.hookimpl(trylast=True)
    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        """Say how many runs there are and what they may cost at most."""
        runs = [item for item in items if is_scenario(item)]
        if not runs:
            return []
        plans = [item.plan for item in runs]
        costs = last_costs(self._session.options.directory) if any(asks_models(plan) for plan in plans) else {}
        asked = [f"{one.key}: {one.kinds}" for one in self._found() if one.kinds]
        told = estimate(plans, costs, judges=self._session.options.judge)
        return [f"agentbench: {told}", *asked, *self._unlabelled(plans)]

    def _unlabelled(self, plans: Sequence[RunPlan]) -> Iterator[str]:
        """Name the first lines of the users of these runs that do not say what they mean, and how many there are."""
        played = {(plan.suite.path, plan.scenario.id) for plan in plans}
        lines = [
            one for suite in self.suites for one in suite.unlabelled if (one.suite.path, one.scenario.id) in played
        ]
        if not lines:
            return
        judged = self._session.options.judge and all(has_auditor(one.suite) for one in lines)
        left = "left to the auditor" if judged else "not measured"
        what = f"a yes or no there is {left}, and {YES_BEFORE}"
        yield f"agentbench: lines of users that do not say what they mean ({len(lines)}); {what}"
        for one in lines[:_MOST_LINES]:
            yield self._session.secrets.text(f"  {one.told(self._config.invocation_params.dir)}")
        if len(lines) > _MOST_LINES:
            yield f"  … and {len(lines) - _MOST_LINES} more (agentbench validate lists them all)"
        yield f"  {CHOICES}"

    def _count(self, suite: SuiteModule, selected: int) -> None:
        mode = self._session.options.gates
        # a worker's goes to the controller, which has read no suite and knows no secret
        record = suite.collected.record.redacted(self._session.secrets.text).model_copy(update={"selected": selected})
        evaluated = mode == "always" or (mode == "auto" and selected == record.total)
        gated = evaluated and can_decide(record.gates, self._session.options)
        states = bound_by_states(suite.suite, self._session.options, selected)
        suite.collected = suite.collected.model_copy(update={"record": record, "gated": gated, "states": states})

    def _found(self) -> Iterator[CollectedSuite]:
        """Give what was collected of each suite that could be read."""
        yield from (suite.collected for suite in self.suites if hasattr(suite, "collected"))

    def _check_variants(self) -> None:
        """Refuse a variant that no suite declares."""
        asked = self._session.options.variants
        declared = {name for suite in self.suites for name in suite.declared} | self._session.variants
        if missing := [name for name in asked if name not in declared and name != "all"]:
            known = f"declared: {', '.join(sorted(declared))}" if declared else "none declares any variant"
            message = f"--agentbench-variant: no suite declares {missing[0]!r}; {known}"
            message = with_hint(message, suggestion(missing[0], sorted(declared)))
            refuse(self._config, message)
            raise pytest.UsageError(message)


def _collected(items: Sequence[ScenarioItem]) -> Collected:
    """Give the runs of these items, and their suites."""
    shared: GivenFields = {}
    metas = (lean(Meta(run=item.planned, position=item.position), shared) for item in items)
    suites = {item.suite.collected.key: item.suite.collected for item in items}
    return Collected(suites=suites, runs={meta.run.name: meta for meta in metas})


def trial_after_trial(items: list[pytest.Item]) -> bool:
    """Put all first trials before all second ones, and so on, so that there is evidence when a trial's turn comes.

    Give whether there are trials that may prove not to be needed.
    """
    places = [place for place, item in enumerate(items) if is_scenario(item) and item.plan.stops_early]
    ordered = sorted((items[place] for place in places), key=_trial_of)
    for place, item in zip(places, ordered, strict=True):
        items[place] = item
    return bool(places)


def _trial_of(item: pytest.Item) -> int:
    return item.plan.trial if is_scenario(item) else 0
