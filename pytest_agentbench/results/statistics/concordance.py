"""Whether a score tells passes from failures: the chance that a pass has the higher one."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from pytest_agentbench.results.statistics.interval import Interval

_STEPS = 60


def concordance(passed: Sequence[float], failed: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Give the chance that a passed run scores higher than a failed one, ties half; None unless there are both.

    0.5 tells nothing, 1 tells all: the area under the ROC curve, and for scores of 0 and 1 the balanced accuracy. The
    interval is R. G. Newcombe's method 5 (Statist. Med. 25 (2006)), which has a width also at 0 and 1.
    """
    if not passed or not failed:
        return None
    ordered = sorted(failed)
    higher = 0.0
    for score in passed:
        below = _count(ordered, score, inclusive=False)
        higher += below + (_count(ordered, score, inclusive=True) - below) / 2
    area = higher / (len(passed) * len(failed))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = (_end(area, len(passed), len(failed), side * z) for side in (-1, 1))
    return Interval(value=area, low=low, high=high, n=len(passed) + len(failed))


def _count(ordered: Sequence[float], score: float, *, inclusive: bool) -> int:
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < score or (inclusive and ordered[middle] == score):
            low = middle + 1
        else:
            high = middle
    return low


def _end(area: float, m: int, n: int, z: float) -> float:
    """Find the area from which the measured one lies |z| of its own standard errors away, by bisection."""
    inner, outer = area, 1.0 if z > 0 else 0.0
    for _ in range(_STEPS):
        middle = (inner + outer) / 2
        if abs(area - middle) <= abs(z) * _error(middle, m, n):
            inner = middle
        else:
            outer = middle
    return inner


def _error(area: float, m: int, n: int) -> float:
    half = (m + n) / 2 - 1
    return math.sqrt(area * (1 - area) * (1 + half * ((1 - area) / (2 - area) + area / (1 + area))) / (m * n))
