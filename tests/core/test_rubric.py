"""Rubrics: what a criterion may be, and what a rubric needs."""

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_agentbench.core.errors import FormError
from pytest_agentbench.core.rubric import Criterion, Rubric
from tests.tables import each

GOOD: dict[str, Any] = {"id": "good", "text": "does it"}


def test_a_make_or_break_criterion_weighs_a_hundred() -> None:
    """Its weight is SCOPE's; any other criterion has its own."""
    fatal = Criterion(id="fatal", text="lies", label="NEG", make_or_break=True)

    assert fatal.rated_weight == 100
    assert Criterion(**GOOD, weight=3).rated_weight == 3


@each(
    ("given", "message"),
    [
        ({"make_or_break": True, "label": "POS"}, "label: NEG"),
        ({"make_or_break": True, "label": "NEG", "weight": 9}, "leave `weight` out"),
        ({"must": True, "weight": 9}, "nothing outweighs it: leave `weight` out"),
        ({"must": True, "max_score": 4}, "leave `max_score` out"),
        ({"must": True, "make_or_break": True, "label": "NEG"}, "both `must` and `make_or_break`"),
        ({"met": "it is done"}, "write `must: true`, or leave them out"),
        ({"weight": 11}, "found 11, expected a whole number from 1 to 10"),
        ({"weight": 0}, "found 0, expected a whole number from 1 to 10"),
        ({"check": "tool_erors == 0"}, "did you mean 'tool_errors'"),
        ({"text": " "}, "expected what the criterion looks for, in words"),
        ({"id": "a b"}, "found 'a b', expected a name of letters"),
        ({"max_score": 0}, "expected a whole number from 1 to 100"),
    ],
)
def test_a_criterion_that_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    """The message says what is wrong and what to write."""
    with pytest.raises(FormError, match=message):
        Criterion(**{**GOOD, **given})


def test_checks_are_expressions_or_import_paths() -> None:
    """A colon tells an import path."""
    assert Criterion(**GOOD, check="package.checks:polite").is_callable
    assert not Criterion(**GOOD, check="tool_errors == 0").is_callable
    assert not Criterion(**GOOD).is_callable


def test_a_must_is_true_or_is_not() -> None:
    """Its highest score is 1; that of a scored criterion is what it says."""
    assert Criterion(**GOOD, must=True, met="done", unmet="not done").highest == 1
    assert Criterion(**GOOD, max_score=4).highest == 4


FATAL = {"id": "fatal", "text": "lies", "label": "NEG"}


@each(
    ("given", "message"),
    [
        ({"criteria": [GOOD, GOOD]}, "share the id 'good'"),
        ({"criteria": [FATAL], "formula": "scope"}, "no criterion is POS"),
        ({"criteria": [GOOD, {**FATAL, "must": True}], "formula": "scope"}, "'fatal': SCOPE has no `must`"),
        ({"criteria": [GOOD], "formula": "scope", "threshold": 0.5}, "belongs to `formula: must`"),
        ({"criteria": [{**GOOD, "must": True}], "threshold": 0.5}, "so that there is no score"),
        ({"criteria": [GOOD], "threshold": 1.5}, "found 1.5, expected the score below which a run fails"),
    ],
)
def test_a_rubric_that_cannot_decide_is_refused(given: dict[str, Any], message: str) -> None:
    """The message names the criterion, and what to write."""
    with pytest.raises(ValidationError, match=message):
        Rubric.model_validate(given)


def test_faults_alone_make_a_rubric_whose_formula_is_must() -> None:
    """A run without them passes; in SCOPE's formula none could."""
    assert Rubric.model_validate({"criteria": [{**FATAL, "must": True}]}).least_score is None


def test_a_score_decides_where_it_is_asked_to_or_nothing_else_does() -> None:
    """The least score is the threshold, one half without a `must`, and none beside one."""
    must = {**FATAL, "must": True}

    assert Rubric.model_validate({"criteria": [GOOD, must], "threshold": 0.7}).least_score == 0.7
    assert Rubric.model_validate({"criteria": [GOOD]}).least_score == 0.5
    assert Rubric.model_validate({"criteria": [GOOD, must]}).least_score is None
    assert Rubric.model_validate({"criteria": [GOOD], "formula": "scope"}).least_score is None
