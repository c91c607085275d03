"""`agentbench convert`: τ-bench v1 task lists as scenarios."""

import argparse
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.tau2.tasks import export_tasks
from pytest_agentbench.tau2.tau_bench import read_tau_bench


def convert(source: Path) -> str:
    """Give the task list (JSON text) of a τ-bench v1 module or list; raise `SuiteError` on faults."""
    return dumps(export_tasks(read_tau_bench(source)), indent=2)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = "Python lists are never executed. Prints JSON."
    parser.add_argument("source", type=Path, metavar="FILE", help="a τ-bench module (.py) or list (.json)")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the task list and the exit status 0."""
    return convert(options.source), 0
