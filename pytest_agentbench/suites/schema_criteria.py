"""The form of a rubric's criteria, as JSON Schema."""

from pytest_agentbench.suites.schema_forms import INSTEAD, Schema, mapping

CRITERION: Schema = mapping(
    {
        "id": {"type": "string", "pattern": r"^[A-Za-z0-9_.-]+$", "description": "a name of letters, digits, `_.-`"},
        "text": {"type": "string", "pattern": r"\S", "description": "what the criterion looks for, in words"},
        "label": {"enum": ["POS", "NEG"], "description": "POS: a good run shows it; NEG: a fault"},
        "weight": {"type": "integer", "minimum": 1, "maximum": 10, "description": "a whole number from 1 to 10"},
        "must": {"type": "boolean", "description": "true: it must hold, whatever else is scored (`formula: must`)"},
        "met": {"type": "string", "pattern": r"\S", "description": "when a `must` is true of a run, in words"},
        "unmet": {"type": "string", "pattern": r"\S", "description": "when a `must` is not true of a run, in words"},
        "make_or_break": {
            "type": "boolean",
            "description": "true: a fault that weighs 100 (`formula: scope`), or must not show (`formula: must`)",
        },
        "max_score": {"type": "integer", "minimum": 1, "maximum": 100, "description": "a whole number from 1 to 100"},
        "check": {
            "type": "string",
            "pattern": r"\S",
            "description": "an expression such as `tool_errors == 0`, or an import path such as package.module:name",
        },
    },
    "a criterion: {id: …, text: …, label: POS, weight: 5}",
    ("id", "text"),
)

CRITERIA: Schema = {"type": "array", "items": CRITERION, "minItems": 1, "description": "a list of criteria"}

WHOLE: Schema = mapping(
    {
        "criteria": CRITERIA,
        "formula": {
            "enum": ["must", "scope"],
            "description": "must: every `must` holds; scope: averages, exactly as SCOPE",
        },
        "threshold": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "the score below which a run fails (`formula: must`), from 0 to 1",
        },
    },
    "{criteria: […], formula: must}",
    ("criteria",),
)

WHOLE[INSTEAD] = {
    "mode": "write `formula: must` (the default) or `formula: scope`",
    "veto": "write `formula: must`, under which each `must` decides alone",
}

RUBRIC_FILE: Schema = {"anyOf": [CRITERIA, WHOLE], "description": "a list of criteria, or {criteria: […], formula: …}"}
"""What a rubric file holds."""
