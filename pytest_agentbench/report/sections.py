"""Short sections of the terminal's report: trials, faults, modifiers, flags, and how two suites order variants."""

from collections.abc import Sequence

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Finding, Flag
from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.glyphs import Glyphs, Line, Style
from pytest_agentbench.report.table import Layout
from pytest_agentbench.results.audits import fault_rows
from pytest_agentbench.results.correlate import Correlation
from pytest_agentbench.results.trials import TrialsReport

MOST_FLAKY = 10
"""Flaky scenarios that are named unless asked for all."""

FLAGS_TITLE = "stated, and found nowhere (flags: they decide nothing)"

_QUOTE = 200
_MODIFIER, _LEFT_OUT = "modifier ", "left out: "


def trials_lines(report: TrialsReport | None, layout: Layout) -> list[Line]:
    """Give pass@k, pass^k, and the scenarios that pass sometimes; none where every scenario was played once."""
    if report is None:
        return []
    lines, marks = [Line("")], layout.marks
    if report.passes:
        rows = [["trials", "scenarios", "pass@k", "95 % CI", "pass^k", "95 % CI"]]
        for one in report.passes:
            rates = (
                (percent(rate.value, marks), layout.percents(rate.low, rate.high))
                for rate in (one.at_least_one, one.all)
            )
            rows.append([f"  k = {one.k}", str(one.n), *(cell for pair in rates for cell in pair)])
        lines += layout.table(rows, "<>>>>>")
    if report.early_stop:
        lines += layout.wrapped(
            f"early stop: {report.left_out} of {report.runs + report.left_out} trials were not needed; rates are means "
            "over scenarios, corrected for it"
        )
    if not report.flaky:
        return [*lines, Line(f"flaky: none of {report.scenarios} scenarios")]
    shown, rest = layout.listed(report.flaky, MOST_FLAKY)
    named = [*(f"{one.name} {one.passed}/{one.n}" for one in shown), *filter(None, [rest])]
    told = f"flaky: {len(report.flaky)} of {report.scenarios} scenarios  {layout.joined(named)}"
    return [*lines, *layout.wrapped(told, style="warn")]


def faults_lines(results: Sequence[Result], layout: Layout) -> list[Line]:
    """Give how often each fault struck and what the agent did about it; columns after `struck` count those runs."""
    rows, dash = fault_rows(results), layout.marks.dash
    if not rows:
        return []
    cells = [["fault", "runs", "struck", "recovered", "given up", "made up", "passed", "not scored"]]
    for row in rows:
        seen = [row.recovered, row.given_up, row.made_up] if row.shows else [dash] * 3
        told = [row.met, *seen, row.passed, row.unseen] if row.met else [0, *[dash] * 5]
        cells.append([layout.marks.plain(row.fault), str(row.runs), *map(str, told)])
    styles: list[Style] = ["head", *("warn" if row.met and row.made_up else "" for row in rows)]
    return [Line(""), *layout.table(cells, "<>>>>>>>", styles)]


def modifiers_lines(results: Sequence[Result], layout: Layout) -> list[Line]:
    """Say of each modifier that was asked for in how many runs it showed, did not show, or was left out."""
    found: dict[str, list[Finding]] = {}
    for finding in (finding for result in results for finding in result.findings):
        if finding.kind == "user" and finding.check.startswith(_MODIFIER):
            found.setdefault(finding.check.removeprefix(_MODIFIER), []).append(finding)
    lines = []
    for name, findings in sorted(found.items()):
        told = _shown_in(findings)
        style: Style = "" if len(told) == 1 and findings[0].passed else "warn"
        lines += layout.wrapped(f"modifier {name}  {layout.joined(told)}", " " * 13, style=style)
    return lines


def _shown_in(findings: Sequence[Finding]) -> list[str]:
    counts = {passed: [one for one in findings if one.passed is passed] for passed in (True, False, None)}
    told = [f"showed in {len(counts[True])}"] if counts[True] else []
    if counts[False]:
        told.append(f"did not show in {len(counts[False])}: nothing is known of it there")
    reasons = [one.message.partition(_LEFT_OUT)[2] for one in counts[None]]
    if unknown := reasons.count(""):
        told.append(f"not measured in {unknown}")
    if left_out := list(filter(None, reasons)):
        told.append(f"left out in {len(left_out)} (the first: {left_out[0]})")
    return told


def value_flags(run: Result) -> list[Flag]:
    """Give what the agent of a run stated and had from nowhere, as code flags it (the auditor's: see `auditor`)."""
    return [flag for flag in run.flags if flag.kind == "value"]


def flag_text(flag: Flag, marks: Glyphs) -> str:
    """Give the turn, the value and the words around it."""
    return f'turn {flag.turn}: {marks.plain(flag.value)}, in "{marks.cut(marks.plain(flag.quote), _QUOTE)}"'


def flags_lines(results: Sequence[Result], layout: Layout) -> list[Line]:
    """List the flags of all runs."""
    marks = layout.marks
    texts = [f"{marks.plain(run.key.name)}  {flag_text(flag, marks)}" for run in results for flag in value_flags(run)]
    lines = [line for text in texts for line in layout.wrapped(text, "    ", start="  ")]
    return [Line(""), Line(FLAGS_TITLE, "head"), *lines] if lines else []


def correlation_lines(found: Correlation, layout: Layout, *, title: str) -> list[Line]:
    """Give the variants with both values, then Pearson's and Spearman's correlation with their intervals."""
    marks = layout.marks
    rows = [[found.metric, "before", "after"]]
    rows += [[f"  {marks.plain(point.variant)}", f"{point.first:.3g}", f"{point.second:.3g}"] for point in found.points]
    lines = [Line(marks.cut(marks.plain(title), layout.width), "head"), *layout.table(rows, "<>>", [""] * len(rows))]
    for name, one in (("Pearson", found.pearson), ("Spearman", found.spearman)):
        if one is None:
            lines.append(Line(f"{name:9} {marks.dash}  one side does not vary", "warn"))
        else:
            ends = f"{one.low:.2f} to {one.high:.2f}"
            lines.append(Line(f"{name:9} {one.value:.2f}  95 % CI {ends}, {one.n} variants"))
    return lines
