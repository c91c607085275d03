"""Collection: suite files become modules, marked functions are parametrized, the end says what a run may cost."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.plugin.accounts import check_budgets, check_cassettes, check_judges, last_costs
from pytest_agentbench.plugin.ahead import is_scenario
from pytest_agentbench.plugin.bench import Bench, bound_by_states
from pytest_agentbench.plugin.code_first import parametrize
from pytest_agentbench.plugin.directory import SEQUENTIAL
from pytest_agentbench.plugin.early_stop import trial_after_trial
from pytest_agentbench.plugin.items import SuiteModule, meta_of
from pytest_agentbench.plugin.keys import POSITION
from pytest_agentbench.plugin.reading import key_of, suite_that_uses
from pytest_agentbench.results.files import write_atomic
from pytest_agentbench.runs.forecast import asks_models, estimate, has_auditor
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.scenario_files import SUFFIXES, is_suite_file
from pytest_agentbench.suites.script_lines import CHOICES

_MOST_LINES = 5
"""Lines without a label that are named."""


def _is_new(key: RunKey, seen: set[RunKey]) -> bool:
    """Whether a run is met for the first time; it is remembered."""
    is_new = key not in seen
    seen.add(key)
    return is_new


class Collecting:
    """Hooks of collection; they read files and call neither agent, tool nor model."""

    def __init__(self, bench: Bench, config: pytest.Config) -> None:
        self._bench = bench
        self._config = config
        self.suites: list[SuiteModule] = []

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SuiteModule | None:
        """Take `agentbench.yaml` and `*.agentbench.yaml`, and a scenario file of such a suite that is asked for."""
        suite: Path | None = file_path
        if not is_suite_file(file_path):
            asked = file_path.suffix.lower() in SUFFIXES and parent.session.isinitpath(file_path)
            suite = suite_that_uses(file_path.resolve(), self._config.rootpath) if asked else None
        if suite is None:
            return None
        nodeid = key_of(suite, self._config.rootpath) if suite != file_path else None
        module: SuiteModule = SuiteModule.from_parent(parent, path=file_path, nodeid=nodeid)
        module.suite_path = suite
        self.suites.append(module)
        return module

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Iterator[None]:
        """Where `FILE::NAME` names no run of a suite, say which run was probably meant."""
        try:
            return (yield)
        except pytest.UsageError as error:
            raise pytest.UsageError(*error.args, *self._meant(session.config.args)) from None

    def _meant(self, arguments: Sequence[str]) -> Iterator[str]:
        """Give a line for each argument that names what its suite does not have."""
        for argument in arguments:
            path, _, name = argument.partition("::")
            file = (self._config.invocation_params.dir / path).resolve()
            names = [one for suite in self.suites if suite.path.resolve() == file for one in suite.names]
            if name and names and name not in names:
                hint = suggestion(name, names) or f"its runs: {listing(names)}"
                yield with_hint(f"{path} has no run {name!r}", hint)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a marked function once per scenario that fits its mark."""
        parametrize(metafunc, self._bench)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Give each run one item; where trials may prove not to be needed, play trial after trial.

        A run has two items where its suite and its scenario file are both asked for. Others may have chosen an order.
        """
        runs: set[RunKey] = set()
        items[:] = [item for item in items if not is_scenario(item) or _is_new(item.plan.key, runs)]
        posting = self._bench.posting
        if trial_after_trial(items) and posting is not None and posting.plans:
            write_atomic(self._bench.directory.path / SEQUENTIAL, "")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what was selected of each suite, decide which suites' gates will be evaluated, and tell the runs."""
        runs = [item for item in session.items if is_scenario(item)]
        for position, item in enumerate(session.items):
            item.stash[POSITION] = position
        kept = Counter(item.plan.suite_key for item in runs if not item.is_left_out)
        for suite in self.suites:
            if hasattr(suite, "info"):
                self._count(suite, kept[suite.info.key])
        if not session.testsfailed:
            self._check_variants()
        suites = {item.plan.suite_key: item.plan.suite for item in runs}.values()
        check_budgets(suites, self._bench.options)
        check_judges(suites, self._bench.options)
        if self._bench.options.cassette != "off":
            check_cassettes(suites)
        if self._bench.options.collect_only or not runs:
            return
        self._bench.metas = {meta.name: meta for meta in (meta_of(item) for item in runs if not item.is_left_out)}
        if self._bench.role == "single":
            self._bench.open_directory()
        elif self._bench.posting is not None and self._bench.posting.plans:
            self._bench.write_plan()

    @pytest.hookimpl(trylast=True)
    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        """Say how many runs there are and what they may cost at most."""
        runs = [item for item in items if is_scenario(item)]
        if not runs:
            return []
        plans = [item.plan for item in runs]
        costs = last_costs(self._bench.options.directory) if any(asks_models(plan) for plan in plans) else {}
        asked = [f"{suite.info.key}: {suite.kinds}" for suite in self.suites if suite.kinds]
        told = estimate(plans, costs, judges=self._bench.options.judge)
        return [f"agentbench: {told}", *asked, *self._unlabelled(plans)]

    def _unlabelled(self, plans: Sequence[RunPlan]) -> Iterator[str]:
        """Name the first lines of the users of these runs that do not say what they mean, and how many there are."""
        played = {(plan.suite.path, plan.scenario.id) for plan in plans}
        lines = [
            one for suite in self.suites for one in suite.unlabelled if (one.suite.path, one.scenario.id) in played
        ]
        if not lines:
            return
        judged = self._bench.options.judge and all(has_auditor(one.suite) for one in lines)
        left = "left to the auditor" if judged else "not measured"
        yield f"agentbench: lines of users that do not say what they mean ({len(lines)}); a yes there is {left}"
        for one in lines[:_MOST_LINES]:
            yield self._bench.redactor.text(f"  {one.told(self._config.invocation_params.dir)}")
        if len(lines) > _MOST_LINES:
            yield f"  … and {len(lines) - _MOST_LINES} more (agentbench validate lists them all)"
        yield f"  {CHOICES}"

    def _count(self, suite: SuiteModule, selected: int) -> None:
        mode = self._bench.options.gates
        complete = mode == "auto" and selected == suite.info.total
        gated = bool(suite.info.gates) and (mode == "always" or complete)
        states = bound_by_states(suite.suite, self._bench.options, selected)
        suite.info = suite.info.model_copy(update={"selected": selected, "gated": gated, "states": states})

    def _check_variants(self) -> None:
        """Refuse a variant that no suite declares."""
        asked = self._bench.options.variants
        declared = {name for suite in self.suites for name in suite.declared} | self._bench.variants
        if missing := [name for name in asked if name not in declared and name != "all"]:
            known = ", ".join(sorted(declared)) or "none"
            raise pytest.UsageError(f"--agentbench-variant: no suite declares {missing[0]!r}; declared: {known}")
