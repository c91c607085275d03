"""Short sections of the report: what is not measured, reviews, trials, faults, modifiers, flags, costs."""

import posixpath
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Finding, Flag
from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.table import Glyphs, Layout, Line, Style
from pytest_agentbench.results.aggregate import Aggregate
from pytest_agentbench.results.audits import fault_rows
from pytest_agentbench.results.correlate import Correlation
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.trials import TrialsReport

_COMMAND = "review: agentbench review "

_MOST_NAMES = 5


def review_lines(document: Document, layout: Layout) -> list[Line]:
    """Give a line for each thing that people should know of reviews; the command, which they copy, is never broken."""
    return _lines(review_texts(document), layout)


def pending_lines(document: Document, layout: Layout) -> list[Line]:
    """Give those about runs that wait for a reviewer."""
    return _lines(_pending_texts(document), layout)


def _lines(texts: Iterable[str], layout: Layout) -> list[Line]:
    return [
        line
        for text in texts
        for line in (
            [Line(layout.marks.plain(text), "warn")]
            if text.startswith(_COMMAND)
            else layout.wrapped(text, style="warn")
        )
    ]


def quarantine_texts(document: Document) -> list[str]:
    """Name the scenarios that decide nothing for now, whose task each is, why, and until when."""
    told: dict[str, str] = {}
    for run in document.results:
        if run.quarantine is not None:
            why = run.quarantine
            told[f"{run.key.suite}::{run.key.scenario}"] = (
                f"quarantine until {why.until.isoformat()}: {run.key.scenario} ({why.owner}): {why.reason}"
            )
    return list(told.values())


def quarantine_lines(document: Document, layout: Layout) -> list[Line]:
    """Give the same as lines of a report."""
    return [line for text in quarantine_texts(document) for line in layout.wrapped(text, style="warn")]


def review_texts(document: Document) -> list[str]:
    """Say which runs count nowhere and how to review them, and which scenarios count though nobody did."""
    texts = _pending_texts(document)
    for suite in document.suites:
        name = suite.name or suite.path
        review = suite.review
        if review.lapsed:
            named = ", ".join(review.lapsed[:_MOST_NAMES])
            more = f" and {len(review.lapsed) - _MOST_NAMES} more" if len(review.lapsed) > _MOST_NAMES else ""
            texts.append(f"{name}: changed since they were accepted, and pending again: {named}{more}")
        if review.unreviewed:
            texts.append(
                f"{name}: {count(review.unreviewed, 'generated scenario')} "
                f"{'counts' if review.unreviewed == 1 else 'count'}, though nobody reviewed {_them(review.unreviewed)}"
            )
        if review.rejected:
            texts.append(f"{name}: {count(review.rejected, 'scenario')} rejected in review, not collected")
    return texts


def _pending_texts(document: Document) -> list[str]:
    runs = [run for run in document.results if run.pending]
    if not runs:
        return []
    places = {(run.file, run.key.scenario) for run in runs}
    suites = {suite.path for suite in document.suites}
    folders = sorted({posixpath.dirname(file) or "." for file, _ in places if file not in suites})
    inside = Counter(file for file, _ in places if file in suites)  # the command reads scenario files alone
    return [
        f"pending review: {count(len(runs), 'run')} in no rate and no gate",
        *(f"{_COMMAND}{shlex.quote(folder)}" for folder in folders),
        *(
            f"{file}: {count(number, 'scenario')} pending review in the suite itself; "
            f"remove the key `review` to count {_them(number)}, or move {_them(number)} to a scenario file"
            for file, number in sorted(inside.items())
        ),
    ]


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


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
            f"early stop: {report.left_out} of {count(report.runs + report.left_out, 'trial')} not needed; rates are "
            "means over scenarios, corrected for it"
        )
    if not report.flaky:
        return [*lines, Line(f"flaky: none of {report.scenarios} scenarios")]
    shown, rest = layout.listed(report.flaky, MOST_FLAKY)
    named = [*(f"{one.name} {one.passed}/{one.n}" for one in shown), *filter(None, [rest])]
    told = f"flaky: {len(report.flaky)} of {count(report.scenarios, 'scenario')}  {layout.joined(named)}"
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
            lines.append(Line(f"{name:9} {one.value:.2f}  95 % CI {ends}, {count(one.n, 'variant')}"))
    return lines
