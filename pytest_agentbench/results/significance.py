"""Whether two sides differ, scenario by scenario, and whether two scores go together: exact tests and the bootstrap.

Pure functions over numbers, with nothing but the standard library.
"""

import math
import random
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from statistics import NormalDist

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.numbers import mean, numbers_of, scenario_means, value_of
from pytest_agentbench.results.table import kept
from pytest_agentbench.results.trials import ScenarioTrials, by_scenario, scenarios_of


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Give the adjusted p-values in the order given: reject where one is <= the level, at most so many are false.

    The k-th smallest of m is multiplied by m − k + 1, none below the one before it, at most 1. Holds under any
    dependence. Source: S. Holm, Scand. J. Statist. 6 (1979).
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, place in enumerate(order):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = floor
    return tuple(adjusted)


MOST_STATES = 20_000
"""Distinct sums up to which the distribution is computed exactly; beyond, signs are drawn."""

DRAWS = 20_000


def sign_flip(differences: Sequence[Fraction | int], *, seed: int = 0) -> float:
    """Give the two-sided p-value of paired `differences`, one a scenario: P[|sum with random signs| >= |sum|].

    Exact where the sums are few enough to be enumerated, else over `DRAWS` seeded draws (the observed one counted).
    Source: R. A. Fisher, "The Design of Experiments" (1935), §21; the count of draws after B. Phipson and G. K. Smyth,
    Stat. Appl. Genet. Mol. Biol. 9 (2010).
    """
    scale = math.lcm(*(Fraction(one).denominator for one in differences), 1)
    steps = [abs(int(Fraction(one) * scale)) for one in differences if one]
    observed = abs(int(sum((Fraction(one) for one in differences), Fraction(0)) * scale))
    if not steps:
        return 1.0
    if 2 * sum(steps) // math.gcd(*steps) <= MOST_STATES:
        return _exact(steps, observed)
    rng = random.Random(seed)  # noqa: S311 - statistics, no secret
    at_least = sum(abs(sum(step if rng.random() < 0.5 else -step for step in steps)) >= observed for _ in range(DRAWS))
    return (at_least + 1) / (DRAWS + 1)


def _exact(steps: Sequence[int], observed: int) -> float:
    """Add the signed steps up one after the other, keeping how many ways lead to each sum."""
    ways = Counter({0: 1})
    for step in steps:
        following: Counter[int] = Counter()
        for total, count in ways.items():
            following[total + step] += count
            following[total - step] += count
        ways = following
    extreme = sum(count for total, count in ways.items() if abs(total) >= observed)
    return float(Fraction(extreme, 2 ** len(steps)))


RESAMPLES = 2000
"""Resamples of an interval; Efron and Tibshirani ask for 1,000 and more for 95 % (§19.3)."""

_NORMAL = NormalDist()


def bootstrap_mean(
    values: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> Interval | None:
    """Give the mean of `values` with its bootstrap interval, None without values; the same bytes for the same seed.

    For pairs give their differences. Values that are all equal have an interval of no width, which says more than is
    known: tell n beside it. Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993),
    BCa §14.3 with the jackknife's acceleration (14.15).
    """
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if min(values) == max(values):
        return Interval(value=mean, low=mean, high=mean, n=len(values))
    means = _means(values, seed=seed, resamples=resamples)
    tail = (1 - confidence) / 2
    ends = _bca(values, means, mean, tail)
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


def paired_difference(differences: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Give the mean of paired differences of rates (−1..1, one a scenario) with an interval; None without any.

    Wald's interval over the differences and two made-up scenarios, half of one lost and half of one won, so that it has
    a width where nothing changed: with one trial a scenario, that of A. Agresti and Y. Min, Statist. Med. 24 (2005).
    """
    n = len(differences)
    if not n:
        return None
    total = math.fsum(differences)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * spread(differences) / math.sqrt(n + 2)
    centre = total / (n + 2)
    return Interval(value=total / n, low=max(-1.0, centre - half), high=min(1.0, centre + half), n=n)


def spread(differences: Sequence[float]) -> float:
    """Give the standard deviation of paired differences of rates, with the two made-up ones of `paired_difference`."""
    n = len(differences) + 2
    centre = math.fsum(differences) / n
    return math.sqrt(max(0.0, (math.fsum(one * one for one in differences) + 1) / n - centre * centre))


def detectable(
    differences: Sequence[float], *, power: float = 0.8, level: float = 0.05, trials: int = 1
) -> float | None:
    """Give the least change of a rate that as many scenarios would show with `power`; None where none can be shown.

    Solves change = (z of 1 − level/2 + z of `power`) × spread / √n (J. Cohen, "Statistical Power Analysis", 2nd ed.,
    §2.3, for a paired mean), where the square of the spread is the measured one and what such a change adds to it:
    change / `trials`, each lost trial making a difference of 1 / `trials` (R. J. Connor, Biometrics 43 (1987), for one
    trial). Never less than the exact test can call significant: as many scenarios as 2 · ½^m <= level takes, all
    changed one way in one of their trials.
    """
    n = len(differences)
    needed = math.ceil(math.log2(2 / level))
    if n < needed:
        return None
    normal = NormalDist()
    scale = n / (normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)) ** 2
    solved = (1 / trials + math.sqrt(1 / trials**2 + 4 * scale * spread(differences) ** 2)) / (2 * scale)
    least = max(solved, needed / (n * trials))
    return least if least <= 1 else None


_STEPS = 60


def concordance(passed: Sequence[float], failed: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Give the chance that a passed run scores higher than a failed one, ties half; None unless there are both.

    0.5 tells nothing, 1 tells all: the area under the ROC curve, and for scores of 0 and 1 the balanced accuracy. The
    interval is R. G. Newcombe's method 5 (Statist. Med. 25 (2006)), which has a width also at 0 and 1.
    """
    if not passed or not failed:
        return None
    ordered = sorted(failed)
    higher = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in passed) / 2
    area = higher / (len(passed) * len(failed))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = (_end(area, len(passed), len(failed), side * z) for side in (-1, 1))
    return Interval(value=area, low=low, high=high, n=len(passed) + len(failed))


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


LEVEL = 0.05
"""The two-sided level at which a difference counts."""


class Change(Model):
    """A difference, second − first, over the `difference.n` scenarios that have both.

    `p` is two-sided; `p_holm` is corrected for the other changes that it was looked at with.
    """

    name: str
    title: str
    first: float
    second: float
    difference: Interval
    p: float
    p_holm: float

    @property
    def is_significant(self) -> bool:
        """Whether the difference counts at the 5 % level, the others that were looked at allowed for."""
        return self.p_holm < LEVEL


class Flip(Model):
    """A scenario that passed more often, or less often, in the second runs than in the first."""

    scenario: str
    first_passed: int
    first_n: int
    second_passed: int
    second_n: int

    @property
    def is_loss(self) -> bool:
        """Whether it passed less often in the second runs."""
        return self.second_passed * self.first_n < self.first_passed * self.second_n


class Paired(Model):
    """What became of `scenarios` that both sides scored. Rates are 0..1, each scenario counting the same.

    `success` is None where no scenario was scored on both sides. `detectable` is the least change of success that as
    many scenarios would show four times out of five, None where they show none. `lost` passed less often, `won` more.
    """

    scenarios: int = 0
    trials: int = 1
    success: Change | None = None
    detectable: float | None = None
    policies: tuple[Change, ...] = ()
    numbers: tuple[Change, ...] = ()
    lost: tuple[Flip, ...] = ()
    won: tuple[Flip, ...] = ()


def compare_paired(
    first: Sequence[Result], second: Sequence[Result], *, seed: int = 0, success_only: bool = False
) -> Paired:
    """Compare runs of the same scenarios, one suite and one variant on either side, paired by scenario id.

    Success and policies: the exact sign-flip test over scenarios, which with one trial each is McNemar's; Holm over the
    policies. Numbers: the bootstrap over scenarios, Holm over the numbers. The same bytes for the same `seed`.
    `success_only` leaves policies and numbers out.
    """
    ones = {(one.scenario, one.fault): one for one in by_scenario(first)}
    twos = {(two.scenario, two.fault): two for two in by_scenario(second)}
    both = sorted(ones.keys() & twos.keys())
    if not both:
        return Paired()
    pairs = [(ones[name], twos[name]) for name in both]
    differences = [_rate(two) - _rate(one) for one, two in pairs]
    # trials that never disagree are one trial, told several times
    varied = any(side.is_flaky for pair in pairs for side in pair)
    least = min(min(one.n, two.n) for one, two in pairs) if varied else 1
    flips = [_flip(one, two) for (one, two), change in zip(pairs, differences, strict=True) if change]
    lost = [flip for flip in flips if flip.is_loss]
    return Paired(
        scenarios=len(both),
        trials=max(max(one.n, two.n) for one, two in pairs),
        success=_rate_change("success", [(_rate(one), _rate(two)) for one, two in pairs], seed),
        detectable=detectable([float(change) for change in differences], trials=least),
        policies=() if success_only else adjusted(_policies(first, second, seed)),
        numbers=() if success_only else adjusted(_numbers(first, second, seed)),
        lost=tuple(lost),
        won=tuple(flip for flip in flips if not flip.is_loss),
    )


def adjusted(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Correct the p-values of changes that are looked at together."""
    corrected = holm([change.p for change in changes])
    return tuple(change.model_copy(update={"p_holm": p}) for change, p in zip(changes, corrected, strict=True))


def number_change(
    name: str, title: str, first: Mapping[str, float], second: Mapping[str, float], *, seed: int
) -> Change | None:
    """Compare one number by scenario; None with fewer than two scenarios that have it on both sides."""
    both = sorted(first.keys() & second.keys())
    differences = [second[scenario] - first[scenario] for scenario in both]
    if len(both) < 2:
        return None
    own = zlib.crc32(f"{seed} {name}".encode())
    interval = bootstrap_mean(differences, seed=own)
    assert interval is not None  # noqa: S101 - there are differences
    p = bootstrap_p(differences, seed=own)
    return Change(
        name=name,
        title=title,
        first=mean([first[scenario] for scenario in both]),
        second=mean([second[scenario] for scenario in both]),
        difference=interval,
        p=p,
        p_holm=p,
    )


def _numbers(first: Sequence[Result], second: Sequence[Result], seed: int) -> list[Change]:
    changes = []
    for number in numbers_of([*first, *second]):
        measure = partial(value_of, name=number.name)
        ones, twos = scenario_means(first, measure), scenario_means(second, measure)
        change = number_change(number.name, number.title, ones, twos, seed=seed)
        changes += [change] if change is not None else []
    return changes


def _policies(first: Sequence[Result], second: Sequence[Result], seed: int) -> list[Change]:
    """Compare how often runs that exercised a policy kept it; what either side did not measure is not compared."""
    measured = {outcome.policy for run in (*first, *second) for outcome in run.policies if outcome.counts}
    changes = []
    for policy in sorted(measured):
        ones, twos = _shares(first, policy), _shares(second, policy)
        pairs = [(ones[scenario], twos[scenario]) for scenario in sorted(ones.keys() & twos.keys())]
        if pairs:
            changes.append(_rate_change(policy, pairs, seed))
    return changes


def _shares(runs: Sequence[Result], policy: str) -> dict[str, Fraction]:
    held = {
        scenario: [holds for run in mine if run.scored and (holds := kept(run, policy)) is not None]
        for scenario, mine in scenarios_of(runs).items()
    }
    return {scenario: Fraction(sum(values), len(values)) for scenario, values in held.items() if values}


def _rate_change(name: str, pairs: Sequence[tuple[Fraction, Fraction]], seed: int) -> Change:
    differences = [second - first for first, second in pairs]
    interval = paired_difference([float(one) for one in differences])
    assert interval is not None  # noqa: S101 - there are pairs
    p = sign_flip(differences, seed=seed)
    return Change(
        name=name,
        title=name,
        first=mean([float(first) for first, _ in pairs]),
        second=mean([float(second) for _, second in pairs]),
        difference=interval,
        p=p,
        p_holm=p,
    )


def _rate(one: ScenarioTrials) -> Fraction:
    """Give the pass rate of a scenario exactly; after an early stop the unbiased one, a fraction of few ways."""
    return Fraction(one.passed, one.n) if one.decision is None else Fraction(one.rate).limit_denominator(10_000)


def _flip(one: ScenarioTrials, two: ScenarioTrials) -> Flip:
    return Flip(
        scenario=f"{one.scenario}[{one.fault}]" if one.fault else one.scenario,
        first_passed=one.passed,
        first_n=one.n,
        second_passed=two.passed,
        second_n=two.n,
    )
