"""The run directory as a session uses it: which one it is, what is stored there, and which runs are suspects."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import LineLog, numbered_lines, write_atomic
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.plugin.hosts import Posting, sees
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.plugin.wire import Collected
from pytest_agentbench.results.completeness import cut_off
from pytest_agentbench.results.secrets import Secrets
from pytest_agentbench.results.store import RunDirectory, RunWriter, new_run_id, without_attempt
from pytest_agentbench.runs.plan import RunPlan

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
