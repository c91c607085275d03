"""`agentbench schema`: the JSON Schemas that ship with the package."""

import argparse
import json

from pytest_agentbench.suites.schema_suite import SCHEMAS


def schema(kind: str) -> str:
    """Give the JSON Schema (text) of `suite` or `scenario` files."""
    return json.dumps(SCHEMAS[kind], indent=2, ensure_ascii=False)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("kind", nargs="?", choices=("suite", "scenario"), default="suite")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the schema and the exit status 0."""
    return schema(options.kind), 0
