"""What the hooks of one process share: a few parts, each of which says what it is for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Literal

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.isolation import MOST_BYTES
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.plugin.early_stop import EarlyStop
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.plugin.store import RunStore
from pytest_agentbench.plugin.wire import Collected
from pytest_agentbench.results.secrets import Secrets
from pytest_agentbench.runs.accounts import Accounts
from pytest_agentbench.runs.service import RunService, state_size

Role = Literal["single", "controller", "worker"]


@dataclass(kw_only=True, repr=False)
class Session:
    """The parts of a session in one process.

    `store` is the run directory, `runs` plays, `secrets` are taken out of all that is written, `early_stop` knows which
    trials are not needed, `collected` which runs there are, and `variants` which variants the suites of tests declare.
    """

    options: Options
    role: Role
    store: RunStore
    runs: RunService
    secrets: Secrets
    early_stop: EarlyStop
    collected: Collected = field(default_factory=Collected)
    variants: set[str] = field(default_factory=set)
    today: date = field(default_factory=lambda: datetime.now(UTC).date())

    @classmethod
    def of(cls, options: Options, role: Role, store: RunStore) -> Session:
        """Put the parts together; nothing is made on disk and no thread started."""
        secrets = Secrets()
        if role == "controller":  # it reads no suite, and writes what its command was
            secrets.add_environment()
        posting = store.posting

        def accounts(is_first: bool) -> Accounts:
            return Accounts(
                Mode(options.cassette),
                process=store.process,
                folder=lambda: store.directory.path,
                redact=secrets.json,
                max_cost=options.max_cost,
                max_calls=options.max_calls,
                share=1 / options.workers,
                judges=options.judge,
                starts=is_first and (role != "worker" or store.is_elsewhere),
                account=posting.account if posting else "",
            )

        def keeps_transcript(result: Result) -> bool:
            return options.transcripts == "all" or (options.transcripts == "failed" and not result.passed)

        runs = RunService(
            concurrency=options.concurrency,
            open_keeper=lambda: store.writer(secrets),
            open_accounts=accounts,
            redact=secrets.text,
            locks=options.directory / "locks",
            reaches_all=lambda: store.is_shared,
            workers=options.workers,
            seed=options.seed,
            replays=options.cassette == "replay",
            eager_tail=not options.stops_early,
            keeps_transcript=keeps_transcript,
        )
        early_stop = EarlyStop(store.finished)
        return cls(options=options, role=role, store=store, runs=runs, secrets=secrets, early_stop=early_stop)

    @property
    def in_flight(self) -> int | None:
        """The runs in flight here, None where workers play them."""
        return None if self.role == "controller" else self.runs.in_flight


SESSION = pytest.StashKey[Session]()
"""The session, on pytest's config."""


def bound_by_states(suite: Suite, options: Options, runs: int) -> str:
    """Say how many runs fit into memory at once where that is fewer than there might be; else nothing."""
    size = state_size(suite)
    most = max(MOST_BYTES // options.workers // size, 1) if size else runs
    if most >= min(runs, options.concurrency + options.concurrency // 4):
        return ""
    where = " in each process" if options.workers > 1 else ""
    return f"a run's state takes about {size / 1e6:,.0f} MB: at most {most} runs at once{where}"
