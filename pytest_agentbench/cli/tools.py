"""`agentbench tools`: lists a suite's tools as what executes them does, for a committed list."""

import argparse
import asyncio
import os
import tempfile
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.suite import EnvironmentSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import as_list, real_toolset
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.suites.suite_file import load_suite


def tools(path: Path, provider: int | None = None) -> str:
    """Give the tools of a suite as JSON, or of one `provider`, counted from 1, under its own names for them.

    Raise `SuiteError`, `SuiteFaultError` or `EnvironmentFaultError` where they cannot be had.
    """
    # a recipe needs not have written its scenarios yet, and the list is what is to be written
    suite = load_suite(path, environ=os.environ, generating=True, listing=True)
    spec = suite.environment if provider is None else _alone(suite.environment, provider)
    with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
        toolset = asyncio.run(real_toolset(spec, suite.root, IsolationGate(Path(directory))))
    return dumps(Redactor(suite.secrets).json(as_list(toolset)), indent=2)


def _alone(spec: EnvironmentSpec, provider: int) -> EnvironmentSpec:
    if not 1 <= provider <= len(spec.tools):
        raise SuiteFaultError(f"there is no provider {provider}; `environment.tools` has {len(spec.tools)}")
    part = spec.tools[provider - 1].model_copy(update={"prefix": ""})
    return spec.model_copy(update={"tools": (part,), "user_tools": ()})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Starts the services and servers of the suite's tools, or connects to them. Calls no tool. Prints JSON."
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a suite file")
    parser.add_argument(
        "--provider", type=int, metavar="N", help="only the tools of provider N (from 1), for its `list` file"
    )


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the list and the exit status 0."""
    return tools(options.suite, options.provider), 0
