"""What a session may spend and where it records: suites that do not fit are refused before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_agentbench.api.suite_loader import refusals
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.results.document import read
from pytest_agentbench.runs.access import CASSETTES
from pytest_agentbench.runs.cassettes import merge_all


def check_models(suites: Iterable[Suite], options: Options) -> None:
    """Refuse a suite whose models the session's budgets cannot bound, or that needs a judge which is not there."""
    for suite in suites:
        cost, calls = options.max_cost, options.max_calls
        if wrong := list(refusals(suite, judge=options.judge, max_cost=cost, max_calls=calls)):
            raise pytest.UsageError("\n".join(wrong))


def check_cassettes(suites: Iterable[Suite]) -> None:
    """Refuse one cassette of two suites: recordings do not name the suite that they are of."""
    from pytest_agentbench.llm.cassette.file import cassette_path  # noqa: PLC0415 - few sessions record or replay

    owners: dict[Path, Path] = {}
    for suite in suites:
        cassette = cassette_path(suite.path, suite.cassette.file).resolve()
        other = owners.setdefault(cassette, suite.path)
        if other != suite.path:
            raise pytest.UsageError(
                f"{other} and {suite.path} both record into {cassette}; give one of them a cassette of its own "
                "(`cassette: {file: …}`)"
            )


def merge_cassettes(run_path: Path) -> tuple[list[str], list[str]]:
    """Bring what all processes recorded into the cassettes; give what is worth telling and what went wrong."""
    told: list[str] = []
    wrong: list[str] = []
    for cassette, merged in merge_all(run_path / CASSETTES):
        if isinstance(merged, str):
            kept = f"what was recorded stays in {run_path / CASSETTES}"
            wrong.append(f"cassette {cassette.name} could not be written: {merged}; {kept}")
        elif merged.written:
            told.append(f"cassette {cassette.name}: {merged.recorded} recorded, {merged.dropped} dropped")
    return told, wrong


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
