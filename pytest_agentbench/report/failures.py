"""What failed, for a terminal: each broken policy with its text and its rule in words, then its runs, worst first."""

import shlex
from collections.abc import Sequence

from pytest_agentbench.core.run import Result
from pytest_agentbench.report.auditor import marks_of
from pytest_agentbench.report.glyphs import Glyphs, Line, cells
from pytest_agentbench.report.table import Layout, count, table, wrap
from pytest_agentbench.report.worst import (
    by_check,
    check_name,
    failed_findings,
    finding_text,
    no_finding_text,
    rerun_command,
    worst_first,
)
from pytest_agentbench.results.document import Document, PolicyRecord, policy_words

MOST_FAILURES = 10
"""Failures that are listed unless asked for all."""

MOST_OF_ONE = 3
"""Failures of one kind that are listed where there are several kinds."""

MOST_KINDS = 6

MOST_LINES = 3
"""Lines that one run may take."""

_ID_WIDTH = 36


def failures_lines(document: Document, layout: Layout, *, title: str = "worst first") -> list[Line]:
    """List the runs that the agent failed under what each broke, and say how to run the worst one again."""
    failures = worst_first(document.results)
    if not failures:
        return []
    lines = [Line(""), Line(title, "head")]
    kinds = by_check(failures)
    shown, rest = layout.listed(list(kinds), MOST_KINDS)
    for suite, name in shown:
        runs = kinds[suite, name]
        lines += _heading(name, runs, policy_of(document, suite, name), layout)
        lines += _runs(runs, document, layout, most=MOST_OF_ONE if len(kinds) > 1 else MOST_FAILURES)
    lines += [Line(f"  {rest}")] if rest else []
    first = failures[0]
    variants = next((suite.variants for suite in document.suites if suite.path == first.key.suite), ())
    default = variants[0] if variants else ""
    rerun = rerun_command(first, default, cassette=document.cassette, seed=document.seed)
    named = layout.marks.plain(shlex.quote(first.key.name))
    return [*lines, Line(f"rerun: {layout.marks.plain(rerun)}"), Line(f"why: agentbench explain {named}")]


def policy_of(document: Document, suite: str, name: str) -> PolicyRecord | None:
    """Find a policy of a suite by its id."""
    stated = (policy for one in document.suites if one.path == suite for policy in one.policies)
    return next((policy for policy in stated if policy.id == name), None)


def run_name(run: Result, marks: Glyphs) -> str:
    """Name a run in 36 cells, the scenario's name cut in its middle."""
    variant = f"[{run.key.label}]" if run.key.label else ""
    trial = f" trial {run.key.trial}" if run.key.trial > 1 else ""
    which = marks.cut(marks.plain(f"{variant}{trial}"), _ID_WIDTH // 2)
    return marks.squeeze(marks.plain(run.key.scenario), _ID_WIDTH - cells(which)) + which


def _heading(name: str, runs: Sequence[Result], policy: PolicyRecord | None, layout: Layout) -> list[Line]:
    """Say what was broken and how often; of a policy its text and what its rule asks for."""
    lines = layout.wrapped(f"{name}: {count(len(runs), 'run')}", start="  ", style="bad")
    for text in policy_words(policy) if policy is not None else ():
        lines += layout.wrapped(text, start="    ")
    return lines


def _runs(runs: Sequence[Result], document: Document, layout: Layout, *, most: int) -> list[Line]:
    marks, width = layout.marks, layout.width
    shown, rest = layout.listed(runs, most)
    levels = [f"c{run.complexity}" if run.complexity is not None else marks.dash for run in shown]
    names = [run_name(run, marks) for run in shown]
    starts = table([["  ", *pair] for pair in zip(names, levels, strict=True)], ["<", "<", "<"], glyphs=marks)
    column = max(map(cells, starts))
    lines = []
    for run, start in zip(shown, starts, strict=True):
        found = failed_findings(run)
        room = max(width - column - 2, 20)
        text = finding_text(run, found[0], marks, max(room, width - 8)) if found else no_finding_text(run, marks)
        others = list(dict.fromkeys(check_name(one) for one in found[1:]))
        others = [name for name in others if name != check_name(found[0])]
        text += f"  (also {', '.join(map(marks.plain, others))})" if others else ""
        text += f"  [{noted}]" if (noted := marks_of(run, document)) else ""
        lines += [Line(part) for part in _beside(start, column, text, marks, width)]
    return [*lines, *([Line(f"    {rest}")] if rest else [])]


def _beside(start: str, column: int, text: str, marks: Glyphs, width: int) -> list[str]:
    """Put `text` beside `start` where it fits, else below it, in at most three lines."""
    one = start.ljust(len(start) + column - cells(start)) + "  " + text
    if cells(one) <= width:
        return [one]
    parts = [f"        {part}" for part in wrap(text, width - 8, "  ")]
    if len(parts) > MOST_LINES:
        parts = [*parts[: MOST_LINES - 1], f"{parts[MOST_LINES - 1]} {marks.ellipsis}"]
    return [marks.cut(part, width) for part in (start, *parts)]
