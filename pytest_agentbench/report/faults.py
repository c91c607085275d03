"""The table of faults: how often each struck, and what the agent did about it."""

from collections.abc import Sequence

from pytest_agentbench.core.run import Result
from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import Align, table
from pytest_agentbench.results.handling import FaultRow, fault_rows

_HEAD = ("fault", "runs", "struck", "recovered", "given up", "made up", "passed", "not scored")
_ALIGN: tuple[Align, ...] = ("<", ">", ">", ">", ">", ">", ">", ">")


def faults(results: Sequence[Result], marks: Glyphs, width: int) -> list[Line]:
    """Give the table, nothing where no run had a fault. Columns after `struck` count the runs that it struck."""
    rows = fault_rows(results)
    if not rows:
        return []
    head, *lines = table([_HEAD, *(_cells(row, marks) for row in rows)], _ALIGN, width=width, glyphs=marks)
    bad = [bool(row.made_up) for row in rows]
    body = [Line(line, "warn" if wrong else "") for line, wrong in zip(lines, bad, strict=True)]
    return [Line(""), Line(head, "head"), *body]


def _cells(row: FaultRow, marks: Glyphs) -> tuple[str, ...]:
    if not row.met:
        return (marks.plain(row.fault), str(row.runs), "0", *[marks.dash] * 5)
    seen = [str(row.recovered), str(row.given_up), str(row.made_up)] if row.shows else [marks.dash] * 3
    return (marks.plain(row.fault), str(row.runs), str(row.met), *seen, str(row.passed), str(row.unseen))
