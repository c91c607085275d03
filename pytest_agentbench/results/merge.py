"""Shards of one session, joined into one document."""

from collections.abc import Iterable, Sequence

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.results.document import Document, SuiteRecord, players_of
from pytest_agentbench.results.store import without_attempt


def merge(documents: Sequence[Document]) -> Document:
    """Join the results of shards of one session; gates are left for the caller to evaluate.

    Raises `ResultsError` when a run stands in two of them, or a suite changed between them, or players differ.
    """
    suites: dict[str, SuiteRecord] = {}
    seen: set[RunKey] = set()
    for document in documents:
        for suite in document.suites:
            before = suites.get(suite.path)
            if before and before.content_hash != suite.content_hash:
                raise ResultsError(f"suite {suite.path!r} changed between the results files; run all shards again")
            selected = suite.selected + (before.selected if before else 0)
            stopped = suite.stopped + (before.stopped if before else 0)
            suites[suite.path] = suite.model_copy(update={"selected": selected, "stopped": stopped})
        for result in document.results:
            run = without_attempt(result.key)
            if run in seen:
                raise ResultsError(f"run {str(run)!r} stands in two of the results files; give each shard once")
            seen.add(run)
    results = tuple(result for document in documents for result in document.results)
    _check_players(results)
    return Document(
        created=max((document.created for document in documents), default=""),
        root=documents[0].root if documents else "",
        versions=documents[0].versions if documents else {},
        seed=documents[0].seed if len({document.seed for document in documents}) == 1 else None,
        seconds=sum(document.seconds for document in documents),
        complete=bool(documents) and all(document.complete for document in documents),
        players=players_of(results),
        suites=tuple(suites[path] for path in sorted(suites)),
        results=results,
        retried=tuple(result for document in documents for result in document.retried),
    )


def _check_players(results: Iterable[Result]) -> None:
    """Refuse one variant of a suite played by several; variants may well have different players."""
    played: dict[tuple[str, str, str], str] = {}
    for result in results:
        for role, player in result.players.items():
            before = played.setdefault((result.key.suite, result.key.variant, role), player)
            if before != player:
                raise ResultsError(
                    f"{result.key.suite}: role {role!r} was played by {before!r} and by {player!r}; "
                    f"results of different players are not joined"
                )
