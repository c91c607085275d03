"""`agentbench schema`: the JSON Schemas that ship with the package."""

import argparse
import json

from pytest_agentbench.results.json_schema import json_schema
from pytest_agentbench.suites.json_schemas import KINDS, file_schema

HOME = "https://pytest-agentbench.example/schema/v1"
"""Where the schemas are named: a name that stays, not yet an address. A change that breaks files is a `v2`."""


def schema(kind: str) -> str:
    """Give the JSON Schema (text) of `suite`, `scenario` or `results` files."""
    found = json_schema() if kind == "results" else file_schema(kind)
    named = {"$schema": found["$schema"], "$id": f"{HOME}/{kind}.json", **found}
    return json.dumps(named, indent=2, ensure_ascii=False)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("kind", nargs="?", choices=(*KINDS, "results"), default="suite")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the schema and the exit status 0."""
    return schema(options.kind), 0
