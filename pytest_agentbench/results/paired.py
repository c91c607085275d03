"""Two sets of runs of the same scenarios, compared scenario by scenario: success, policies, numbers, what flipped."""

import zlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.numbers import mean, numbers_of, scenario_means, value_of
from pytest_agentbench.results.significance import (
    bootstrap_mean,
    bootstrap_p,
    detectable,
    holm,
    paired_difference,
    sign_flip,
)
from pytest_agentbench.results.table import kept
from pytest_agentbench.results.trials import ScenarioTrials, by_scenario, scenarios_of

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
