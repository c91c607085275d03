"""Confidence intervals of rates, and the exact binomial distribution behind near misses."""

import math
from collections.abc import Iterable
from statistics import NormalDist


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Give the Wilson score interval of `successes` out of `n` as (low, high) in 0..1, or None when `n` is 0.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927);
    no continuity correction. Raises `ValueError` unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..{n}, found {successes!r}")
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = successes / n
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    # at the ends the interval touches them exactly; rounding would miss by an ulp
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def binomial_mass(n: int, rate: float, counts: Iterable[int]) -> float:
    """Give P[Binomial(n, rate) in counts], summed without rounding drift; `counts` are distinct and in 0..n."""
    if rate <= 0 or rate >= 1:
        certain = 0 if rate <= 0 else n
        return float(any(count == certain for count in counts))
    total = math.lgamma(n + 1)
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    mass = math.fsum(
        math.exp(
            total - math.lgamma(count + 1) - math.lgamma(n - count + 1) + count * log_rate + (n - count) * log_rest
        )
        for count in counts
    )
    return min(1.0, mass)
