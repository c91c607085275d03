"""The bootstrap of a mean: what it would have been, had other scenarios been drawn."""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

from pytest_agentbench.results.statistics.interval import Interval

RESAMPLES = 2000
"""Resamples of an interval; Efron and Tibshirani ask for 1,000 and more for 95 % (§19.3)."""

_NORMAL = NormalDist()


def bootstrap_mean(
    values: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    method: Literal["bca", "percentile"] = "bca",
) -> Interval | None:
    """Give the mean of `values` with its bootstrap interval, None without values; the same bytes for the same seed.

    For pairs give their differences. Values that are all equal have an interval of no width, which says more than is
    known: tell n beside it. Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993),
    percentile §13.3, BCa §14.3 with the jackknife's acceleration (14.15).
    """
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if min(values) == max(values):
        return Interval(value=mean, low=mean, high=mean, n=len(values))
    means = _means(values, seed=seed, resamples=resamples)
    tail = (1 - confidence) / 2
    ends = (tail, 1 - tail) if method == "percentile" else _bca(values, means, mean, tail)
    low, high = (means[min(max(round(end * (resamples + 1)) - 1, 0), resamples - 1)] for end in ends)
    return Interval(value=mean, low=low, high=high, n=len(values))


def bootstrap_p(differences: Sequence[float], *, seed: int = 0, resamples: int = 1000) -> float:
    """Give the two-sided p-value of the mean of paired `differences` being 0: resampled with the mean taken out.

    What is resampled is the studentised mean, so that few scenarios do not make it bold; at least 1 / (resamples + 1).
    Source: Efron and Tibshirani (1993), §16.4, algorithm 16.2; P. Hall and S. R. Wilson, Biometrics 47 (1991).
    """
    n = len(differences)
    if n < 2 or all(one == 0 for one in differences):
        return 1.0
    mean = math.fsum(differences) / n
    if min(differences) == max(differences):  # no spread to measure the mean by: only the signs speak
        return min(1.0, 2.0 ** (1 - n))
    observed = abs(_studentised(differences))
    centred = [one - mean for one in differences]
    rng = random.Random(seed)  # noqa: S311 - statistics, no secret
    at_least = sum(abs(_studentised(rng.choices(centred, k=n))) >= observed for _ in range(resamples))
    return (at_least + 1) / (resamples + 1)


def _means(values: Sequence[float], *, seed: int, resamples: int) -> list[float]:
    rng, n = random.Random(seed), len(values)  # noqa: S311 - statistics, no secret
    return sorted(sum(rng.choices(values, k=n)) / n for _ in range(resamples))


def _studentised(values: Sequence[float]) -> float:
    n = len(values)
    total = sum(values)
    spread = sum(one * one for one in values) - total * total / n
    if spread <= 1e-12 * max(total * total, 1e-300):
        return math.inf if total else 0.0
    return total / math.sqrt(spread)


def _bca(values: Sequence[float], means: Sequence[float], mean: float, tail: float) -> tuple[float, float]:
    """Give the shares of the resampled means at which the interval ends, corrected for bias and skewness."""
    # means that equal the estimate count half: few distinct values make many of them
    below = (bisect_left(means, mean) + bisect_right(means, mean)) / 2 / len(means)
    bias = _NORMAL.inv_cdf(min(max(below, 1 / (2 * len(means))), 1 - 1 / (2 * len(means))))
    off = [mean - one for one in values]
    squares = math.fsum(one * one for one in off)
    skew = -math.fsum(one**3 for one in off) / (6 * squares**1.5)

    def corrected(share: float) -> float:
        z = bias + _NORMAL.inv_cdf(share)
        slope = 1 - skew * z
        return _NORMAL.cdf(bias + z / slope) if slope > 0 else float(z > 0)

    return corrected(tail), corrected(1 - tail)
