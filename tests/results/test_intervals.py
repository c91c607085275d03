"""Wilson intervals and binomial masses."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.results.intervals import binomial_mass, wilson
from tests.tables import each


@each(
    ("successes", "n", "low", "high"),
    [(22, 24, 0.7415, 0.9768), (9, 9, 0.7009, 1.0), (0, 10, 0.0, 0.2775), (1, 1, 0.2065, 1.0), (5, 10, 0.2366, 0.7634)],
)
def test_intervals_agree_with_published_ones(successes, n, low, high):
    """Known values (R's prop.test without correction, statsmodels' wilson) come out to four digits."""
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_nothing_measured_has_no_interval():
    """Zero runs give None, not the whole range."""
    assert wilson(0, 0) is None


@each(("successes", "n"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(successes, n):
    """A count outside 0..n is a bug of the caller and raises."""
    with pytest.raises(ValueError, match=r"0\.\."):
        wilson(successes, n)


@given(st.integers(1, 20_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_interval_holds_the_rate_and_mirrors(pair):
    """The interval lies in 0..1, holds the rate, and mirrors when successes and failures swap."""
    successes, n = pair
    low, high = wilson(successes, n)
    mirrored = wilson(n - successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(st.integers(1, 60), st.integers(0, 60), st.data())
def test_binomial_mass_is_exact(n, hits, data):
    """The mass agrees with exact rational arithmetic."""
    hits = min(hits, n)
    counts = data.draw(st.sets(st.integers(0, n)))
    rate = Fraction(hits, n)
    exact = sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in counts)
    assert binomial_mass(n, hits / n, counts) == pytest.approx(float(exact), abs=1e-12)
