"""A session in one process: the parts that its hooks share, and its run directory, which may be an earlier one's."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal
from uuid import uuid4

import pytest

from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import LineLog, numbered_lines, write_atomic
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.isolation import MOST_BYTES
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.plugin.early_stop import EarlyStop
from pytest_agentbench.plugin.hosts import Posting, sees
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.plugin.report_payload import Collected
from pytest_agentbench.results.completeness import cut_off
from pytest_agentbench.results.run_directory import RunDirectory, RunWriter, new_run_id, without_attempt
from pytest_agentbench.results.secrets import Secrets
from pytest_agentbench.runs.access import Accounts
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.service import RunService, state_size

PLAN = "plan.json"
"""Where one worker notes, in the run directory, which runs there are."""

SEQUENTIAL = "sequential"
"""A file that a worker leaves in the run directory where trials may prove not to be needed, before anything runs."""

_CRASHES = "crashes.jsonl"
"""Where the controller notes, in the run directory, which runs were in flight when a worker died."""


@dataclass(kw_only=True, repr=False)
class RunStore:
    """The run directory of a process; nothing is made before it is asked for.

    `posting` is what a worker was told, None in any other process. `told` is what the end of the session is to say.
    """

    options: Options
    process: str = "main"
    posting: Posting | None = None
    told: list[str] = field(default_factory=list)
    path: Path | None = None
    finished: dict[RunKey, Result] = field(default_factory=dict)
    """The results that are stored already, by their key without attempt."""
    _directory: RunDirectory | None = None
    _suspects: frozenset[RunKey] = frozenset()
    _crashes_seen: int = -1

    def __post_init__(self) -> None:
        if self.posting is not None:
            self.path = Path(self.posting.run_path)

    @property
    def directory(self) -> RunDirectory:
        """The run directory: continued, opened where the controller made it, or made now."""
        if self._directory is None:
            if self.posting is not None:
                self._directory = _posted(self.posting, self.options)
            else:
                found = _continued(self.options) if self.options.resume else None
                self._directory = found or _new_directory(self.options, told=self.told)
            self.path = self._directory.path
        return self._directory

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is a worker on another host than the controller's."""
        return self.posting is not None and self.posting.elsewhere

    @property
    def is_shared(self) -> bool:
        """Whether the session's other processes see the files of this one."""
        return not (self.posting is not None and self.is_elsewhere and not sees(self.posting))

    @property
    def has_suspects(self) -> bool:
        """Whether any run was in flight when a process died."""
        return bool(self._suspects)

    def open(self) -> None:
        """Make the run directory now; raise `pytest.UsageError` where nothing can be written."""
        try:
            _ = self.directory
        except (ResultsError, OSError) as error:
            raise pytest.UsageError(
                f"results cannot be written to {self.options.directory}: {error}; "
                "choose another folder with `-o agentbench_dir=FOLDER`"
            ) from None

    def writer(self, secrets: Secrets) -> RunWriter:
        """Open what this process writes, without the secrets known by now."""
        return self.directory.writer(self.process, secrets.redactor)

    def close(self) -> None:
        """Give the run directory back at the end of the session."""
        if self._directory is not None and self.posting is None:
            self._directory.end()
            self._directory.close()

    def stored(self, plan: RunPlan) -> Result | None:
        """Give the result of a run that this session, or the one it continues, has finished already.

        None when there is none, or when scenario or suite changed since.
        """
        found = self.finished.get(without_attempt(plan.key)) if self.finished else None
        if found is None or plan.attempt > 1 or found.not_run is not None:
            return None
        planned = plan.planned
        if (found.scenario_hash, found.suite_hash) != (planned.scenario_hash, planned.suite_hash):
            return None
        now = {"nodeid": plan.nodeid, "pending": planned.pending, "quarantine": planned.quarantine}
        return found.model_copy(update=now)

    def is_suspect(self, plan: RunPlan) -> bool:
        """Whether the run was in flight when a process died, so that it must run with nothing beside it."""
        return self.has_suspects and without_attempt(plan.key) in self._suspects

    def note_crash(self, suspects: list[RunKey]) -> None:
        """Tell all processes which runs were in flight when one died."""
        log = LineLog(self.directory.path / _CRASHES)
        log.append([key.model_dump() for key in suspects])
        log.close()

    def load(self) -> None:
        """Read what the run directory holds: finished runs, and those that were in flight when a process died."""
        self.finished.clear()
        self.finished.update(self.directory.results())
        in_flight = self.directory.in_flight() if self.options.resume else ()
        self._suspects = frozenset(without_attempt(key) for key in (*in_flight, *self._noted_crashes()))

    def look_for_crashes(self) -> None:
        """Read the run directory again when a crash was noted since: what is stored or suspect may have changed."""
        if self.path is None and not self.options.resume:
            return
        try:
            size = (self.directory.path / _CRASHES).stat().st_size
        except FileNotFoundError:
            size = 0
        if size == self._crashes_seen:
            return
        first, self._crashes_seen = self._crashes_seen == -1, size
        if size or (first and self.options.resume):
            self.load()

    def files_for_others(self) -> dict[str, str]:
        """Give what a worker must find in its run directory where it has one of its own: finished runs, suspects."""
        self.look_for_crashes()
        files = {}
        if self.finished:
            lines = ({"session": 0, "result": result.model_dump()} for result in self.finished.values())
            files["shards/stored.jsonl"] = "".join(f"{dumps(line)}\n" for line in lines)
        if self._suspects:
            files[_CRASHES] = dumps([key.model_dump() for key in sorted(self._suspects, key=str)]) + "\n"
        return files

    def write_plan(self, collected: Collected) -> None:
        """Tell the controller which runs there are, before any of them starts."""
        write_atomic(self.directory.path / PLAN, dumps(collected))

    def read_plan(self) -> Collected | None:
        """Learn from the workers which runs there are; None while nobody has said."""
        file = self.path / PLAN if self.path else None
        if file is None or not file.exists():
            return None
        return Collected.model_validate(loads(file.read_text(encoding="ascii")))

    def _noted_crashes(self) -> list[RunKey]:
        """Give the runs that were in flight when a worker died; a line that names none is left out."""
        found: list[RunKey] = []
        for line in numbered_lines(self.directory.path / _CRASHES):
            try:
                found += [RunKey.model_validate(key) for key in line.record or ()]
            except (TypeError, ValueError):
                self.directory.left_out[f"{_CRASHES}:{line.number}"] = "it names no runs"
        return found


def _continued(options: Options) -> RunDirectory | None:
    """Take up the last session's run directory; None where there is none."""
    directory = RunDirectory.latest(options.directory)
    if directory is not None:
        directory.resume()
    return directory


def _new_directory(options: Options, *, told: list[str]) -> RunDirectory:
    """Make a run directory, and delete old ones; add to what is `told` that the last session was cut off."""
    last = RunDirectory.latest(options.directory)
    if last is not None and last.was_cut_off:
        told.append(f"the last {cut_off(last)}; --agentbench-resume would have continued it")
    now = datetime.now(UTC)
    run_id = new_run_id(now, uuid4().hex)
    directory = RunDirectory.create(options.directory, run_id, {"created": now.isoformat()})
    directory.prune(before=None if options.keep is None else now - options.keep)
    return directory


def _posted(posting: Posting, options: Options) -> RunDirectory:
    """Open the run directory that a worker is told of, or one of its own where it does not see that one."""
    path = Path(posting.run_path)
    if sees(posting):
        return RunDirectory.open(path)
    directory = RunDirectory.mirror(options.directory, path.name, session=posting.session)
    for name, text in posting.files.items():
        write_atomic(directory.path / name, text)
    return directory


Role = Literal["single", "controller", "worker"]


@dataclass(kw_only=True, repr=False)
class Session:
    """The parts of a session in one process.

    `store` is the run directory, `runs` plays, `secrets` are taken out of all that is written, `early_stop` knows which
    trials are not needed, `collected` which runs there are, and `variants` which variants the suites of tests declare.
    """

    options: Options
    role: Role
    store: RunStore
    runs: RunService
    secrets: Secrets
    early_stop: EarlyStop
    collected: Collected = field(default_factory=Collected)
    variants: set[str] = field(default_factory=set)
    today: date = field(default_factory=lambda: datetime.now(UTC).date())

    @classmethod
    def of(cls, options: Options, role: Role, store: RunStore) -> Session:
        """Put the parts together; nothing is made on disk and no thread started."""
        secrets = Secrets()
        if role == "controller":  # it reads no suite, and writes what its command was
            secrets.add_environment()
        posting = store.posting

        def accounts(is_first: bool) -> Accounts:
            return Accounts(
                Mode(options.cassette),
                process=store.process,
                folder=lambda: store.directory.path,
                redact=secrets.json,
                max_cost=options.max_cost,
                max_calls=options.max_calls,
                share=1 / options.workers,
                judges=options.judge,
                starts=is_first and (role != "worker" or store.is_elsewhere),
                account=posting.account if posting else "",
            )

        def keeps_transcript(result: Result) -> bool:
            return options.transcripts == "all" or (options.transcripts == "failed" and not result.passed)

        runs = RunService(
            concurrency=options.concurrency,
            open_keeper=lambda: store.writer(secrets),
            open_accounts=accounts,
            redact=secrets.text,
            locks=options.directory / "locks",
            reaches_all=lambda: store.is_shared,
            workers=options.workers,
            seed=options.seed,
            replays=options.cassette == "replay",
            eager_tail=not options.stops_early,
            keeps_transcript=keeps_transcript,
        )
        early_stop = EarlyStop(store.finished)
        return cls(options=options, role=role, store=store, runs=runs, secrets=secrets, early_stop=early_stop)

    @property
    def in_flight(self) -> int | None:
        """The runs in flight here, None where workers play them."""
        return None if self.role == "controller" else self.runs.in_flight


SESSION = pytest.StashKey[Session]()
"""The session, on pytest's config."""


def bound_by_states(suite: Suite, options: Options, runs: int) -> str:
    """Say how many runs fit into memory at once where that is fewer than there might be; else nothing."""
    size = state_size(suite)
    most = max(MOST_BYTES // options.workers // size, 1) if size else runs
    if most >= min(runs, options.concurrency + options.concurrency // 4):
        return ""
    where = " in each process" if options.workers > 1 else ""
    return f"a run's state takes about {size / 1e6:,.0f} MB: at most {count(most, 'run')} at once{where}"
