"""Intervals: bootstrap, clusters, quantiles, correlations, concordance, differences."""

import random
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.results.intervals import (
    clustered_wilson,
    effective_runs,
    mean_interval,
    quantile_interval,
    t_quantile,
    wilson,
)
from pytest_agentbench.results.significance import (
    bootstrap_mean,
    bootstrap_p,
    concordance,
    detectable,
    paired_difference,
    pearson,
    spearman,
)

TAU_AIRLINE = (0.46, 0.44, 0.34, 0.30, 0.28, 0.21)
INTELLAGENT_AIRLINE = (0.70, 0.70, 0.63, 0.55, 0.53, 0.40)
TAU_RETAIL = (0.69, 0.51, 0.43, 0.46, 0.44, 0.31)
INTELLAGENT_RETAIL = (0.71, 0.68, 0.58, 0.62, 0.56, 0.48)
"""IntellAgent's Table 2: six models' success rates on both benchmarks."""


def test_intellagents_table_2_correlates_as_its_figures_say():
    """Airline 0.97 (the paper prints 0.98), retail 0.92; six models leave wide intervals."""
    airline = pearson(TAU_AIRLINE, INTELLAGENT_AIRLINE)
    retail = pearson(TAU_RETAIL, INTELLAGENT_RETAIL)

    assert (round(airline.value, 2), round(retail.value, 2)) == (0.97, 0.92)
    assert (round(airline.low, 2), round(retail.low, 2)) == (0.74, 0.44)
    assert round(spearman(TAU_RETAIL, INTELLAGENT_RETAIL).value, 2) == 0.94


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=4, max_size=30))
def test_correlations_agree_with_scipy(pairs):
    """Pearson, its interval, and Spearman with ties are scipy's."""
    stats = pytest.importorskip("scipy.stats")
    left, right = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    if len(set(left)) == 1 or len(set(right)) == 1:
        assert pearson(left, right) is None
        return

    expected = stats.pearsonr(left, right)
    ours = pearson(left, right)

    assert ours.value == pytest.approx(expected.statistic, abs=1e-9)
    if abs(ours.value) < 0.999999:
        ends = expected.confidence_interval()
        assert (ours.low, ours.high) == pytest.approx((ends.low, ends.high), abs=1e-6)
    assert spearman(left, right).value == pytest.approx(stats.spearmanr(left, right).statistic, abs=1e-9)


def test_three_pairs_have_a_correlation_and_no_interval():
    """Fisher's interval needs a fourth pair; sides of different length are refused."""
    found = pearson((1, 2, 3), (1, 2, 4))

    assert (found.low, found.high) == (-1.0, 1.0)
    assert pearson((1, 2), (1, 2)) is None
    with pytest.raises(ValueError, match="as many values"):
        pearson((1, 2, 3), (1, 2))


@pytest.mark.parametrize(
    ("share", "freedom"), [(0.975, 1), (0.975, 2), (0.9, 3), (0.025, 10), (0.995, 79), (0.975, 999)]
)
def test_students_quantiles_agree_with_scipy(share, freedom):
    """The finite sums invert to scipy's quantiles."""
    stats = pytest.importorskip("scipy.stats")

    assert t_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-8)


def test_students_quantiles_are_the_tables():
    """Printed values; impossible ones are refused."""
    assert [round(t_quantile(0.975, n), 3) for n in (1, 4, 30, 10_000)] == [12.706, 2.776, 2.042, 1.96]
    with pytest.raises(ValueError, match="share"):
        t_quantile(1, 4)


def test_one_trial_a_scenario_has_wilsons_interval():
    """Without clusters nothing changes."""
    found = clustered_wilson([(1, 1)] * 22 + [(0, 1)] * 2)

    assert (found.low, found.high) == wilson(22, 24)


def test_trials_that_agree_are_worth_one_run_a_scenario_and_independent_ones_more():
    """All-or-nothing scenarios tell as much as one trial each, and scenarios that are alike nearly as much as all."""
    same = effective_runs([(8, 8)] * 10 + [(0, 8)] * 10)
    apart = effective_runs([(4, 8)] * 20)

    assert 15 < same < 20
    assert 130 < apart < 160


def test_where_all_passed_the_interval_is_that_of_the_scenarios():
    """Eight passes of one scenario say little about the next scenario."""
    found = clustered_wilson([(8, 8)] * 5)

    assert (found.low, found.high) == pytest.approx(wilson(5, 5))
    assert clustered_wilson([]) is None


def test_clustered_intervals_hold_the_rate_as_often_as_they_say():
    """Simulated: scenarios of different difficulty, four trials each; ignoring that holds it far less often."""
    rng = random.Random(5)
    held = naive = 0
    for _ in range(400):
        counts = [
            (sum(rng.random() < rate for _ in range(4)), 4) for rate in (rng.betavariate(1.6, 0.4) for _ in range(30))
        ]
        found, plain = clustered_wilson(counts), wilson(sum(c for c, _ in counts), 120)
        held += found.low <= 0.8 <= found.high
        naive += plain[0] <= 0.8 <= plain[1]

    assert held / 400 > 0.92
    assert naive / 400 < 0.85


def test_means_have_students_interval_within_bounds():
    """Known values; one value alone has no interval but the bounds."""
    found = mean_interval([1.0, 2.0, 3.0])

    assert (found.value, found.low, found.high) == pytest.approx((2, 2 - 2.4841377, 2 + 2.4841377))
    assert mean_interval([0.5], bounds=(0, 1)).high == 1
    assert mean_interval([]) is None


def test_bootstrap_agrees_with_scipys_bca():
    """The interval of a skewed sample comes out like scipy's, whose draws differ."""
    stats = pytest.importorskip("scipy.stats")
    np = pytest.importorskip("numpy")
    values = [0.0] * 20 + [1.0] * 5 + [4.0, 9.0, 2.0, 3.5]

    ours = bootstrap_mean(values, resamples=9999)
    theirs = stats.bootstrap((np.array(values),), np.mean, n_resamples=9999, rng=np.random.default_rng(1))

    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.08)


def test_the_bootstrap_repeats_itself_by_seed():
    """Same seed, same bytes; another seed, other draws."""
    values = [0.0, 0.1, 0.2, 5.0, 0.4, 0.3]

    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)
    assert bootstrap_mean([]) is None
    assert bootstrap_mean([2.0, 2.0]).low == 2.0


def test_bootstrap_p_values_alarm_as_often_as_they_say():
    """Simulated without a difference: about 5 % below 0.05; with one of a standard deviation: nearly always."""
    rng = random.Random(11)
    null = [bootstrap_p([rng.gauss(0, 1) for _ in range(20)], seed=n, resamples=199) for n in range(300)]
    shifted = [bootstrap_p([rng.gauss(1, 1) for _ in range(20)], seed=n, resamples=199) for n in range(40)]

    assert 0.02 < sum(p < 0.05 for p in null) / 300 < 0.09
    assert sum(p < 0.05 for p in shifted) / 40 > 0.9


def test_bootstrap_p_of_little():
    """No difference, one scenario, or equal differences have the p-value that signs alone allow."""
    assert bootstrap_p([0.0, 0.0]) == 1.0
    assert bootstrap_p([3.0]) == 1.0
    assert bootstrap_p([1.0] * 6) == 1 / 32


def test_quantiles_have_order_statistics_for_ends():
    """Of 20 values the median lies between the 6th and the 15th; too few bound no 95th percentile."""
    found = quantile_interval(range(1, 21), 0.5)

    assert (found.value, found.low, found.high) == (10.5, 6, 15)
    assert quantile_interval(range(1, 21), 0.95).high == float("inf")
    assert quantile_interval([], 0.5) is None


def test_quantile_intervals_hold_the_quantile_as_often_as_they_say():
    """Simulated exponential times: the median's interval holds it at least 95 % of the time, less noise."""
    rng = random.Random(2)
    median = NormalDist().inv_cdf(0.5) + 0.6931471805599453
    found = [quantile_interval([rng.expovariate(1) for _ in range(30)], 0.5) for _ in range(400)]

    assert sum(one.low <= median <= one.high for one in found) / 400 > 0.93


def test_differences_have_agresti_and_mins_interval():
    """Their formula by hand: 7 won, 2 lost of 20; nothing changed still has a width."""
    found = paired_difference([1] * 7 + [-1] * 2 + [0] * 11)
    still = paired_difference([0] * 20)

    n, won, lost = 22, 7.5, 2.5
    spread = ((won + lost) - (won - lost) ** 2 / n) ** 0.5 / n
    assert found.value == pytest.approx(0.25)
    assert found.high == pytest.approx((won - lost) / n + 1.959964 * spread, abs=1e-5)
    assert still.low == -still.high
    assert still.high > 0


def test_what_is_detectable_shrinks_with_scenarios_and_is_never_less_than_six_flips():
    """Five scenarios show nothing; a hundred alike ones no less than six flips of a hundred."""
    assert detectable([0] * 5) is None
    assert detectable([0] * 100) >= 0.06
    assert detectable([1, -1, 0, 0, 0] * 20) > detectable([1, -1, 0, 0, 0] * 80)


def test_concordance_is_the_share_of_pairs_in_order():
    """All, none, and ties half; without failures nothing is known; the interval has a width at the end."""
    perfect = concordance([0.9, 0.8, 0.7], [0.1, 0.2])

    assert perfect.value == 1.0
    assert perfect.low < 0.9
    assert concordance([1, 1, 0], [1, 0, 0]).value == pytest.approx(6 / 9)
    assert concordance([0.5], [0.5]).value == 0.5
    assert concordance([1], []) is None
