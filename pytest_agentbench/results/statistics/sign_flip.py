"""The exact paired test of scenarios with several trials: each one's difference might as well have its sign turned.

With one trial a scenario it is McNemar's exact test, to the last digit. With several it takes the scenario as the unit,
since its trials resemble each other: under no change, what two sessions gave for a scenario can be exchanged, whatever
its trials have in common. At least six scenarios must differ for p < 0.05, as in McNemar's.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

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
