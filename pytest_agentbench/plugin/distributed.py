"""pytest-xdist: what the controller tells workers, which run killed a worker, and how items are handed out."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest, dumps, loads
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.plugin.exit_status import aside_text, mark_missed
from pytest_agentbench.plugin.hosts import Division, Posting, is_elsewhere, sees
from pytest_agentbench.plugin.report_payload import refusal_of
from pytest_agentbench.plugin.run_store import PLAN, SEQUENTIAL, Session
from pytest_agentbench.plugin.tally import Tally
from pytest_agentbench.results.run_directory import without_attempt

if TYPE_CHECKING:
    from xdist.scheduler.protocol import Scheduling

_WATCH = 0.5


class Node(Protocol):
    """What is used of xdist's worker controller."""

    workerinput: dict[str, Any]
    gateway: Any


class ControllerSide:
    """Hooks of the xdist controller."""

    def __init__(self, session: Session, tally: Tally, division: Division, *, root: Path) -> None:
        self._session = session
        self._store = session.store
        self._tally = tally
        self._division = division
        self._root = root
        self._rerun: set[RunKey] = set()
        self._planner: str | None = None
        self._elsewhere: set[str] = set()
        self._accounts: dict[str, str] = {}
        self._vacant: dict[str, list[str]] = {}
        session.store.told += division.told()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Node) -> None:
        """Tell a worker where the run directory is, and what is its own where it is on another host."""
        self._planner = self._planner or node.gateway.id
        directory = self._store.directory
        posting = Posting(
            run_path=str(directory.path),
            root=str(self._root),
            session=directory.session,
            plans=self._planner == node.gateway.id,
        )
        if is_elsewhere(node.gateway.spec):
            share = {"max_cost": self._division.max_cost, "max_calls": self._division.max_calls}
            files = self._store.files_for_others()
            posting = posting.model_copy(
                update={"elsewhere": True, "account": self._account(node), "files": files, **share}
            )
        posting.attach(node.workerinput)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self, node: Node, error: object | None) -> None:
        """Take what a worker of another host said last; leave the account of one that died to whoever replaces it.

        A worker that refuses to start ends the session with its reason: whoever replaces it would refuse as well.
        """
        _, refused, reason = str(error).rpartition("pytest.UsageError: ")
        if refused:
            pytest.exit(reason.strip(), returncode=pytest.ExitCode.USAGE_ERROR)
        self._tally.refused = self._tally.refused or refusal_of(node)
        unpack(getattr(node, "workeroutput", {}), self._store.directory.path)
        if error and (account := self._accounts.pop(node.gateway.id, None)):
            self._vacant.setdefault(_place(node), []).append(account)
        if self._planner == node.gateway.id and not (self._store.directory.path / PLAN).exists():
            self._planner = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what came along with a report into the run directory."""
        unpack(report.__dict__, self._store.directory.path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Scheduling | None:
        """Keep each worker's conversations in flight; `--dist` of the user's wins."""
        if config.getoption("dist", "no") != "load" or config.getoption("maxschedchunk", None) is not None:
            return None
        from pytest_agentbench.plugin.scheduling import make_window_scheduler  # noqa: PLC0415 - imports xdist

        options = self._session.options
        sequential = self._store.directory.path / SEQUENTIAL
        return make_window_scheduler(
            config,
            log,
            slots=options.concurrency,
            keeps_trials=sequential.exists,
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Find the run that killed a worker: several in flight are suspects and run again, each alone."""
        meta = self._tally.meta(crashitem)
        worker = getattr(getattr(report, "node", None), "gateway", None)
        if worker is None or self._tally.simulates(crashitem):  # nothing runs beside a test that simulates
            return
        self._session.runs.accounts.forget(worker.id)
        suspects = [without_attempt(key) for key in self._store.directory.in_flight(worker.id)]
        own = without_attempt(meta.run.key) if meta else None
        # what a worker on another host began since its last report is not known: its run is never alone for certain
        alone = suspects == [own] and worker.id not in self._elsewhere
        if suspects and not alone and (own is None or own not in self._rerun):
            self._rerun |= {*suspects, *([own] if own else [])}
            self._store.note_crash(suspects)
            with contextlib.suppress(NotImplementedError):  # a scheduler that cannot hand an item out again
                sched.mark_test_pending(crashitem)
                report.outcome = "rerun"  # type: ignore[assignment]  # the status that pytest-rerunfailures made known
                report.__dict__["agentbench_rerun"] = True
                return
        if meta is None:
            return
        report.longrepr = f"worker {worker.id!r} died while running {crashitem!r}: the agent ended its process"
        if self._tally.suites[meta.run.key.suite].gated or meta.run.set_aside:
            mark_missed(report, str(report.longrepr), aside=aside_text(meta.run))

    def _account(self, node: Node) -> str:
        """Give the name of a worker's ledger: that of one on the same host which died, and may have spent of it."""
        left = self._vacant.get(_place(node), [])
        name = left.pop() if left else str(node.gateway.id)
        self._elsewhere.add(node.gateway.id)
        self._accounts[node.gateway.id] = name
        return name


def _place(node: Node) -> str:
    """Give what the specifications of a worker and of the one that replaces it have in common."""
    return "//".join(part for part in str(node.gateway.spec).split("//") if not part.startswith("id="))


class WorkerSide:
    """Hooks of an xdist worker."""

    def __init__(self, session: Session, config: pytest.Config) -> None:
        self._done = threading.Event()
        self._parent = os.getppid()
        self._session = session
        self._store = session.store
        self._config = config
        self._mirror: Mirror | None = None

    def pytest_sessionstart(self) -> None:
        """Begin to watch the controller: a worker that lost it must not go on spending."""
        posting = self._store.posting
        if posting is not None and not sees(posting):
            if not posting.elsewhere and (self._session.options.max_cost or self._session.options.max_calls):
                raise pytest.UsageError(
                    f"worker {self._store.process} does not see {posting.run_path}, so that budgets cannot be shared "
                    "with it; start it with --tx ssh=… or socket=…, or leave the budget out"
                )
            here = self._config.rootpath
            self._mirror = Mirror(
                self._store.directory.path, process=self._store.process, here=here, there=posting.root
            )
        threading.Thread(target=self._watch, name="agentbench-watch", daemon=True).start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send along what this worker wrote since its last report, where the controller does not see it."""
        report = yield
        if self._mirror is not None:
            attach_parcel(report.__dict__, self._mirror.parcel())
        return report

    def pytest_sessionfinish(self) -> None:
        """Stop watching, and send what is left."""
        self._done.set()
        if self._mirror is not None:
            attach_parcel(self._config.__dict__["workeroutput"], self._mirror.parcel())

    def _watch(self) -> None:
        while not self._done.wait(_WATCH):
            if os.getppid() != self._parent:
                os._exit(1)


_FILES = "agentbench_files"
_PLAN = "plan.json"

_ALLOWED = re.compile(
    r"(?:shards|journal|transcripts)/(?!\.)[\w.-]+\.jsonl?|cassettes/(?!\.)[\w-]+/(?!\.)[\w.-]+|plan\.json"
)
"""What a worker may write in the controller's run directory."""


class Parcel(Model):
    """Lines to append to logs, and whole files, by their path in the run directory."""

    lines: dict[str, str] = {}
    files: dict[str, str] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return not self.lines and not self.files


class Mirror:
    """The worker's side: gives what this process added to its run directory since it was last asked.

    `here` and `there` are the rootdirs of worker and controller: cassettes are named by where they lie.
    """

    def __init__(self, directory: Path, *, process: str, here: Path, there: str) -> None:
        """Begin with what is there already, which earlier sessions sent."""
        self._directory = directory
        self._process = ascii_slug(process)
        self._here = here
        self._there = there
        self._sent = {path: path.stat().st_size for path in self._logs()}
        self._targets: set[Path] = set()
        self._planned = (directory / _PLAN).exists()

    def parcel(self) -> Parcel:
        """Give whole lines only: the rest of one that is being written comes next time."""
        lines: dict[str, str] = {}
        files: dict[str, str] = {}
        for path in self._logs():
            added = self._added(path)
            if not added:
                continue
            lines[self._name(path)] = added
            if path.parent.name == "shards":
                files |= self._transcripts(added)
            if path.parent.parent.name == "cassettes" and path.parent not in self._targets:
                self._targets.add(path.parent)
                files[f"cassettes/{digest(self._target(path.parent))}/cassette"] = self._target(path.parent)
        plan = self._directory / _PLAN
        if not self._planned and plan.exists():
            self._planned = True
            files[_PLAN] = plan.read_text(encoding="ascii")
        return Parcel(lines=lines, files=files)

    def _logs(self) -> Iterator[Path]:
        for folder in ("shards", "journal"):
            path = self._directory / folder / f"{self._process}.jsonl"
            if path.exists():
                yield path
        yield from sorted(self._directory.glob(f"cassettes/*/{self._process}-*.jsonl"))

    def _added(self, path: Path) -> str:
        begin = self._sent.get(path, 0)
        with path.open("rb") as file:
            file.seek(begin)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._sent[path] = begin + len(whole)
        return whole.decode("utf-8", "backslashreplace")

    def _transcripts(self, lines: str) -> dict[str, str]:
        names = (loads(line)["result"].get("transcript") for line in lines.splitlines())
        paths = {name: self._directory / name for name in names if name}
        return {name: path.read_text(encoding="ascii") for name, path in paths.items() if path.exists()}

    def _target(self, folder: Path) -> str:
        cassette = (folder / "cassette").read_text(encoding="utf-8")
        return os.path.normpath(Path(self._there) / os.path.relpath(cassette, self._here))

    def _name(self, path: Path) -> str:
        if path.parent.parent.name == "cassettes":
            return f"cassettes/{digest(self._target(path.parent))}/{path.name}"
        return path.relative_to(self._directory).as_posix()


def attach_parcel(holder: dict[str, Any], parcel: Parcel) -> None:
    """Put a parcel on a report, or on what a worker says last."""
    if not parcel.is_empty:
        holder[_FILES] = dumps(parcel)


def unpack(holder: dict[str, Any], directory: Path) -> None:
    """Take a parcel off a report, and write what it holds; a path that is no part of a run directory is left out."""
    text = holder.pop(_FILES, None)
    if not text:
        return
    parcel = Parcel.model_validate(loads(text))
    for name, added in parcel.lines.items():
        if _ALLOWED.fullmatch(name):
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", newline="") as file:
                file.write(added)
    for name, whole in parcel.files.items():
        if _ALLOWED.fullmatch(name):
            write_atomic(directory / name, whole)
