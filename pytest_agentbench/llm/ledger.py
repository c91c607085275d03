"""The ledger: what all processes of a session spend on models, in one SQLite file, and the budgets that bound it.

A call reserves the most it can cost before it is sent and settles what it did cost. The file lies in the run directory
and goes on with it: what a session spent counts when the session is continued. What was in flight when a process died
counts at its worst case, since nobody can tell whether the server billed it.
"""

import contextlib
import math
import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import BudgetSpentError, NotRunError, ResultsError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.protocols import Budget, Caller, Reservation

NANO = 1_000_000_000

_MOST_USD = 9e9
"""The most that fits, in billionths, the 64 bits of a column."""


class Spent(Model):
    """What calls took so far, and what calls in flight hold.

    `unpriced` of the `calls` have no known price: they stand in `cost_usd` at their worst case, or at nothing where
    that is unknown too. `refused` says why the session's budget let nothing more through, None while it does.
    """

    cost_usd: float = 0.0
    calls: int = 0
    unpriced: int = 0
    held_usd: float = 0.0
    in_flight: int = 0
    refused: str | None = None


class Account(NamedTuple):
    """The budgets of a session or of a run (None: none), and what calls took of them. The session's has `refused`."""

    limit_cost: int | None = None
    limit_calls: int | None = None
    refused: str | None = None
    cost: int = 0
    calls: int = 0
    unpriced: int = 0
    held_cost: int = 0
    held_calls: int = 0


def refusal(session: Account, run: Account, cost: int | None) -> NotRunError | None:
    """Say why a call of at most `cost` (None: unknown) does not fit the session and its run, or give None: it does.

    What is spent outweighs what is only held, and the session outweighs the run.
    """
    if session.refused is not None:
        return BudgetSpentError(session.refused, scope="session")
    in_money = session.limit_cost is not None or run.limit_cost is not None
    if cost is None and in_money and session.limit_calls is None and run.limit_calls is None:
        return NotRunError(
            "a budget of money cannot bound a call whose price is unknown: give the model a `price`, or set a budget "
            "of calls too"
        )
    for later in (False, True):
        if found := _over("session", session, cost or 0, later=later) or _over("run", run, cost or 0, later=later):
            return found
    return None


def _over(scope: Literal["run", "session"], account: Account, cost: int, *, later: bool) -> BudgetSpentError | None:
    """Say why an account does not hold a call: for what is spent, or (`later`) for what is held too."""
    spent = account.cost + (account.held_cost if later else 0)
    calls = account.calls + (account.held_calls if later else 0)
    took = "spent or held by calls in flight" if later else "spent"
    if account.limit_calls is not None and calls + 1 > account.limit_calls:
        return BudgetSpentError(
            f"the {scope}'s budget of {count(account.limit_calls, 'model call')} is {took}", scope=scope, later=later
        )
    if account.limit_cost is not None and spent + cost > account.limit_cost:
        return BudgetSpentError(
            f"the {scope}'s budget of {usd(account.limit_cost)} USD does not hold the next call, which may cost "
            f"{usd(cost)} USD: {usd(spent)} USD are {took}",
            scope=scope,
            later=later,
        )
    return None


def nano(cost_usd: float | None) -> int | None:
    """Give whole billionths of a dollar, rounded up but for what floating point added.

    Raise `ValueError` for what is no sum of money that a ledger can hold.
    """
    if cost_usd is None:
        return None
    if not -_MOST_USD <= cost_usd <= _MOST_USD:  # what is not a number is not within either
        raise ValueError(f"{cost_usd!r} USD cannot be accounted for: it must be a number of at most 9 billion")
    return math.ceil(round(cost_usd * NANO, 3))


def usd(amount: int) -> str:
    """Show billionths of a dollar as dollars."""
    return f"{amount / NANO:.6f}".rstrip("0").rstrip(".")


_SESSION = ""
_PATIENCE = 5.0
"""Seconds that a write waits for other processes: the event loop, and with it all runs, wait meanwhile."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS total (
    scope TEXT PRIMARY KEY, limit_cost INTEGER, limit_calls INTEGER, refused TEXT,
    cost INTEGER NOT NULL DEFAULT 0, calls INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0,
    held_cost INTEGER NOT NULL DEFAULT 0, held_calls INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS held (
    id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, process TEXT NOT NULL, pid INTEGER NOT NULL, cost INTEGER
);
INSERT OR IGNORE INTO total (scope) VALUES ('');
"""
_READ = (
    "SELECT limit_cost, limit_calls, refused, cost, calls, unpriced, held_cost, held_calls FROM total WHERE scope = ?"
)


class Ledger:
    """The `Budget` that all processes of a session share; `path` None keeps it in memory, for this process alone.

    Every process opens the file under its own name (`main`, `gw0`, …). Methods may be called from any thread; those
    that write raise `ResultsError` where the file cannot be written.
    """

    def __init__(self, path: Path | None, *, process: str = "main", patience: float = _PATIENCE) -> None:
        """Open the file; a write waits `patience` seconds for those of other processes."""
        self._place = str(path) if path else ":memory:"
        self._owner = (process, os.getpid())
        self._patience = patience
        self._lock = threading.Lock()
        with self._explained():
            self._file = sqlite3.connect(self._place, timeout=patience, isolation_level=None, check_same_thread=False)
            # the log is written without waiting for the disk: a killed process loses nothing, only a power cut may
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.executescript(_SCHEMA)

    def start(self, *, cost_usd: float | None = None, calls: int | None = None) -> None:
        """Set the session's budgets, None for none, before any other process opens the file.

        In a continued run directory what was spent before counts, and a budget that was spent may now hold more.
        """
        with self._writing():
            self._charge("1")
            self._file.execute(
                "UPDATE total SET limit_cost = ?, limit_calls = ?, refused = NULL WHERE scope = ''",
                (nano(cost_usd), calls),
            )

    def begin(self, run: RunKey, *, cost_usd: float | None = None, calls: int | None = None) -> None:
        """Set the budgets of one run, None for none, as it starts; what an earlier run of that key took is its own."""
        with self._writing():
            self._file.execute(
                "INSERT INTO total (scope, limit_cost, limit_calls) VALUES (?, ?, ?) ON CONFLICT (scope) DO UPDATE SET"
                " limit_cost = excluded.limit_cost, limit_calls = excluded.limit_calls,"
                " cost = 0, calls = 0, unpriced = 0",
                (str(run), nano(cost_usd), calls),
            )

    def bounds(self, caller: Caller) -> bool:
        """Whether a call needs its worst case to be known: always, since the ledger holds every call."""
        return True

    def reserve(self, caller: Caller, cost_usd: float | None) -> Reservation:
        """Set aside one call and the most it can cost, None where no price is known.

        Raise `BudgetSpentError` where the session's budget (then nobody's call passes any more) or the run's does not
        hold it, with `later` where only calls in flight are in the way; `NotRunError` where a budget of money alone
        would have to bound a call without a price.
        """
        scope = str(caller.run) if caller.run else _SESSION
        cost = nano(cost_usd)
        with self._writing():
            refused = refusal(self._account(_SESSION), self._account(scope) if scope else Account(), cost)
            if refused is None:
                return Reservation(id=self._hold(scope, cost), cost_usd=cost_usd)
            if isinstance(refused, BudgetSpentError) and refused.later:
                self._charge_the_dead()
            elif isinstance(refused, BudgetSpentError) and refused.scope == "session":
                self._file.execute("UPDATE total SET refused = ? WHERE scope = ''", (str(refused),))
        raise refused

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        """Replace what was set aside by what it cost; None charges the worst case. Settling twice changes nothing."""
        with self._writing():
            if (held := self._let_go(reservation.id)) is not None:
                scope, worst = held
                unpriced = int(cost_usd is None)
                self._add(scope, cost=(worst if cost_usd is None else nano(cost_usd)) or 0, calls=1, unpriced=unpriced)

    def release(self, reservation: Reservation) -> None:
        """Give back what was set aside for a call that was never answered."""
        with self._writing():
            self._let_go(reservation.id)

    def forget(self, process: str) -> None:
        """Charge what a process that is gone had in flight, at the worst case."""
        with self._writing():
            self._charge("process = ?", process)

    def spent(self, run: RunKey | None = None) -> Spent:
        """Give what the session, or one run, took so far in all processes."""
        with self._lock, self._explained():
            account = self._account(str(run) if run else _SESSION)
        return Spent(
            cost_usd=account.cost / NANO,
            calls=account.calls,
            unpriced=account.unpriced,
            held_usd=account.held_cost / NANO,
            in_flight=account.held_calls,
            refused=account.refused,
        )

    def close(self) -> None:
        """Close the file; what this process still holds stays held."""
        with self._lock:
            self._file.close()

    def _account(self, scope: str) -> "Account":
        row = self._file.execute(_READ, (scope,)).fetchone()
        return Account(*row) if row else Account()

    def _hold(self, scope: str, cost: int | None) -> int:
        made = self._file.execute(
            "INSERT INTO held (scope, process, pid, cost) VALUES (?, ?, ?, ?)", (scope, *self._owner, cost)
        )
        self._add(scope, held_cost=cost or 0, held_calls=1)
        return int(made.lastrowid or 0)

    def _let_go(self, reservation: int) -> tuple[str, int | None] | None:
        row = self._file.execute("SELECT scope, cost FROM held WHERE id = ?", (reservation,)).fetchone()
        if row is None:
            return None
        scope, cost = row
        self._file.execute("DELETE FROM held WHERE id = ?", (reservation,))
        self._add(scope, held_cost=-(cost or 0), held_calls=-1)
        return scope, cost

    def _add(self, scope: str, **amounts: int) -> None:
        changes = ", ".join(f"{name} = {name} + {amount:d}" for name, amount in amounts.items())
        where = {_SESSION, scope}
        for each in where:
            done = self._file.execute(f"UPDATE total SET {changes} WHERE scope = ?", (each,))  # noqa: S608 - own names
            if not done.rowcount:
                self._file.execute("INSERT INTO total (scope) VALUES (?)", (each,))
                self._file.execute(f"UPDATE total SET {changes} WHERE scope = ?", (each,))  # noqa: S608 - same

    def _charge(self, which: str, *values: object) -> None:
        found = self._file.execute(f"SELECT id FROM held WHERE {which}", values)  # noqa: S608 - own conditions
        for reservation, *_ in found.fetchall():
            if (held := self._let_go(reservation)) is not None:
                scope, worst = held
                self._add(scope, cost=worst or 0, calls=1, unpriced=1)

    def _charge_the_dead(self) -> None:
        """Charge what processes hold that ended without a word, else others would wait for them for ever."""
        for (pid,) in self._file.execute("SELECT DISTINCT pid FROM held").fetchall():
            if not _alive(pid):
                self._charge("pid = ?", pid)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock, self._explained():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._file.execute("ROLLBACK")
                raise
            self._file.execute("COMMIT")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            why = str(error)
            if "locked" in why:
                why = f"another process has held it for {self._patience:g} seconds"
            raise ResultsError(f"the ledger of model calls, {self._place}, cannot be used: {why}") from error


def _alive(pid: int) -> bool:
    if os.name == "nt":  # there is no signal there that only asks
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


Sleep = Callable[[float], Awaitable[object]]

_SHORTEST, _LONGEST = 0.01, 0.2


async def reserve_when_free(budget: Budget, caller: Caller, cost_usd: float | None, *, sleep: Sleep) -> Reservation:
    """Reserve, waiting while only calls in flight are in the way: the worst cases of many exceed what they will cost.

    Raise what `Budget.reserve` raises where waiting does not help.
    """
    pause = _SHORTEST
    while True:
        try:
            return budget.reserve(caller, cost_usd)
        except BudgetSpentError as refused:
            if not refused.later:
                raise
        await sleep(pause)
        pause = min(1.5 * pause, _LONGEST)


class SetAside:
    """The reservation of the request that is sent next, within an `async with` block that gives back what is left.

    Each request that the server may have worked on is a call of its own in the budget: one that timed out or broke off
    is settled at its worst case, and the next one reserves anew. Whoever cannot tell afterwards sets `sent`: what is
    left at the end is then charged at its worst case. `rest` waits so many seconds for calls in flight.
    """

    def __init__(
        self,
        budget: Budget | None,
        caller: Caller,
        worst_case: float | None,
        *,
        rest: Callable[[float], Awaitable[None]],
    ) -> None:
        self._budget = budget
        self._caller = caller
        self._worst_case = worst_case
        self._rest = rest
        self._held: Reservation | None = None
        self.sent = False

    async def hold(self) -> None:
        """Set aside one call, unless that is done; raise `BudgetSpentError` where a budget does not hold it."""
        if self._budget is not None and self._held is None:
            self._held = await reserve_when_free(self._budget, self._caller, self._worst_case, sleep=self._rest)

    def spend(self, cost_usd: float | None) -> None:
        """Settle at what the call cost; None means that it is not known, and the worst case stays."""
        if self._budget is not None and self._held is not None:
            held, self._held = self._held, None
            self._budget.settle(held, cost_usd)

    def release(self) -> None:
        """Give everything back: the server did no work."""
        if self._budget is not None and self._held is not None:
            held, self._held = self._held, None
            self._budget.release(held)

    async def __aenter__(self) -> Self:
        """Set the first call aside; raise as `hold` does."""
        await self.hold()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.sent:
            self.spend(None)
        else:
            self.release()
