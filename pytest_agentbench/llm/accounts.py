"""What an account of model calls holds: budgets, what is spent, what is held by calls in flight; whether a call fits.

Money is kept in whole billionths of a dollar, so that sums are exact.
"""

import math
from typing import Literal, NamedTuple

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import BudgetSpentError, NotRunError

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
            f"the {scope}'s budget of {account.limit_calls} model calls is {took}", scope=scope, later=later
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
