"""The form of `faults`: what goes wrong at the boundary between agent and tools, as JSON Schema."""

from pytest_agentbench.core.fault import FAULT_KINDS, NONE, SHORT_FORM
from pytest_agentbench.suites.schema_forms import FREE, Schema, mapping

_PATTERN = "^" + SHORT_FORM.replace("(?P<kind>", "(").replace("(?P<tool>", "(").replace("(?P<calls>", "(") + "$"

_KINDS = ", ".join(FAULT_KINDS)

FAULT_OPTIONS = mapping(
    {
        "tool": {"type": "string", "pattern": r"^[^\s#@]+$", "description": "the name of a tool, or * for any"},
        "calls": {
            "anyOf": [
                {"enum": ["every"]},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "integer", "minimum": 1, "description": "a whole number, 1 or more"},
                },
            ],
            "description": "which of the calls it fits: a list of positions from 1, or every",
        },
        "where": {**FREE, "description": "a mapping of argument values that a call must have"},
        "message": {"type": "string", "pattern": r"\S", "description": "what the error says"},
        "seconds": {"type": "number", "minimum": 0, "maximum": 3600, "description": "seconds, from 0 to 3600"},
        "done": {"type": "boolean", "description": "true: it strikes after the effect took place"},
    },
    "{tool: …, calls: [2], where: {…}, message: …, seconds: …, done: true}",
)

FAULT: Schema = {
    "anyOf": [
        {"type": "string", "pattern": _PATTERN, "description": f"kind, kind@tool or kind@tool#2; kinds: {_KINDS}"},
        {
            **mapping(
                {kind: {"$ref": "#/$defs/fault_options"} for kind in FAULT_KINDS},
                f"a fault with options; kinds: {_KINDS}",
            ),
            "minProperties": 1,
            "maxProperties": 1,
        },
    ],
    "description": f"a fault such as timeout@lookup, or {{timeout: {{tool: …, calls: [2]}}}}; kinds: {_KINDS}",
}

_FAULT: Schema = {
    "$ref": "#/$defs/fault",
    "description": "a fault such as timeout@lookup, or {timeout: {tool: …, calls: [2]}}",
}

SCENARIO_FAULTS: Schema = {
    "type": "array",
    "items": _FAULT,
    "description": "a list of faults, all of which strike in each run of the scenario",
}

AXIS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {
        "anyOf": [
            {"enum": [NONE]},
            _FAULT,
            {"type": "array", "minItems": 1, "items": _FAULT, "description": "a list of faults that strike together"},
        ],
        "description": f"{NONE}, a fault such as timeout@lookup, or a list of faults that strike together",
    },
    "description": f"a list of faults; each scenario runs once under each of them ({NONE}: without any)",
}
