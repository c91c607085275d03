"""The results document of a session: put together from the tally and written where it is wanted."""

from __future__ import annotations

import contextlib
import platform
from collections import Counter
from collections.abc import Generator, Iterable
from importlib.metadata import version
from pathlib import Path
from time import monotonic

import pytest

from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.run import Result
from pytest_agentbench.plugin.accounts import merge_cassettes
from pytest_agentbench.plugin.baseline import save_baseline
from pytest_agentbench.plugin.pages import write_pages
from pytest_agentbench.plugin.session import Session
from pytest_agentbench.plugin.tally import NOT_BEGUN, Tally
from pytest_agentbench.results.document import Document, players_of, text_of
from pytest_agentbench.results.history import remember
from pytest_agentbench.suites.seen_writes import note_seen


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
            text = text_of(document)
            for path in self._targets():
                try:
                    write_atomic(path, text)
                except OSError as error:
                    self.problems.append(f"results could not be written to {path}: {error.strerror or error}")
            self._remember(document)
            told, wrong = save_baseline(options, document, text)
            self.told, self.problems = [*self.told, *told], [*self.problems, *wrong]
            self.problems += write_pages(self._session, document, self._config.rootpath, self._tally.baseline)
            was_cut = any(result.not_run == NOT_BEGUN for result in document.results)
            if was_cut and session.exitstatus == pytest.ExitCode.OK:  # as where a worker broke (xdist)
                self.problems.append("the session ended before all of its runs did, and nothing says why")
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
                    self.told.append(f"{key}: {listing(new)} changed the state; from now on known to write")

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
