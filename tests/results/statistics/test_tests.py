"""Tests of differences: McNemar, sign flips, Holm."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.results import significance as module
from pytest_agentbench.results.significance import holm, sign_flip
from tests.results.make import mcnemar_exact
from tests.tables import each


@each(
    ("lost", "won", "p"),
    [(0, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (9, 2, 0.0654297), (3, 3, 1.0), (33, 11, 0.00126003)],
)
def test_single_trials_give_known_values(lost, won, p):
    """Twice the smaller binomial tail (R's binom.test)."""
    assert sign_flip([-1] * lost + [1] * won) == pytest.approx(p, rel=1e-4)


@given(st.integers(0, 300), st.integers(0, 300))
def test_single_trials_agree_with_scipy(lost, won):
    """The exact test is a binomial test of the pairs that changed."""
    stats = pytest.importorskip("scipy.stats")

    expected = stats.binomtest(lost, lost + won).pvalue if lost + won else 1.0

    assert sign_flip([-1] * lost + [1] * won) == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_sign_flips_of_single_trials_are_mcnemars_test(lost, won, same):
    """With one trial a scenario both tests are one."""
    assert sign_flip([-1] * lost + [1] * won + [0] * same) == pytest.approx(mcnemar_exact(lost, won))


@given(st.lists(st.fractions(-1, 1, max_denominator=6), min_size=1, max_size=9))
def test_sign_flips_count_every_way_to_sign(differences):
    """The exact p-value is what trying all signs gives."""
    observed = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]

    assert sign_flip(differences) == pytest.approx(sum(one >= observed for one in sums) / len(sums))


def test_many_distinct_differences_are_drawn_and_come_near(monkeypatch):
    """Where enumerating takes too long, seeded draws give nearly the same, and the same again."""
    differences = [Fraction(k, 7) for k in (1, 2, 3, -1, 4, 5, -2, 6, 1, 2)]
    exact = sign_flip(differences)
    monkeypatch.setattr(module, "MOST_STATES", 1)

    drawn = sign_flip(differences, seed=3)

    assert drawn == pytest.approx(exact, abs=0.01)
    assert drawn == sign_flip(differences, seed=3)


def test_holm_gives_known_values():
    """R: p.adjust(c(.01, .04, .03, .005), 'holm')."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_order_and_lies_between_one_and_bonferroni(values):
    """Corrected values are never below the given ones, never above Bonferroni's, and in the same order."""
    corrected = holm(values)

    assert all(p <= q <= min(1, p * len(values)) + 1e-12 for p, q in zip(values, corrected, strict=True))
    ranked = [q for _, q in sorted(zip(values, corrected, strict=True))]
    assert ranked == sorted(ranked)
