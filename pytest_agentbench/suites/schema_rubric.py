"""The form of `judge` and `rubric`, as JSON Schema, and what is wrong with a rubric beyond its form."""

from collections.abc import Iterator

from pydantic import ValidationError

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.document import Document
from pytest_agentbench.suites.schema_criteria import CRITERIA, RUBRIC_FILE, WHOLE
from pytest_agentbench.suites.schema_forms import Schema, mapping
from pytest_agentbench.suites.schema_models import MODEL
from pytest_agentbench.suites.shape import misfits

_FIGURES: Schema = {"type": "string", "pattern": r"\S", "description": "a file of `agentbench calibrate --json`"}

JUDGE: Schema = mapping(
    {
        "llm": MODEL,
        "votes": {"enum": [1, 3, 5, 7, 9], "description": "how often a judge is asked: 1, 3, 5, 7 or 9"},
        "sees": {
            "enum": ["goal", "conversation"],
            "description": "goal: also what the user wants, policies and expected effects; conversation: not these",
        },
        "notes": {"type": "boolean", "description": "true or false: whether it is shown notes on each call"},
        "calibration": {
            "anyOf": [
                _FIGURES,
                mapping(
                    {
                        "file": _FIGURES,
                        "kappa": {
                            "type": "number",
                            "minimum": -1,
                            "maximum": 1,
                            "description": "the least kappa, from -1 to 1",
                        },
                    },
                    "{file: FILE, kappa: 0.6}",
                    ("file",),
                ),
            ],
            "description": "the path of a file that `agentbench calibrate --json` wrote, or {file: …, kappa: …}",
        },
    },
    "{llm: {model: …}, votes: 1}",
    ("llm",),
)
"""The suite's `judge`: the model that judges rubrics, audits and endings, and how often it is asked."""

AUDITOR: Schema = {
    "enum": ["off", "flags", "decide"],
    "description": "what the auditor may do: off, flags or decide",
}
"""The suite's `auditor`: whether the judge's model reads each run, and whether that decides."""

RUBRIC: Schema = {
    "anyOf": [{"type": "string", "pattern": r"\S", "description": "the path of a rubric file"}, CRITERIA, WHOLE],
    "description": "the path of a rubric file, a list of criteria, or {criteria: […], formula: …}",
}
"""The `rubric` of a suite or a scenario; a scenario's own replaces the suite's."""


def rubric_form(form: JsonValue) -> dict[str, JsonValue]:
    """Give a rubric that fits `RUBRIC_FILE` in full: a list is its criteria, a make-or-break criterion is NEG.

    Under `formula: must` it is a `must`, whatever its `max_score`: so a rubric that was learnt loads under either.
    """
    whole: dict[str, JsonValue] = {"criteria": form} if isinstance(form, list) else dict(form)
    whole["criteria"] = [_criterion(one, whole.get("formula", "must")) for one in whole["criteria"]]
    return whole


def _criterion(form: dict[str, JsonValue], formula: JsonValue) -> dict[str, JsonValue]:
    if not form.get("make_or_break"):
        return form
    whole = {"label": "NEG", **form}
    if formula != "must" or whole["label"] != "NEG" or "weight" in form or "must" in form:
        return whole
    kept = {key: value for key, value in whole.items() if key not in ("make_or_break", "max_score")}
    return {**kept, "must": True}


def read_rubric(form: JsonValue) -> Rubric:
    """Read a rubric without misfits."""
    return Rubric.model_validate(rubric_form(form))


def rubric_at(document: Document, path: Keys = ()) -> tuple[Rubric | None, list[Problem]]:
    """Read the rubric that stands at `path` of a file; None where there are problems."""
    form = document.value
    for key in path:
        form = form[key]
    wrong = list(misfits(form, RUBRIC_FILE, path=path)) or list(rubric_misfits(form, path))
    problems = [document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in wrong]
    return None if wrong else read_rubric(form), problems


def rubric_misfits(form: JsonValue, path: Keys = ()) -> Iterator[Misfit]:
    """Yield what keeps a rubric that fits `RUBRIC_FILE` from being one; `path` leads to it.

    That is: expressions, ids given twice, make-or-break criteria with a weight or the label POS, a `must` with a weight
    or in SCOPE's formula, anchors without a `must`, a threshold of nothing, and no POS criterion in SCOPE's formula.
    """
    inner = path if isinstance(form, list) else (*path, "criteria")
    whole = rubric_form(form)
    wrong = [
        Misfit(path=(*inner, index), message=message)
        for index, one in enumerate(whole["criteria"])
        for _, message in _errors(Criterion, one)
    ]
    if not wrong:
        # a list has no key `criteria` to point at
        wrong = [
            Misfit(path=path if isinstance(form, list) else (*path, *keys), message=message)
            for keys, message in _errors(Rubric, whole)
        ]
    yield from wrong


def _errors(kind: type[Criterion] | type[Rubric], form: JsonValue) -> list[tuple[Keys, str]]:
    """Give what a model refuses, each with the way to it."""
    try:
        kind.model_validate(form)
    except ValidationError as error:
        return [(item["loc"], item["msg"].removeprefix("Value error, ")) for item in error.errors()]
    return []
