"""`agentbench export`: scenarios as τ²-bench tasks."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.suites.files import YAML_SUFFIXES, read_document
from pytest_agentbench.suites.scenario_files import is_suite_file, load_scenarios
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.suites.tau2 import export_tasks


class _Placeholders(Mapping[str, str]):
    """An environment in which every variable stands for itself, so that no secret is written to a file."""

    def __getitem__(self, name: str) -> str:
        return f"${{{name}}}"

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def export(source: Path) -> str:
    """Give the τ² task list (JSON text) of a suite or of a file of scenarios; raise `SuiteError` on faults."""
    if _is_suite(source):
        return dumps(export_tasks(load_suite(source, environ=_Placeholders()).scenarios), indent=2)
    return dumps(export_tasks(load_scenarios(source, environ=_Placeholders())), indent=2)


def _is_suite(source: Path) -> bool:
    """Tell a suite by its name, or by what only suites hold."""
    if is_suite_file(source):
        return True
    if source.suffix.lower() not in YAML_SUFFIXES:
        return False
    try:
        value = read_document(source).value
    except SuiteError:  # the reader chosen will tell the same problem
        return False
    return isinstance(value, dict) and "scenarios" in value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = "Variables stay ${VAR}."
    parser.add_argument("source", type=Path, metavar="SUITE_OR_FILE", help="a suite, or a file of scenarios")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the task list and the exit status 0."""
    return export(options.source), 0
