"""Which failed requests are sent again, when, and for how long."""

from collections.abc import Callable

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.text import printable

LONGEST_WAIT = 60.0
"""Seconds that a `Retry-After` is followed at most."""

PATIENCE = 600.0
"""Seconds for which a call keeps trying a provider that asks to slow down."""

_FIRST, _LONGEST_BACKOFF = 0.5, 30.0


def slows_down(error: SendError) -> bool:
    """Whether the provider asks everybody to slow down: 429, or 503 with a time to come back, unless for good."""
    return error.again and (error.status == 429 or (error.status == 503 and error.retry_after is not None))


class Retries:
    """Decides about the retries of one call.

    After a failure that may pass, the next request waits a random time up to 0.5 s, 1 s, 2 s, … 30 s (full jitter), or
    what the server asked for, at most 60 s; after `retries` of them the call has failed. A request to slow down uses
    none of them up: it is repeated until `patience` seconds have passed since the first one.
    """

    def __init__(
        self, retries: int, *, random: Callable[[], float], now: Callable[[], float], patience: float = PATIENCE
    ) -> None:
        self._retries = retries
        self._random = random
        self._now = now
        self._patience = patience
        self._began = now()
        self._slowed_since: float | None = None
        self._failures = 0
        self.sent = 0

    def after(self, error: SendError) -> float:
        """Give the seconds to wait before sending again; 0 leaves the waiting to the limiter.

        Raise the `SendError` of the call, saying how often it was tried, where there is no point in going on.
        """
        self.sent += 1
        if not error.again:
            raise self._final(error)
        if slows_down(error):
            now = self._now()
            if self._slowed_since is None:
                self._slowed_since = now
            if now - self._slowed_since + min(error.retry_after or 0.0, LONGEST_WAIT) >= self._patience:
                raise self._final(error)
            return 0.0
        self._failures += 1
        if self._failures > self._retries:
            raise self._final(error)
        backoff = self._random() * min(_FIRST * 2.0 ** (self._failures - 1), _LONGEST_BACKOFF)
        return max(backoff, min(error.retry_after or 0.0, LONGEST_WAIT))

    def _final(self, error: SendError) -> SendError:
        message = str(error)
        if self.sent > 1:
            message += f" (tried {self.sent} times in {self._now() - self._began:.1f} s)"
        elif error.again:
            message += " (tried once)"
        return SendError(
            printable(message, newlines=True),
            status=error.status,
            again=error.again,
            retry_after=error.retry_after,
            billed=error.billed,
            param=error.param,
            code=error.code,
        )
