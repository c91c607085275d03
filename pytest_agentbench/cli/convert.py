"""`agentbench convert`: τ-bench v1 task lists as scenarios."""

from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.suites.tau2 import export_tasks
from pytest_agentbench.suites.tau_bench import read_tau_bench


def convert(source: Path) -> str:
    """Give the task list (JSON text) of a τ-bench v1 module or list; raise `SuiteError` on faults."""
    return dumps(export_tasks(read_tau_bench(source)), indent=2)
