"""What the terminal shows of a session beyond pytest's own lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.checks.verdict import TOOL_SLIPS
from pytest_agentbench.core.names import count
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.text_similarity import similar
from pytest_agentbench.environment.kinds import guesses_told
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.collection import Collecting
from pytest_agentbench.plugin.exit_status import MISSED
from pytest_agentbench.plugin.items import from_here
from pytest_agentbench.plugin.output_files import Writing, annotation_lines, comparison_with
from pytest_agentbench.plugin.prefetch import Prefetch
from pytest_agentbench.plugin.run_store import Session
from pytest_agentbench.plugin.shutdown import Ending
from pytest_agentbench.plugin.tally import Tally
from pytest_agentbench.report.sections import IN_QUARANTINE, NOT_SCORED, PENDING
from pytest_agentbench.report.table import glyphs
from pytest_agentbench.report.terminal import terminal_report
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.trials import grouped
from pytest_agentbench.suites.named_tools import never_called

_MARKUP: dict[str, dict[str, bool]] = {
    "good": {"green": True},
    "bad": {"red": True, "bold": True},
    "warn": {"yellow": True},
    "head": {"bold": True},
}


_SEVERAL = 3
"""Scenarios from which one answer to all of them tells something."""


def ascii_only(text: str) -> str:
    """Give `text` for a terminal that shows nothing else."""
    return text.encode("ascii", "backslashreplace").decode("ascii")


class Summary:
    """Hooks that print: one header line, and the report at the end."""

    def __init__(
        self, session: Session, tally: Tally, writing: Writing, prefetch: Prefetch | None, ending: Ending | None
    ) -> None:
        self._ending = ending
        self._session = session
        self._tally = tally
        self._writing = writing
        self._prefetch = prefetch

    def pytest_report_header(self) -> str:
        """Say how many conversations run at a time, and why when it is one."""
        options = self._session.options
        note = f" (one at a time because of {options.concurrency_note})" if options.concurrency_note else ""
        return f"agentbench: concurrency {options.concurrency}{note}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Print the report; where no suite was found, the folders that were searched."""
        if self._session.options.collect_only:
            return
        document = self._tally.document
        if document is None:
            self._print_nothing_found(terminalreporter, config)
            return
        if config.get_verbosity() > 1:
            self._show_missed(terminalreporter)
        run = self._session.store.path
        shown = document.model_copy(update={"results": tuple(from_here(result, config) for result in document.results)})
        lines = terminal_report(
            shown,
            width=compat.report_width(config, terminalreporter),
            verbose=config.get_verbosity() > 0,
            unicode=compat.shows_unicode(config),
            path=_shown(run / "results.json", config) if run else "",
        )
        lines += comparison_with(self._tally.baseline, shown, self._session.options, config, terminalreporter)
        for line in lines:
            terminalreporter.write_line(line.text, **_MARKUP.get(line.style, {}))
        for text, is_headline in report_lines(config.hook, shown):
            plain = glyphs(unicode=compat.shows_unicode(config)).plain(text)
            terminalreporter.write_line(plain, **(_MARKUP["head"] if is_headline else {}))
        for problem in self._writing.problems:
            terminalreporter.write_line(problem, red=True)
        for text in self._ending.told() if self._ending else ():
            terminalreporter.write_line(text, yellow=True)
        for text in (
            *self._writing.told,
            *self._bounds(),
            *self._asked(),
            *self._undescribed(),
            *self._slips(),
            *self._deaf(),
            *_counting(terminalreporter),
        ):
            terminalreporter.write_line(text)
        for reason, number in (self._prefetch.sequential if self._prefetch else {}).items():
            terminalreporter.write_line(f"{count(number, 'run')} one at a time: {reason}")
        if failed := [verdict for verdict in document.gates if verdict.failed]:  # pytest's last line counts them
            terminalreporter.stats["gate failed" if len(failed) == 1 else "gates failed"] = failed
        for text in annotation_lines(document, config.rootpath, os.environ):
            terminalreporter.write_line(text if compat.shows_unicode(config) else ascii_only(text))

    def _show_missed(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show of each missed run what pytest shows of a failed one, since it knows it as skipped."""
        counted = (MISSED, NOT_SCORED, PENDING, IN_QUARANTINE)
        for report in (report for one in counted for report in terminalreporter.stats.get(one, ())):
            if not report.__dict__.get("agentbench_missed"):
                continue
            terminalreporter.write_sep("_", f"{report.nodeid.rpartition('::')[2]} (missed)", yellow=True)
            terminalreporter.write_line(report.longreprtext)

    def _bounds(self) -> list[str]:
        """Say of which suites fewer runs overlap than asked for, since their states are large."""
        return [f"{suite.key}: {suite.states}" for suite in self._tally.suites.values() if suite.states]

    def _asked(self) -> list[str]:
        """Give what workers asked while they collected, where nobody saw it, and what was taken over."""
        suites = self._tally.suites.values() if self._session.role == "controller" else ()
        asked = [f"{suite.key}: {suite.kinds}" for suite in suites if suite.kinds]
        unlabelled = [
            f"{suite.key}: lines of users that do not say what they mean ({suite.unlabelled}); "
            "agentbench validate lists them"
            for suite in suites
            if suite.unlabelled
        ]
        resumed = (
            "resumed: runs that had finished were taken over (the agent's code is not compared), "
            "unfinished runs were played again, each alone"
        )
        return [*asked, *unlabelled, *([resumed] if self._session.options.resume else [])]

    def _deaf(self) -> Iterator[str]:
        """Say of which agents every run of several scenarios heard one answer, and saw no call."""
        runs = [run for run in self._tally.results.values() if run.not_run is None]
        for (suite, variant), mine in grouped(runs, lambda run: [(run.key.suite, run.key.variant)]).items():
            answer = mine[0].sole_answer
            if len({run.key.scenario for run in mine}) < _SEVERAL or not answer:
                continue
            is_one = all(run.sole_answer and similar(answer, run.sole_answer) for run in mine)
            if is_one and not any(run.passed for run in mine):
                named = f" [{variant}]" if variant else ""
                yield (
                    f"{suite}{named}: in all runs ({len(mine)}) the agent said only {printable(answer)!r}, and no call "
                    "of it was seen: is it connected to what answers?"
                )

    def _slips(self) -> Iterator[str]:
        """Name the tools that worked in no run, since their own code failed without meaning to."""
        called: dict[tuple[str, str], int] = {}
        slips: dict[tuple[str, str], list[str]] = {}
        for run in self._tally.results.values():
            for tool in run.called:
                called[run.key.suite, tool] = called.get((run.key.suite, tool), 0) + 1
            for one in run.findings:
                if one.check == TOOL_SLIPS and one.tool is not None:
                    slips.setdefault((run.key.suite, one.tool), []).append(one.message)
        for (suite, tool), messages in slips.items():
            if len(messages) == called.get((suite, tool)):
                yield f"{suite}: {messages[0]}"

    def _undescribed(self) -> Iterator[str]:
        """Say, of tools that nobody describes, what their names were taken to mean, and which ones no run called."""
        for suite in self._tally.suites.values():
            runs = [run for run in self._tally.results.values() if run.key.suite == suite.key]
            called = {name for run in runs for name in run.undescribed}
            if told := guesses_told(called.difference(suite.declared)):
                yield printable(f"{suite.key}: {told}")
            yield from map(printable, never_called(suite.named, called))

    def _print_nothing_found(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        collecting = config.pluginmanager.get_plugin("agentbench-collecting")
        if isinstance(collecting, Collecting) and collecting.suites:
            return
        if terminalreporter.stats.get("error") or self._tally.refused:
            return
        if any(not _is_there(argument, config) for argument in config.args):
            return  # pytest names the file that is not there
        places = ", ".join(str(argument) for argument in config.args) or str(config.rootpath)
        terminalreporter.write_line(
            f"agentbench: no agentbench.yaml or *.agentbench.yaml and no marked test found in {places}", yellow=True
        )


def _is_there(argument: str, config: pytest.Config) -> bool:
    """Whether an argument leads to something: a file or folder, or with `--pyargs` perhaps a package."""
    return bool(config.option.pyargs) or Path(config.invocation_params.dir, argument.partition("::")[0]).exists()


def _shown(path: Path, config: pytest.Config) -> str:
    here = config.invocation_params.dir
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _counting(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    """Say where pytest's last line counts runs by another word than the report."""
    if terminalreporter.stats.get(MISSED):
        yield "pytest's last line counts failed runs of suites whose gates decide as missed"
    if any(report.__dict__.get("agentbench_noted") for report in terminalreporter.stats.get("failed", ())):
        yield "no gate decides, so *failed* in pytest's last line includes runs that were not scored"


def report_lines(hook: Any, document: Document) -> Iterator[tuple[str, bool]]:
    """Yield (line, whether it is a headline) of what others add to the report."""
    for lines in hook.pytest_agentbench_report(document=document):
        for number, line in enumerate(lines or ()):
            yield str(line), number == 0
