"""Notes beside a suite which tools of unknown kind were seen to change state."""

from collections.abc import Iterable
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.suites.seen_writes import SEEN, read_seen, seen_of


def note_seen(suite: Path, tools: Iterable[str]) -> tuple[str, ...]:
    """Add tools of a suite file to those that were seen to write; give those that are new.

    Raise `OSError` where nothing can be written.
    """
    known = read_seen(suite)
    new = tuple(sorted({*tools} - {*known}))
    if new:
        file = suite.parent / SEEN
        if not (ignore := file.parent / ".gitignore").exists():
            write_atomic(ignore, "*\n")
        write_atomic(file, dumps({**seen_of(suite), suite.name: sorted([*known, *new])}) + "\n")
    return new
