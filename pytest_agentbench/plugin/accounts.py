"""What a process records of model calls and what it may spend: cassettes and the session's ledger, from the options."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from pytest_agentbench.agents.http.app import Apps
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.providers import PROVIDERS
from pytest_agentbench.core.secret_keys import keyed
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.core.variants import vary_chat
from pytest_agentbench.llm.cassette.file import cassette_path
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.llm.prices import check_priced
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.results.document import read
from pytest_agentbench.runs.access import Budgets, SessionModels
from pytest_agentbench.runs.recordings import Recordings, merge_all

_LEDGER = "ledger.sqlite"
_CASSETTES = "cassettes"

_KEY_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_KEY_LIKE = re.compile(r"(?=[^\s]*\d)[^\s/]{12,}")
"""Long, with a digit and without spaces or slashes: no word, path or switch that happens to have such a name."""

_SHORTEST = 6


class Accounts:
    """The recordings and the ledger of one process; nothing is opened before a run needs it."""

    def __init__(
        self,
        options: Options,
        *,
        process: str,
        run_path: Callable[[], Path],
        redact: Callable[[JsonValue], JsonValue],
        starts: bool = False,
        account: str = "",
    ) -> None:
        """Keep the accounts of `process`; one that `starts` sets the budgets when it opens the ledger.

        All processes of a host share one ledger, unless an `account` of its own is named.
        """
        self._file = f"ledger-{ascii_slug(account)}.sqlite" if account else _LEDGER
        self._starts = starts
        self._options = options
        self._process = process
        self._run_path = run_path
        self._ledger: Ledger | None = None
        self._has_budget = options.max_cost is not None or options.max_calls is not None
        mode = Mode(options.cassette)
        self.recordings = Recordings(mode, folder=self._shards, process=process, redact=redact)
        self._apps = Apps()
        self._budgets = Budgets(self.ledger, session=self._has_budget)

    def _shards(self) -> Path:
        return self._run_path() / _CASSETTES

    def models(self) -> SessionModels:
        """Give the running loop's way to models."""
        share = 1 / self._options.workers
        return SessionModels(
            environ=os.environ,
            recordings=self.recordings,
            budgets=self._budgets,
            share=share,
            judges=self._options.judge,
            apps=self._apps,
        )

    def ledger(self) -> Ledger:
        """Give the session's ledger, which lies in the run directory."""
        if self._ledger is None:
            self._ledger = Ledger(self._run_path() / self._file, process=self._process)
            if self._starts:
                self._ledger.start(cost_usd=self._options.max_cost, calls=self._options.max_calls)
        return self._ledger

    def start(self) -> None:
        """Set the session's budgets, before any run begins anywhere."""
        if self._has_budget:
            self.ledger()

    def forget(self, process: str) -> None:
        """Charge what a process that died had in flight."""
        if self._has_budget:
            self.ledger().forget(process)

    def close(self) -> None:
        """Close what this process writes; closing twice is fine."""
        self._apps.close()
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
        calls = calls or all(scenario.limits.model_calls is not None for scenario in suite.scenarios)
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
    """Refuse a suite that needs a judge and names none, or one without the figures that it asks for.

    Not where the session is to go without judges.
    """
    for suite in suites:
        rubrics = (suite.rubric, *(scenario.rubric for scenario in suite.scenarios))
        judged = [one.id for rubric in rubrics if rubric is not None for one in rubric.judged]
        if judged and suite.judge is None and options.judge:
            raise pytest.UsageError(
                f"{suite.path}: the criterion {judged[0]!r} needs a judge; add `judge: {{llm: {{model: …}}}}`, or "
                "leave such criteria unmeasured with --agentbench-no-judge"
            )
        if judged and options.judge and suite.judge is not None and suite.judge.calibration is not None:
            from pytest_agentbench.results.standing import objections  # noqa: PLC0415 - where it is asked for

            if wrong := objections(suite):
                raise pytest.UsageError("\n".join(wrong))


def merge_cassettes(run_path: Path) -> tuple[list[str], list[str]]:
    """Bring what all processes recorded into the cassettes; give what is worth telling and what went wrong."""
    told: list[str] = []
    wrong: list[str] = []
    for cassette, merged in merge_all(run_path / _CASSETTES):
        if isinstance(merged, str):
            kept = f"what was recorded stays in {run_path / _CASSETTES}"
            wrong.append(f"cassette {cassette.name} could not be written: {merged}; {kept}")
        elif merged.written:
            told.append(f"cassette {cassette.name}: {merged.recorded} recorded, {merged.dropped} dropped")
    return told, wrong


def secrets_of(suite: Suite) -> set[str]:
    """Give the secrets that a suite holds or reaches: see the terms of the sum.

    An agent of the user's has keys of its own in the environment, which a server's error may quote.
    """
    remote = [part.remote for part in suite.environment.providers if part.remote]
    sent = [{**getattr(one, "headers", {}), **getattr(one, "env", {})} for one in (suite.agent.http, *remote) if one]
    held = set(keyed([suite.context, *(scenario.context for scenario in suite.scenarios), *sent]))
    of_providers = [name for row in PROVIDERS.values() if row.needs_key for name in row.keys]
    of_roles = [name for spec in specs_of(suite) for name in spec.key_variables]
    named = {os.environ.get(name, "") for name in (*of_providers, *of_roles)}
    given = {value for spec in specs_of(suite) for value in (spec.api_key, *spec.headers.values())}
    lying = {value for name, value in os.environ.items() if _KEY_NAME.search(name) and _KEY_LIKE.fullmatch(value)}
    return {secret for secret in named | given | lying if len(secret) >= _SHORTEST} | held


def spelled_in(suite: Suite) -> set[str]:
    """Give what the scenarios themselves spell under names of secrets, such as the PIN that a user is to say."""
    called = [
        call.arguments
        for scenario in suite.scenarios
        for calls in (scenario.expected_calls, *scenario.expect_any, scenario.never)
        for call in calls
    ]
    return set(keyed([*called, *(scenario.knows for scenario in suite.scenarios)])) - set(suite.secrets)


def last_costs(directory: Path) -> dict[str, float]:
    """Give what a run of each suite cost on average in the last results, in US dollars, where all was priced."""
    try:
        last = read(directory / "results.json")
    except ResultsError:
        return {}
    taken: dict[str, list[float]] = {}
    for result in last.results:
        usage = sum(result.usage.values(), Usage())
        if usage.calls and not usage.unpriced:
            taken.setdefault(result.key.suite, []).append(usage.cost_usd)
    return {suite: sum(costs) / len(costs) for suite, costs in taken.items()}
