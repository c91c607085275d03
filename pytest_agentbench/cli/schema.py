"""`agentbench schema`: the JSON Schemas of suites, scenarios and results."""

import argparse
import json
from typing import Any

from pytest_agentbench.core.base import SchemaGenerator
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.results.document import SCHEMA, Document
from pytest_agentbench.suites.json_schemas import KINDS, file_schema


def json_schema() -> dict[str, Any]:
    """Give the JSON Schema of the results file; the shipped `results.schema.json` is this, written out."""
    schema = Document.model_json_schema(mode="serialization", schema_generator=SchemaGenerator)
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


HOME = "https://pytest-agentbench.example/schema/v1"
"""Where the schemas are named: a name that stays, not yet an address. A change that breaks files is a `v2`."""


def schema(kind: str) -> str:
    """Give the JSON Schema (text) of `suite`, `scenario` or `results` files."""
    found = json_schema() if kind == "results" else file_schema(kind)
    named = {"$schema": found["$schema"], "$id": f"{HOME}/{kind}.json", **found}
    return json.dumps(named, indent=2, ensure_ascii=False)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    help_text = "the files that the schema describes (default: suite)"
    parser.add_argument("kind", nargs="?", choices=(*KINDS, "results"), default="suite", help=help_text)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the schema and the exit status 0."""
    return schema(options.kind), 0
