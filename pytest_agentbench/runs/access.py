"""What the runs of a process share to reach models: connections, cassettes, the ledger of budgets, the proxy."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.agents.http.app import Apps
from pytest_agentbench.core.errors import AgentBenchError, NotRunError, ResultsError, SendError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.model import Price, Usage
from pytest_agentbench.core.proxies import exempt_loopback
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.core.termination import Limits
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.protocols import Budget, Caller, Reservation
from pytest_agentbench.runs.cassettes import Recordings

if TYPE_CHECKING:
    from pytest_agentbench.agents.http.connections import HttpConnections
    from pytest_agentbench.llm.capabilities import Paused
    from pytest_agentbench.llm.ledger import Ledger
    from pytest_agentbench.llm.models import Models
    from pytest_agentbench.llm.proxy.server import Proxy

_FREE = Reservation(id=-1, cost_usd=None)


class Budgets(Budget):
    """The session's ledger, asked only about runs that a budget bounds: every question takes a write to its file.

    A ledger that cannot be used makes a run that could not take place: no party of it is to blame.
    """

    def __init__(self, ledger: "Callable[[], Ledger]", *, session: bool) -> None:
        self._get = ledger
        self._session = session
        self._bounded: set[RunKey] = set()

    def begin(self, run: RunKey, limits: Limits) -> None:
        """Set the budgets of a run as it starts."""
        if limits.cost_usd is not None or limits.model_calls is not None:
            self._bounded.add(run)
            with self._ledger() as ledger:
                ledger.begin(run, cost_usd=limits.cost_usd, calls=limits.model_calls)

    @property
    def refused(self) -> str | None:
        """Why no further call of the session passes, or None."""
        if not self._session:
            return None
        with self._ledger() as ledger:
            return ledger.spent().refused

    def bounds(self, caller: Caller) -> bool:
        """Whether a budget of the session or of the caller's run is set."""
        return self._session or (bool(self._bounded) and caller.run in self._bounded)

    def reserve(self, caller: Caller, cost_usd: float | None) -> Reservation:
        """Set aside one call and its worst case; raise `BudgetSpentError` where a budget does not hold it."""
        if not self.bounds(caller):
            return _FREE
        with self._ledger() as ledger:
            return ledger.reserve(caller, cost_usd)

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        """Replace what was set aside by what it cost."""
        if reservation is not _FREE:
            with self._ledger() as ledger:
                ledger.settle(reservation, cost_usd)

    def release(self, reservation: Reservation) -> None:
        """Give back what was set aside for a call that was never answered."""
        if reservation is not _FREE:
            with self._ledger() as ledger:
                ledger.release(reservation)

    @contextlib.contextmanager
    def _ledger(self) -> "Iterator[Ledger]":
        try:
            yield self._get()
        except ResultsError as error:
            raise NotRunError(str(error)) from error


class SessionModels:
    """Gives the roles of runs their models; nothing is opened before it is needed. Belongs to one event loop."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        recordings: Recordings,
        budgets: Budgets,
        share: float = 1.0,
        judges: bool = True,
        apps: Apps | None = None,
    ) -> None:
        """Begin with nothing open; `judges` False asks no judge anything.

        `apps` are those that agents of this process are behind; None means its own, which close with it.
        """
        self._apps = apps or Apps()
        self._owns_apps = apps is None
        self.judges = judges
        self.recordings = recordings
        self.budgets = budgets
        self._environ = environ
        self._share = share
        self._models: Models | None = None
        self._http: HttpConnections | None = None
        self._proxy: Proxy | None = None
        self._starting = asyncio.Lock()

    @property
    def models(self) -> "Models":
        """The models of roles."""
        if self._models is None:
            from pytest_agentbench.llm.chat import Ways  # noqa: PLC0415 - few suites have a role that a model plays
            from pytest_agentbench.llm.models import Models  # noqa: PLC0415 - the same

            ways = Ways(budget=self.budgets)
            self._models = Models(environ=self._environ, ways=ways, recorder_of=self.recordings.of, share=self._share)
        return self._models

    @property
    def http(self) -> "HttpConnections":
        """The connections to agents behind HTTP."""
        if self._http is None:
            from pytest_agentbench.agents.http.connections import HttpConnections  # noqa: PLC0415 - imports httpx2

            self._http = HttpConnections(self._apps)
        return self._http

    async def proxied(
        self, caller: Caller, *, upstream: str, price: Price | None, paused: "Paused" = nullcontext
    ) -> str:
        """Give the base URL through which the model calls of a run's own agent are seen, recorded and budgeted."""
        async with self._starting:
            if self._proxy is None:
                from pytest_agentbench.llm.proxy.server import Proxy  # noqa: PLC0415 - imports aiohttp

                replaying = self.recordings.mode is Mode.REPLAY
                proxy = Proxy(budget=self.budgets, replaying=replaying, environ=self._environ)
                await proxy.start()
                exempt_loopback()  # the agent's own client asks it, and reads the environment by itself
                self._proxy = proxy  # one that could not start is tried again by the next run
        recorder = self.recordings.of(caller)
        replaying = self.recordings.mode is Mode.REPLAY
        return self._proxy.url(caller, upstream, price=price, recorder=recorder, replaying=replaying, paused=paused)

    def unanswered(self, run: RunKey) -> float:
        """Give the seconds for which a call of a run's own agent has been waiting for its model server; 0 without."""
        return 0.0 if self._proxy is None else self._proxy.unanswered(run)

    def left(self, run: RunKey) -> tuple[Usage, tuple[AgentBenchError, ...], SendError | None]:
        """End what a run's own agent has in flight; give what it took, what decides the run, and what failed last."""
        if self._proxy is None:
            return Usage(), (), None
        self._proxy.closed(run)
        return self._proxy.usage(run), self._proxy.faults(run), self._proxy.failure(run)

    async def close(self) -> None:
        """Close everything; closing twice is fine."""
        if self._proxy is not None:
            await self._proxy.stop()
        if self._http is not None:
            await self._http.close()
        if self._owns_apps:
            await asyncio.to_thread(self._apps.close)
        if self._models is not None:
            await self._models.close()


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

    def ledger(self) -> "Ledger":
        """Give the session's ledger, which lies in the folder."""
        if self._ledger is None:
            from pytest_agentbench.llm.ledger import Ledger  # noqa: PLC0415 - only sessions with a budget need it

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
