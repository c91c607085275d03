"""From scores to labels: all of `must` and the score beside it, and SCOPE's formula exactly as published."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_agentbench.checks.judges.rubric_judge import RubricScore, Score, rate
from pytest_agentbench.core.rubric import Criterion, Rubric
from tests.tables import each


def pos(name: str = "p", weight: int = 10, max_score: int = 10) -> Criterion:
    """A POS criterion."""
    return Criterion(id=name, text=name, weight=weight, max_score=max_score)


def neg(name: str, weight: int = 1) -> Criterion:
    """A NEG criterion."""
    return Criterion(id=name, text=name, label="NEG", weight=weight)


def fatal(name: str = "fatal") -> Criterion:
    """A make-or-break criterion."""
    return Criterion(id=name, text=name, label="NEG", make_or_break=True)


def must(name: str = "done") -> Criterion:
    """What has to be true."""
    return Criterion(id=name, text=name, must=True)


def must_not(name: str = "lies") -> Criterion:
    """A fault that must not show."""
    return Criterion(id=name, text=name, label="NEG", must=True)


def scope(*criteria: Criterion) -> Rubric:
    """A rubric of SCOPE's formula."""
    return Rubric(criteria=criteria, formula="scope")


def rated(rubric: Rubric, *, idle: tuple[str, ...] = (), **values: float | None) -> RubricScore:
    """Rate by values; what is not named scores 0, and `idle` had no occasion."""
    scores = [Score(criterion=one, value=values.get(one.id, 0), applies=one.id not in idle) for one in rubric.criteria]
    return rate(rubric, scores)


def test_every_must_decides_alone() -> None:
    """One that is not true, or a fault that is, makes a run NEG whatever else is scored."""
    rubric = Rubric(criteria=(must(), must_not(), pos("clear")))

    assert rated(rubric, done=1).label == "POS"
    assert rated(rubric, done=0, clear=10).label == "NEG"
    assert rated(rubric, done=1, lies=1, clear=10).label == "NEG"
    assert rated(rubric, done=1, lies=1).holds == {"done": True, "lies": False}


def test_a_run_that_did_nothing_is_no_pass() -> None:
    """In SCOPE's formula clear words make up for what was not done."""
    weighed = (Criterion(id="done", text="done", weight=8), pos("clear", weight=3))

    assert rated(scope(*weighed), done=0, clear=10).label == "POS"
    assert rated(Rubric(criteria=(must(), weighed[1])), done=0, clear=10).label == "NEG"


def test_the_score_is_a_mean_by_weight_in_which_faults_count_by_their_absence() -> None:
    """Of maxima of their own; a `must` has no part in it."""
    rubric = Rubric(criteria=(must(), pos("a", 6), pos("b", 2, max_score=4), neg("c", 2)))

    score = rated(rubric, done=1, a=5, b=4, c=10)

    assert score.score == pytest.approx((6 * 0.5 + 2 * 1 + 2 * 0) / 10)
    assert score.reached is None
    assert score.label == "POS"


@each(("value", "reached"), [(7, True), (6.9, False)])
def test_a_threshold_is_reached_or_not_beside_the_musts(value: float, reached: bool) -> None:
    """Reaching it exactly is enough, in exact arithmetic; neither makes up for the other."""
    rubric = Rubric(criteria=(must(), pos("a")), threshold=0.7)

    score = rated(rubric, done=1, a=value)

    assert (score.reached, score.all_hold) == (reached, True)
    assert score.label == ("POS" if reached else "NEG")
    assert rated(rubric, done=0, a=10).label == "NEG"


def test_what_had_no_occasion_is_left_out() -> None:
    """A good thing lowers no score and breaks no `must`; a fault that had none did not show."""
    rubric = Rubric(criteria=(must(), must_not(), pos("a", 5), pos("b", 5), neg("c", 5)), threshold=0.9)

    score = rated(rubric, idle=("done", "lies", "a", "c"), b=8)

    assert score.holds == {"done": True, "lies": True}
    assert score.score == pytest.approx((0.8 + 1) / 2)
    assert rated(Rubric(criteria=(pos("a"),)), idle=("a",)).label is None


def test_what_is_not_measured_decides_nothing_unless_it_cannot_matter() -> None:
    """The label is given where the worst and the best case agree, under both formulas."""
    averages = scope(pos("a", 10), pos("b", 1), neg("c", 1), fatal())

    assert rated(averages, a=10, b=None).label == "POS"
    assert rated(averages, a=10, b=None).pos is None
    assert rated(averages, a=None, b=0).label is None
    assert rated(averages, a=10, b=10, fatal=None).label is None

    musts = Rubric(criteria=(must(), must_not(), pos("a", 9), pos("b", 1)), threshold=0.5)

    assert rated(musts, done=None, lies=0, a=10).label is None
    assert rated(musts, done=None, lies=1, a=10).label == "NEG"
    assert rated(musts, done=None, a=0).label == "NEG"
    assert rated(musts, done=1, a=8, b=None).label == "POS"
    assert rated(musts, done=1, a=8, b=None).score is None
    assert rated(musts, done=1, a=5, b=None).label is None


def test_every_criterion_has_one_score() -> None:
    """A missing or a foreign score is a mistake of the caller's."""
    with pytest.raises(ValueError, match="wanted"):
        rate(Rubric(criteria=(pos("a"),)), [])
    with pytest.raises(ValueError, match="wanted"):
        rate(Rubric(criteria=(pos("a"),)), [Score(criterion=pos("b"), value=1)])


def test_averages_divide_by_the_number_of_criteria() -> None:
    """Weights are not in the denominator (SCOPE, step 4), and what had no occasion scores 0."""
    rubric = scope(pos("a", 10), pos("b", 2), neg("c", 5), neg("d", 1))

    score = rated(rubric, idle=("d",), a=5, b=10, c=10, d=0)

    assert score.pos == pytest.approx((10 * 0.5 + 2 * 1.0) / 2)
    assert score.neg == pytest.approx((5 * 1.0 + 1 * 0.0) / 2)
    assert score.label == "POS"


def test_a_tie_is_neg() -> None:
    """Equal averages are no POS, also where floating point sums of thirds and tenths would differ."""
    rubric = scope(pos("a", 1), pos("b", 2), pos("c", 3), neg("d", 1), neg("e", 2), neg("f", 3))

    assert rated(rubric, a=1, b=2, c=7, d=1, e=2, f=7).label == "NEG"
    assert rated(rubric).label == "NEG"


@each(("others", "label"), [(9, "NEG"), (10, "POS"), (11, "POS")])
def test_eleven_neg_criteria_dilute_a_make_or_break_one_in_scope(others: int, label: str) -> None:
    """A full hit gives 100/n, against a POS average of 10; the same fault as a `must` decides in any case."""
    light = [neg(f"n{i}") for i in range(others)]

    assert rated(scope(pos(), fatal(), *light), p=10, fatal=10).label == label
    assert rated(Rubric(criteria=(pos(), must_not("fatal"), *light)), p=10, fatal=1).label == "NEG"


@st.composite
def scored(draw: st.DrawFn, *, formula: str) -> tuple[Rubric, dict[str, int]]:
    """A rubric with scores for all of it."""
    weights = st.integers(1, 10)
    decisive = draw(st.integers(0, 3))
    criteria = [
        *(pos(f"p{number}", draw(weights), draw(st.integers(1, 12))) for number in range(draw(st.integers(1, 5)))),
        *(neg(f"n{number}", draw(weights)) for number in range(draw(st.integers(0, 14)))),
        *(fatal(f"m{number}") if formula == "scope" else must_not(f"m{number}") for number in range(decisive)),
    ]
    more: dict[str, Any] = {}
    if formula == "must":
        criteria += [must(f"d{number}") for number in range(draw(st.integers(0, 3)))]
        more = {"threshold": draw(st.sampled_from([None, 0.0, 0.3, 0.5, 0.9]))}
    values = {one.id: draw(st.integers(0, one.highest)) for one in criteria}
    return Rubric.model_validate({"criteria": criteria, "formula": formula, **more}), values


@given(scored(formula="scope"))
def test_scope_is_scopes_formula(case: tuple[Rubric, dict[str, int]]) -> None:
    """POS iff avg_POS - avg_NEG > 0, in exact arithmetic."""
    rubric, values = case

    def average(label: str) -> Fraction:
        of = [one for one in rubric.criteria if one.label == label]
        total = sum(Fraction((100 if one.make_or_break else one.weight) * values[one.id], one.max_score) for one in of)
        return total / max(1, len(of))

    assert rated(rubric, **values).label == ("POS" if average("POS") - average("NEG") > 0 else "NEG")


@given(scored(formula="must"))
def test_must_is_all_of_must_and_the_score_that_is_asked_for(case: tuple[Rubric, dict[str, int]]) -> None:
    """Written out again from the rubric alone."""
    rubric, values = case
    others = [one for one in rubric.criteria if not one.must]
    good = {one.id: Fraction(values[one.id], one.max_score) for one in others}
    mean = sum(
        (one.weight * (good[one.id] if one.label == "POS" else 1 - good[one.id]) for one in others), Fraction(0)
    ) / sum(one.weight for one in others)
    least = rubric.threshold if rubric.threshold is not None or rubric.musts else 0.5

    holds = all(values[one.id] == (one.label == "POS") for one in rubric.musts)

    reached = least is None or mean >= Fraction(str(least))
    assert rated(rubric, **values).label == ("POS" if holds and reached else "NEG")


@given(st.one_of(scored(formula="must"), scored(formula="scope")), st.data())
def test_more_of_a_fault_never_helps(case: tuple[Rubric, dict[str, int]], data: st.DataObject) -> None:
    """Raising a NEG score or lowering a POS score never turns NEG into POS."""
    rubric, values = case
    assume(rated(rubric, **values).label == "NEG")
    one = data.draw(st.sampled_from(rubric.criteria))
    worse = data.draw(
        st.integers(0, values[one.id]) if one.label == "POS" else st.integers(values[one.id], one.highest)
    )

    assert rated(rubric, **{**values, one.id: worse}).label == "NEG"
