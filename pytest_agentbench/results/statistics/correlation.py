"""Whether two suites order the same agents alike: Pearson's and Spearman's correlation with intervals."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from pytest_agentbench.results.statistics.interval import Interval


def pearson(left: Sequence[float], right: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Give Pearson's r of pairs; None with fewer than three or where one side is constant.

    The interval is R. A. Fisher's (Metron 1, 1921), tanh(artanh r ± z / √(n − 3)): −1..1 with three pairs.
    """
    r = _product_moment(left, right)
    return None if r is None else _fisher(r, len(left), 1.0, confidence)


def spearman(left: Sequence[float], right: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Give Spearman's ρ, Pearson's r of the ranks, equal values sharing the mean of theirs; None as in `pearson`.

    The interval is Fisher's with the variance of D. G. Bonett and T. A. Wright, Psychometrika 65 (2000):
    (1 + ρ²/2) / (n − 3).
    """
    rho = _product_moment(_ranks(left), _ranks(right))
    return None if rho is None else _fisher(rho, len(left), 1 + rho * rho / 2, confidence)


def _product_moment(left: Sequence[float], right: Sequence[float]) -> float | None:
    if len(left) != len(right):
        raise ValueError(f"expected as many values on both sides, found {len(left)} and {len(right)}")
    n = len(left)
    if n < 3 or min(left) == max(left) or min(right) == max(right):
        return None
    mean_left, mean_right = math.fsum(left) / n, math.fsum(right) / n
    a = [one - mean_left for one in left]
    b = [one - mean_right for one in right]
    product = math.fsum(x * y for x, y in zip(a, b, strict=True))
    r = product / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))
    return max(-1.0, min(1.0, r))


def _fisher(r: float, n: int, factor: float, confidence: float) -> Interval:
    if n < 4:
        return Interval(value=r, low=-1.0, high=1.0, n=n)
    if abs(r) > 1 - 1e-12:
        return Interval(value=r, low=r, high=r, n=n)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(factor / (n - 3))
    centre = math.atanh(r)
    return Interval(value=r, low=math.tanh(centre - half), high=math.tanh(centre + half), n=n)


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda place: values[place])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = (start + end) / 2 + 1
        start = end + 1
    return ranks
