"""What a session left undecided: the first line of a report, and the parts with what would measure them."""

from pytest_agentbench.core.run import Result
from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import Layout, count
from pytest_agentbench.results.aggregate import Aggregate

MOST_PARTS = 5
"""Parts that are listed unless asked for all."""

NOTHING = "nothing to judge"
"""What stands beside a run that passed since its scenario asks for nothing."""

PENDING, IN_QUARANTINE, NOT_SCORED = "pending review", "in quarantine", "not scored"
"""How runs that are in no rate are counted, in the first line of a report and in the last one of pytest."""


def counts_text(sums: Aggregate, marks: Glyphs) -> str:
    """Count the runs: `22 passed, 9 with something not measured · 2 failed · 1 not scored · 3 pending review`."""
    row = sums.all
    parts = [f"{row.passed} passed{partly_text(sums)}"]
    parts += [f"{row.n - row.passed} failed"] if row.n > row.passed else []
    parts += [f"{row.unscored} {NOT_SCORED}"] if row.unscored else []
    return f" {marks.dot} ".join([*parts, *aside_counts(sums)])


def aside_counts(sums: Aggregate) -> list[str]:
    """Count the runs that are in no rate and no gate: `3 pending review`, `1 in quarantine`."""
    found = ((sums.pending, PENDING), (sums.quarantined, IN_QUARANTINE))
    return [f"{row.n + row.unscored} {called}" for row, called in found if row]


def partly_text(sums: Aggregate) -> str:
    """Say what the number of passed runs does not: how many left something open, or were asked for nothing."""
    partly = f", {sums.partly} with something not measured" if sums.partly else ""
    return partly + (f", {len(sums.idle)} with {NOTHING}" if sums.idle else "")


def share_text(sums: Aggregate) -> str:
    """Say how many of the parts that runs were asked for were not decided: `2 of 31 parts`."""
    return f"{sums.open_parts} of {count(sums.asked, 'part')}"


def parts_text(run: Result, marks: Glyphs) -> str:
    """Say how many parts of a run were not decided: `2 parts –`, "" where all were."""
    return open_text(len(run.unmeasured), marks) if run.unmeasured else ""


def open_text(number: int, marks: Glyphs) -> str:
    """Say that so many parts were not decided."""
    return f"{count(number, 'part')} {marks.dash}"


def outcome_text(run: Result, marks: Glyphs) -> str:
    """Give the verdict of a scored run as it is shown: `passed (2 parts –)`."""
    left = parts_text(run, marks)
    return f"{run.verdict.value} ({left})" if left else run.verdict.value


def idle_text(sums: Aggregate) -> str:
    """Name the scenarios that ask for nothing, and say what would; "" where all ask for something."""
    if not sums.idle:
        return ""
    rest = f" and {len(sums.idle) - MOST_PARTS} more" if len(sums.idle) > MOST_PARTS else ""
    return (
        f"{NOTHING}: {', '.join(sums.idle[:MOST_PARTS])}{rest}. Such a scenario passes whatever the agent does; "
        "give it `expect`, `communicate`, `never`, a policy or a rubric"
    )


def idle_lines(sums: Aggregate, layout: Layout) -> list[Line]:
    """Give the same as lines of a report."""
    return [Line(""), *layout.wrapped(text, style="warn")] if (text := idle_text(sums)) else []


def measured_lines(sums: Aggregate, layout: Layout) -> list[Line]:
    """List the parts that were not measured, in how many runs, why, and what to add."""
    lines = idle_lines(sums, layout)
    if not sums.unmeasured:
        return lines
    shown, rest = layout.listed(sums.unmeasured, MOST_PARTS)
    lines += [Line(""), Line(f"not measured ({layout.marks.dash}, in no rate): {share_text(sums)}", "head")]
    for one in shown:
        told = f"{one.part}, {count(one.runs, 'run')}: {one.why.removeprefix('not measured: ')}"
        cure = f"; {one.cure}" if one.cure else ""
        lines += layout.wrapped(f"{told}{cure}", "    ", start="  ", style="warn")
    return [*lines, *([Line(f"  {rest}")] if rest else [])]
