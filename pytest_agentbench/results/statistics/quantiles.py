"""Quantiles with intervals that assume nothing of the distribution, for times."""

import math
from collections.abc import Sequence

from pytest_agentbench.results.intervals import binomial_mass
from pytest_agentbench.results.statistics.interval import Interval


def quantile_interval(values: Sequence[float], share: float, *, confidence: float = 0.95) -> Interval | None:
    """Give the `share` quantile of independent `values` with the order statistics that enclose it; None without values.

    The estimate interpolates between neighbours (R's type 7). An end is infinite where too few values were seen for any
    of them to bound the quantile. Source: H. A. David and H. N. Nagaraja, "Order Statistics" (3rd ed.), §7.1.
    """
    ordered, n = sorted(values), len(values)
    if not n:
        return None
    place = share * (n - 1)
    left = math.floor(place)
    right = min(left + 1, n - 1)
    value = ordered[left] + (ordered[right] - ordered[left]) * (place - left)
    tail = (1 - confidence) / 2
    below = 0.0
    low, high = -math.inf, math.inf
    for count in range(n + 1):  # P[at most `count` of n lie below the quantile]
        before, below = below, below + binomial_mass(n, share, [count])
        if before <= tail and count:
            low = ordered[count - 1]
        if below >= 1 - tail and count < n:
            high = ordered[count]
            break
    return Interval(value=value, low=low, high=high, n=n)
