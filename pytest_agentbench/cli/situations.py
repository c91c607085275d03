"""`agentbench situations`: labelled conversations of a suite's environment, written as files."""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from pytest_agentbench.calibration.generator import Tally, Wish, generate
from pytest_agentbench.calibration.labelled import Folder
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.wording import LANGUAGES
from pytest_agentbench.core.text import printable, shorten

_REASON = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Play a suite's scenarios rightly and wrongly, with real tool results and injected failures, and write "
        "labelled conversations of every situation that its environment can express, to calibrate judges on."
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a suite file")
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="where the files go")
    parser.add_argument("--each", type=int, default=20, metavar="N", help="conversations of each situation (20)")
    parser.add_argument("--right", type=int, default=60, metavar="N", help="conversations without fault (60)")
    parser.add_argument("--only", action="append", choices=list(situations()), help="this situation; may be repeated")
    parser.add_argument("--language", action="append", choices=LANGUAGES, help="may be repeated; both unless given")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="chooses scenarios, words and values (0)")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Write the files; give what was made of each situation, and 1 where nothing was."""
    wish = Wish(
        per_situation=options.each,
        positives=options.right,
        languages=tuple(options.language or LANGUAGES),
        only=tuple(options.only or ()),
        seed=options.seed,
    )
    folder, tally = generate(options.suite, wish, environ=os.environ, told=_told if sys.stderr.isatty() else _quiet)
    if folder.cases:
        folder.write(options.into)
    return printable("\n".join(_lines(folder, tally, options.into)), newlines=True), 0 if folder.cases else 1


def _lines(folder: Folder, tally: Tally, into: Path) -> list[str]:
    made = Counter(case.situation for case in folder.cases)
    lines = [f"{len(folder.cases)} conversations of {len(made)} situations in {into}", ""]
    for name, situation in situations().items():
        if name in made:
            lines.append(f"{made[name]:5}  {situation.label}  {situation.bucket:28}  {name}")
    for name, reason in folder.inexpressible.items():
        lines.append(f"    -  not expressible here: {name}: {shorten(reason, _REASON)}")
    refused = sum(tally.refused.values())
    return [*lines, "", f"{refused} more were refused by the checker, {tally.equal} equalled another but for ids"]


def _told(done: int, total: int) -> None:
    end = "\r" if done < total else "\r\x1b[K"
    print(f"{done} of {total} situations", end=end, file=sys.stderr, flush=True)


def _quiet(_done: int, _total: int) -> None:
    """Say nothing."""
