"""An item's run: started ahead or now, awaited, and turned into what pytest understands."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from pytest_agentbench.api.simulation import Simulation
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Blame, Finding, Verdict
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.code_first import SIMULATED, planned_test
from pytest_agentbench.plugin.exit_status import aside_text, mark_missed
from pytest_agentbench.plugin.items import ScenarioFailed, ScenarioItem, is_scenario, path_shown
from pytest_agentbench.plugin.junit import junit_properties
from pytest_agentbench.plugin.prefetch import Prefetch
from pytest_agentbench.plugin.report_payload import Meta, attach, make_sendable, sendable
from pytest_agentbench.plugin.run_store import Session
from pytest_agentbench.report.auditor import marked
from pytest_agentbench.report.failure import conversation_text
from pytest_agentbench.report.sections import NOT_SCORED, NOTHING
from pytest_agentbench.runs.process_guard import ProcessGuard


class Playing:
    """Hooks around each item: start runs ahead, attach what crosses to the controller, mark missed runs."""

    def __init__(self, session: Session, config: pytest.Config) -> None:
        self._session = session
        self._config = config
        self._routes_output = config.getoption("capture", "fd") != "no" and not session.options.collect_only
        self._as_text = session.role == "worker"
        self._suites_told: set[str] = set()
        self.prefetch = Prefetch(session)
        self.changed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Remember what comes next, which the setup hook is not told."""
        self.prefetch.nextitem = nextitem
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Once an item's own fixtures are set up, start its run and those that may start ahead."""
        yield
        if self._routes_output:
            self._session.runs.router.watch()
        self.prefetch.after_setup(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach metadata and results; turn a failed run into a missed one where gates decide."""
        report = yield
        if call.when == "call" and report.failed and (simulated := item.stash.get(SIMULATED, None)):
            report.sections.append(("agentbench conversation", self._conversation(simulated[-1])))
        redact = self._session.secrets.text if self._session.secrets else str
        make_sendable(report, redact)
        if call.when == "call" and report.failed and takes_attachments(self._config):
            attach_conversation(self._config, report, sendable(self._whole(item, call), redact))
        if call.when == "setup" and is_scenario(item):
            attach(report, self._meta(item), as_text=self._as_text)
        elif call.when == "setup" and "agentbench" in getattr(item, "fixturenames", ()):
            attach(report, Meta(run=planned_test(item)), as_text=self._as_text)
        if call.when == "call":
            self._after_call(item, call, report)
        if call.when == "teardown":  # reports of subtests come before the test's own, and must not take these away
            item.stash[SIMULATED] = []
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Whatever ends the loop, nothing is left running."""
        if self._routes_output:
            self._session.runs.router.watch()
        guard = ProcessGuard()
        try:
            return (yield)
        finally:
            self.changed = guard.mend()
            self._session.runs.close()

    def _meta(self, item: ScenarioItem) -> Meta:
        """Give what the controller must know of a run before it starts, and of its suite when it is the first."""
        found = item.suite.collected
        is_known = found.key in self._suites_told
        self._suites_told.add(found.key)
        held = self._session.collected.runs.get(item.planned.name) if is_known and not item.is_left_out else None
        if held is not None and held.position == item.position:
            return held
        return Meta(
            run=item.planned,
            position=item.position,
            suite=None if is_known else found,
            is_left_out=item.is_left_out,
        )

    def _conversation(self, simulated: Simulation) -> str:
        """Show what was said in the last conversation of a test that failed, and where all of it stands."""
        return conversation_text(
            simulated.result,
            simulated.transcript,
            verbose=self._config.get_verbosity() > 0,
            transcript_path=path_shown(self._config, self._session, simulated.result),
        )

    def _whole(self, item: pytest.Item, call: pytest.CallInfo[None]) -> str:
        """Show the whole conversation of a failed run, or the last one of a failed test; "" where there is none."""
        simulated, failure = item.stash.get(SIMULATED, None), call.excinfo.value if call.excinfo else None
        if simulated:
            return conversation_text(simulated[-1].result, simulated[-1].transcript, verbose=True)
        if isinstance(failure, ScenarioFailed) and failure.transcript and is_scenario(item):
            return conversation_text(item.results[-1], failure.transcript, verbose=True)
        return ""

    def _after_call(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        if simulated := item.stash.get(SIMULATED, None):
            attach(report, [by_outcome(one.result, report) for one in simulated], as_text=self._as_text)
        if not is_scenario(item):
            return
        report.__dict__["agentbench_stopped"] = item.was_unneeded
        if not item.results:
            return
        results, item.results = item.results, ()
        attach(report, results, as_text=self._as_text)
        self._show(item, results[-1], report)
        if call.excinfo is None or not isinstance(call.excinfo.value, ScenarioFailed):
            return
        if report.outcome == "failed" and (results[-1].set_aside or item.suite.collected.gated):
            mark_missed(report, str(call.excinfo.value).splitlines()[0], aside=aside_text(results[-1]))
            if not self._as_text:  # a worker's is sent, and wrapped by nobody
                report.__dict__["wasxfail"] = compat.unwrapped(report.__dict__["wasxfail"])

    def _show(self, item: ScenarioItem, result: Result, report: pytest.TestReport) -> None:
        """Give a report what pytest's own writers show of a run: its time, properties for JUnit, what it left open."""
        report.duration = max(report.duration, result.seconds)
        item.user_properties[:] = [pair for pair in item.user_properties if not pair[0].startswith("agentbench.")]
        standing = item.suite.collected.record.auditor
        item.user_properties.extend(junit_properties(result, standing))
        if result.transcript and self._session.store.path:
            file = os.path.relpath(self._session.store.path / result.transcript, self._config.rootpath)
            item.user_properties.append(("agentbench.transcript", Path(file).as_posix()))
        if result.set_aside:
            report.__dict__["agentbench_aside"] = aside_text(result)
        if report.outcome == "passed":
            report.__dict__["agentbench_open"] = len(result.unmeasured)
            report.__dict__["agentbench_noted"] = marked(result, standing) or (NOTHING if result.asks_nothing else "")
        elif not result.decided and result.blame is not None:
            report.__dict__["agentbench_noted"] = f"{NOT_SCORED}: blame {result.blame}"


def by_outcome(result: Result, report: pytest.TestReport) -> Result:
    """Give a simulation of the user's own test the verdict of that test: its assertions are the checks."""
    if result.verdict is Verdict.ERROR or report.skipped:
        return result
    own = {"rests_on_auditor": False}
    if report.passed:
        asked = max(result.asked, 1)  # what the test itself asserts
        passed = {"verdict": Verdict.PASSED, "blame": None, "also": (), "asked": asked}
        return result.model_copy(update={**passed, **own})
    why = reason_of(report).removeprefix("AssertionError: ")
    asserted = Finding(check="assertion", kind="check", passed=False, message=why)
    findings = (*result.findings, asserted)
    return result.model_copy(update={"verdict": Verdict.FAILED, "blame": Blame.AGENT, "findings": findings, **own})


def reason_of(report: pytest.TestReport) -> str:
    """Give the one line that says why a test broke."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", "") or report.longreprtext or report.when).strip()
    return shorten(printable(text.splitlines()[0] if text else "failed"), 200)


_NAME = "conversation"
"""What an attachment is called."""


def takes_attachments(config: pytest.Config) -> bool:
    """Whether the session writes a report that takes attachments."""
    return _writes_html(config) or _writes_allure(config)


def attach_conversation(config: pytest.Config, report: pytest.TestReport, text: str) -> None:
    """Attach a conversation that is not empty by the public functions of the plugins that are at work."""
    if text and _writes_html(config):
        from pytest_html import extras  # noqa: PLC0415 - only where it is installed

        # plain dictionaries, which xdist sends; pytest-html looks for them under this name
        report.__dict__["extras"] = [*getattr(report, "extras", ()), extras.text(text, _NAME)]
    if text and _writes_allure(config):
        import allure  # noqa: PLC0415 - only where it is installed

        allure.attach(text, _NAME, allure.attachment_type.TEXT)


def _writes_html(config: pytest.Config) -> bool:
    return config.pluginmanager.hasplugin("html") and bool(config.getoption("htmlpath", None))


def _writes_allure(config: pytest.Config) -> bool:
    return config.pluginmanager.hasplugin("allure_listener")
