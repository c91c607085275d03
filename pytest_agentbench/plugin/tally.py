"""The session's results, in one process or on the xdist controller: collected, gated, written and reported."""

from __future__ import annotations

import platform
from collections.abc import Generator, Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Literal

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.bench import Bench
from pytest_agentbench.plugin.playing import MISSED
from pytest_agentbench.plugin.wire import Meta, SuiteInfo, take_meta, take_results
from pytest_agentbench.results.document import Document, SuiteRecord, players_of, write
from pytest_agentbench.results.gates import GateVerdict, evaluate_gates
from pytest_agentbench.runs.result import crash_result

Status = tuple[str, str, tuple[str, dict[str, bool]]]

_NOT_RUN = "stopped before it ended"


class Tally:
    """Collects results from reports, evaluates gates once, and writes what there is to write."""

    def __init__(self, bench: Bench, config: pytest.Config) -> None:
        self._bench = bench
        self._config = config
        self._began = monotonic()
        self._created = datetime.now(UTC)
        self._metas: dict[str, Meta] = {}
        self._suites: dict[str, SuiteInfo] = {}
        self._results: dict[str, Result] = {}
        self._retried: list[Result] = []
        self._simulated: dict[str, tuple[Result, ...]] = {}
        self._missed: dict[str, str] = {}
        self._left_out: set[str] = set()
        self._broken: dict[str, str] = {}
        self._loop_ended = False
        self.verdicts: tuple[GateVerdict, ...] = ()
        self.ungated: list[str] = []
        self.document: Document | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take metadata and results off the reports as they come."""
        if meta := take_meta(report):
            self._metas[report.nodeid] = meta
            self._suites.setdefault(meta.suite.key, meta.suite)
        results = take_results(report)
        if report.nodeid in self._metas:
            for result in results:
                self._keep(report.nodeid, result)
        elif results:
            self._simulated[report.nodeid] = results
        if report.__dict__.get("agentbench_missed"):
            self._missed[report.nodeid] = self._metas[report.nodeid].suite.key
        elif report.failed and not results:
            self._broken[report.nodeid] = f"{report.when}: {_last_line(report)}"
        elif report.skipped or hasattr(report, "wasxfail"):
            self._leave_out(report.nodeid)
        if report.when not in ("setup", "call", "teardown") and not report.__dict__.get("agentbench_rerun"):
            self._crashed(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Evaluate gates once everything has reported, in time for every other plugin to see the exit status."""
        result = yield
        if self._bench.options.collect_only:
            return result
        self._loop_ended = True
        self._evaluate_gates()
        failed = [verdict for verdict in self.verdicts if not verdict.passed]
        undecided = [nodeid for nodeid, suite in self._missed.items() if suite in self.ungated]
        session.testsfailed += len(failed) + len(undecided)
        self._tell_junit(failed)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Write the results before anybody reports them; then have `--lf` rerun what was missed."""
        if self._metas or self._simulated:
            self._write()
        result = yield
        self._remember_missed()
        return result

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Status | None:
        """Show a missed run as `m`, and a suspect that is rerun alone as `R`."""
        if report.__dict__.get("agentbench_missed"):
            return MISSED, "m", ("MISSED", {"yellow": True})
        if report.__dict__.get("agentbench_rerun"):
            return "rerun", "R", ("RERUN", {"yellow": True})
        return None

    def meta(self, nodeid: str) -> Meta | None:
        """Give what is known of the run behind an item."""
        return self._metas.get(nodeid)

    def _keep(self, nodeid: str, result: Result) -> None:
        before = self._results.get(nodeid)
        if before is not None and before.key != result.key:
            self._retried.append(before)
        self._results[nodeid] = result

    def _leave_out(self, nodeid: str) -> None:
        """Respect the user's own skip or xfail: the run is in no rate."""
        if nodeid in self._metas:
            self._left_out.add(nodeid)
            self._results.pop(nodeid, None)

    def _crashed(self, report: pytest.TestReport) -> None:
        """Count a run whose process died; the report that xdist makes up holds nothing of ours."""
        if meta := self._metas.get(report.nodeid):
            reason = str(report.longrepr).strip().splitlines()[0] if report.longrepr else "the process died"
            self._keep(report.nodeid, crash_result(meta.blank, reason))

    def _evaluate_gates(self) -> None:
        mode = self._bench.options.gates
        for key, suite in self._suites.items():
            results = [result for result in self._results.values() if result.key.suite == key]
            if not suite.gates or mode == "never":
                continue
            if mode == "always" or (suite.gated and len(results) == suite.selected):
                self.verdicts += evaluate_gates(key, suite.gates, results)
            else:
                self.ungated.append(key)

    def _tell_junit(self, failed: Iterable[GateVerdict]) -> None:
        """Give each failed gate a test case of its own; the XML writer alone hears of it."""
        writer = compat.junit(self._config)
        if writer is None:
            return
        for verdict in failed:
            phases: tuple[tuple[Literal["call", "teardown"], Literal["failed", "passed"]], ...]
            phases = (("call", "failed"), ("teardown", "passed"))
            for when, outcome in phases:
                report = pytest.TestReport(
                    nodeid=f"{verdict.suite}::gate {verdict.label}",
                    location=(verdict.suite, 0, f"gate {verdict.label}"),
                    keywords={},
                    outcome=outcome,
                    longrepr=f"gate {verdict.label}: {verdict.reason}" if outcome == "failed" else None,
                    when=when,
                )
                writer.pytest_runtest_logreport(report)

    def _remember_missed(self) -> None:
        cache = getattr(self._config, "cache", None)
        if not self._missed or cache is None or hasattr(self._config, "workerinput"):
            return
        failed = cache.get("cache/lastfailed", {})
        cache.set("cache/lastfailed", {**failed, **dict.fromkeys(self._missed, True)})

    def _write(self) -> None:
        counted = self._metas.keys() - self._left_out
        order = sorted(counted, key=self._order)
        results = tuple(self._results.get(nodeid) or self._unrun(nodeid) for nodeid in order)
        results += tuple(result for nodeid in sorted(self._simulated) for result in self._simulated[nodeid])
        self.document = Document(
            created=self._created.isoformat(),
            run=self._bench.run_path.name if self._bench.run_path else "",
            root=str(self._config.rootpath),
            command=tuple(str(argument) for argument in self._config.invocation_params.args),
            versions={
                "pytest-agentbench": version("pytest-agentbench"),
                "pytest": pytest.__version__,
                "python": platform.python_version(),
            },
            seconds=monotonic() - self._began,
            complete=self._loop_ended and all(result.not_run is None for result in results),
            players=players_of(results),
            suites=tuple(_record(self._suites[key]) for key in sorted(self._suites)),
            gates=self.verdicts,
            results=results,
            retried=tuple(self._retried),
        )
        for path in self._targets():
            write(self.document, path)

    def _targets(self) -> Iterable[Path]:
        if self._bench.run_path:
            yield self._bench.run_path / "results.json"
            yield self._bench.options.directory / "results.json"
        if self._bench.options.json:
            yield self._bench.options.json

    def _unrun(self, nodeid: str) -> Result:
        return self._metas[nodeid].blank.model_copy(update={"not_run": self._broken.get(nodeid, _NOT_RUN)})

    def _order(self, nodeid: str) -> tuple[str, int]:
        meta = self._metas[nodeid]
        return meta.suite.key, meta.position


def _last_line(report: pytest.TestReport) -> str:
    lines = (report.longreprtext or str(report.when)).strip().splitlines()
    return shorten(printable(lines[-1].removeprefix("E").strip()), 200) if lines else "failed"


def _record(info: SuiteInfo) -> SuiteRecord:
    return SuiteRecord(
        path=info.key,
        name=info.name,
        content_hash=info.content_hash,
        gates=info.gates,
        trials=info.trials,
        variants=info.variants,
        scenarios=info.scenarios,
        total=info.total,
        selected=info.selected,
    )
