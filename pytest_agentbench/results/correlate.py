"""Whether two suites order the same variants alike."""

from collections.abc import Iterable, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.numbers import mean, numbers_of, scenario_means, value_of
from pytest_agentbench.results.significance import pearson, spearman
from pytest_agentbench.results.trials import grouped, rate_of

FEWEST = 3
"""Variants from which there is a correlation; its interval needs one more."""


class Point(Model):
    """A variant with what was measured of it on either side."""

    variant: str
    first: float
    second: float


class Correlation(Model):
    """How a metric of the same variants goes together on both sides; None where one side does not vary."""

    metric: str
    points: tuple[Point, ...]
    pearson: Interval | None
    spearman: Interval | None


def correlate(first: Sequence[Result], second: Sequence[Result], *, metric: str = "success") -> Correlation:
    """Correlate `metric` (success, or a number's name) over the variants that both sides have.

    Raise `ResultsError` for a metric that there is not, and for fewer than three variants.
    """
    known = ["success", *(number.name for number in numbers_of([*first, *second]))]
    if metric not in known:
        hint = suggestion(metric, known) or f"there are {listing(known)}"
        raise ResultsError(f"no run has the metric {metric!r}; {hint}")
    ones, twos = _by_variant(first, metric), _by_variant(second, metric)
    both = [variant for variant in ones if variant in twos]
    if len(both) < FEWEST:
        found = listing(map(repr, both)) or "none"
        raise ResultsError(
            f"a correlation needs {FEWEST} variants with {metric!r} on both sides, found {found}; "
            "run both suites with `--agentbench-variant all`"
        )
    left, right = [ones[variant] for variant in both], [twos[variant] for variant in both]
    return Correlation(
        metric=metric,
        points=tuple(Point(variant=one, first=ones[one], second=twos[one]) for one in both),
        pearson=pearson(left, right),
        spearman=spearman(left, right),
    )


def _by_variant(runs: Iterable[Result], metric: str) -> dict[str, float]:
    values = {}
    for variant, mine in grouped((run for run in runs if run.scored), lambda run: [run.key.variant]).items():
        if metric == "success":
            rate = rate_of(mine)
            measured = None if rate is None else rate.value
        else:
            means = scenario_means(mine, lambda run: value_of(run, metric))
            measured = mean(list(means.values())) if means else None
        if measured is not None:
            values[variant] = measured
    return values
