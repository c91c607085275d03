"""From the scores of criteria to the label of a run.

SCOPE (step 4, appendix C.3): the average of a label is Σ(weight · score / max) over its criteria divided by their
*number*, not by their weights; a run is POS if the average of POS exceeds that of NEG, and NEG otherwise, a tie
included. A make-or-break criterion in full therefore adds 100/n to the average of n NEG criteria, while the average of
POS can reach 10: from the eleventh NEG criterion on it need not decide. Our default adds the veto that it stands for.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from pytest_agentbench.checks.judges.citations import Citation
from pytest_agentbench.core.rubric import MAKE_OR_BREAK_WEIGHT, Criterion, Label, Rubric


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a criterion was given, from 0 to its maximum, None where it could not be measured.

    `votes` are the scores of a judge that was asked several times.
    """

    criterion: Criterion
    value: float | None
    reason: str = ""
    citations: tuple[Citation, ...] = ()
    votes: tuple[int, ...] = ()

    @cached_property
    def share(self) -> Fraction | None:
        """The score as a share of its maximum, from 0 to 1."""
        return None if self.value is None else Fraction(self.value) / self.criterion.max_score


@dataclass(frozen=True, kw_only=True)
class RubricScore:
    """The label of a run in the rubric's mode and in SCOPE's, None where what was not measured could decide.

    `pos` and `neg` are SCOPE's averages, None where a criterion of the label was not measured. `vetoed_by` names the
    make-or-break criteria that show by more than the rubric's veto, whether its mode heeds them or not.
    """

    label: Label | None
    scope_label: Label | None
    pos: float | None
    neg: float | None
    vetoed_by: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the rubric's mode decides otherwise than SCOPE does."""
        return self.label is not None and self.label != self.scope_label


def rate(rubric: Rubric, scores: Iterable[Score]) -> RubricScore:
    """Rate a run by one score per criterion of `rubric`; raise `ValueError` where there is another number of them."""
    given = {score.criterion.id: score.share for score in scores}
    wanted = [criterion.id for criterion in rubric.criteria]
    if sorted(given) != sorted(wanted):
        raise ValueError(f"scores for {sorted(given)}, wanted: {sorted(wanted)}")
    shares = [(criterion, given[criterion.id]) for criterion in rubric.criteria]
    worst = [(c, _filled(share, 0 if c.label == "POS" else 1)) for c, share in shares]
    best = [(c, _filled(share, 1 if c.label == "POS" else 0)) for c, share in shares]
    scope = _agreed(_scope_label(worst), _scope_label(best))
    vetoed = [criterion.id for criterion, share in shares if _vetoes(rubric, criterion, share)]
    ours = _agreed(_default_label(rubric, worst), _default_label(rubric, best))
    known = {side: all(share is not None for criterion, share in shares if criterion.label == side) for side in _LABELS}
    return RubricScore(
        label=scope if rubric.mode == "scope" else ours,
        scope_label=scope,
        pos=float(_average(worst, "POS")) if known["POS"] else None,
        neg=float(_average(worst, "NEG")) if known["NEG"] else None,
        vetoed_by=tuple(vetoed),
    )


def deciding_share(rubric: Rubric) -> float | None:
    """Give the share of its maximum from which one make-or-break criterion decides in SCOPE whatever the others say.

    Above 1 it never does, and the two modes can differ on a run in which it shows fully. None without such a criterion.
    """
    if not any(criterion.make_or_break for criterion in rubric.criteria):
        return None
    most = _average([(criterion, Fraction(1)) for criterion in rubric.criteria], "POS")
    return float(most * len(rubric.of("NEG")) / MAKE_OR_BREAK_WEIGHT)


_LABELS: tuple[Label, Label] = ("POS", "NEG")
_Shares = list[tuple[Criterion, Fraction]]


def _average(shares: _Shares, label: Label) -> Fraction:
    weighted = [criterion.rated_weight * share for criterion, share in shares if criterion.label == label]
    return sum(weighted, Fraction(0)) / len(weighted) if weighted else Fraction(0)


def _scope_label(shares: _Shares) -> Label:
    return "POS" if _average(shares, "POS") > _average(shares, "NEG") else "NEG"


def _default_label(rubric: Rubric, shares: _Shares) -> Label:
    if any(_vetoes(rubric, criterion, share) for criterion, share in shares):
        return "NEG"
    return _scope_label(shares)


def _vetoes(rubric: Rubric, criterion: Criterion, share: Fraction | None) -> bool:
    return criterion.make_or_break and share is not None and share > Fraction(str(rubric.veto))


def _filled(share: Fraction | None, otherwise: int) -> Fraction:
    return Fraction(otherwise) if share is None else share


def _agreed(one: Label, other: Label) -> Label | None:
    return one if one == other else None
