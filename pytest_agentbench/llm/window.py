"""So much in any minute, never more: what requests and tokens per minute mean."""

from collections import deque
from dataclasses import dataclass

_MINUTE = 60.0


@dataclass
class Spent:
    """An amount that was let through at a time; it may be corrected once it is known better."""

    at: float
    amount: float


class Window:
    """Lets at most `per_minute` through in any 60 s; a share below 1 a minute is 1 in a longer time.

    An amount above the bound passes alone, when nothing else is counted.
    """

    def __init__(self, per_minute: float) -> None:
        self.per_minute = per_minute
        self._limit = max(per_minute, 1.0)
        self._period = _MINUTE * self._limit / per_minute
        self._spent: deque[Spent] = deque()

    def wait(self, amount: float, now: float) -> float:
        """Give the seconds until `amount` may pass."""
        while self._spent and self._spent[0].at <= now - self._period:
            self._spent.popleft()
        excess = sum(item.amount for item in self._spent) + min(amount, self._limit) - self._limit
        for item in self._spent:
            if excess <= 0:
                return 0.0
            excess -= item.amount
            due = item.at + self._period - now
            if excess <= 0:
                return max(due, 0.001)
        return 0.0

    def spend(self, amount: float, now: float) -> Spent:
        """Let `amount` through."""
        item = Spent(now, amount)
        self._spent.append(item)
        return item
