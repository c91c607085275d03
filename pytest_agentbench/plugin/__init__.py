"""The pytest plugin's thin entry point: options, marker, fixture. Everything else loads after `--agentbench`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentbench.plugin.code_first import AgentBench

MARKER = (
    "agentbench(suite, *, policy, complexity, tag, scenario, variant, fault): run this test with the scenarios of a "
    "suite that fit; scenarios from suite files carry it too, so that -m \"agentbench(policy='…')\" selects them"
)

GONE = {
    "early-stop": "write `trials: {most: 8, stop: sequential}` into the suite",
    "annotations": "they are printed where GITHUB_ACTIONS is true, and by `agentbench report --annotations`",
    "max-cost": "write `agentbench_max_cost = USD` into pytest's ini file, or `-o agentbench_max_cost=USD`",
    "max-calls": "write `agentbench_max_calls = N` into pytest's ini file, or `-o agentbench_max_calls=N`",
    "no-judge": "write `agentbench_judge = false` into pytest's ini file, or `-o agentbench_judge=false`",
}
"""Options that there were, and what to write instead."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, all under the prefix `agentbench`."""
    group = parser.getgroup("agentbench", "regression tests for tool-using conversational agents")
    group.addoption("--agentbench", action="store_true", help="collect and run agentbench.yaml suites and marked tests")
    group.addoption(
        "--agentbench-variant",
        metavar="NAME[,NAME]|all",
        help="which variants of the agent to run (default: the first that the suite declares)",
    )
    group.addoption(
        "--agentbench-concurrency",
        type=int,
        metavar="N",
        help="agent turns and model calls at the same time in the whole session (default: 8)",
    )
    group.addoption(
        "--agentbench-gates",
        choices=("auto", "always", "never"),
        default="auto",
        help="evaluate gates when all runs of a suite were selected (auto), even on a selection (always), or never",
    )
    group.addoption(
        "--agentbench-trials",
        type=int,
        metavar="N",
        help="play each scenario N times (default: `trials` of the suite, else 1)",
    )
    group.addoption(
        "--agentbench-save-baseline", metavar="FILE", help="write the results to FILE, as a baseline for later sessions"
    )
    group.addoption(
        "--agentbench-baseline", metavar="FILE", help="compare with the baseline in FILE, scenario by scenario"
    )
    group.addoption(
        "--agentbench-transcripts",
        choices=("all", "failed", "none"),
        default="all",
        help="which conversations to keep on disk: all (default), those of runs that did not pass, or none",
    )
    group.addoption("--agentbench-json", metavar="FILE", help="also write the results to FILE")
    group.addoption(
        "--agentbench-html", metavar="FILE", help="write a page with every conversation, to be opened in a browser"
    )
    group.addoption("--agentbench-markdown", metavar="FILE", help="write a short report for a CI summary or a comment")
    group.addoption(
        "--agentbench-resume", action="store_true", help="take finished runs from the last session, and play the rest"
    )
    group.addoption(
        "--agentbench-cassette",
        choices=("off", "replay", "record", "refresh"),
        default="off",
        help="model calls: ask live (off), answer from recordings alone (replay), ask live what is not recorded and "
        "record it (record), or record anew (refresh)",
    )
    group.addoption(
        "--agentbench-seed", type=int, default=0, metavar="N", help="seed of all random choices (default: 0)"
    )
    group.addoption(
        "--agentbench-generate", action="store_true", help="run the recipes of the suites first (their key `generate`)"
    )
    for name in GONE:
        group.addoption(f"--agentbench-{name}", nargs="?", const=True, help=argparse.SUPPRESS)
    parser.addini("agentbench_max_cost", "US dollars that model calls of a session may cost (default: any)", default="")
    parser.addini("agentbench_max_calls", "model calls that a session may make (default: any number)", default="")
    parser.addini(
        "agentbench_judge", "false: ask no judge; what needs one is shown as not measured", type="bool", default=True
    )
    parser.addini(
        "agentbench_keep",
        "how long to keep sessions below agentbench_dir, such as 3d, 12h or 2w (default: the last 20)",
        default="",
    )
    parser.addini("agentbench_dir", "folder for results and transcripts (default: .agentbench)", default=".agentbench")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that others may implement."""
    from pytest_agentbench.plugin import hookspecs  # noqa: PLC0415 - the type checker would load all it names

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the session's plugins when they are asked for; refuse options that are gone."""
    config.addinivalue_line("markers", MARKER)
    for name, instead in GONE.items():
        if config.getoption(f"agentbench_{name.replace('-', '_')}") is not None:
            raise pytest.UsageError(f"--agentbench-{name} is no option any more: {instead}")
    if config.getoption("agentbench"):
        from pytest_agentbench.plugin.module_loader import quick_imports  # noqa: PLC0415 - loads only after --agentbench

        with quick_imports() as finder:
            from pytest_agentbench.plugin.hooks import register  # noqa: PLC0415 - same
        config.add_cleanup(lambda: sys.meta_path.remove(finder))
        register(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Where pytest finds nothing in a suite file that it was asked for without `--agentbench`, name that option."""
    try:
        return (yield)
    except pytest.UsageError as error:
        if session.config.getoption("agentbench"):
            raise
        paths = (argument.partition("::")[0] for argument in session.config.args)
        suites = [path for path in paths if Path(path).is_file() and f".{Path(path).name}".endswith(".agentbench.yaml")]
        told = [f"{path} is a suite of scenarios: add --agentbench to play it" for path in suites]
        raise pytest.UsageError(*error.args, *told) from None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the options of this plugin on the command line of a session without `--agentbench`."""
    if config.getoption("agentbench"):
        return
    names = (str(argument).partition("=")[0] for argument in config.invocation_params.args)
    if unused := sorted({name for name in names if name.startswith("--agentbench-")}):
        verb = "has" if len(unused) == 1 else "have"
        terminalreporter.write_line(f"agentbench: {', '.join(unused)} {verb} no effect without --agentbench")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect marked tests in a session without `--agentbench`."""
    if config.getoption("agentbench"):
        return
    marked = [item for item in items if item.get_closest_marker("agentbench")]
    if marked:
        config.hook.pytest_deselected(items=marked)
        items[:] = [item for item in items if not item.get_closest_marker("agentbench")]


@pytest.fixture
def agentbench(request: pytest.FixtureRequest) -> AgentBench:
    """Simulate conversations with the agent under test: `run = agentbench.simulate()`."""
    if not request.config.getoption("agentbench"):
        pytest.skip("needs --agentbench")
    from pytest_agentbench.plugin.code_first import agentbench_for  # noqa: PLC0415 - loads only after --agentbench

    return agentbench_for(request)
