"""`agentbench import-intellagent`: IntellAgent's graphs, events, dialogues and results, and what they lack."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.core.names import count

if TYPE_CHECKING:
    from pytest_agentbench.suites.intellagent.intellagent import ForeignData


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = "Reads pickles without executing them. Prints what it found, and what is missing."
    parser.add_argument("source", type=Path, metavar="FILE", help="a JSON export, results.csv, or a pickle")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was read there, as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give what was found as text; raise `SuiteError` for a file that is none of IntellAgent's."""
    from pytest_agentbench.core.codec import dumps  # noqa: PLC0415 - a command loads what it needs when it runs
    from pytest_agentbench.core.files import write_atomic  # noqa: PLC0415 - same
    from pytest_agentbench.core.text import printable  # noqa: PLC0415 - same
    from pytest_agentbench.suites.intellagent.reader import read_intellagent  # noqa: PLC0415 - same

    data = read_intellagent(options.source)
    if options.json is not None:
        write_atomic(options.json, dumps(data, indent=1) + "\n")
    return printable("\n".join(_lines(data)), newlines=True), 0


def _lines(data: "ForeignData") -> list[str]:
    lines = [f"{data.file}: {data.kind}"]
    if data.graph is not None:
        policies = count(len(data.graph.policies), "policy", "policies")
        lines.append(f"  {policies}, {count(len(data.graph.edges), 'weighted pair')}")
    for name, found in (("events", data.events), ("dialogues", data.dialogues), ("results", data.results)):
        if found:
            lines.append(f"  {len(found)} {name}")
    return [*lines, *(["missing"] if data.missing else []), *(f"  {gap}" for gap in data.missing)]
