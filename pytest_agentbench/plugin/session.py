"""Which hooks a process needs: one process has all, an xdist worker plays, the controller counts."""

from pathlib import Path

import pytest

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.plugin.accounts import merge_cassettes
from pytest_agentbench.plugin.baseline import read_baseline
from pytest_agentbench.plugin.bench import Bench, Role
from pytest_agentbench.plugin.collecting import Collecting
from pytest_agentbench.plugin.distributed import ControllerSide, WorkerSide
from pytest_agentbench.plugin.ending import Ending
from pytest_agentbench.plugin.garbage import Garbage
from pytest_agentbench.plugin.hosts import Division, own_budgets, posting_of
from pytest_agentbench.plugin.keys import BENCH
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.plugin.playing import Playing
from pytest_agentbench.plugin.progress import Watching
from pytest_agentbench.plugin.summary import Summary
from pytest_agentbench.plugin.tally import Tally
from pytest_agentbench.plugin.writing import Writing
from pytest_agentbench.results.store import RunDirectory

_LEFT_OUT = 5
"""Damaged lines that are named; of more their number."""


def register(config: pytest.Config) -> None:
    """Register the hooks of this process's role."""
    role = role_of(config)
    posting = posting_of(config)
    options = own_budgets(Options.of(config), posting)
    division = Division(config, options) if role == "controller" else None
    bench = Bench(
        options=division.here if division else options,
        role=role,
        process=getattr(config, "workerinput", {}).get("workerid", "main"),
        run_path=Path(posting.run_path) if posting else None,
        posting=posting,
    )
    config.stash[BENCH] = bench
    if role == "controller" and config.getoption("dist", "no") == "each":
        raise pytest.UsageError("--dist each runs every scenario several times over; use --dist load, or `trials`")
    if role != "worker" and bench.options.resume and not bench.options.collect_only:
        _take_up(bench)
    if role == "controller":
        bench.open_directory()
        bench.accounts.start()
    plugins: dict[str, object] = {}
    ending: Ending | None = None
    if role != "controller":
        plugins["playing"] = playing = Playing(bench, config)
        plugins["collecting"] = Collecting(bench, config)
        if not bench.options.collect_only:
            plugins["garbage"] = Garbage()
            plugins["ending"] = ending = Ending(config, lambda: playing.changed)
    if role != "worker" and config.getoption("agentbench_generate"):
        from pytest_agentbench.plugin.generating import Generating  # noqa: PLC0415 - the pipeline is large

        plugins["generating"] = Generating(config, Mode(bench.options.cassette))
    if role == "worker":
        plugins["worker"] = WorkerSide(bench, config)
    else:
        baseline = read_baseline(bench.options.baseline)
        plugins["tally"] = tally = Tally(bench, config, baseline)
        plugins["writing"] = writing = Writing(bench, tally, config)
        plugins["summary"] = Summary(bench, tally, writing, playing.ahead if role == "single" else None, ending)
        plugins["watching"] = Watching(config, tally, in_flight=lambda: bench.in_flight)
        if division is not None:
            plugins["controller"] = ControllerSide(bench, tally, division, root=config.rootpath)
    for name, plugin in plugins.items():
        config.pluginmanager.register(plugin, f"agentbench-{name}")


def _take_up(bench: Bench) -> None:
    """Take the run directory to be continued, before anything is collected."""
    try:
        bench.load_stored()
        bench.told, wrong = merge_cassettes(bench.directory.path)  # before anybody asks for what was recorded
        bench.told += [*wrong, *_told_left_out(bench.directory)]
    except ResultsError as error:
        raise pytest.UsageError(f"--agentbench-resume: {error}") from None


def _told_left_out(directory: RunDirectory) -> list[str]:
    """Say what of the run directory could not be read; the runs that it told of are played again."""
    left = [f"{directory.path / place}: {why}" for place, why in directory.left_out.items()]
    if not left:
        return []
    more = f" (and {len(left) - _LEFT_OUT} more)" if len(left) > _LEFT_OUT else ""
    return [f"--agentbench-resume left out what it cannot read: {'; '.join(left[:_LEFT_OUT])}{more}"]


def role_of(config: pytest.Config) -> Role:
    """Tell the role from the config, never from the environment, which in-process test sessions inherit."""
    if hasattr(config, "workerinput"):
        return "worker"
    distributed = config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))
    return "controller" if distributed and not config.getoption("collectonly", False) else "single"
