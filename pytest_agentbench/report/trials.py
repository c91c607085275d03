"""What several trials of each scenario tell: pass@k, pass^k, and the scenarios that pass sometimes."""

from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import table, wrap
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.trials import TrialsReport

MOST_FLAKY = 10
"""Flaky scenarios that are named unless asked for all."""


def trials_lines(report: TrialsReport | None, marks: Glyphs, width: int, *, verbose: bool = False) -> list[Line]:
    """Give the lines on trials; none where every scenario was played once."""
    if report is None:
        return []
    lines = [Line("")]
    if report.passes:
        lines += _pass_ks(report, marks, width)
    if report.early_stop:
        planned = report.runs + report.left_out
        text = (
            f"early stop: {report.left_out} of {planned} trials were not needed; rates are means over scenarios, "
            "corrected for it"
        )
        lines += [Line(part) for part in wrap(marks.plain(text), width, "  ")]
    return lines + _flaky(report, marks, width, verbose=verbose)


def _pass_ks(report: TrialsReport, marks: Glyphs, width: int) -> list[Line]:
    rows = [["trials", "scenarios", "pass@k", "95 % CI", "pass^k", "95 % CI"]]
    rows += [
        [
            f"  k = {one.k}",
            str(one.n),
            percent(one.at_least_one.value, marks),
            _ends(one.at_least_one, marks),
            percent(one.all.value, marks),
            _ends(one.all, marks),
        ]
        for one in report.passes
    ]
    laid = table(rows, ["<", ">", ">", ">", ">", ">"], width=width, glyphs=marks)
    return [Line(text, "head" if place == 0 else "") for place, text in enumerate(laid)]


def _flaky(report: TrialsReport, marks: Glyphs, width: int, *, verbose: bool) -> list[Line]:
    if not report.flaky:
        return [Line(f"flaky: none of {report.scenarios} scenarios")]
    shown = report.flaky if verbose else report.flaky[:MOST_FLAKY]
    named = [f"{one.name} {one.passed}/{one.n}" for one in shown]
    if len(report.flaky) > len(shown):
        named.append(f"{marks.ellipsis} and {len(report.flaky) - len(shown)} more (-v)")
    text = f"flaky: {len(report.flaky)} of {report.scenarios} scenarios  {f' {marks.dot} '.join(named)}"
    return [Line(part, "warn") for part in wrap(marks.plain(text), width, "  ")]


def _ends(interval: Interval, marks: Glyphs) -> str:
    return f"{interval.low * 100:.0f}{marks.dash}{interval.high * 100:.0f}"
