"""Quantiles of Student's t distribution, for means of few scenarios."""

import math
from functools import lru_cache
from statistics import NormalDist

_STEPS = 400
_MANY = 2000


@lru_cache(maxsize=512)
def t_quantile(share: float, freedom: int) -> float:
    """Give the value that t with `freedom` degrees stays below with probability `share`, to nine digits.

    Solved by bisection on the distribution function, which is a finite sum for whole degrees of freedom (M. Abramowitz
    and I. A. Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4). Raises `ValueError` unless
    0 < share < 1 and freedom >= 1.
    """
    if not 0 < share < 1 or freedom < 1:
        raise ValueError(f"expected 0 < share < 1 and freedom >= 1, found {share!r} and {freedom!r}")
    if freedom > _MANY:
        return NormalDist().inv_cdf(share)
    if share < 0.5:
        return -t_quantile(1 - share, freedom)
    low, high = 0.0, 1.0
    while _cdf(high, freedom) < share:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _cdf(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def _cdf(t: float, freedom: int) -> float:
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    term = total = cosine if freedom % 2 else 1.0
    first = 3 if freedom % 2 else 2
    for degree in range(first, freedom - 1, 2):
        term *= cosine * cosine * (degree - 1) / degree
        total += term
    if freedom % 2:
        return 0.5 + (angle + (sine * total if freedom > 1 else 0.0)) / math.pi
    return 0.5 + sine * total / 2
