"""The parts that forms of files are made of, as JSON Schema."""

from typing import Any

Schema = dict[str, Any]

INSTEAD = "x-instead"
"""The keyword of a mapping's schema that says what to write in place of keys that it does not have, or lacks."""

TEXT: Schema = {"type": "string"}
FREE: Schema = {"type": "object", "additionalProperties": True}
OPTIONAL_TEXT: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0, "description": "a whole number, 0 or more"}
REASON: Schema = {"type": "string", "minLength": 1, "description": "a reason in words"}
IMPORT_PATH: Schema = {
    "type": "string",
    "pattern": r"^[^\s:/]+:[^\s:/]+$",
    "description": "an import path such as package.module:name",
}
NAME: Schema = {
    "type": ["string", "integer"],
    "pattern": r"\S",
    "description": "a name",
}


def texts(description: str) -> Schema:
    """Give the schema of a list of texts."""
    return {"type": "array", "items": TEXT, "description": description}


def mapping(properties: Schema, description: str, required: tuple[str, ...] = ()) -> Schema:
    """Give the schema of a mapping that admits these keys alone."""
    schema: Schema = {
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": False,
    }
    return {**schema, "required": list(required)} if required else schema


AGENT: Schema = {"type": "string", "minLength": 1, "description": "the name of an agent"}

HANDOFF_BODY: Schema = {
    "anyOf": [{"type": ["string", "null"]}, mapping({"from": AGENT, "to": AGENT}, "{from: agent, to: agent}")],
    "description": "the agent that it goes to, or {from: agent, to: agent}",
}
