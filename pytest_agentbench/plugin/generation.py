"""`--agentbench-generate`: the recipes of the suites to be collected run first, before workers exist."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.run import Asked, generate
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.suites.scenario_files import is_suite_file
from pytest_agentbench.suites.suite_file import load_suite

_WIDTH = 100


class Generating:
    """Runs the recipes once, in the process that also counts; workers read the files."""

    def __init__(self, config: pytest.Config, cassette: Mode) -> None:
        self._config = config
        self._cassette = cassette

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Run every recipe; raise `pytest.UsageError` where one stops, or makes less than was asked for."""
        for path in self._suites():
            self._run(path)

    def _run(self, path: Path) -> None:
        try:
            if load_suite(path, environ=os.environ, generating=True).generate is None:
                return
            asked = Asked(suite=path, cassette=self._cassette)
            outcome = generate(asked, environ=os.environ, told=self._told)
        except AgentBenchError as error:
            raise pytest.UsageError(f"--agentbench-generate: {printable(str(error), newlines=True)}") from None
        for line in outcome.lines:
            self._write(line)
        if not outcome.is_complete:
            raise pytest.UsageError(
                f"--agentbench-generate: {path}: {outcome.accepted} of {outcome.wanted} scenarios were made"
            )

    def _suites(self) -> Iterator[Path]:
        """Give the suite files below what was asked for, as collection will find them."""
        skipped = self._config.getini("norecursedirs")
        seen: set[Path] = set()
        for argument in self._config.args:
            path = Path(self._config.invocation_params.dir, argument.partition("::")[0])
            for file in sorted(_below(path, skipped)):
                if file not in seen:
                    seen.add(file)
                    yield file

    def _told(self, line: str) -> None:
        if self._config.get_verbosity() > 0:
            self._write(f"  {line}")

    def _write(self, line: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(shorten(printable(line), _WIDTH))


def _below(path: Path, skipped: list[str]) -> Iterator[Path]:
    """Give the suite files at or below a path; folders that pytest does not go into are left out."""
    if path.is_file():
        if is_suite_file(path):
            yield path
        return
    for folder, inner, files in os.walk(path):
        inner[:] = sorted(name for name in inner if not any(Path(name).match(pattern) for pattern in skipped))
        yield from (Path(folder, name) for name in files if is_suite_file(Path(name)))
