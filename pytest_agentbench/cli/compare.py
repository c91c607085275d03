"""`agentbench compare`: two results files, scenario by scenario; or how they order the same variants."""

import argparse
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.report.comparison import comparison_lines, is_partial
from pytest_agentbench.report.sections import correlation_lines
from pytest_agentbench.report.table import Layout, glyphs_shown
from pytest_agentbench.results.comparison import Comparison, compare_results
from pytest_agentbench.results.correlate import correlate
from pytest_agentbench.results.document import read

_WIDTH = 100
WORSE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Pairs scenarios by their content. Those that changed, came or went are listed apart, and so are those "
        "with another user or judge. The exit status is 1 if success or a policy is worse than chance explains."
    )
    parser.add_argument("first", type=Path, metavar="BEFORE", help="a results file or baseline")
    parser.add_argument("second", type=Path, metavar="AFTER", help="a results file")
    parser.add_argument(
        "--correlate",
        action="store_true",
        help="instead say whether both files rank the common variants in the same order",
    )
    parser.add_argument(
        "--metric", default="success", metavar="NAME", help="what to correlate: success, strict_recall, … (success)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draws the bootstrap's samples (default: 0)")
    parser.add_argument("--json", action="store_true", help="print all that was found as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every change and every scenario")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the comparison, and 1 where something is worse; a correlation has no such status."""
    first, second = read(options.first), read(options.second)
    marks = glyphs_shown()
    title = f"{options.first.name} -> {options.second.name}"
    if options.correlate:
        found = correlate(first.results, second.results, metric=options.metric)
        lines = correlation_lines(found, Layout(marks, _WIDTH), title=title)
        return dumps(found, indent=2) if options.json else _text([line.text for line in lines]), 0
    comparisons = compare_results(
        first.results, second.results, seed=options.seed, partial=is_partial(second) and not is_partial(first)
    )
    status = WORSE if any(_is_worse(one) for one in comparisons) else 0
    if options.json:
        return dumps({"worse": bool(status), "comparisons": list(comparisons)}, indent=2), status
    lines = comparison_lines(comparisons, Layout(marks, _WIDTH, options.verbose), title=title)
    return _text([line.text for line in lines]), status


def _text(lines: list[str]) -> str:
    return "\n".join(lines).lstrip("\n")


def _is_worse(one: Comparison) -> bool:
    success = [one.paired.success] if one.paired.success else []
    return any(change.is_significant and change.difference.value < 0 for change in (*success, *one.paired.policies))
