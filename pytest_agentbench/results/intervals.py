"""Confidence intervals of rates, means and quantiles, pass@k, and the distributions that they rest on.

Pure functions over numbers, with nothing but the standard library.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from statistics import NormalDist

from pytest_agentbench.core.base import Model

_BISECTIONS = 400
_MANY = 2000
"""Degrees of freedom from which Student's distribution is the normal one."""

Counts = tuple[int, int]
"""How many trials of a scenario passed, and how many were scored."""


class Interval(Model):
    """An estimate with the ends of its confidence interval, and how many observations it rests on."""

    value: float
    low: float
    high: float
    n: int


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Give the Wilson score interval of `successes` out of `n` as (low, high) in 0..1, or None when `n` is 0.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927);
    no continuity correction. Raises `ValueError` unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..{n}, found {successes!r}")
    if n == 0:
        return None
    return _wilson_of_rate(successes / n, n, confidence)


def _wilson_of_rate(rate: float, n: float, confidence: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    # at the ends the interval touches them exactly; rounding would miss by an ulp
    return (0.0 if rate == 0 else max(0.0, centre - half)), (1.0 if rate == 1 else min(1.0, centre + half))


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


def clustered_wilson(scenarios: Sequence[tuple[int, int]], confidence: float = 0.95) -> Interval | None:
    """Give passed / scored over `scenarios`, each (passed, scored), with an interval that knows of their trials.

    Wilson's interval with as many runs as the trials are worth: scored / design effect, the effect being how much more
    the ratio of sums varies between scenarios than between independent runs (J. N. K. Rao and A. J. Scott, Biometrics
    48 (1992)); it is taken as at least 1, and, where every run ended the same so that nothing can be measured, as that
    of one run a scenario. The quantile is Student's for the number of scenarios (E. L. Korn and B. I. Graubard, Survey
    Methodology 24 (1998)). With one trial a scenario this is Wilson's interval itself. Chosen over a cluster bootstrap
    since it needs no seed, has a width where all passed, and stays within 0..1; N. Dean and M. Pagano, J. Surv. Stat.
    Methodol. 3 (2015), find it among the best for clustered rates.
    """
    kept = [(passed, n) for passed, n in scenarios if n]
    total = sum(n for _, n in kept)
    if not total:
        return None
    passed = sum(count for count, _ in kept)
    ends = wilson(passed, total, confidence)
    if ends is not None and any(n > 1 for _, n in kept):
        ends = _wilson_of_rate(passed / total, effective_runs(kept, confidence), confidence)
    assert ends is not None  # noqa: S101 - there are runs
    return Interval(value=passed / total, low=ends[0], high=ends[1], n=total)


def effective_runs(scenarios: Sequence[tuple[int, int]], confidence: float = 0.95) -> float:
    """Give how many independent runs those of `scenarios` are worth for an interval: at most as many as there are."""
    total = sum(n for _, n in scenarios)
    count = len(scenarios)
    rate = sum(passed for passed, _ in scenarios) / total
    if rate in (0, 1):
        return float(count)
    if count < 2:
        return 1.0
    between = math.fsum((passed - rate * n) ** 2 for passed, n in scenarios) * count / (count - 1) / total**2
    effect = max(1.0, between / (rate * (1 - rate) / total))
    share = (1 + confidence) / 2
    return total / effect * (NormalDist().inv_cdf(share) / t_quantile(share, count - 1)) ** 2


def wilson_of_rates(rates: Sequence[float], *, runs: int, confidence: float = 0.95) -> Interval | None:
    """Give the mean of one rate a scenario (0..1) with Wilson's interval for as many runs as their spread speaks for.

    For rates that are estimated scenario by scenario, as after an early stop; `runs` is how many they rest on, which
    they are never taken for more than. Sources as of `clustered_wilson`. None without rates.
    """
    count = len(rates)
    if not count:
        return None
    rate = math.fsum(rates) / count
    worth = float(count)
    if count > 1 and 0 < rate < 1:
        variance = math.fsum((one - rate) ** 2 for one in rates) / (count - 1) / count
        worth = min(float(runs), rate * (1 - rate) / variance) if variance else float(runs)
        worth *= (NormalDist().inv_cdf((1 + confidence) / 2) / t_quantile((1 + confidence) / 2, count - 1)) ** 2
    low, high = _wilson_of_rate(rate, worth, confidence)
    return Interval(value=rate, low=low, high=high, n=runs)


def mean_interval(
    values: Sequence[float], *, confidence: float = 0.95, bounds: tuple[float, float] | None = None
) -> Interval | None:
    """Give the mean of one value a scenario with Student's interval, cut at `bounds`; None without values.

    The ends are infinite (or the bounds) where one value alone says nothing of the spread.
    """
    n = len(values)
    if not n:
        return None
    mean = math.fsum(values) / n
    half = math.inf
    if n > 1:
        variance = math.fsum((one - mean) ** 2 for one in values) / (n - 1)
        half = t_quantile((1 + confidence) / 2, n - 1) * math.sqrt(variance / n)
    least, most = bounds or (-math.inf, math.inf)
    return Interval(value=mean, low=max(least, mean - half), high=min(most, mean + half), n=n)


def quantile(values: Sequence[float], share: float) -> float:
    """Give the `share` quantile of some values, at least one; it interpolates between neighbours (R's type 7)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    left = math.floor(place)
    right = min(left + 1, len(ordered) - 1)
    return ordered[left] + (ordered[right] - ordered[left]) * (place - left)


def quantile_interval(values: Sequence[float], share: float, *, confidence: float = 0.95) -> Interval | None:
    """Give the `share` quantile of independent `values` with the order statistics that enclose it; None without values.

    An end is infinite where too few values were seen for any
    of them to bound the quantile. Source: H. A. David and H. N. Nagaraja, "Order Statistics" (3rd ed.), §7.1.
    """
    ordered, n = sorted(values), len(values)
    if not n:
        return None
    value = quantile(ordered, share)
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


def pass_at_k(passed: int, n: int, k: int) -> float:
    """Estimate the chance that at least one of `k` trials passes, without bias: 1 − C(n − c, k) / C(n, k).

    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code" (2021), equation 1.
    Raises `ValueError` unless 0 <= passed <= n and 1 <= k <= n.
    """
    _check_counts(passed, n, k)
    return 1 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat_k(passed: int, n: int, k: int) -> float:
    """Estimate the chance that all of `k` trials pass, without bias: C(c, k) / C(n, k).

    Source: S. Yao et al., "τ-bench" (2024), §3 (pass^k); τ²-bench computes the same.
    Raises `ValueError` unless 0 <= passed <= n and 1 <= k <= n.
    """
    _check_counts(passed, n, k)
    return math.comb(passed, k) / math.comb(n, k)


def mean_pass_at_k(scenarios: Sequence[Counts], k: int) -> Interval | None:
    """Give pass@k averaged over scenarios, with the interval of their mean; scenarios of fewer trials are left out."""
    return _mean_of(pass_at_k, scenarios, k)


def mean_pass_hat_k(scenarios: Sequence[Counts], k: int) -> Interval | None:
    """Give pass^k averaged over scenarios (τ²-bench's estimator), with the interval of their mean.

    Scenarios of fewer than `k` trials are left out; τ²-bench stops at the fewest trials of any task instead.
    """
    return _mean_of(pass_hat_k, scenarios, k)


def _mean_of(estimate: Callable[[int, int, int], float], scenarios: Sequence[Counts], k: int) -> Interval | None:
    kept = [(passed, n) for passed, n in scenarios if n >= k]
    mean = wilson_of_rates([estimate(passed, n, k) for passed, n in kept], runs=sum(n for _, n in kept))
    return None if mean is None else mean.model_copy(update={"n": len(kept)})


def _check_counts(passed: int, n: int, k: int) -> None:
    if not 0 <= passed <= n or not 1 <= k <= n:
        raise ValueError(f"expected 0 <= passed <= n and 1 <= k <= n, found passed={passed!r}, n={n!r}, k={k!r}")


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
    for _ in range(_BISECTIONS):
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
