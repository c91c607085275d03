"""The history of sessions: a line per session of what each suite and variant came to, for a trend.

The file is only ever added to, and lines name their session, so that files of several machines may simply be joined.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.files import LineLog, read_lines
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.numbers import COST, value_of
from pytest_agentbench.results.trials import grouped

FILE = "history.jsonl"
"""The name of the file, in the folder where sessions are kept."""


class Standing(Model):
    """What the counted runs of a suite came to under one variant.

    `is_whole` tells that all runs of the suite were selected and took place. `cost_usd` is what the agent's models
    took, None where some run does not tell. `failed_gates` are their texts.
    """

    suite: str
    variant: str = ""
    passed: int = Field(default=0, ge=0)
    n: int = Field(default=0, ge=0)
    unscored: int = Field(default=0, ge=0)
    is_whole: bool = False
    cost_usd: float | None = None
    failed_gates: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        """Refuse a count that would make a rate above one."""
        if self.passed > self.n:
            raise ValueError("more runs passed than were counted")
        return self


class Session(Model):
    """A session: its run, when it began (ISO 8601), and how each suite stood."""

    run: str
    created: str
    standings: tuple[Standing, ...] = ()


def session_of(document: Document) -> Session:
    """Give the line of a session."""
    standings = []
    for suite in document.suites:
        runs = [run for run in document.counted.results if run.key.suite == suite.path]
        is_whole = document.complete and suite.selected == suite.total
        for variant, mine in sorted(grouped(runs, lambda run: [run.key.variant]).items()):
            failed = (one for one in document.gates if one.failed and one.suite == suite.path)
            scored = [run for run in mine if run.scored]
            standings.append(
                Standing(
                    suite=suite.path,
                    variant=variant,
                    passed=sum(run.passed for run in scored),
                    n=len(scored),
                    unscored=len(mine) - len(scored),
                    is_whole=is_whole,
                    cost_usd=cost_of(scored),
                    failed_gates=tuple(one.gate for one in failed if one.variant == variant),
                )
            )
    return Session(run=document.run, created=document.created, standings=tuple(standings))


def cost_of(runs: Iterable[Result]) -> float | None:
    """Give what the agent's models took in US dollars, None where some run does not tell, or there is none."""
    values = [value_of(run, COST) for run in runs]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def remember(folder: Path, document: Document) -> None:
    """Add a session to the history kept in `folder`; raise `OSError` where it cannot be written."""
    log = LineLog(folder / FILE)
    try:
        log.append(session_of(document).model_dump())
    finally:
        log.close()


def history(files: Sequence[Path]) -> list[Session]:
    """Join histories, oldest session first, each once; lines that are none of this version's are passed over."""
    found: dict[str, Session] = {}
    for file in files:
        for record in read_lines(file):
            try:
                session = Session.model_validate(record)
            except (ValidationError, RecursionError):
                continue
            found[session.run] = session  # a session that was continued stands there twice: the last line counts
    return sorted(found.values(), key=lambda session: (session.created, session.run))
