"""The form of `judge` and `rubric`, and what is wrong with a rubric beyond its form."""

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.file_models import form_misfits, read_form
from pytest_agentbench.core.rubric import Criterion, Rubric, WrittenRubric
from pytest_agentbench.spec.suite import JudgeForm
from pytest_agentbench.suites.suite_file import load_suite
from tests.tables import each

GOOD: dict[str, Any] = {"id": "done", "text": "Does it."}


LIES: dict[str, Any] = {"id": "lies", "text": "Lies.", "make_or_break": True}
LEARNT: dict[str, Any] = {"id": "fault", "text": "Is rude.", "label": "NEG", "weight": 3}


def read_rubric(form: Any) -> Rubric:
    """Read a rubric that fits."""
    rubric, wrong = read_form(form, WrittenRubric)
    assert not wrong
    assert isinstance(rubric, Rubric)
    return rubric


def test_a_list_of_criteria_is_a_rubric_whose_formula_is_must() -> None:
    """What decides is a `must`, a thing to show or, with NEG, a fault not to."""
    form = [{**GOOD, "must": True, "met": "It is done.", "unmet": "It is promised."}, LEARNT]

    must = Criterion(**GOOD, must=True, met="It is done.", unmet="It is promised.")
    assert read_rubric(form) == Rubric(criteria=(must, Criterion(**LEARNT)), formula="must")


@each("written", [LIES, {**LIES, "label": "NEG", "max_score": 4}])
def test_a_learnt_rubric_loads_under_either_formula(written: dict[str, Any]) -> None:
    """Make-or-break weighs 100 in SCOPE's formula, and is a fault that must not show in the other."""
    forms = {name: {"criteria": [GOOD, written, LEARNT], "formula": name} for name in ("must", "scope")}

    scope, must = read_rubric(forms["scope"]), read_rubric(forms["must"])
    assert [one.rated_weight for one in scope.criteria] == [5, 100, 3]
    assert [(one.id, one.label, one.highest) for one in must.musts] == [("lies", "NEG", 1)]
    assert [one.weight for one in must.criteria if not one.must] == [5, 3]


def test_a_rubric_in_full_has_a_formula_and_a_threshold() -> None:
    """They stand beside the criteria."""
    form = {"criteria": [GOOD], "formula": "must", "threshold": 0.8}

    assert (read_rubric(form).formula, read_rubric(form).threshold) == ("must", 0.8)


@each(
    "form",
    [
        {"criteria": [GOOD], "formula": "exact"},
        {"criteria": [GOOD], "threshold": 1.5},
        {"criteria": []},
        [{"id": "a"}],
        [{**GOOD, "weight": 11}],
        [{**GOOD, "wieght": 3}],
        [{**GOOD, "label": "good"}],
        [{**GOOD, "must": "true"}],
        [{**GOOD, "must": True, "met": ""}],
    ],
)
def test_what_does_not_fit_the_form_is_found(form: Any) -> None:
    """Allowed values and keys are those of the schema."""
    assert form_misfits(form, WrittenRubric)


@pytest.mark.parametrize(
    ("keys", "place", "hint"),
    [
        ("mode: default", "3:1", "write `formula: must` (the default) or `formula: scope`"),
        ("veto: 0.5", "3:1", "write `formula: must`, under which each `must` decides alone"),
    ],
)
def test_a_key_that_went_names_the_one_that_stands_for_it(tmp_path: Path, keys: str, place: str, hint: str) -> None:
    """With its place in the file."""
    (tmp_path / "rubric.yaml").write_text(f"criteria:\n- {{id: done, text: Does it.}}\n{keys}\n")
    (tmp_path / "agentbench.yaml").write_text("agent: a:build\nrubric: rubric.yaml\n")

    with pytest.raises(SuiteError) as error:
        load_suite(tmp_path / "agentbench.yaml", environ={})

    assert f"rubric.yaml:{place}: " in str(error.value)
    assert f"unknown key {keys.partition(':')[0]!r}" in str(error.value)
    assert hint in str(error.value)


SCOPE = {"formula": "scope"}


@each(
    ("form", "path", "message"),
    [
        ([{**GOOD, "check": "tool_erors == 0"}], (0,), "did you mean 'tool_errors'"),
        ([GOOD, {**GOOD, "make_or_break": True, "weight": 5}], (1,), "leave `weight` out"),
        ([{**GOOD, "make_or_break": True, "label": "POS"}], (0,), "label: NEG"),
        ([GOOD, {**GOOD, "must": True, "weight": 5}], (1,), "leave `weight` out"),
        ([GOOD, {**GOOD, "must": True, "make_or_break": True, "label": "NEG"}], (1,), "leave one out"),
        ([{**GOOD, "unmet": "Promises it."}], (0,), "write `must: true`"),
        ({"criteria": [{**GOOD, "check": "finished"}]}, ("criteria", 0), "finished == 1"),
        ([GOOD, GOOD], (), "share the id 'done'"),
        ({"criteria": [{**GOOD, "label": "NEG"}], **SCOPE}, ("criteria",), "no criterion is POS"),
        ({"criteria": [{**GOOD, "must": True}], **SCOPE}, ("criteria",), "'done': SCOPE has no `must`"),
        ({"criteria": [GOOD], "threshold": 0.5, **SCOPE}, ("threshold",), "belongs to `formula: must`"),
        ({"criteria": [{**GOOD, "must": True}], "threshold": 0.5}, ("threshold",), "add a scored one"),
    ],
)
def test_what_makes_no_rubric_is_found_where_it_stands(form: Any, path: tuple[Any, ...], message: str) -> None:
    """The message says what to write."""
    (found,) = form_misfits(form, WrittenRubric, ("rubric",))

    assert found.path == ("rubric", *path)
    assert message in found.message


def test_the_judge_has_a_model_and_an_odd_number_of_votes() -> None:
    """An even number could tie."""
    assert not form_misfits({"llm": {"model": "m"}, "votes": 3}, JudgeForm)
    assert form_misfits({"llm": {"model": "m"}, "votes": 2}, JudgeForm)
    assert form_misfits({"votes": 1}, JudgeForm)


@pytest.mark.parametrize("sees", ["goal", "conversation"])
def test_what_the_judge_sees_is_said(tmp_path: Path, sees: str) -> None:
    """The goal, unless the suite says otherwise."""
    file = tmp_path / "agentbench.yaml"
    written = "" if sees == "goal" else f", sees: {sees}"
    scenario = "scenarios: [{id: s, says: [hello]}]"
    file.write_text(f"agent: a:build\njudge: {{llm: {{model: m}}{written}}}\n{scenario}\n")

    judge = load_suite(file, environ={}).judge

    assert judge is not None
    assert judge.sees == sees
    assert form_misfits({"llm": {"model": "m"}, "sees": "everything"}, JudgeForm)
