"""What a session writes: its results file, the page, Markdown and annotations, beside a baseline."""

from __future__ import annotations

import contextlib
import os
import platform
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from time import monotonic

import pytest

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import copy_atomic, write_atomic
from pytest_agentbench.core.gate_grammar import parse_gate
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.run import Result
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.accounts import merge_cassettes
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.plugin.run_store import Session
from pytest_agentbench.plugin.tally import NOT_BEGUN, Tally
from pytest_agentbench.report.annotations import github_annotations, in_repository
from pytest_agentbench.report.comparison import against_baseline, is_partial
from pytest_agentbench.report.markdown import conversations_before
from pytest_agentbench.report.table import Line, glyphs
from pytest_agentbench.results.document import Document, players_of, read, remember, write
from pytest_agentbench.results.run_directory import Transcripts
from pytest_agentbench.suites.seen_writes import note_seen


def write_pages(session: Session, document: Document, root: Path, baseline: Document | None) -> Iterator[str]:
    """Write what `--agentbench-html` and `--agentbench-markdown` ask for; yield what went wrong.

    With a `baseline` both say what changed since.

    The file that `GITHUB_STEP_SUMMARY` names is added to, since other commands of the step write there too.
    """
    options, folder = session.options, session.store.path
    html, markdown = options.html, options.markdown
    if html is not None:
        from pytest_agentbench.report.html.page import Reading, html_report  # noqa: PLC0415 - loads only when asked for

        def path(result: Result) -> str:
            file = folder / result.transcript if folder else Path(result.transcript)
            return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()

        found = Transcripts(default=[folder] if folder else [])
        before = Transcripts.beside([(options.baseline, baseline)] if options.baseline and baseline else [])
        reading = Reading(transcript=found.read, path=path, baseline=conversations_before(baseline, before), root=root)
        yield from _written(html, "the HTML report", html_report(document, reading, baseline=baseline))
    if markdown is not None:
        from pytest_agentbench.report.markdown import markdown_report  # noqa: PLC0415 - same

        text = _text(markdown) if str(markdown) == os.environ.get("GITHUB_STEP_SUMMARY") else ""
        yield from _written(markdown, "the Markdown report", text + markdown_report(document, baseline=baseline))


def annotation_lines(document: Document, root: Path, environ: Mapping[str, str]) -> list[str]:
    """Give the lines that GitHub reads off the log; none anywhere else."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    workspace = environ.get("GITHUB_WORKSPACE") or str(root)
    return github_annotations(document, place=in_repository(root.as_posix(), Path(workspace).as_posix()))


def _written(path: Path, what: str, text: str) -> Iterator[str]:
    try:
        write_atomic(path, text)
    except OSError as error:
        yield f"{what} could not be written to {path}: {error.strerror or error}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_baseline(path: Path | None) -> Document | None:
    """Read the baseline asked for; raise `pytest.UsageError` where it cannot be read, before anything runs."""
    if path is None:
        return None
    try:
        return read(path)
    except ResultsError as error:
        hint = "keep one with --agentbench-save-baseline FILE"
        raise pytest.UsageError(f"--agentbench-baseline: {error} ({hint})") from None


def can_decide(gates: Iterable[str], options: Options) -> bool:
    """Whether a gate that a suite itself has can be decided.

    A factor of a baseline needs one, and a session that is to be the first baseline has nothing to regress from.
    """
    mine = [parse_gate(gate) for gate in gates]
    if options.is_first_baseline:
        mine = [gate for gate in mine if gate.kind != "loss"]
    return any(options.baseline is not None or not gate.is_relative for gate in mine)


def save_baseline(options: Options, document: Document) -> tuple[list[str], list[str]]:
    """Keep the results where asked for; give what is worth telling and what went wrong.

    Results that are not whole are not kept, since scenarios that they lack would never be compared.
    """
    if options.save_baseline is None:
        return [], []
    path = options.save_baseline
    if not document.complete:
        return [], [f"baseline not written to {path}: not every run finished"]
    if is_partial(document):
        return [], [f"baseline not written to {path}: only a part of the runs was selected"]
    try:
        write(document, path)
    except OSError as error:
        return [], [f"baseline could not be written to {path}: {error.strerror or error}"]
    return [f"baseline: {path}"], []


def comparison_with(
    baseline: Document | None,
    document: Document,
    options: Options,
    config: pytest.Config,
    reporter: pytest.TerminalReporter,
) -> list[Line]:
    """Give the lines that compare a session with its baseline, if it has one."""
    if baseline is None or options.baseline is None:
        return []
    return against_baseline(
        baseline,
        document,
        options.baseline.name,
        glyphs(unicode=compat.shows_unicode(config)),
        width=compat.report_width(config, reporter),
        verbose=config.get_verbosity() > 0,
    )


class Writing:
    """Writes the results at the end of the session, before anybody reports them."""

    def __init__(self, session: Session, tally: Tally, config: pytest.Config) -> None:
        self._session = session
        self._tally = tally
        self._config = config
        self.problems: list[str] = []
        self.told: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Write what there is; a place that cannot be written costs its file and exit status 0, not the report."""
        store, options = self._session.store, self._session.options
        if store.path and not options.collect_only:
            told, wrong = merge_cassettes(store.path)
            self.told = store.told + told
            self.problems += wrong
        if (self._tally.metas or self._tally.simulated) and not options.collect_only:
            self._tally.document = document = self._document()
            self._note_seen(document)
            written: Path | None = None
            for path in self._targets():
                try:
                    if written is None:
                        write(document, path)
                    else:
                        copy_atomic(written, path)
                    written = written or path  # the first is the run's own: others may write to the next ones
                except OSError as error:
                    self.problems.append(f"results could not be written to {path}: {error.strerror or error}")
            self._remember(document)
            told, wrong = save_baseline(options, document)
            self.told, self.problems = [*self.told, *told], [*self.problems, *wrong]
            self.problems += write_pages(self._session, document, self._config.rootpath, self._tally.baseline)
            was_cut = any(result.not_run == NOT_BEGUN for result in document.results)
            if was_cut and session.exitstatus == pytest.ExitCode.OK:  # as where a worker broke (xdist)
                self.problems.append("the session ended before all of its runs, for an unknown reason")
        if self.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def _note_seen(self, document: Document) -> None:
        """Remember which tools of unknown kind were seen to write; a folder that cannot be written keeps nothing."""
        for key in dict.fromkeys(result.key.suite for result in document.results if result.seen_writes):
            suite = self._config.rootpath / key
            names = [name for result in document.results if result.key.suite == key for name in result.seen_writes]
            with contextlib.suppress(OSError):
                if suite.is_file() and (new := note_seen(suite, names)):
                    self.told.append(f"{key}: {listing(new)} changed the state, and counts as a write from now on")

    def _remember(self, document: Document) -> None:
        """Add the session to the history; a folder that cannot be written is told, and fails nobody."""
        if self._session.store.path is None:
            return
        try:
            remember(self._session.options.directory, document)
        except OSError as error:
            self.told.append(f"the history of sessions could not be written: {error.strerror or error}")

    def _document(self) -> Document:
        results = tuple(self._results())
        redact, store, options = self._session.secrets.text, self._session.store, self._session.options
        metas = self._tally.metas
        stopped = Counter(metas[name].run.key.suite for name in self._tally.stopped)
        return Document(
            created=self._tally.created.isoformat(),
            run=store.path.name if store.path else "",
            root=str(self._config.rootpath),
            command=tuple(redact(str(argument)) for argument in self._config.invocation_params.args),
            versions={
                "pytest-agentbench": version("pytest-agentbench"),
                "pytest": pytest.__version__,
                "python": platform.python_version(),
            },
            seed=options.seed if any(_is_random(result) for result in results) else None,
            seconds=monotonic() - self._tally.began,
            cassette=options.cassette,
            complete=self._tally.loop_ended and all(result.not_run is None for result in results),
            players=players_of(results),
            suites=tuple(
                suite.record.model_copy(update={"stopped": stopped[key]})
                for key, suite in sorted(self._tally.suites.items())
            ),
            gates=self._tally.verdicts,
            results=results,
            retried=tuple(self._tally.retried),
        )

    def _results(self) -> Iterable[Result]:
        """Give every run that counts, in the order of the suite files, then the simulations of tests."""
        tally = self._tally
        counted = [meta for name, meta in tally.metas.items() if name not in tally.left_out]
        for meta in sorted(counted, key=lambda meta: (meta.run.key.suite, meta.position or 0)):
            name = meta.run.name
            yield tally.results.get(name) or Result.of_not_run(meta.run, tally.broken.get(name, NOT_BEGUN))
        for nodeid in sorted(tally.simulated):
            yield from tally.simulated[nodeid]

    def _targets(self) -> Iterable[Path]:
        store, options = self._session.store, self._session.options
        if store.path:
            yield store.path / "results.json"
            yield options.directory / "results.json"
        if options.json:
            yield options.json


def _is_random(result: Result) -> bool:
    """Whether anything in a run was chosen by the seed."""
    return any(player.startswith("llm:") for player in result.players.values())
