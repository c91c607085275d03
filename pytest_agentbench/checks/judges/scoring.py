"""From the scores of criteria to the label of a run, by the formula of the rubric.

`must`: a run is POS where every `must` holds and, where a least score is set, the score reaches it. The score is the
mean of the other criteria, by weight, as shares of their maximum; a fault counts by how little of it shows. A good
thing for which there was no occasion is left out, and keeps no `must` from holding.

`scope` (SCOPE, step 4, appendix C.3): the average of a label is Σ(weight · score / max) over its criteria divided by
their *number*, not by their weights; a run is POS if the average of POS exceeds that of NEG, and NEG otherwise, a tie
included. What has no occasion scores 0. A make-or-break criterion in full therefore adds 100/n to the average of n NEG
criteria, while the average of POS can reach 10: from the eleventh NEG criterion on it need not decide.

What was not measured is taken at its best and at its worst: where both come to the same, it is known all the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from pytest_agentbench.checks.judges.asking import Citation
from pytest_agentbench.checks.matchers import every
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
    def good(self) -> Fraction | None:
        """How much speaks for the run, from 0 to 1: a good thing that shows, or a fault that does not."""
        return self.share if self.share is None or self.criterion.label == "POS" else 1 - self.share

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
        return every(self.holds.values())


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
    weights = sum(score.criterion.weight for score in others)
    worst, best = (
        sum(
            ((Fraction(unknown) if one.good is None else one.good) * one.criterion.weight for one in others),
            Fraction(0),
        )
        for unknown in (0, 1)
    )
    reached = None
    if least is not None and weights:
        reached = _agreed(*(total / weights >= Fraction(str(least)) for total in (worst, best)))
    is_known = bool(weights) and all(one.good is not None for one in others)
    return RubricScore(
        label=_label(every([*holds.values(), *(() if least is None else (reached,))])),
        holds=holds,
        score=float(worst / weights) if is_known else None,
        reached=reached,
    )


def _by_scope(scores: list[Score]) -> RubricScore:
    of: dict[Label, list[Score]] = {
        "POS": [one for one in scores if one.criterion.label == "POS"],
        "NEG": [one for one in scores if one.criterion.label == "NEG"],
    }
    # what was not measured counts in full for one label and not at all for the other, and the other way round
    passed = _agreed(*(_average(of["POS"], at) > _average(of["NEG"], 1 - at) for at in (0, 1)))
    pos, neg = (
        float(_average(of[label], 0)) if all(one.share is not None for one in of[label]) else None
        for label in ("POS", "NEG")
    )
    return RubricScore(label=_label(passed), pos=pos, neg=neg, holds={})


def _average(scores: list[Score], unknown: int) -> Fraction:
    """Give SCOPE's average of a label; what was not measured counts as `unknown` of its maximum."""
    shares = ((one.criterion.rated_weight, Fraction(unknown) if one.share is None else one.share) for one in scores)
    total = sum((weight * share for weight, share in shares), Fraction(0))
    return total / len(scores) if scores else Fraction(0)


def _label(passed: bool | None) -> Label | None:
    return None if passed is None else "POS" if passed else "NEG"


def _agreed(one: bool, other: bool) -> bool | None:
    return one if one == other else None
