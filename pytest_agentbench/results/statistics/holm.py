"""Holm's correction: several comparisons at once without more false alarms than one."""

from collections.abc import Sequence


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
