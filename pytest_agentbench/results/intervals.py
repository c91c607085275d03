"""Confidence intervals of rates, rates put right for a judge's errors, and the exact binomial distribution."""

import math
from collections.abc import Iterable
from statistics import NormalDist

from pytest_agentbench.core.base import Model


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


class CorrectedRate(Model):
    """A rate put right for a judge's errors, with its interval; all in 0..1."""

    rate: float
    low: float
    high: float


def corrected_rate(
    passed: int,
    n: int,
    *,
    true_pos: int,
    positives: int,
    true_neg: int,
    negatives: int,
    confidence: float = 0.95,
) -> CorrectedRate | None:
    """Give the true rate behind `passed` of `n` said to be POS by a judge that was held against labels.

    (apparent + specificity - 1) / (sensitivity + specificity - 1), clipped to 0..1: W. J. Rogan and B. Gladen,
    "Estimating prevalence from the results of a screening test", American Journal of Epidemiology 107 (1978). The
    interval, which counts the uncertainty of both error rates in: Z. Lang and J. Reiczigel, "Confidence limits for
    prevalence of disease adjusted for estimated sensitivity and specificity", Preventive Veterinary Medicine 113
    (2014). None where nothing was counted, or the judge is no better than chance.
    """
    if not n or not positives or not negatives:
        return None
    sensitivity, specificity = true_pos / positives, true_neg / negatives
    if sensitivity + specificity <= 1:
        return None
    rate = (passed / n + specificity - 1) / (sensitivity + specificity - 1)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    count, apparent = n + z * z, (passed + z * z / 2) / (n + z * z)
    more_pos, sens = positives + 2, (true_pos + 1) / (positives + 2)
    more_neg, spec = negatives + 2, (true_neg + 1) / (negatives + 2)
    youden = sens + spec - 1
    if youden <= 0:
        return None
    centre = (apparent + spec - 1) / youden
    of_sens, of_spec = sens * (1 - sens) / more_pos, spec * (1 - spec) / more_neg
    shift = 2 * z * z * (centre * of_sens - (1 - centre) * of_spec)
    width = math.sqrt(apparent * (1 - apparent) / count + (1 - centre) ** 2 * of_spec + centre**2 * of_sens) / youden
    return CorrectedRate(
        rate=_clipped(rate), low=_clipped(centre + shift - z * width), high=_clipped(centre + shift + z * width)
    )


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
