"""What a paired comparison could have seen: differences from their sums, and the least change it detects."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from pytest_agentbench.results.statistics.interval import Interval


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
