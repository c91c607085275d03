"""Waiting for calls in flight where only they are in a budget's way."""

from collections.abc import Awaitable, Callable

from pytest_agentbench.core.errors import BudgetSpentError
from pytest_agentbench.llm.seams import Budget, Caller, Reservation

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
