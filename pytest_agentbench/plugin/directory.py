"""Which run directory a process writes to: a new one, the last one continued, or the one that a worker is told."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pytest_agentbench.plugin.hosts import Posting, sees
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.results.completeness import cut_off
from pytest_agentbench.results.files import write_atomic
from pytest_agentbench.results.store import RunDirectory, new_run_id

PLAN = "plan.json"
"""Where one worker notes, in the run directory, which runs there are."""

SEQUENTIAL = "sequential"
"""A file that a worker leaves in the run directory where trials may prove not to be needed, before anything runs."""

CRASHES = "crashes.jsonl"
"""Where the controller notes, in the run directory, which runs were in flight when a worker died."""


def continued(options: Options) -> RunDirectory | None:
    """Take up the last session's run directory; None where there is none."""
    directory = RunDirectory.latest(options.directory)
    if directory is not None:
        directory.resume()
    return directory


def new_directory(options: Options, *, told: list[str]) -> RunDirectory:
    """Make a run directory, and delete old ones; add to what is `told` that the last session was cut off."""
    last = RunDirectory.latest(options.directory)
    if last is not None and last.was_cut_off:
        told.append(f"the last {cut_off(last)}; --agentbench-resume would have continued it")
    now = datetime.now(UTC)
    run_id = new_run_id(now, uuid4().hex)
    directory = RunDirectory.create(options.directory, run_id, {"created": now.isoformat()})
    directory.prune(before=None if options.keep is None else now - options.keep)
    return directory


def posted(posting: Posting, options: Options) -> RunDirectory:
    """Open the run directory that a worker is told of, or one of its own where it does not see that one."""
    path = Path(posting.run_path)
    if sees(posting):
        return RunDirectory.open(path)
    directory = RunDirectory.mirror(options.directory, path.name, session=posting.session)
    for name, text in posting.files.items():
        write_atomic(directory.path / name, text)
    return directory
