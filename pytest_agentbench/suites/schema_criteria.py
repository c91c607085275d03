"""The form of a rubric's criteria, as JSON Schema."""

from pytest_agentbench.suites.schema_forms import Schema, mapping

CRITERION: Schema = mapping(
    {
        "id": {"type": "string", "pattern": r"^[A-Za-z0-9_.-]+$", "description": "a name of letters, digits, `_.-`"},
        "text": {"type": "string", "pattern": r"\S", "description": "what the criterion looks for, in words"},
        "label": {"enum": ["POS", "NEG"], "description": "POS: a good run shows it; NEG: a fault"},
        "weight": {"type": "integer", "minimum": 1, "maximum": 10, "description": "a whole number from 1 to 10"},
        "make_or_break": {"type": "boolean", "description": "true: a fault that weighs 100"},
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

WHOLE = mapping(
    {
        "criteria": CRITERIA,
        "mode": {"enum": ["default", "scope"], "description": "default: with a veto; scope: exactly as SCOPE"},
        "veto": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "the share of its maximum above which a make-or-break criterion decides, from 0 to 1",
        },
    },
    "{criteria: […], mode: default, veto: 0.5}",
    ("criteria",),
)

RUBRIC_FILE: Schema = {"anyOf": [CRITERIA, WHOLE], "description": "a list of criteria, or {criteria: […], mode: …}"}
"""What a rubric file holds."""
