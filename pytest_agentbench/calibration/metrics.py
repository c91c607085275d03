"""How far a judge agrees with labels: accuracy, precision, recall, F1, kappa; and rates put right for its errors.

POS is the positive label, as in the paper. A conversation that a judge leaves undecided counts against it.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

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
