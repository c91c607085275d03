"""The form of `judge` and `rubric`, as JSON Schema, and what is wrong with a rubric beyond its form."""

from collections.abc import Iterator

from pydantic import ValidationError

from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.schema_criteria import CRITERIA, WHOLE
from pytest_agentbench.suites.schema_forms import Schema, mapping
from pytest_agentbench.suites.schema_models import MODEL

_FIGURES: Schema = {"type": "string", "pattern": r"\S", "description": "a file of `agentbench calibrate --json`"}

JUDGE: Schema = mapping(
    {
        "llm": MODEL,
        "votes": {"enum": [1, 3, 5, 7, 9], "description": "how often a judge is asked: 1, 3, 5, 7 or 9"},
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
"""The suite's `judge`: the model that judges rubrics and critiques, and how often it is asked."""

RUBRIC: Schema = {
    "anyOf": [{"type": "string", "pattern": r"\S", "description": "the path of a rubric file"}, CRITERIA, WHOLE],
    "description": "the path of a rubric file, a list of criteria, or {criteria: […], mode: …}",
}
"""The `rubric` of a suite or a scenario; a scenario's own replaces the suite's."""


def rubric_form(form: JsonValue) -> dict[str, JsonValue]:
    """Give a rubric that fits `RUBRIC_FILE` in full: a list is its criteria, a make-or-break criterion is NEG."""
    whole: dict[str, JsonValue] = {"criteria": form} if isinstance(form, list) else dict(form)
    whole["criteria"] = [{**({"label": "NEG"} if one.get("make_or_break") else {}), **one} for one in whole["criteria"]]
    return whole


def read_rubric(form: JsonValue) -> Rubric:
    """Read a rubric without misfits."""
    return Rubric.model_validate(rubric_form(form))


def rubric_misfits(form: JsonValue, path: Keys = ()) -> Iterator[Misfit]:
    """Yield what keeps a rubric that fits `RUBRIC_FILE` from being one; `path` leads to it.

    That is: expressions, ids given twice, no POS criterion, and make-or-break criteria with a weight or the label POS.
    """
    inner = path if isinstance(form, list) else (*path, "criteria")
    whole = rubric_form(form)
    wrong = [
        Misfit(path=(*inner, index), message=message)
        for index, one in enumerate(whole["criteria"])
        for message in _messages(Criterion, one)
    ]
    yield from wrong or [Misfit(path=path, message=message) for message in _messages(Rubric, whole)]


def _messages(kind: type[Criterion] | type[Rubric], form: JsonValue) -> list[str]:
    try:
        kind.model_validate(form)
    except ValidationError as error:
        return [item["msg"].removeprefix("Value error, ") for item in error.errors()]
    return []
