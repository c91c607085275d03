"""From scores to labels: SCOPE's rule exactly, the veto of ours, and where the two differ."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_agentbench.checks.judges.scoring import RubricScore, Score, deciding_share, rate
from pytest_agentbench.core.rubric import Criterion, Rubric


def pos(name: str = "p", weight: int = 10, max_score: int = 10) -> Criterion:
    """A POS criterion."""
    return Criterion(id=name, text=name, weight=weight, max_score=max_score)


def neg(name: str, weight: int = 1) -> Criterion:
    """A NEG criterion."""
    return Criterion(id=name, text=name, label="NEG", weight=weight)


def fatal(name: str = "fatal") -> Criterion:
    """A make-or-break criterion."""
    return Criterion(id=name, text=name, label="NEG", make_or_break=True)


def rated(rubric: Rubric, **values: float | None) -> RubricScore:
    """Rate by values; what is not named scores 0."""
    return rate(rubric, [Score(criterion=one, value=values.get(one.id, 0)) for one in rubric.criteria])


def test_averages_divide_by_the_number_of_criteria() -> None:
    """Weights are not in the denominator (SCOPE, step 4)."""
    rubric = Rubric(criteria=(pos("a", 10), pos("b", 2), neg("c", 5), neg("d", 1)), mode="scope")

    score = rated(rubric, a=5, b=10, c=10, d=0)

    assert score.pos == pytest.approx((10 * 0.5 + 2 * 1.0) / 2)
    assert score.neg == pytest.approx((5 * 1.0 + 1 * 0.0) / 2)
    assert score.label == "POS"


def test_a_tie_is_neg() -> None:
    """Equal averages are no POS, also where floating point sums of thirds and tenths would differ."""
    three = (pos("a", 1), pos("b", 2), pos("c", 3))
    rubric = Rubric(criteria=(*three, neg("d", 1), neg("e", 2), neg("f", 3)))

    assert rated(rubric, a=1, b=2, c=7, d=1, e=2, f=7).label == "NEG"
    assert rated(rubric).label == "NEG"


@pytest.mark.parametrize(("others", "scope"), [(9, "NEG"), (10, "POS"), (11, "POS")])
def test_a_make_or_break_hit_may_not_decide_in_scope_from_eleven_neg_criteria_on(others: int, scope: str) -> None:
    """A full hit gives 100/n, against a POS average of 10; only the veto decides in any case."""
    criteria = (pos(), fatal(), *(neg(f"n{i}") for i in range(others)))

    in_scope = rated(Rubric(criteria=criteria, mode="scope"), p=10, fatal=10)
    ours = rated(Rubric(criteria=criteria), p=10, fatal=10)

    assert in_scope.label == scope
    assert (ours.label, ours.scope_label, ours.differs) == ("NEG", scope, scope == "POS")
    assert ours.vetoed_by == in_scope.vetoed_by == ("fatal",)


def test_the_veto_starts_above_its_share() -> None:
    """At the share itself SCOPE's rule decides."""
    rubric = Rubric(criteria=(pos(), fatal(), *(neg(f"n{i}") for i in range(11))), veto=0.6)

    assert rated(rubric, p=10, fatal=6).label == "POS"
    assert rated(rubric, p=10, fatal=7).label == "NEG"


def test_what_is_not_measured_decides_nothing_unless_it_cannot_matter() -> None:
    """The label is given where the worst and the best case agree."""
    rubric = Rubric(criteria=(pos("a", 10), pos("b", 1), neg("c", 1), fatal()))

    assert rated(rubric, a=10, b=None).label == "POS"
    assert rated(rubric, a=10, b=None).pos is None
    assert rated(rubric, a=None, b=10).label == "POS"
    assert rated(rubric, a=None, b=0).label is None
    assert rated(rubric, a=10, b=10, fatal=None).label is None
    assert rated(rubric, a=None, b=0, fatal=10).label == "NEG"


def test_every_criterion_has_one_score() -> None:
    """A missing or a foreign score is a mistake of the caller's."""
    with pytest.raises(ValueError, match="wanted"):
        rate(Rubric(criteria=(pos("a"),)), [])
    with pytest.raises(ValueError, match="wanted"):
        rate(Rubric(criteria=(pos("a"),)), [Score(criterion=pos("b"), value=1)])


@st.composite
def scored(draw: st.DrawFn, mode: str = "default") -> tuple[Rubric, dict[str, int]]:
    """A rubric with scores for all of it."""
    weights = st.integers(1, 10)
    criteria = [
        *(pos(f"p{number}", draw(weights), draw(st.integers(1, 12))) for number in range(draw(st.integers(1, 5)))),
        *(neg(f"n{number}", draw(weights)) for number in range(draw(st.integers(0, 14)))),
        *(fatal(f"m{number}") for number in range(draw(st.integers(0, 3)))),
    ]
    values = {one.id: draw(st.integers(0, one.max_score)) for one in criteria}
    veto = draw(st.sampled_from([0.0, 0.3, 0.5, 0.9]))
    return Rubric.model_validate({"criteria": criteria, "mode": mode, "veto": veto}), values


@given(scored("scope"))
def test_scope_mode_is_scopes_formula(case: tuple[Rubric, dict[str, int]]) -> None:
    """POS iff avg_POS - avg_NEG > 0, in exact arithmetic."""
    rubric, values = case

    def average(label: str) -> Fraction:
        of = [one for one in rubric.criteria if one.label == label]
        total = sum(Fraction((100 if one.make_or_break else one.weight) * values[one.id], one.max_score) for one in of)
        return total / max(1, len(of))

    assert rated(rubric, **values).label == ("POS" if average("POS") - average("NEG") > 0 else "NEG")


@given(scored())
def test_ours_differs_from_scope_exactly_where_a_veto_turns_pos_to_neg(case: tuple[Rubric, dict[str, int]]) -> None:
    """The veto only ever takes away; without one the modes agree."""
    rubric, values = case

    score = rated(rubric, **values)

    assert score.differs == bool(score.vetoed_by and score.scope_label == "POS")
    assert score.label == ("NEG" if score.vetoed_by else score.scope_label)


@given(scored(), st.data())
def test_more_of_a_fault_never_helps(case: tuple[Rubric, dict[str, int]], data: st.DataObject) -> None:
    """Raising a NEG score or lowering a POS score never turns NEG into POS."""
    rubric, values = case
    assume(rated(rubric, **values).label == "NEG")
    one = data.draw(st.sampled_from(rubric.criteria))
    worse = data.draw(
        st.integers(0, values[one.id]) if one.label == "POS" else st.integers(values[one.id], one.max_score)
    )

    assert rated(rubric, **{**values, one.id: worse}).label == "NEG"


@given(scored("scope"), st.data())
def test_from_the_deciding_share_on_one_hit_decides_in_scope(
    case: tuple[Rubric, dict[str, int]], data: st.DataObject
) -> None:
    """At or above it SCOPE says NEG whatever else is scored."""
    rubric, values = case
    share = deciding_share(rubric)
    hits = [one for one in rubric.criteria if one.make_or_break]
    assume(share is not None and share <= 1 and hits)
    assert share is not None
    one = data.draw(st.sampled_from(hits))
    assume(values[one.id] / one.max_score >= share)

    assert rated(rubric, **values).label == "NEG"


def test_the_deciding_share_tells_rubrics_in_which_the_modes_can_differ() -> None:
    """Twelve NEG criteria against a POS average of 10: a full hit is not enough."""
    assert deciding_share(Rubric(criteria=(pos(), fatal(), *(neg(f"n{i}") for i in range(11))))) == 1.2
    assert deciding_share(Rubric(criteria=(pos(weight=5), fatal()))) == 0.05
    assert deciding_share(Rubric(criteria=(pos(), neg("n")))) is None
