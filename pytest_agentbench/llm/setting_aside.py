"""Money set aside for one call after another, and what becomes of it."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from pytest_agentbench.llm.reserving import reserve_when_free
from pytest_agentbench.llm.seams import Budget, Caller, Reservation


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
