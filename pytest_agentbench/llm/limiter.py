"""How much is asked of one provider at a time: bounds that are given, and those it shows by refusing."""

import asyncio
import contextlib
import math
import threading
from collections import deque
from collections.abc import Awaitable, Callable
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


LONGEST_PAUSE = 60.0
"""Seconds after which a provider is tried again, whatever it asked for."""

_SHORTEST_BOUND = 1.0


class Ticket:
    """The right to have one request in flight, or a place in the line for it."""

    __slots__ = ("epoch", "loop", "spent", "tokens", "woken")

    def __init__(self, tokens: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.tokens = tokens
        self.epoch = 0
        self.spent: Spent | None = None
        self.woken = asyncio.Event()

    def wake(self) -> None:
        """Let whoever waits look again; from any thread."""
        with contextlib.suppress(RuntimeError):  # its loop may be closed
            self.loop.call_soon_threadsafe(self.woken.set)


class Limiter:
    """Lets requests to one provider through in order of arrival, and slower when it refuses them.

    A refusal (429) halves the bound on requests in flight, once for all that were sent before it, and stops everybody
    for the time the provider says, or a growing one of our own; each answer under a full bound raises it by 1/bound
    (additive increase, multiplicative decrease). `share` scales all given bounds: 1/workers where workers do not see
    each other. Safe to use from several event loops.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        random: Callable[[], float],
        share: float = 1.0,
    ) -> None:
        self._now = now
        self._sleep = sleep
        self._random = random
        self._share = share
        self._lock = threading.RLock()
        self._most = math.inf
        self._bound = math.inf
        self._requests: Window | None = None
        self._tokens: Window | None = None
        self._line: deque[Ticket] = deque()
        self._out: set[Ticket] = set()
        self._paused_until = -math.inf
        self._epoch = 0
        self._refusals = 0

    @property
    def in_flight(self) -> int:
        """How many requests are out."""
        return len(self._out)

    @property
    def waiting(self) -> int:
        """How many requests wait to be let through."""
        return len(self._line)

    @property
    def bound(self) -> float:
        """How many requests may be out at present; infinite as long as nothing bounds them."""
        return self._bound if math.isinf(self._bound) else int(self._bound)

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens per minute are bounded, so that requests have to say how many they take."""
        return self._tokens is not None

    def restrict(
        self,
        *,
        in_flight: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> None:
        """Add bounds; of several for the same thing the lowest holds. Each is scaled by the share, in flight to ≥ 1."""
        with self._lock:
            if in_flight is not None:
                self._most = min(self._most, max(int(in_flight * self._share), 1))
                self._bound = min(self._bound, self._most)
            self._requests = self._lower(self._requests, requests_per_minute)
            self._tokens = self._lower(self._tokens, tokens_per_minute)

    def enter_now(self, tokens: int = 0) -> Ticket | None:
        """Let a request of about so many tokens through if it need not wait."""
        with self._lock:
            if self._line:
                return None
            ticket = Ticket(tokens)
            return ticket if self._admit(ticket) == 0 else None

    async def enter(self, tokens: int = 0) -> Ticket:
        """Wait until a request of about so many tokens may go; a cancelled wait leaves no trace."""
        ticket = Ticket(tokens)
        with self._lock:
            self._line.append(ticket)
        try:
            while (wait := self._try(ticket)) != 0:
                if wait is None:
                    await ticket.woken.wait()
                    ticket.woken.clear()
                else:
                    await self._sleep(wait)
        except BaseException:
            with self._lock:
                if ticket in self._line:  # it may be let through, or dropped with its loop, just as it is cancelled
                    self._line.remove(ticket)
                self._wake_first()
            raise
        return ticket

    def answered(self, ticket: Ticket, tokens: int | None = None) -> None:
        """Give the right back after an answer, saying how many tokens it took where that is known."""
        with self._lock:
            full = len(self._out) >= self.bound
            self._refusals = 0
            if ticket.spent is not None and tokens is not None:
                ticket.spent.amount = tokens
            if full and not math.isinf(self._bound):
                self._bound = min(self._bound + 1 / self._bound, self._most)
            self._leave(ticket)

    def refused(self, ticket: Ticket, retry_after: float | None, *, pause: bool = True) -> None:
        """Give the right back after the provider asked to slow down; without `pause` only the bound shrinks."""
        with self._lock:
            if ticket.epoch == self._epoch:  # the others were sent before anybody could know
                self._epoch += 1
                self._refusals += 1
                self._bound = max(min(self._bound, len(self._out)) / 2, _SHORTEST_BOUND)
                if pause and retry_after is None:
                    retry_after = min(2.0 ** (self._refusals - 1), LONGEST_PAUSE) * (0.5 + self._random() / 2)
            if pause and retry_after is not None:
                self._paused_until = max(self._paused_until, self._now() + min(retry_after, LONGEST_PAUSE))
            if ticket.spent is not None:
                ticket.spent.amount = 0
            self._leave(ticket)

    def left(self, ticket: Ticket) -> None:
        """Give the right back after anything else: failed otherwise, or cancelled."""
        with self._lock:
            self._leave(ticket)

    def _try(self, ticket: Ticket) -> float | None:
        """Give 0 when `ticket` is let through, seconds to wait, or None: it will be woken."""
        with self._lock:
            self._drop_lost()
            if self._line[0] is not ticket:
                return None
            wait = self._admit(ticket)
            if wait == 0:
                self._line.popleft()
                self._wake_first()
            return wait

    def _admit(self, ticket: Ticket) -> float | None:
        if len(self._out) >= self.bound:
            self._out = {held for held in self._out if not held.loop.is_closed()}
            if len(self._out) >= self.bound:
                return None
        now = self._now()
        wait = self._paused_until - now
        if self._requests is not None:
            wait = max(wait, self._requests.wait(1, now))
        if self._tokens is not None:
            wait = max(wait, self._tokens.wait(ticket.tokens, now))
        if wait > 0:
            return wait
        if self._requests is not None:
            self._requests.spend(1, now)
        if self._tokens is not None:
            ticket.spent = self._tokens.spend(ticket.tokens, now)
        ticket.epoch = self._epoch
        self._out.add(ticket)
        return 0

    def _leave(self, ticket: Ticket) -> None:
        self._out.discard(ticket)
        self._wake_first()

    def _wake_first(self) -> None:
        self._drop_lost()
        if self._line:
            self._line[0].wake()

    def _drop_lost(self) -> None:
        while self._line and self._line[0].loop.is_closed():
            self._line.popleft()

    def _lower(self, window: Window | None, per_minute: int | None) -> Window | None:
        if per_minute is None:
            return window
        scaled = per_minute * self._share
        return window if window is not None and window.per_minute <= scaled else Window(scaled)
