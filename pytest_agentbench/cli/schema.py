"""`agentbench schema`: the JSON Schemas that ship with the package."""

import json

from pytest_agentbench.suites.schema_suite import SCHEMAS


def schema(kind: str) -> str:
    """Give the JSON Schema (text) of `suite` or `scenario` files."""
    return json.dumps(SCHEMAS[kind], indent=2, ensure_ascii=False)
