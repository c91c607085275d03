"""Intervals over scenarios with several trials, which resemble each other and so tell less than as many scenarios."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from pytest_agentbench.results.intervals import wilson
from pytest_agentbench.results.statistics.interval import Interval
from pytest_agentbench.results.statistics.student import t_quantile


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


def _wilson_of_rate(rate: float, n: float, confidence: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return (0.0 if rate == 0 else max(0.0, centre - half)), (1.0 if rate == 1 else min(1.0, centre + half))
