"""From the scores of criteria to the label of a run, by the formula of the rubric.

`must`: a run is POS where every `must` holds and, where a least score is set, the score reaches it. The score is the
mean of the other criteria, by weight, as shares of their maximum; a fault counts by how little of it shows. A good
thing for which there was no occasion is left out, and keeps no `must` from holding.

`scope` (SCOPE, step 4, appendix C.3): the average of a label is Σ(weight · score / max) over its criteria divided by
their *number*, not by their weights; a run is POS if the average of POS exceeds that of NEG, and NEG otherwise, a tie
included. What has no occasion scores 0. A make-or-break criterion in full therefore adds 100/n to the average of n NEG
criteria, while the average of POS can reach 10: from the eleventh NEG criterion on it need not decide.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from pytest_agentbench.checks.judges.asking import Citation
from pytest_agentbench.core.rubric import Criterion, Label, Rubric


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a criterion was given, from 0 to its maximum, None where it could not be measured.

    `applies` False says that there was no occasion for it. `votes` are the scores of a judge that was asked several
    times.
    """

    criterion: Criterion
    value: float | None
    applies: bool = True
    reason: str = ""
    citations: tuple[Citation, ...] = ()
    votes: tuple[int, ...] = ()

    @cached_property
    def share(self) -> Fraction | None:
        """The score as a share of its maximum, from 0 to 1."""
        return None if self.value is None else Fraction(self.value) / self.criterion.highest

    @property
    def had_no_occasion(self) -> bool:
        """Whether a good thing did not show since there was no occasion for it."""
        return self.criterion.label == "POS" and not self.applies

    @property
    def holds(self) -> bool | None:
        """Whether a `must` holds: a good one is true or had no occasion, a fault does not show."""
        if self.share is None:
            return None
        return self.had_no_occasion or (self.share == 1) == (self.criterion.label == "POS")


@dataclass(frozen=True, kw_only=True)
class RubricScore:
    """The label of a run, None where what was not measured could decide, and the numbers of the rubric's formula.

    `scope`: `pos` and `neg` are the averages, None where a criterion of the label was not measured. `must`: `holds`
    says of each `must` whether it does, `score` is that of the other criteria, from 0 to 1, None where there are none,
    none had an occasion, or one was not measured; `reached` says whether it is the least score or more.
    """

    label: Label | None
    pos: float | None = None
    neg: float | None = None
    holds: Mapping[str, bool | None]
    score: float | None = None
    reached: bool | None = None

    @property
    def all_hold(self) -> bool | None:
        """Whether every `must` holds, None where one that was not measured could decide."""
        return _every(self.holds.values())


def rate(rubric: Rubric, scores: Iterable[Score]) -> RubricScore:
    """Rate a run by one score per criterion of `rubric`; raise `ValueError` where there is another number of them."""
    given = list(scores)
    wanted = [criterion.id for criterion in rubric.criteria]
    if sorted(score.criterion.id for score in given) != sorted(wanted):
        raise ValueError(f"scores for {sorted(score.criterion.id for score in given)}, wanted: {sorted(wanted)}")
    return _by_scope(given) if rubric.formula == "scope" else _by_must(given, rubric.least_score)


def _by_must(scores: list[Score], least: float | None) -> RubricScore:
    holds = {score.criterion.id: score.holds for score in scores if score.criterion.must}
    others = [score for score in scores if not score.criterion.must and not score.had_no_occasion]
    worst, best = (_mean(others, unknown) for unknown in (0, 1))
    reached = None if least is None else _agreed(_reaches(worst, least), _reaches(best, least))
    return RubricScore(
        label=_label(_every([*holds.values(), *(() if least is None else (reached,))])),
        holds=holds,
        score=float(worst) if worst is not None and _all_measured(others) else None,
        reached=reached,
    )


def _by_scope(scores: list[Score]) -> RubricScore:
    worst = {label: _average(scores, label, 0 if label == "POS" else 1) for label in _LABELS}
    best = {label: _average(scores, label, 1 if label == "POS" else 0) for label in _LABELS}
    passed = _agreed(worst["POS"] > worst["NEG"], best["POS"] > best["NEG"])
    known = {label: _all_measured([one for one in scores if one.criterion.label == label]) for label in _LABELS}
    return RubricScore(
        label=_label(passed),
        pos=float(worst["POS"]) if known["POS"] else None,
        neg=float(worst["NEG"]) if known["NEG"] else None,
        holds={},
    )


_LABELS: tuple[Label, Label] = ("POS", "NEG")


def _average(scores: list[Score], label: Label, unknown: int) -> Fraction:
    """Give SCOPE's average of a label; what was not measured counts as `unknown` of its maximum."""
    of = [score for score in scores if score.criterion.label == label]
    total = sum((score.criterion.rated_weight * _share(score, unknown) for score in of), Fraction(0))
    return total / len(of) if of else Fraction(0)


def _mean(scores: list[Score], unknown: int) -> Fraction | None:
    """Give the mean by weight; what was not measured counts as good by `unknown`."""
    weighted = [(score.criterion.weight, _good(score, unknown)) for score in scores]
    weights = sum(weight for weight, _ in weighted)
    return sum((weight * good for weight, good in weighted), Fraction(0)) / weights if weights else None


def _good(score: Score, unknown: int) -> Fraction:
    if score.share is None or score.criterion.label == "POS":
        return _share(score, unknown)
    return 1 - score.share


def _share(score: Score, unknown: int) -> Fraction:
    return Fraction(unknown) if score.share is None else score.share


def _all_measured(scores: list[Score]) -> bool:
    return all(score.share is not None for score in scores)


def _reaches(mean: Fraction | None, least: float) -> bool | None:
    return None if mean is None else mean >= Fraction(str(least))


def _label(passed: bool | None) -> Label | None:
    return None if passed is None else "POS" if passed else "NEG"


def _agreed(one: bool | None, other: bool | None) -> bool | None:
    return one if one == other else None


def _every(given: Iterable[bool | None]) -> bool | None:
    """Say whether all are true, None where one that is not known could decide."""
    known = list(given)
    return False if False in known else None if None in known else True
