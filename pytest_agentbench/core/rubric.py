"""Rubrics: criteria by which a run is judged, some of which must hold, and the formula that decides by them."""

import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from pytest_agentbench.core.expression import check_expression
from pytest_agentbench.core.file_models import (
    Becomes,
    Choice,
    Filled,
    Flag,
    Holds,
    OneOf,
    Says,
    Share,
    Whole,
    Written,
)
from pytest_agentbench.core.wording import misfit, misfits_of

Label = Literal["POS", "NEG"]
"""POS: what a good run shows. NEG: a fault. Of a whole run: passed, or failed."""

Formula = Literal["must", "scope"]
"""must: every `must` holds. scope: the average of POS exceeds that of NEG (SCOPE, step 4)."""

Sees = Literal["goal", "conversation"]
"""What a judge sees: the conversation and its world alone, or goal, policies and expected effects beside them."""

MAKE_OR_BREAK_WEIGHT = 100
"""The weight of a make-or-break criterion (SCOPE, appendix C.3)."""

LEAST_SCORE = 0.5
"""The least score where no criterion is a `must` and no threshold is set: something has to decide."""

_IMPORT_PATH = re.compile(r"[^\s:/]+:[^\s:/]+")


class Criterion(Written):
    """One thing that a run is judged by: a `must`, or scored from 0 (does not show) to `max_score` (shows fully).

    A `must` is true of a run or is not: a POS one has to be true, a NEG one must not. `met` and `unmet` are its
    anchors, runs of which it is true and is not. `weight` is 1 to 10. `make_or_break` is SCOPE's: NEG, of weight 100.
    `check` decides without a model: the import path of a function of the run, or an expression over metrics
    (`core.expression`).
    """

    expected: ClassVar[str] = "a criterion: {id: …, text: …, label: POS, weight: 5}"

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+\Z"), Says("a name of letters, digits, `_.-`")]
    """A name, unique in the rubric."""
    text: Annotated[Filled, Says("what the criterion looks for, in words")]
    """What to look for: one thing that a stranger could check."""
    label: Annotated[Label, Choice("POS: a good run shows it; NEG: a fault")] = "POS"
    """`POS`: a good run shows it. `NEG`: a fault."""
    weight: Annotated[Whole, Field(ge=1, le=10), Says("a whole number from 1 to 10")] = 5
    """What a scored criterion counts beside the others, 1 to 10."""
    must: Annotated[Flag, Says("true: it must hold, whatever else is scored (`formula: must`)")] = False
    """Whether it decides alone."""
    make_or_break: Annotated[
        Flag, Says("true: a fault that weighs 100 (`formula: scope`), or must not show (`formula: must`)")
    ] = False
    """SCOPE's word for a fault that decides: `NEG`, weight 100."""
    met: Annotated[Filled, Says("when a `must` is true of a run, in words")] = ""
    """What a run looks like of which the must is true."""
    unmet: Annotated[Filled, Says("when a `must` is not true of a run, in words")] = ""
    """What a run looks like of which the must is not true."""
    max_score: Annotated[Whole, Field(ge=1, le=100), Says("a whole number from 1 to 100")] = 10
    """The full score of a scored criterion."""
    check: (
        Annotated[
            Filled, Says("an expression such as `tool_errors == 0`, or an import path such as package.module:name")
        ]
        | None
    ) = None
    """What decides it without a model: an expression, or the import path of a function."""

    @classmethod
    def long_form(cls, value: Any) -> Any:
        """Take a make-or-break criterion for a fault where it does not say its label."""
        return {"label": "NEG", **value} if isinstance(value, dict) and value.get("make_or_break") is True else value

    @property
    def rated_weight(self) -> int:
        """The weight that counts in SCOPE."""
        return MAKE_OR_BREAK_WEIGHT if self.make_or_break else self.weight

    @property
    def highest(self) -> int:
        """The score of a criterion that shows fully: 1 of a `must`."""
        return 1 if self.must else self.max_score

    @property
    def is_callable(self) -> bool:
        """Whether `check` is an import path; else it is an expression, or there is none."""
        return self.check is not None and _IMPORT_PATH.fullmatch(self.check) is not None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.make_or_break and self.label != "NEG":
            raise ValueError("a make-or-break criterion describes a fault: write `label: NEG`")
        if self.make_or_break and "weight" in self.model_fields_set:
            raise ValueError(f"a make-or-break criterion weighs {MAKE_OR_BREAK_WEIGHT}: leave `weight` out")
        if self.must:
            self._fits_must()
        elif self.met or self.unmet:
            raise ValueError("`met` and `unmet` say when a `must` is true: write `must: true`, or leave them out")
        if self.check is not None and not self.is_callable:
            check_expression(self.check)
        return self

    def _fits_must(self) -> None:
        if self.make_or_break:
            raise ValueError("it has both `must` and `make_or_break`: leave one out")
        for key in ("weight", "max_score"):
            if key in self.model_fields_set:
                raise ValueError(f"a `must` is true or is not, and nothing outweighs it: leave `{key}` out")


Criteria = Annotated[tuple[Criterion, ...], Holds("a list of criteria", 1)]


class Rubric(Written):
    """Criteria and how they decide; ids are unique.

    `must`: a run is POS where every `must` holds and the score, a weighted mean of the other criteria, reaches
    `threshold`. Where that is None no score decides, unless nothing else does. `scope` compares the labels' averages
    exactly as SCOPE does.
    """

    expected: ClassVar[str] = "{criteria: […], formula: must}"
    instead: ClassVar[dict[str, str]] = {
        "mode": "write `formula: must` (the default) or `formula: scope`",
        "veto": "write `formula: must`, under which each `must` decides alone",
    }

    formula: Annotated[Formula, Choice("must: every `must` holds; scope: averages, exactly as SCOPE")] = "must"
    """How criteria decide: `must` or `scope`."""
    criteria: Criteria
    """The criteria; a file may be this list alone."""
    threshold: Annotated[Share, Says("the score below which a run fails (`formula: must`), from 0 to 1")] | None = None
    """The least score with `formula: must`, from 0 to 1."""

    def of(self, label: Label) -> tuple[Criterion, ...]:
        """Give the criteria of one label."""
        return tuple(criterion for criterion in self.criteria if criterion.label == label)

    @property
    def judged(self) -> tuple[Criterion, ...]:
        """The criteria that need a model."""
        return tuple(criterion for criterion in self.criteria if criterion.check is None)

    @property
    def musts(self) -> tuple[Criterion, ...]:
        """The criteria that must hold."""
        return tuple(criterion for criterion in self.criteria if criterion.must)

    @property
    def least_score(self) -> float | None:
        """The score below which a run is NEG under `formula: must`, None where no score decides."""
        if self.formula == "scope":
            return None
        return LEAST_SCORE if self.threshold is None and not self.musts else self.threshold

    @field_validator("criteria")
    @classmethod
    def _fit_each_other(cls, criteria: tuple[Criterion, ...], info: ValidationInfo) -> tuple[Criterion, ...]:
        ids = [criterion.id for criterion in criteria]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"criteria share the id {', '.join(map(repr, twice))}: give each its own")
        is_scope = info.data.get("formula") == "scope"
        if not is_scope:
            return tuple(map(_as_must, criteria))
        foreign = next((one for one in criteria if one.must), None)
        if foreign is not None:
            instead = "write `make_or_break: true` for a fault (`label: NEG`), or `formula: must`"
            raise ValueError(f"criterion {foreign.id!r}: SCOPE has no `must`; {instead}")
        if is_scope and all(criterion.label == "NEG" for criterion in criteria):
            raise ValueError("no criterion is POS, so that no run could pass: add one, such as 'does what was asked'")
        return criteria

    @field_validator("threshold")
    @classmethod
    def _has_scores(cls, threshold: float | None, info: ValidationInfo) -> float | None:
        if threshold is not None and info.data.get("formula") == "scope":
            raise ValueError("`threshold` belongs to `formula: must`; SCOPE compares two averages")
        criteria = info.data.get("criteria")  # not there where something is wrong with them
        if threshold is not None and criteria and all(criterion.must for criterion in criteria):
            raise ValueError("every criterion is a `must`, so that there is no score: add a scored one")
        return threshold


def _as_must(criterion: Criterion) -> Criterion:
    """Give a make-or-break criterion as a `must`, so that a rubric that was learnt loads under either formula."""
    if not criterion.make_or_break:
        return criterion
    kept = criterion.model_dump(exclude_unset=True, exclude={"make_or_break", "max_score"})
    return Criterion.model_validate({**kept, "must": True})


def _of_list(written: Any) -> Rubric | str:
    """Give the rubric whose criteria are all that is written; a file is left to whoever reads it."""
    if isinstance(written, Rubric | str):
        return written
    try:
        return Rubric.model_validate({"criteria": written})
    except ValidationError as error:
        raise misfit(misfits_of(error)[0].message) from None  # a list has no key `criteria` to point at


_WrittenRubric = Annotated[Criteria | Rubric, OneOf("a list of criteria, or {criteria: […], formula: …}")]
WrittenRubric = Annotated[Rubric, Becomes(_WrittenRubric, _of_list)]
"""What a rubric file holds, and the `rubric` of a scenario."""

_RubricOrFile = Annotated[
    Annotated[Filled, Says("the path of a rubric file")] | Criteria | Rubric,
    OneOf("the path of a rubric file, a list of criteria, or {criteria: […], formula: …}"),
]
RubricOrFile = Annotated[Rubric | str, Becomes(_RubricOrFile, _of_list)]
"""The `rubric` of a suite."""
