"""The JSON Schema of the results file, for readers in other languages."""

from typing import Any

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.results.document import SCHEMA, Document


def json_schema() -> dict[str, Any]:
    """Give the JSON Schema of the results file; the shipped `results.schema.json` is this, written out."""
    schema = Document.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "agentbench results"
    schema["properties"] = {"schema": {"const": SCHEMA}, **schema["properties"]}
    schema["required"] = ["schema", *schema["properties"].keys() - {"schema"}]
    schema["required"].sort()
    schema["$defs"]["Number"] = {
        "anyOf": [
            {"type": "number"},
            {
                "type": "object",
                "properties": {"$number": {"enum": ["nan", "inf", "-inf"]}},
                "required": ["$number"],
                "additionalProperties": False,
            },
        ]
    }
    return {key: _with_numbers(value) if key != "$defs" else _defs(value) for key, value in schema.items()}


def _defs(defs: dict[str, Any]) -> dict[str, Any]:
    return {name: item if name == "Number" else _with_numbers(item) for name, item in defs.items()}


def _with_numbers(schema: JsonValue) -> JsonValue:
    """Let every float also be the codec's form of a number that JSON lacks."""
    if isinstance(schema, dict):
        if schema.get("type") == "number":
            return {"$ref": "#/$defs/Number"}
        return {key: _with_numbers(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_with_numbers(item) for item in schema]
    return schema
