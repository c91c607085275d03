"""How far a judge agrees with labels: accuracy, precision, recall, F1, kappa.

POS is the positive label, as in the paper. A conversation that a judge leaves undecided counts against it.
"""

from collections.abc import Sequence
from statistics import fmean, stdev

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.rubric import Label


class Agreement(Model):
    """Figures of one judge on some conversations; None where undefined.

    Precision, recall, F1 and kappa are undefined without a POS conversation, so on hard negatives; kappa also without a
    NEG one.
    """

    n: int
    accuracy: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    kappa: float | None = None
    undecided: int = 0


def agreement(pairs: Sequence[tuple[Label, Label | None]]) -> Agreement:
    """Hold (label, what the judge says) against each other.

    Kappa is (observed - chance) / (1 - chance), J. Cohen, "A coefficient of agreement for nominal scales", 1960.
    """
    n = len(pairs)
    if not n:
        return Agreement(n=0)
    hits = sum(label == said for label, said in pairs)
    positives = sum(label == "POS" for label, _ in pairs)
    claimed = sum(said == "POS" for _, said in pairs)
    both = sum(label == said == "POS" for label, said in pairs)
    recall = both / positives if positives else None
    precision = both / claimed if positives and claimed else None
    sides: tuple[Label, Label] = ("POS", "NEG")
    shares = [sum(a == side for a, _ in pairs) * sum(b == side for _, b in pairs) for side in sides]
    chance = sum(shares) / (n * n)
    return Agreement(
        n=n,
        accuracy=hits / n,
        precision=precision,
        recall=recall,
        f1=2 * both / (positives + claimed) if positives else None,
        kappa=(hits / n - chance) / (1 - chance) if 0 < positives < n else None,
        undecided=sum(said is None for _, said in pairs),
    )


class Spread(Model):
    """The mean over splits and the sample standard deviation, None with fewer than two values."""

    mean: float | None
    sd: float | None = None


def spread(given: Sequence[float | None]) -> Spread:
    """Give mean and standard deviation of what is defined."""
    known = [value for value in given if value is not None]
    return Spread(mean=fmean(known) if known else None, sd=stdev(known) if len(known) > 1 else None)
