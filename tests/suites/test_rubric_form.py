"""The form of `judge` and `rubric`, and what is wrong with a rubric beyond its form."""

from typing import Any

import pytest

from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.suites.schema_criteria import RUBRIC_FILE
from pytest_agentbench.suites.schema_rubric import JUDGE, RUBRIC, read_rubric, rubric_misfits
from pytest_agentbench.suites.shape import misfits

GOOD: dict[str, Any] = {"id": "done", "text": "Does it."}


def test_a_list_of_criteria_is_a_rubric() -> None:
    """A make-or-break criterion is NEG without saying so."""
    form = [GOOD, {"id": "lies", "text": "Lies.", "make_or_break": True}]

    assert not list(misfits(form, RUBRIC_FILE))
    assert not list(rubric_misfits(form))
    assert read_rubric(form) == Rubric(
        criteria=(Criterion(**GOOD), Criterion(id="lies", text="Lies.", label="NEG", make_or_break=True))
    )


def test_a_rubric_in_full_has_a_mode_and_a_veto() -> None:
    """They stand beside the criteria."""
    form = {"criteria": [GOOD], "mode": "scope", "veto": 0.8}

    assert not list(misfits(form, RUBRIC))
    assert (read_rubric(form).mode, read_rubric(form).veto) == ("scope", 0.8)


@pytest.mark.parametrize(
    "form",
    [
        {"criteria": [GOOD], "mode": "exact"},
        {"criteria": [GOOD], "veto": 1.5},
        {"criteria": []},
        [{"id": "a"}],
        [{**GOOD, "weight": 11}],
        [{**GOOD, "wieght": 3}],
        [{**GOOD, "label": "good"}],
    ],
)
def test_what_does_not_fit_the_form_is_found(form: Any) -> None:
    """Allowed values and keys are those of the schema."""
    assert list(misfits(form, RUBRIC_FILE))


@pytest.mark.parametrize(
    ("form", "path", "message"),
    [
        ([{**GOOD, "check": "tool_erors == 0"}], (0,), "did you mean 'tool_errors'"),
        ([GOOD, {**GOOD, "make_or_break": True, "weight": 5}], (1,), "leave `weight` out"),
        ([{**GOOD, "make_or_break": True, "label": "POS"}], (0,), "label: NEG"),
        ({"criteria": [{**GOOD, "check": "finished"}]}, ("criteria", 0), "finished == 1"),
        ([GOOD, GOOD], (), "share the id 'done'"),
        ([{**GOOD, "label": "NEG"}], (), "no criterion is POS"),
    ],
)
def test_what_makes_no_rubric_is_found_where_it_stands(form: Any, path: tuple[Any, ...], message: str) -> None:
    """The message says what to write."""
    (found,) = rubric_misfits(form, ("rubric",))

    assert found.path == ("rubric", *path)
    assert message in found.message


def test_the_judge_has_a_model_and_an_odd_number_of_votes() -> None:
    """An even number could tie."""
    assert not list(misfits({"llm": {"model": "m"}, "votes": 3}, JUDGE))
    assert list(misfits({"llm": {"model": "m"}, "votes": 2}, JUDGE))
    assert list(misfits({"votes": 1}, JUDGE))
