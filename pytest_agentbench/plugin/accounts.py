"""What a process records of model calls and what it may spend: cassettes and the session's ledger, from the options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.core.variants import vary_chat
from pytest_agentbench.llm.cassette.file import cassette_path
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.ledger import Ledger, StaticShare
from pytest_agentbench.llm.prices import check_priced
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.runs.access import Budgets, SessionModels
from pytest_agentbench.runs.recordings import Recordings, merge_all

_LEDGER = "ledger.sqlite"
_CASSETTES = "cassettes"


class Accounts:
    """The recordings and the ledger of one process; nothing is opened before a run needs it."""

    def __init__(
        self,
        options: Options,
        *,
        process: str,
        run_path: Callable[[], Path],
        redact: Callable[[JsonValue], JsonValue],
    ) -> None:
        self._options = options
        self._process = process
        self._run_path = run_path
        self._ledger: Ledger | None = None
        self._has_budget = options.max_cost is not None or options.max_calls is not None
        mode = Mode(options.cassette)
        folder = lambda: run_path() / _CASSETTES  # noqa: E731 - a name for what is asked for late
        self.recordings = Recordings(mode, folder=folder, process=process, redact=redact)
        self._budgets = Budgets(self.ledger, session=self._has_budget)

    def models(self) -> SessionModels:
        """Give the running loop's way to models."""
        share = 1 / self._options.workers
        return SessionModels(
            environ=os.environ,
            recordings=self.recordings,
            budgets=self._budgets,
            share=share,
            judges=self._options.judge,
        )

    def ledger(self) -> Ledger:
        """Give the session's ledger; a worker on another host gets its part of the budgets."""
        if self._ledger is None:
            folder = self._run_path()
            if folder.is_dir():
                self._ledger = Ledger(folder / _LEDGER, process=self._process)
            else:
                number = int(self._process.removeprefix("gw") or 0)
                cost, calls = self._options.max_cost, self._options.max_calls
                self._ledger = StaticShare(number, self._options.workers, cost_usd=cost, calls=calls)
        return self._ledger

    def start(self) -> None:
        """Set the session's budgets, before any run begins anywhere."""
        if self._has_budget:
            self.ledger().start(cost_usd=self._options.max_cost, calls=self._options.max_calls)

    def forget(self, process: str) -> None:
        """Charge what a process that died had in flight."""
        if self._has_budget:
            self.ledger().forget(process)

    def close(self) -> None:
        """Close what this process writes; closing twice is fine."""
        self.recordings.close()
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


def check_budgets(suites: Iterable[Suite], options: Options) -> None:
    """Refuse a budget of money that cannot bound a suite's models, since nobody knows what they cost."""
    for suite in suites:
        own = (scenario.limits.cost_usd for scenario in suite.scenarios)
        costs = any(cost is not None for cost in (options.max_cost, suite.limits.cost_usd, *own))
        calls = options.max_calls is not None or suite.limits.model_calls is not None
        specs = list(specs_of(suite))
        if problems := check_priced(specs, has_cost_budget=costs, has_call_budget=calls):
            raise pytest.UsageError(f"{suite.path.name}: {'; '.join(problems)}")


def check_cassettes(suites: Iterable[Suite]) -> None:
    """Refuse one cassette of two suites: recordings do not name the suite that they are of."""
    owners: dict[Path, Path] = {}
    for suite in suites:
        cassette = cassette_path(suite.path, suite.cassette.file).resolve()
        other = owners.setdefault(cassette, suite.path)
        if other != suite.path:
            raise pytest.UsageError(
                f"{other} and {suite.path} both record into {cassette}; give one of them a cassette of its own "
                "(`cassette: {file: …}`)"
            )


def specs_of(suite: Suite) -> Iterator[ModelSpec]:
    """Give the models that the suite names."""
    if suite.user.model is not None:
        yield suite.user.model
    if suite.agent.openai is not None:
        for keywords in suite.variants.values() or ({},):
            yield vary_chat(suite.agent.openai, keywords).model
    if suite.judge is not None:
        yield suite.judge.model


def check_judges(suites: Iterable[Suite], options: Options) -> None:
    """Refuse a suite that needs a judge and names none, unless the session is to go without."""
    for suite in suites:
        rubrics = (suite.rubric, *(scenario.rubric for scenario in suite.scenarios))
        judged = [one.id for rubric in rubrics if rubric is not None for one in rubric.judged]
        if judged and suite.judge is None and options.judge:
            raise pytest.UsageError(
                f"{suite.path}: the criterion {judged[0]!r} needs a judge; add `judge: {{llm: {{model: …}}}}`, or "
                "leave such criteria unmeasured with --agentbench-no-judge"
            )


def merge_cassettes(run_path: Path) -> list[str]:
    """Bring what all processes recorded into the cassettes; give what went wrong or is worth telling, a line each."""
    told: list[str] = []
    try:
        for cassette, merged in merge_all(run_path / _CASSETTES):
            if merged.written:
                told.append(f"cassette {cassette.name}: {merged.recorded} recorded, {merged.dropped} dropped")
    except (AgentBenchError, OSError) as error:
        told.append(f"a cassette could not be written: {error}; what was recorded stays in {run_path / _CASSETTES}")
    return told
