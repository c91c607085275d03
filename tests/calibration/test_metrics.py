"""Figures against values computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.rubric import Label
from pytest_agentbench.results.calibration import agreement, spread
from pytest_agentbench.results.intervals import corrected_rate

LABEL = st.sampled_from(["POS", "NEG"])


def test_agreement_by_hand() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: the textbook's kappa of 0.4."""
    pairs: list[tuple[Label, Label | None]] = [
        *[("POS", "POS")] * 20,
        *[("POS", "NEG")] * 5,
        *[("NEG", "POS")] * 10,
        *[("NEG", "NEG")] * 15,
    ]

    found = agreement(pairs)

    assert found.accuracy == pytest.approx(0.7)
    assert found.precision == pytest.approx(20 / 30)
    assert found.recall == pytest.approx(20 / 25)
    assert found.f1 == pytest.approx(2 * 20 / (25 + 30))
    assert found.kappa == pytest.approx(0.4)


def test_hard_negatives_have_accuracy_alone() -> None:
    """Without a POS conversation nothing else is defined."""
    found = agreement([("NEG", "NEG"), ("NEG", "POS"), ("NEG", None)])

    assert (found.precision, found.recall, found.f1, found.kappa) == (None, None, None, None)
    assert found.accuracy == pytest.approx(1 / 3)
    assert found.undecided == 1


@given(st.lists(st.tuples(LABEL, LABEL), min_size=1))
def test_kappa_is_never_above_accuracy(pairs: list[tuple[Label, Label | None]]) -> None:
    """Agreement beyond chance is at most agreement."""
    found = agreement(pairs)

    assert found.kappa is None or found.accuracy is None or found.kappa <= found.accuracy + 1e-12


def test_spread_leaves_out_what_is_undefined() -> None:
    """Mean and sample deviation of two values."""
    assert spread([1.0, None, 0.0]).mean == 0.5
    assert spread([1.0, None, 0.0]).sd == pytest.approx(0.70710678)
    assert spread([None]).mean is None


def test_a_rate_is_put_right() -> None:
    """(0.3 + 0.9 - 1) / (0.8 + 0.9 - 1) = 2/7, inside its interval."""
    found = corrected_rate(30, 100, true_pos=80, positives=100, true_neg=90, negatives=100)

    assert found is not None
    assert found.rate == pytest.approx(2 / 7)
    assert found.low < found.rate < found.high
    assert found.low > 0.1
    assert found.high < 0.5


def test_a_perfect_judge_changes_nothing_and_a_coin_cannot_be_corrected() -> None:
    """The correction is that of the judge's errors, no more."""
    perfect = corrected_rate(30, 100, true_pos=500, positives=500, true_neg=500, negatives=500)

    assert perfect is not None
    assert perfect.rate == pytest.approx(0.3)
    assert corrected_rate(30, 100, true_pos=50, positives=100, true_neg=50, negatives=100) is None
    assert corrected_rate(0, 0, true_pos=1, positives=1, true_neg=1, negatives=1) is None
