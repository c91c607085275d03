"""An estimate with its interval, as every function of this folder gives it."""

from pytest_agentbench.core.base import Model


class Interval(Model):
    """An estimate with the ends of its confidence interval, and how many observations it rests on."""

    value: float
    low: float
    high: float
    n: int
