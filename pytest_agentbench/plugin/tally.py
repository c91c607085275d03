"""The session's results, in one process or on the xdist controller: collected, gated once, remembered for `--lf`."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime
from time import monotonic

import pytest

from pytest_agentbench.core.run import BUDGET, PlannedRun, Result
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.exit_status import MISSED, count_failures
from pytest_agentbench.plugin.junit import report_failed_gates
from pytest_agentbench.plugin.report_payload import Collected, CollectedSuite, Meta, take_meta, take_results
from pytest_agentbench.plugin.run_store import Session
from pytest_agentbench.plugin.runtest import reason_of
from pytest_agentbench.report.failure import same_text
from pytest_agentbench.report.sections import NOT_SCORED, open_text
from pytest_agentbench.report.table import glyphs
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.gates import GateVerdict, decided_by_own, evaluate_gates
from pytest_agentbench.results.table import Facts
from pytest_agentbench.runs.result import crash_result

Status = tuple[str, str, tuple[str, dict[str, bool]]]

NOT_BEGUN = "the session was stopped before it ended"
NOT_RERUN = "its process died, and no other was left to run it again"


class Tally:
    """Collects results from reports and evaluates gates once everything has reported.

    Runs are told apart by name, since node ids of suites outside the root are not unique. Tests of the user's that
    simulate have no suite of theirs and are told apart by node id.
    """

    def __init__(self, session: Session, config: pytest.Config, baseline: Document | None = None) -> None:
        """Gate `regression` against the results of `baseline`."""
        self._session = session
        self.baseline = baseline
        self._config = config
        self.began = monotonic()
        self.created = datetime.now(UTC)
        self.loop_ended = False
        self.refused = ""
        self.results: dict[str, Result] = {}
        self.retried: list[Result] = []
        self.simulated: dict[str, tuple[Result, ...]] = {}
        self.broken: dict[str, str] = {}
        self.left_out: set[str] = set()
        self.stopped: set[str] = set()
        self.verdicts: tuple[GateVerdict, ...] = ()
        self.document: Document | None = None
        self._planned: Collected | None = None
        self._metas: dict[str, Meta] = {}
        self._suites: dict[str, CollectedSuite] = {}
        self._names: dict[str, str] = {}
        self._simulating: dict[str, PlannedRun] = {}
        self._missed: dict[str, str] = {}
        self._rerun: set[str] = set()
        self._ungated: list[str] = []
        self._told: dict[tuple[str, str], str] = {}

    @property
    def metas(self) -> dict[str, Meta]:
        """What is known of every run that there is, whether it began or not, by name."""
        return {**self._collected.runs, **self._metas}

    @property
    def suites(self) -> dict[str, CollectedSuite]:
        """The suites that there are runs of, by key."""
        return {**self._collected.suites, **self._suites}

    @property
    def _collected(self) -> Collected:
        """What this process collected, or what a worker says that all of them did."""
        if self._session.collected.runs:
            return self._session.collected
        if self._planned is None:
            self._planned = self._session.store.read_plan()
        return self._planned or self._session.collected

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take metadata and results off the reports as they come."""
        self._take_meta(report)
        results = take_results(report)
        name = self._names.get(report.nodeid)
        if name is not None:
            for result in results:
                self._keep(name, result)
        elif results:
            self.simulated[report.nodeid] = results
        self._take_outcome(report, name, results)
        if name is not None and results:
            self._tell_once(report, results[-1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Evaluate gates once everything has reported, in time for every other plugin to see the exit status."""
        result = yield
        if self._session.options.collect_only:
            return result
        if self.refused and not (self.metas or self._simulating):
            raise pytest.UsageError(self.refused)
        self.loop_ended = True
        lost = self._rerun - self.results.keys()
        self.broken |= dict.fromkeys(lost, NOT_RERUN)
        self._evaluate_gates()
        failed = [verdict for verdict in self.verdicts if verdict.failed]
        undecided = [nodeid for nodeid, suite in self._missed.items() if suite in self._ungated]  # "": set aside
        simulated = (result for results in self.simulated.values() for result in results)
        everything = (*self.results.values(), *simulated)
        unpaid = [result for result in everything if (result.not_run or "").startswith(BUDGET)]
        count_failures(session, failed, undecided, lost, unpaid)
        report_failed_gates(self._config, failed)
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Once pytest's own cache is written, have `--lf` rerun what was missed."""
        result = yield
        cache = getattr(self._config, "cache", None)
        if self._missed and cache is not None:
            failed = cache.get("cache/lastfailed", {})
            cache.set("cache/lastfailed", {**failed, **dict.fromkeys(self._missed, True)})
        self._session.store.close()
        return result

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Status | None:
        """Show a missed run as `m`, a suspect that is rerun alone as `R`, and say what a passed run left open.

        Runs are counted as in the report: those that are set aside, or were not scored, apart from the others.
        """
        aside = report.__dict__.get("agentbench_aside") or ""
        noted = report.__dict__.get("agentbench_noted") or ""
        if report.__dict__.get("agentbench_missed"):
            told = ", ".join(filter(None, (aside, noted)))
            counted = aside or (NOT_SCORED if noted else MISSED)
            return counted, "m", (f"MISSED ({told})" if told else "MISSED", {"yellow": True})
        if report.__dict__.get("agentbench_rerun"):
            return "rerun", "R", ("RERUN", {"yellow": True})
        if report.when == "call" and report.failed and noted:
            return "failed", "F", (f"FAILED ({noted})", {"red": True})
        if report.when == "call" and report.passed:
            count = report.__dict__.get("agentbench_open")
            left = open_text(count, glyphs(unicode=compat.shows_unicode(self._config))) if count else ""
            if told := ", ".join(part for part in (aside, left, noted) if part):
                return aside or "passed", ".", (f"PASSED ({told})", {"green": True})
        return None

    def meta(self, nodeid: str) -> Meta | None:
        """Give what is known of the run behind an item, also of one that never got so far as to report."""
        name = self._names.get(nodeid)
        if name is not None:  # joining what is known takes long where there are many runs, and all report
            return self._metas[name]
        return next((meta for meta in self.metas.values() if meta.run.nodeid == nodeid), None)

    def simulates(self, nodeid: str) -> bool:
        """Whether an item is a test of the user's that simulates."""
        return nodeid in self._simulating

    def _take_meta(self, report: pytest.TestReport) -> None:
        meta = take_meta(report)
        if meta is None:
            return
        if meta.position is None:
            self._simulating[report.nodeid] = meta.run
            return
        if meta.suite is not None:
            self._suites[meta.suite.key] = meta.suite
        self._metas[meta.run.name] = meta
        self._names[report.nodeid] = meta.run.name

    def _take_outcome(self, report: pytest.TestReport, name: str | None, results: tuple[Result, ...]) -> None:
        """Note what a report says of a run beside its result."""
        meta = self.meta(report.nodeid) if report.when not in ("setup", "call", "teardown") or name else None
        if report.__dict__.get("agentbench_missed") and meta:
            self._missed[report.nodeid] = "" if meta.run.set_aside else meta.run.key.suite
        elif report.__dict__.get("agentbench_rerun") and meta:
            self._rerun.add(meta.run.name)
        elif report.failed and name and not results:
            self.broken[name] = f"{report.when}: {reason_of(report)}"
        elif any(result.not_run is not None for result in results):
            return
        elif report.skipped or hasattr(report, "wasxfail"):
            self._leave_out(report.nodeid, name)
            if name is not None and report.__dict__.get("agentbench_stopped"):
                self.stopped.add(name)
        if report.when not in ("setup", "call", "teardown") and not report.__dict__.get("agentbench_rerun"):
            self._crashed(report, meta)

    def _tell_once(self, report: pytest.TestReport, result: Result) -> None:
        """Point to the first run that broke by the same fault of somebody else's, in the place of telling it again."""
        if not report.failed or result.decided or not result.error or self._config.get_verbosity() > 0:
            return
        first = self._told.setdefault((result.key.suite, result.error), report.nodeid)
        if first != report.nodeid:
            report.longrepr = same_text(result, first, unicode=compat.shows_unicode(self._config))

    def _keep(self, name: str, result: Result) -> None:
        before = self.results.get(name)
        if before is not None and before.key != result.key:
            self.retried.append(before)
        self.results[name] = result

    def _leave_out(self, nodeid: str, name: str | None) -> None:
        """Respect the user's own skip or xfail: the run is in no rate."""
        if name is not None:
            self.left_out.add(name)
            self.results.pop(name, None)
        self.simulated.pop(nodeid, None)

    def _crashed(self, report: pytest.TestReport, meta: Meta | None) -> None:
        """Count a run whose process died; the report that xdist makes up holds nothing of ours."""
        reason = str(report.longrepr).strip().splitlines()[0] if report.longrepr else "the process died"
        if meta is not None:
            self._keep(meta.run.name, crash_result(meta.run, reason))
        elif report.nodeid in self._simulating:
            self.simulated[report.nodeid] = (crash_result(self._simulating[report.nodeid], reason),)

    def _evaluate_gates(self) -> None:
        mode = self._session.options.gates
        metas = self.metas
        for key, suite in self.suites.items():
            if not suite.record.gates or mode == "never":
                continue
            ended = (result for result in self.results.values() if result.not_run is None)
            results = [result for result in ended if result.key.suite == key]
            asked = (metas[name] for name in self.left_out if not metas[name].is_left_out)  # others were not counted
            excused = sum(1 for meta in asked if meta.run.key.suite == key)
            is_whole = suite.record.total == suite.record.selected == len(results) + excused
            if mode == "always" or is_whole:
                before = self.baseline.results if self.baseline else None
                facts = Facts(categories={(key, policy.id): policy.category for policy in suite.record.policies})
                is_first = self._session.options.is_first_baseline
                self.verdicts += evaluate_gates(
                    key, suite.record.gates, results, baseline=before, is_first=is_first, facts=facts
                )
            if not decided_by_own(key, suite.record.gates, self.verdicts):
                self._ungated.append(key)
