"""Several trials: pass@k, pass^k, and stopping early."""

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.results.intervals import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k
from pytest_agentbench.results.trials import StopRule, unbiased_rate
from tests.tables import each

RULE = StopRule(most=8)

COUNTS = st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n)))


@given(COUNTS)
def test_estimators_count_the_draws_of_k_trials(counts):
    """Both are shares of all ways to draw k of n trials."""
    passed, n, k = counts
    draws = list(combinations([True] * passed + [False] * (n - passed), k))

    assert pass_at_k(passed, n, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(passed, n, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_means_are_over_scenarios_with_enough_trials():
    """τ²'s estimator averaged: scenarios of fewer trials are left out, and k = 1 is the rate."""
    scenarios = [(4, 4), (2, 4), (0, 4), (1, 1)]

    assert mean_pass_hat_k(scenarios, 2).value == pytest.approx((1 + 1 / 6 + 0) / 3)
    assert mean_pass_at_k(scenarios, 2).value == pytest.approx((1 + 5 / 6 + 0) / 3)
    assert mean_pass_hat_k(scenarios, 2).n == 3
    assert mean_pass_hat_k(scenarios, 5) is None


def test_where_every_scenario_passes_the_interval_has_a_width():
    """Five scenarios without a failure do not show that there is none."""
    assert mean_pass_hat_k([(3, 3)] * 5, 3).low < 0.7


@each("counts", [(2, 1, 1), (1, 2, 3), (1, 2, 0)])
def test_impossible_counts_are_refused(counts):
    """k beyond the trials is a bug of the caller."""
    with pytest.raises(ValueError, match="passed"):
        pass_at_k(*counts)


def test_the_rule_stops_where_wald_says():
    """Four passes are reliable, two failures are not; one failure and a pass decide nothing."""
    assert RULE.decision(4, 4) == "reliable"
    assert RULE.decision(0, 2) == "unreliable"
    assert RULE.decision(1, 2) == "undecided"
    assert not RULE.stops(3, 3)
    assert RULE.stops(6, 8)


def test_error_rates_are_what_the_documentation_says():
    """Exact: a scenario that passes at 0.9 is called unreliable, one at 0.5 reliable, in fewer than 10 % of cases."""

    def chance(rate, decision):
        return mean_over_all_ends(RULE, rate, lambda passed, n: RULE.decision(passed, n) == decision)

    def trials(rate):
        return mean_over_all_ends(RULE, rate, lambda _, n: n)

    assert (round(chance(0.9, "unreliable"), 3), round(chance(0.5, "reliable"), 3)) == (0.043, 0.078)
    assert (trials(1.0), trials(0.0)) == (4.0, 2.0)
    assert trials(0.9) < 5.3


def mean_over_all_ends(rule, rate, estimate):
    """The mean of an estimate over all ways in which trials of a true rate can end."""
    mean, open_ = 0.0, {(0, 0): 1}
    while open_:
        following = {}
        for (passed, n), ways in open_.items():
            for gain in (0, 1):
                place = (passed + gain, n + 1)
                if rule.stops(*place):
                    chance = ways * rate ** place[0] * (1 - rate) ** (place[1] - place[0])
                    mean += chance * estimate(*place)
                else:
                    following[place] = following.get(place, 0) + ways
        open_ = following
    return mean


@given(st.floats(0, 1), st.integers(1, 10))
def test_the_corrected_rate_is_unbiased(rate, most):
    """Averaged over all ways to end, the estimate is the rate itself."""
    rule = StopRule(most=most)

    mean = mean_over_all_ends(rule, rate, lambda passed, n: unbiased_rate(rule, passed, n))

    assert mean == pytest.approx(rate, abs=1e-9)


@each("rate", [0.6, 0.65, 0.7, 0.75])
def test_the_plain_rate_is_biased_by_stopping_early(rate):
    """Passes over trials, averaged over all ways to end, is off by more than a hundredth."""
    rule = StopRule(most=8)

    mean = mean_over_all_ends(rule, rate, lambda passed, n: passed / n)

    assert abs(mean - rate) > 0.01


def test_where_the_rule_cannot_have_ended_the_rate_is_the_plain_one():
    """A selection of trials is taken as it is; without a stop the estimate is the plain rate."""
    assert unbiased_rate(RULE, 2, 3) == 2 / 3
    assert unbiased_rate(StopRule(most=3, error=1e-9), 2, 3) == pytest.approx(comb(2, 1) / comb(3, 1))
