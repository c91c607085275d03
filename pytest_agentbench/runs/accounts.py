"""What a process records of model calls and what it may spend: the cassettes' shards and the ledger of budgets."""

import os
from collections.abc import Callable
from pathlib import Path

from pytest_agentbench.agents.http.app import Apps
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.runs.access import Budgets, SessionModels
from pytest_agentbench.runs.recordings import Recordings

CASSETTES = "cassettes"
"""The folder of a run directory that holds what was recorded."""

_LEDGER = "ledger.sqlite"


class Accounts:
    """The recordings and the ledger of one process; nothing is opened before a run needs it."""

    def __init__(
        self,
        mode: Mode,
        *,
        process: str,
        folder: Callable[[], Path],
        redact: Callable[[JsonValue], JsonValue],
        max_cost: float | None = None,
        max_calls: int | None = None,
        share: float = 1.0,
        judges: bool = True,
        starts: bool = True,
        account: str = "",
    ) -> None:
        """Keep the accounts of `process` in `folder`; one that `starts` sets the budgets when it opens the ledger.

        All processes of a host share one ledger, unless an `account` of its own is named. `share` is this process's
        part of what providers allow, `judges` whether any may be asked.
        """
        self._file = f"ledger-{ascii_slug(account)}.sqlite" if account else _LEDGER
        self._starts = starts
        self._process = process
        self._folder = folder
        self._max_cost, self._max_calls = max_cost, max_calls
        self._share, self._judges = share, judges
        self._ledger: Ledger | None = None
        self._has_budget = max_cost is not None or max_calls is not None
        self.recordings = Recordings(mode, folder=lambda: folder() / CASSETTES, process=process, redact=redact)
        self._apps = Apps()
        self._budgets = Budgets(self.ledger, session=self._has_budget)

    def models(self) -> SessionModels:
        """Give the running loop's way to models."""
        return SessionModels(
            environ=os.environ,
            recordings=self.recordings,
            budgets=self._budgets,
            share=self._share,
            judges=self._judges,
            apps=self._apps,
        )

    def ledger(self) -> Ledger:
        """Give the session's ledger, which lies in the folder."""
        if self._ledger is None:
            self._ledger = Ledger(self._folder() / self._file, process=self._process)
            if self._starts:
                self._ledger.start(cost_usd=self._max_cost, calls=self._max_calls)
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
