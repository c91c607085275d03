"""What a budget holds for one request through the proxy, and what becomes of it."""

from types import TracebackType
from typing import Self

from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.reserving import Sleep, reserve_when_free
from pytest_agentbench.llm.seams import Budget, Reservation


class Money:
    """Reserves one call within an `async with` block and accounts for it whatever happens there.

    What was not `sent` when the block ends is given back; what was is charged at its worst case, unless it was settled.
    `rest` waits so many seconds for calls in flight.
    """

    def __init__(self, budget: Budget | None, caller: Caller, worst_case: float | None, *, rest: Sleep) -> None:
        self._budget = budget
        self._caller = caller
        self._worst_case = worst_case
        self._rest = rest
        self._held: Reservation | None = None
        self.sent = False

    def settle(self, cost_usd: float | None) -> None:
        """Charge what the call cost, its worst case for None."""
        if self._budget is not None and self._held is not None:
            held, self._held = self._held, None
            self._budget.settle(held, cost_usd)

    def release(self) -> None:
        """Give everything back: the server did no work."""
        if self._budget is not None and self._held is not None:
            held, self._held = self._held, None
            self._budget.release(held)

    async def __aenter__(self) -> Self:
        """Reserve; raise `NotRunError` where no budget holds the call."""
        if self._budget is not None:
            self._held = await reserve_when_free(self._budget, self._caller, self._worst_case, sleep=self._rest)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.sent:
            self.settle(None)
        else:
            self.release()
