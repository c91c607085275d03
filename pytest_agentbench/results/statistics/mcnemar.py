"""McNemar's exact test: did as many scenarios turn from passing to failing as the other way round?"""

from pytest_agentbench.results.intervals import binomial_mass


def mcnemar_exact(lost: int, won: int) -> float:
    """Give the two-sided p-value of `lost` pairs that changed one way and `won` that changed the other.

    Under no change each of them is a fair coin: twice the smaller binomial tail, at most 1; 1 where nothing changed.
    Source: Q. McNemar, Psychometrika 12 (1947), in the exact form of A. Agresti, "Categorical Data Analysis" (3rd ed.),
    §11.1. Raises `ValueError` for negative counts.
    """
    if lost < 0 or won < 0:
        raise ValueError(f"counts must be 0 or more, found {lost!r} and {won!r}")
    n = lost + won
    return min(1.0, 2 * binomial_mass(n, 0.5, range(min(lost, won) + 1))) if n else 1.0
