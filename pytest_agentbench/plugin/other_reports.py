"""What the reports that others write show of a run: properties in JUnit, its conversation in pytest-html and Allure."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.report.auditor import UNCALIBRATED
from pytest_agentbench.report.glyphs import UNICODE
from pytest_agentbench.report.measured import outcome_text, parts_text
from pytest_agentbench.results.standing import AuditorStanding

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


def _apart(result: Result) -> Iterable[tuple[str, str]]:
    """Give what tells a run from first attempts that count."""
    if result.key.attempt > 1:
        yield "agentbench.attempt", str(result.key.attempt)
    if result.pending:
        yield "agentbench.review", "pending"
    if result.quarantine:
        yield "agentbench.quarantine", f"{result.quarantine.owner}, until {result.quarantine.until.isoformat()}"


def junit_properties(result: Result, standing: AuditorStanding | None = None) -> Iterable[tuple[str, str]]:
    """Give the JUnit properties of a run, short strings all; `standing` is how its auditor did on labelled runs."""
    yield "agentbench.verdict", str(result.verdict)
    yield from _apart(result)
    if result.blame:
        yield "agentbench.blame", str(result.blame)
    if result.termination:
        yield "agentbench.termination", str(result.termination)
    if result.complexity is not None:
        yield "agentbench.complexity", str(result.complexity)
    for policy in result.listed_policies:
        yield "agentbench.policy", policy
    for fault in result.also:
        yield "agentbench.also", f"{fault.blame}: {fault.reason}"
    if left := parts_text(result, UNICODE):
        yield "agentbench.outcome", outcome_text(result, UNICODE)
        yield "agentbench.unmeasured", f"{left}: {', '.join(one.part for one in result.unmeasured)}"
    if result.rests_on_auditor:
        yield "agentbench.auditor", "decides" if standing and standing.is_calibrated else UNCALIBRATED
    if result.disputed:
        yield "agentbench.disputed", result.disputed
    for name in ("name_recall", "strict_recall", "measured"):
        if (value := result.metrics.get(name)) is not None:
            yield f"agentbench.{name}", f"{value:.3f}"
