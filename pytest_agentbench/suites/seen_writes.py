"""Tools that were seen to change state, though nothing says what they do: kept beside the suite, for later sessions.

The file is plain, and may be deleted; what the suite or a tool declares is never overridden.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.json_values import JsonValue

SEEN = Path(".agentbench") / "seen-writes.json"
"""Where they stand, seen from the suite's folder: names of tools by the name of the suite file."""


def read_seen(suite: Path) -> tuple[str, ...]:
    """Give the tools of a suite file that were seen to write; none where no file of ours says so."""
    names = seen_of(suite).get(suite.name)
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def seen_of(suite: Path) -> dict[str, JsonValue]:
    """Give what is kept beside a suite file, of all suites in its folder."""
    try:
        found = json.loads((suite.parent / SEEN).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


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
