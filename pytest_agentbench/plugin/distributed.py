"""pytest-xdist: what the controller tells workers, which run killed a worker, and how items are handed out."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_agentbench.core.run import RunKey
from pytest_agentbench.plugin.bench import Bench
from pytest_agentbench.plugin.playing import MISSED
from pytest_agentbench.plugin.tally import Tally
from pytest_agentbench.results.store import without_attempt

if TYPE_CHECKING:
    from xdist.scheduler.protocol import Scheduling

_RUN = "agentbench_run"
_WATCH = 0.5


class Node(Protocol):
    """What is used of xdist's worker controller."""

    workerinput: dict[str, Any]
    gateway: Any


class ControllerSide:
    """Hooks of the xdist controller."""

    def __init__(self, bench: Bench, tally: Tally) -> None:
        self._bench = bench
        self._tally = tally
        self._rerun: set[RunKey] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Node) -> None:
        """Tell a worker where the run directory is."""
        node.workerinput[_RUN] = str(self._bench.directory.path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Scheduling | None:
        """Keep as many items at each worker as it has conversations in flight; `--dist` of the user's wins."""
        if config.getoption("dist", "no") != "load" or config.getoption("maxschedchunk", None) is not None:
            return None
        from pytest_agentbench.plugin.scheduling import make_window_scheduler  # noqa: PLC0415 - imports xdist

        options = self._bench.options
        return make_window_scheduler(config, log, window=options.concurrency + 1, keeps_trials=options.early_stop)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Find the run that killed a worker: several in flight are suspects and run again, each alone."""
        meta = self._tally.meta(crashitem)
        worker = getattr(getattr(report, "node", None), "gateway", None)
        if worker is None or self._tally.simulates(crashitem):  # nothing runs beside a test that simulates
            return
        self._bench.accounts.forget(worker.id)
        suspects = [without_attempt(key) for key in self._bench.directory.in_flight(worker.id)]
        own = without_attempt(meta.blank.key) if meta else None
        if suspects and suspects != [own] and (own is None or own not in self._rerun):
            self._rerun |= {*suspects, *([own] if own else [])}
            self._bench.note_crash(suspects)
            with contextlib.suppress(NotImplementedError):  # a scheduler that cannot hand an item out again
                sched.mark_test_pending(crashitem)
                report.outcome = "rerun"  # type: ignore[assignment]  # the status that pytest-rerunfailures made known
                report.__dict__["agentbench_rerun"] = True
                return
        if meta is None or meta.suite is None:
            return
        report.longrepr = f"worker {worker.id!r} died while running {crashitem!r}: the agent ended its process"
        if meta.suite.gated:
            report.outcome = "skipped"
            report.__dict__["wasxfail"] = f"{MISSED}: {report.longrepr}"
            report.__dict__["agentbench_missed"] = True


class WorkerSide:
    """Hooks of an xdist worker."""

    def __init__(self, bench: Bench) -> None:
        self._done = threading.Event()
        self._parent = os.getppid()
        self._bench = bench

    def pytest_sessionstart(self) -> None:
        """Begin to watch the controller: a worker that lost it must not go on spending."""
        threading.Thread(target=self._watch, name="agentbench-watch", daemon=True).start()

    def pytest_sessionfinish(self) -> None:
        """Stop watching."""
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(_WATCH):
            if os.getppid() != self._parent:
                os._exit(1)


def worker_run(config: pytest.Config) -> str | None:
    """Give the run directory that the controller told this worker."""
    workerinput: dict[str, Any] = getattr(config, "workerinput", {})
    return workerinput.get(_RUN)
