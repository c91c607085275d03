"""Where every hook of a session with `--agentbench` is: the classes that `register` registers, and what each answers.

| class | hooks of pytest and xdist that it answers |
|---|---|
| `Collecting` | pytest_collect_file, pytest_collection, pytest_generate_tests, pytest_collection_modifyitems |
| `Collecting` | pytest_collection_finish, pytest_report_collectionfinish |
| `Playing` | pytest_runtest_protocol, pytest_runtest_setup, pytest_runtest_makereport, pytest_runtestloop |
| `Tally` | pytest_runtest_logreport, pytest_runtestloop, pytest_sessionfinish, pytest_report_teststatus |
| `Writing` | pytest_sessionfinish |
| `Summary` | pytest_report_header, pytest_terminal_summary |
| `Watching` | pytest_sessionstart |
| `LiveLine` | pytest_runtest_logstart, pytest_runtest_logreport, pytest_runtest_logfinish, pytest_runtestloop |
| `LiveLine` | pytest_unconfigure |
| `Garbage` | pytest_runtestloop |
| `Ending` | pytest_sessionfinish, pytest_unconfigure |
| `Generating` | pytest_sessionstart |
| `ControllerSide` | pytest_configure_node, pytest_testnodedown, pytest_runtest_logreport |
| `ControllerSide` | pytest_xdist_make_scheduler, pytest_handlecrashitem |
| `WorkerSide` | pytest_sessionstart, pytest_runtest_makereport, pytest_sessionfinish |

The hooks of any session stand in `__init__.py`, those that others may implement in `hookspecs.py`.
One process has all, an xdist worker plays, the controller counts.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from types import ModuleType

import pytest

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.extensions import asking, built_in
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.accounts import merge_cassettes
from pytest_agentbench.plugin.collection import Collecting
from pytest_agentbench.plugin.distributed import ControllerSide, WorkerSide
from pytest_agentbench.plugin.garbage import Garbage
from pytest_agentbench.plugin.hosts import Division, own_budgets, posting_of
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.plugin.output_files import Writing, read_baseline
from pytest_agentbench.plugin.progress import Watching
from pytest_agentbench.plugin.run_store import SESSION, Role, RunStore, Session
from pytest_agentbench.plugin.runtest import Playing
from pytest_agentbench.plugin.shutdown import Ending
from pytest_agentbench.plugin.summary import Summary
from pytest_agentbench.plugin.tally import Tally
from pytest_agentbench.results.run_directory import RunDirectory

_LEFT_OUT = 5
"""Damaged lines that are named; of more their number."""


def register(config: pytest.Config) -> None:
    """Register the hooks of this process's role."""
    role = role_of(config)
    posting = posting_of(config)
    options = own_budgets(Options.of(config), posting)
    division = Division(config, options) if role == "controller" else None
    process = getattr(config, "workerinput", {}).get("workerid", "main")
    store = RunStore(options=division.here if division else options, process=process, posting=posting)
    session = config.stash[SESSION] = Session.of(store.options, role, store)
    if role == "controller" and config.getoption("dist", "no") == "each":
        raise pytest.UsageError("--dist each runs every scenario several times over; use --dist load, or `trials`")
    if role != "worker" and store.options.resume and not store.options.collect_only:
        _take_up(store)
    if role == "controller":
        store.open()
        session.runs.accounts.start()
    _join_hooks(config)
    garbage = Garbage(owns_process=compat.owns_process(config))
    plugins: dict[str, object] = {}
    ending: Ending | None = None
    if role != "controller":
        plugins["playing"] = playing = Playing(session, config)
        plugins["collecting"] = Collecting(session, config)
        if not store.options.collect_only:
            plugins["garbage"] = garbage
            plugins["ending"] = ending = Ending(config, lambda: playing.changed)
    if role != "worker" and config.getoption("agentbench_generate"):
        from pytest_agentbench.plugin.generation import Generating  # noqa: PLC0415 - the pipeline is large

        plugins["generating"] = Generating(config, Mode(store.options.cassette))
    if role == "worker":
        plugins["worker"] = WorkerSide(session, config)
    else:
        baseline = read_baseline(store.options.baseline)
        plugins["tally"] = tally = Tally(session, config, baseline)
        plugins["writing"] = writing = Writing(session, tally, config)
        plugins["summary"] = Summary(session, tally, writing, playing.prefetch if role == "single" else None, ending)
        plugins["watching"] = Watching(config, tally, in_flight=lambda: session.in_flight)
        if division is not None:
            plugins["controller"] = ControllerSide(session, tally, division, root=config.rootpath)
    for name, plugin in plugins.items():
        config.pluginmanager.register(plugin, f"agentbench-{name}")


def _join_hooks(config: pytest.Config) -> None:
    """Let what comes with the package answer hooks, after all others, and ask this session's plugins until it ends."""
    for module in built_in():
        config.pluginmanager.register(_Last(module), module.__name__)
    stack = ExitStack()
    stack.enter_context(asking(config.hook))
    config.add_cleanup(stack.close)


class _Last:
    """The hooks of a module, asked when nobody else has answered."""

    def __init__(self, module: ModuleType) -> None:
        for name, function in vars(module).items():
            if name.startswith("pytest_agentbench_"):
                setattr(self, name, pytest.hookimpl(trylast=True)(_copy(function)))


def _copy(function: Callable[..., object]) -> Callable[..., object]:
    """Give a function of one's own, so that what pytest notes on it is not on the module's."""

    @wraps(function)
    def asked(*given: object) -> object:
        return function(*given)

    return asked


def _take_up(store: RunStore) -> None:
    """Take the run directory to be continued, before anything is collected."""
    try:
        store.load()
        told, wrong = merge_cassettes(store.directory.path)  # before anybody asks for what was recorded
        store.told += [*told, *wrong, *_told_left_out(store.directory)]
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
