"""Model calls of a command: the cassette that answers or records them, and the options for it and for the budget."""

import argparse
import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.llm.cassette.file import shard_path
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.chat import Ways
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.llm.models import Models
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.results.run_directory import FolderLock

_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_SECRET = 8


def add_recording(parser: argparse.ArgumentParser) -> None:
    """Add the options of cassette and budget."""
    parser.add_argument("--cassette", type=Path, metavar="FILE", help="where answers are recorded")
    parser.add_argument(
        "--mode",
        choices=("record", "replay", "refresh"),
        help="replay what is recorded and record the rest (record), never ask live (replay), record anew (refresh)",
    )
    parser.add_argument(
        "--max-cost", type=float, metavar="USD", help="refuse calls after which the total could cost more"
    )
    parser.add_argument("--max-calls", type=int, metavar="N", help="refuse more calls")


def mode_of(cassette: Path | None, mode: str | None) -> Mode | None:
    """Give the mode that was asked for; raise `AgentBenchError` for one without a cassette."""
    if mode is not None and cassette is None:
        raise AgentBenchError(f"--mode {mode} needs a cassette: name one with --cassette FILE")
    return Mode(mode) if mode else None


@contextlib.contextmanager
def asking(options: argparse.Namespace, *, command: str) -> Iterator[Models]:
    """Give the models of a command, by the options of `add_recording`."""
    mode = mode_of(options.cassette, options.mode)
    ledger = Ledger(None)
    ledger.start(cost_usd=options.max_cost, calls=options.max_calls)
    with contextlib.closing(ledger), recording(options.cassette, mode, command=command) as recorder:
        yield Models(environ=os.environ, ways=Ways(budget=ledger), recorder_of=lambda _: recorder)
        if recorder is not None and mode is Mode.REFRESH:
            recorder.finished(None)


@contextlib.contextmanager
def recording(cassette: Path | None, mode: Mode | None, *, command: str) -> Iterator[CassetteRecorder | None]:
    """Open a cassette for `command`; mode None records what is missing.

    What was noted is brought into it at the end, and what a killed command left at the beginning. Raise `SuiteError`
    where it cannot be read.
    """
    if cassette is None:
        yield None
        return
    mode = mode or Mode.RECORD
    redact = Redactor(_secrets(os.environ)).json
    if not mode.writes:
        yield CassetteRecorder(mode, cassette, shard=None, redact=redact)
        return
    folder = cassette.parent / f".{cassette.name}.{command}"
    shard = shard_path(folder, command)
    with FolderLock(folder):
        merge(cassette, [shard])
        recorder = CassetteRecorder(mode, cassette, shard=shard, redact=redact)
        try:
            yield recorder
        finally:
            recorder.close()
            merge(cassette, [shard])
    with contextlib.suppress(OSError):  # another one may have begun
        (folder / "lock").unlink(missing_ok=True)
        folder.rmdir()


def _secrets(environ: Mapping[str, str]) -> list[str]:
    """Give the values of variables that are named like secrets."""
    return [
        value
        for name, value in environ.items()
        if len(value) >= _SHORTEST_SECRET and any(part in name.upper() for part in _SECRET_NAMES)
    ]
