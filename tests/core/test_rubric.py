"""Rubrics: what a criterion may be, and what a rubric needs."""

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_agentbench.core.rubric import Criterion, Rubric

GOOD: dict[str, Any] = {"id": "good", "text": "does it"}


def test_a_make_or_break_criterion_weighs_a_hundred() -> None:
    """Its weight is SCOPE's; any other criterion has its own."""
    fatal = Criterion(id="fatal", text="lies", label="NEG", make_or_break=True)

    assert fatal.rated_weight == 100
    assert Criterion(**GOOD, weight=3).rated_weight == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"make_or_break": True}, "label: NEG"),
        ({"make_or_break": True, "label": "NEG", "weight": 9}, "leave `weight` out"),
        ({"weight": 11}, "less than or equal to 10"),
        ({"weight": 0}, "greater than or equal to 1"),
        ({"check": "tool_erors == 0"}, "did you mean 'tool_errors'"),
        ({"text": " "}, "match pattern"),
        ({"id": "a b"}, "match pattern"),
        ({"max_score": 0}, "greater than or equal to 1"),
    ],
)
def test_a_criterion_that_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    """The message says what is wrong and what to write."""
    with pytest.raises(ValidationError, match=message):
        Criterion(**{**GOOD, **given})


def test_checks_are_expressions_or_import_paths() -> None:
    """A colon tells an import path."""
    assert Criterion(**GOOD, check="package.checks:polite").is_callable
    assert not Criterion(**GOOD, check="tool_errors == 0").is_callable
    assert not Criterion(**GOOD).is_callable


def test_a_rubric_needs_a_pos_criterion_and_ids_of_their_own() -> None:
    """Without POS no run could pass, and verdicts are told apart by id."""
    with pytest.raises(ValidationError, match="no criterion is POS"):
        Rubric(criteria=(Criterion(id="a", text="a", label="NEG"),))
    with pytest.raises(ValidationError, match="share the id 'good'"):
        Rubric(criteria=(Criterion(**GOOD), Criterion(**GOOD)))
