"""`agentbench generate`: run the recipe of a suite, with a line of progress now and then and a report at the end."""

import argparse
import os
from pathlib import Path

from pytest_agentbench.cli.progress import Progress
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable
from pytest_agentbench.report.table import glyphs_shown

SHORT = 1
"""The exit status where fewer scenarios were made than asked for."""

KEPT = "; what was finished is kept, and the same command goes on where it stood"
"""What is said of a session that was broken off."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and its description."""
    parser.description = (
        "Makes scenarios of the suite's tools or policies, as its key `generate` says. Files that "
        "still fit are used again. The exit status is 1 where fewer scenarios were made than asked for."
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a suite file with the key `generate`")
    parser.add_argument("--until", choices=("cards", "graph", "walks"), default="", help="stop after this stage")
    parser.add_argument("--from", dest="source", choices=("tools", "policies"), help="instead of the recipe's own")
    parser.add_argument("--count", type=_count, metavar="N", help="how many scenarios, instead of the recipe's own")
    parser.add_argument("--seed", type=int, metavar="N", help="the seed, instead of the recipe's own")
    parser.add_argument("--force", action="store_true", help="write everything anew")
    parser.add_argument(
        "--reword",
        action="store_true",
        help="let the recipe's model word the scenarios that are in plain phrases; calls and values stay",
    )
    parser.add_argument(
        "--cassette",
        choices=("off", "replay", "record", "refresh"),
        default="off",
        help="model calls: ask live (off), from recordings alone (replay), record what is missing, or record anew",
    )
    parser.add_argument("--json", action="store_true", help="print how many were asked for and made, and the report")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Run the recipe; give the report and the exit status.

    Raise `SuiteError` where suite or recipe cannot be used, `AgentBenchError` for what stops the pipeline.
    """
    from pytest_agentbench.generation.run import Asked, Changes, generate  # noqa: PLC0415 - help loads nothing
    from pytest_agentbench.llm.cassette.modes import Mode  # noqa: PLC0415 - same

    asked = Asked(
        suite=options.suite,
        until=options.until,
        force=options.force,
        reword=options.reword,
        changes=Changes(source=options.source, count=options.count, seed=options.seed),
        cassette=Mode(options.cassette),
    )
    with Progress("generate") as progress:
        outcome = generate(asked, environ=os.environ, told=progress.line)
    status = 0 if outcome.is_complete else SHORT
    if options.json:
        return dumps(outcome.model_dump(mode="json"), indent=2), status
    text = printable("\n".join(outcome.lines), newlines=True)
    return text if glyphs_shown().unicode else text.replace("·", "-"), status


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a whole number, not {text!r}") from None
    if not 1 <= count <= 100_000:
        raise argparse.ArgumentTypeError(f"from 1 to 100000, not {count}")
    return count
