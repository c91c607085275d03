"""`agentbench export`: scenarios as τ²-bench tasks."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.generation.recipe import PROVENANCE, generated_scenarios
from pytest_agentbench.generation.review import read_surroundings, rows_with_owners
from pytest_agentbench.spec.loading import YAML_SUFFIXES, read_document
from pytest_agentbench.suites.scenario_files import is_suite_file, load_scenarios
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.suites.task_fields import EXTRAS_KEY
from pytest_agentbench.tau2.tasks import export_tasks


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
    """Give the τ² task list (JSON text) of a suite or of a file of scenarios; raise `SuiteError` on faults.

    Where the state of a suite can be read, generated scenarios come with the rows of it that they are about.
    """
    if _is_suite(source):
        suite = load_suite(source, environ=_Placeholders())
        tasks = export_tasks(suite.scenarios)
        return dumps(_with_rows(tasks, suite), indent=2)
    return dumps(export_tasks(load_scenarios(source, environ=_Placeholders())), indent=2)


def _with_rows(tasks: list[dict[str, JsonValue]], suite: Suite) -> list[dict[str, JsonValue]]:
    """Put beside each generated task the rows of the suite's state that it is about."""
    if not generated_scenarios(suite):
        return tasks
    state = read_surroundings(suite).state
    for task, scenario in zip(tasks, suite.scenarios, strict=True):
        if PROVENANCE in scenario.provenance and (rows := rows_with_owners(scenario, state)):
            task[EXTRAS_KEY] = {**task.get(EXTRAS_KEY, {}), "rows": to_json(rows)}
    return tasks


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
    parser.description = "Leaves variables as ${VAR}."
    parser.add_argument("source", type=Path, metavar="SUITE_OR_FILE", help="a suite, or a file of scenarios")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the task list and the exit status 0."""
    return export(options.source), 0
