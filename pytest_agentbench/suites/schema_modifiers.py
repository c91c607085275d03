"""The form of `modifiers`: how an LLM-backed simulated user behaves, as JSON Schema."""

from typing import Any

from pytest_agentbench.core.modifier import MODIFIER_NAMES

Schema = dict[str, Any]


def _mapping(properties: Schema, description: str) -> Schema:
    return {"type": "object", "description": description, "properties": properties, "additionalProperties": False}


_WHICH: Schema = {
    "type": "string",
    "pattern": r"\S",
    "description": "the name of the value it is about, such as order_id; chosen by the seed where not given",
}

_ENTRIES: Schema = {
    "forgets_identifier": _mapping({"which": _WHICH}, "{which: order_id}"),
    "wrong_value_first": _mapping({"which": _WHICH}, "{which: order_id}"),
    "changes_mind": _mapping({"which": _WHICH}, "{which: the argument of an expected call}"),
    "adds_intent": _mapping(
        {
            "at": {
                "type": "integer",
                "minimum": 1,
                "description": "a whole number, 1 or more: the agent's message that the user answers with it",
            },
            "intent": {"type": "string", "pattern": r"\S", "description": "what else the user wants, in words"},
        },
        '{at: 3, intent: "…"}',
    ),
    "impatient": _mapping({}, "an empty mapping"),
    "out_of_scope": _mapping(
        {"ask": {"type": "string", "pattern": r"\S", "description": "what the user asks, in words"}}, '{ask: "…"}'
    ),
}

MODIFIER: Schema = {
    "anyOf": [
        {"type": "string", "enum": list(MODIFIER_NAMES)},
        {
            **_mapping(_ENTRIES, "a modifier with options: {adds_intent: {at: 3, intent: …}}"),
            "minProperties": 1,
            "maxProperties": 1,
        },
    ],
    "description": "the name of a modifier, or {name: {option: value}}",
}

MODIFIERS: Schema = {
    "type": "array",
    "items": MODIFIER,
    "description": 'a list of modifiers such as [impatient, {adds_intent: {at: 3, intent: "…"}}]',
}
"""The schema of `modifiers` in a suite's `user` and in a scenario."""
