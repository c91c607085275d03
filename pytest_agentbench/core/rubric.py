"""Rubrics: weighted criteria by which a run is judged, some of them make-or-break."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.expression import check_expression

Label = Literal["POS", "NEG"]
"""POS: what a good run shows. NEG: a fault. Of a whole run: passed, or failed."""

MAKE_OR_BREAK_WEIGHT = 100
"""The weight of a make-or-break criterion (SCOPE, appendix C.3)."""

_IMPORT_PATH = re.compile(r"[^\s:/]+:[^\s:/]+")


class Criterion(Model):
    """One thing that a run is judged by, scored from 0 (does not show) to `max_score` (shows fully).

    `weight` is 1 to 10. A make-or-break criterion is NEG and weighs 100 whatever its `weight`. `check` decides without
    a model: the import path of a function of the run, or an expression over metrics (`core.expression`).
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
    text: Annotated[str, Field(pattern=r"\S")]
    label: Label = "POS"
    weight: Annotated[int, Field(ge=1, le=10)] = 5
    make_or_break: bool = False
    max_score: Annotated[int, Field(ge=1, le=100)] = 10
    check: str | None = None

    @property
    def rated_weight(self) -> int:
        """The weight that counts."""
        return MAKE_OR_BREAK_WEIGHT if self.make_or_break else self.weight

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
        if self.check is not None and not self.is_callable:
            check_expression(self.check)
        return self


class Rubric(Model):
    """Criteria and how they decide; ids are unique, and at least one criterion is POS.

    Both modes compare the labels' averages as SCOPE does. `default` adds a veto: a make-or-break criterion that shows
    by more than the share `veto` of its maximum decides alone.
    """

    criteria: tuple[Criterion, ...]
    mode: Literal["default", "scope"] = "default"
    veto: Annotated[float, Field(ge=0, le=1)] = 0.5

    def of(self, label: Label) -> tuple[Criterion, ...]:
        """Give the criteria of one label."""
        return tuple(criterion for criterion in self.criteria if criterion.label == label)

    @property
    def judged(self) -> tuple[Criterion, ...]:
        """The criteria that need a model."""
        return tuple(criterion for criterion in self.criteria if criterion.check is None)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        ids = [criterion.id for criterion in self.criteria]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"criteria share the id {', '.join(map(repr, twice))}: give each its own")
        if not self.of("POS"):
            raise ValueError("no criterion is POS, so that no run could pass: add one, such as 'does what was asked'")
        return self
