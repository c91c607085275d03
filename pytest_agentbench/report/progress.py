"""One line on how a session is getting on: `done 12/200 · 64 in flight · 310 calls/s · 0.041 USD · ETA 0:14`."""

from math import ceil

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.text import shorten

_PRECISION = 3


class Progress(Model):
    """Where a session stands after `seconds`.

    `in_flight` None is not known. `unpriced` of the `calls` to models that were answered live have no known price.
    """

    done: int
    total: int
    in_flight: int | None = None
    calls: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    seconds: float


def progress_line(progress: Progress, width: int, *, dot: str = "·") -> str:
    """Put it in one line of `width` characters at most: parts that do not fit are left out from the end."""
    parts = [f"done {progress.done}/{progress.total}"]
    if progress.in_flight is not None:
        parts.append(f"{progress.in_flight} in flight")
    if progress.calls and progress.seconds > 0:
        parts.append(f"{_rate(progress.calls / progress.seconds)} calls/s")
        parts.append(_cost(progress))
    if (left := seconds_left(progress)) is not None:
        parts.append(f"ETA {_clock(left)}")
    between = f" {dot} "
    while len(parts) > 1 and len(between.join(parts)) > width:
        parts.pop()
    return shorten(between.join(parts), width)


def seconds_left(progress: Progress) -> float | None:
    """Give the seconds that the rest takes at the pace so far, or None before anything is done."""
    if not progress.done:
        return None
    return progress.seconds / progress.done * max(0, progress.total - progress.done)


def _rate(per_second: float) -> str:
    return f"{per_second:.0f}" if per_second >= 10 else f"{per_second:.1f}"


def _cost(progress: Progress) -> str:
    """Say what is known of the cost; an unknown price is never 0."""
    if progress.unpriced == progress.calls:
        return "cost unknown"
    more = " + unknown" if progress.unpriced else ""
    return f"{progress.cost_usd:.{_PRECISION}f} USD{more}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
