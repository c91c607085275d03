"""The report at the end of a session, for a terminal or a CI log."""

from collections.abc import Iterable

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.report.auditor import audit_lines, mark_of_gate, marks_of
from pytest_agentbench.report.breakdown import breakdown, own_rows, percent
from pytest_agentbench.report.glyphs import Glyphs, Line, Style, cells, glyphs
from pytest_agentbench.report.measured import counts_text, measured_lines
from pytest_agentbench.report.reviews import review_lines
from pytest_agentbench.report.sections import faults_lines, flags_lines, modifiers_lines, trials_lines
from pytest_agentbench.report.spending import spending
from pytest_agentbench.report.table import Layout, count, table, wrap
from pytest_agentbench.report.variants import variants_lines
from pytest_agentbench.report.worst import (
    check_name,
    failed_findings,
    finding_text,
    no_finding_text,
    rerun_command,
    worst_first,
)
from pytest_agentbench.results.aggregate import Aggregate, BlameCount, aggregate
from pytest_agentbench.results.document import Document, SuiteRecord
from pytest_agentbench.results.gates import GateVerdict
from pytest_agentbench.results.trials import trials_report
from pytest_agentbench.results.variants import variants_reports

MOST_FAILURES = 10
"""Failures that are listed unless asked for all."""

MOST_UNSCORED = 5

_ID_WIDTH = 36
_CHECK_WIDTH = 22
_MOST_LINES = 3


def terminal_report(
    document: Document, *, width: int = 100, verbose: bool = False, unicode: bool = True, path: str = ""
) -> list[Line]:
    """Give the lines of the report, the title first; short when everything passed and every policy was exercised.

    `path` is the results file to point at. With `unicode` False every line is ASCII. No line is wider than `width`
    but those that a reader copies: the rerun command and the path.
    """
    layout = Layout(glyphs(unicode=unicode), width, verbose)
    marks = layout.marks
    known = {suite.path for suite in document.suites}
    everything, document = document, document.counted
    runs = [run for run in everything.results if run.key.suite in known]
    own = [run for run in everything.results if run.key.suite not in known]
    sums = aggregate(runs or own, everything.retried)
    runs = [run for run in runs if not run.pending]
    lines = [_title(document, layout), *_header(everything, sums, layout)]
    if everything.results:
        brief = not verbose and sums.all.n > 0 and sums.all.passed == sums.all.n
        tests = own_rows(own) if runs else ()
        lines.append(Line(""))
        lines += breakdown(sums, document.gates, marks, width=width, verbose=verbose, brief=brief, tests=tests)
        lines += _endings(sums, layout, brief=brief)
    left_out = sum(suite.stopped for suite in document.suites)
    lines += trials_lines(trials_report(runs, left_out=left_out), layout)
    for variants in variants_reports(document, seed=document.seed or 0):
        lines += variants_lines(variants, layout)
    lines += spending(everything.results, everything.retried, everything.cassette, layout)
    lines += modifiers_lines(document.results, layout)
    lines += faults_lines(document.results, layout)
    lines += _failures(document, layout)
    lines += _failures(everything.pending, layout, title="missed, pending review")
    lines += _unscored(document, layout)
    lines += measured_lines(sums, layout)
    lines += flags_lines(document.results, layout) if verbose else []
    lines += audit_lines(document, layout)
    lines += _gates(everything, layout)
    lines += review_lines(everything, layout)
    return [*lines, *([Line(""), Line(f"results: {marks.plain(path)}")] if path else [])]


def _title(document: Document, layout: Layout) -> Line:
    marks, width = layout.marks, layout.width
    names = [suite.name or suite.path for suite in document.suites]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    title = marks.cut(marks.plain(f"agentbench: {shown}" if shown else "agentbench"), max(width - 8, 8))
    fill = max(width - cells(title) - 2, 0)
    return Line(f"{'=' * (fill // 2)} {title} {'=' * (fill - fill // 2)}", "head")


def _header(document: Document, sums: Aggregate, layout: Layout) -> list[Line]:
    known = {suite.path for suite in document.suites}
    runs = [run for run in document.results if run.key.suite in known]
    simulations = len(document.results) - len(runs)
    scenarios = len({(run.key.suite, run.key.scenario) for run in runs})
    variants = [row.label for row in sums.variants]
    facts = [count(scenarios, "scenario")] if runs or not simulations else []
    if len(runs) != scenarios:
        facts.append(count(len(runs), "run"))
    if simulations:
        facts.append(f"{count(simulations, 'simulation')} in tests")
    if variants:
        facts.append(f"{'variant' if len(variants) == 1 else 'variants'} {', '.join(variants)}")
    if document.seed is not None:
        facts.append(f"seed {document.seed}")
    if flagged := sum(1 for run in document.results if run.flags):
        facts.append(f"{flagged} with flags")
    facts.append(f"{document.seconds:.1f} s")
    lines = layout.wrapped(counts_text(sums, layout.marks)) if document.results else []
    lines += layout.wrapped(layout.joined(facts))
    selected = sum(suite.selected for suite in document.suites)
    if not document.complete:
        finished = sum(run.not_run is None for run in runs)
        lines.append(Line(f"cut short: {finished} of {count(max(selected, len(runs)), 'run')} finished", "warn"))
    if document.results and not sums.all.n and not (sums.pending and not sums.all.unscored):
        lines.append(Line("nothing was scored: no rate can be given", "warn"))
    return lines


def _endings(sums: Aggregate, layout: Layout, *, brief: bool) -> list[Line]:
    lines = []
    counts = layout.joined(f"{label} {number}" for label, number in sums.terminations.items())
    blames = [text for blame in sums.blames if blame.blame != "agent" for text in _blame(blame)]
    if sums.terminations and (not brief or blames or set(sums.terminations) != {Termination.FINISHED.value}):
        text = f"termination  {counts}"
        others = f"not the agent's: {', '.join(blames)}" if blames else ""
        joined = f"{text}{' ' * 10}{others}".rstrip()
        parts = [joined] if cells(joined) <= layout.width else [text, others]
        lines += [Line(layout.marks.cut(part, layout.width)) for part in parts if part]
    idle = [row.label for row in sums.policies_exercised if not row.n]
    if brief and idle:
        lines += layout.wrapped(f"policies never exercised: {', '.join(idle)}", style="warn")
    return lines


def _blame(blame: BlameCount) -> Iterable[str]:
    again = bool(blame.retried and not blame.recovered)
    if blame.unscored:
        yield f"{blame.blame} {blame.unscored}" + (" (retried, none passed)" if again else "")
    if blame.retried and not (again and blame.unscored):
        passed = "passed" if blame.recovered == blame.retried else f"{blame.recovered} passed"
        yield f"{blame.blame} {blame.retried} (retried, {passed})"
    if blame.passed:
        yield f"{blame.blame} {blame.passed} (passed all the same)"


def _failures(document: Document, layout: Layout, *, title: str = "worst first") -> list[Line]:
    marks, width, failures = layout.marks, layout.width, worst_first(document.results)
    if not failures:
        return []
    shown, rest = layout.listed(failures, MOST_FAILURES)
    ids = [_id(run, marks) for run in shown]
    worst = [failed_findings(run) for run in shown]
    checks = [marks.cut(marks.plain(check_name(found[0]) if found else "termination"), _CHECK_WIDTH) for found in worst]
    levels = [f"c{run.complexity}" if run.complexity is not None else marks.dash for run in shown]
    starts = table(
        [["", *cells] for cells in zip(ids, levels, checks, strict=True)], ["<", "<", "<", "<"], glyphs=marks
    )
    column = max(cells(start) for start in starts)
    lines = [Line(""), Line(title, "head")]
    for run, found, start in zip(shown, worst, starts, strict=True):
        room = max(width - column - 2, 20)
        text = finding_text(run, found[0], marks, max(room, width - 6)) if found else no_finding_text(run, marks)
        text += f"  (+{len(found) - 1} more)" if len(found) > 1 else ""
        text += f"  [{noted}]" if (noted := marks_of(run, document)) else ""
        lines += [Line(part) for part in _beside(start, column, text, marks, width)]
    lines += [Line(f"  {rest}")] if rest else []
    default = _default_variant(shown[0], document.suites)
    rerun = rerun_command(shown[0], default, cassette=document.cassette, seed=document.seed)
    lines.append(Line(f"rerun: {marks.plain(rerun)}"))
    return lines


def _beside(start: str, column: int, text: str, marks: Glyphs, width: int) -> list[str]:
    """Put `text` beside `start` where it fits, else below it, in at most three lines."""
    one = start.ljust(len(start) + column - cells(start)) + "  " + text
    if cells(one) <= width:
        return [one]
    parts = [f"      {part}" for part in wrap(text, width - 6, "  ")]
    if len(parts) > _MOST_LINES:
        parts = [*parts[: _MOST_LINES - 1], f"{parts[_MOST_LINES - 1]} {marks.ellipsis}"]
    return [marks.cut(part, width) for part in (start, *parts)]


def _unscored(document: Document, layout: Layout) -> list[Line]:
    runs, marks = [run for run in document.results if not run.scored], layout.marks
    if not runs:
        return []
    runs.sort(key=lambda run: (run.not_run is not None, str(run.key)))
    shown, rest = layout.listed(runs, MOST_UNSCORED)
    lines = [Line(""), Line("not scored", "head")]
    for run in shown:
        who = "" if run.not_run is not None else f"{run.blame.value if run.blame else 'unknown'}: "
        name = _id(run, marks)
        found = failed_findings(run)
        spoilt = bool(found) and found[0].kind == "user"
        rule = found[0].check.removeprefix("user").strip() if spoilt else ""  # who was at fault is said already
        why = finding_text(run, found[0], marks) if spoilt else no_finding_text(run, marks)
        why = f"{rule}: {why}" if rule else why
        noted = f"  [{told}]" if (told := marks_of(run, document)) else ""
        lines += layout.wrapped(f"{name}  {who}{why}{noted}", "    ", start="  ", style="warn")[:_MOST_LINES]
    return [*lines, *([Line(f"  {rest}")] if rest else [])]


def _gates(document: Document, layout: Layout) -> list[Line]:
    lines: list[Line] = []
    marks = layout.marks
    several = len({verdict.suite for verdict in document.gates}) > 1
    names = {suite.path: suite.name or suite.path for suite in document.suites}
    rows = [["gates", "measured", "n", "", "missed by chance"]]
    styles: list[Style] = ["head"]
    for verdict in document.gates:
        label = f"{names.get(verdict.suite, verdict.suite)}: {verdict.label}" if several else verdict.label
        measured = verdict.reason.partition(" ")[0] if verdict.value is not None else marks.dash
        decision = _decision(verdict)
        decision += f" [{noted}]" if (noted := mark_of_gate(verdict, document)) else ""
        rows.append([f"  {marks.plain(label)}", measured, str(verdict.n), decision, percent(verdict.near_miss, marks)])
        styles.append("good" if verdict.passed else "bad" if verdict.failed else "warn")
    if document.gates:
        lines += [Line(""), *layout.table(rows, "<>><>", styles)]
    decided = {verdict.suite for verdict in document.gates}
    for suite in document.suites:
        if suite.gates and suite.path not in decided:
            text = f"gates of {names[suite.path]}: not evaluated ({_why_not(suite, document)})"
            lines.append(Line(marks.cut(marks.plain(text), layout.width), "warn"))
    return lines


def _decision(verdict: GateVerdict) -> str:
    if verdict.passed is None:
        return verdict.reason
    return "ok" if verdict.passed else "FAILED" if verdict.value is not None else f"FAILED ({verdict.reason})"


def _why_not(suite: SuiteRecord, document: Document) -> str:
    if suite.selected < suite.total:
        return f"{suite.selected} of {count(suite.total, 'run')} selected"
    finished = sum(1 for run in document.results if run.key.suite == suite.path and run.not_run is None)
    if not document.complete or finished + suite.stopped < suite.total:
        return f"{finished} of {count(suite.total, 'run')} finished"
    return "switched off"


def _id(run: Result, marks: Glyphs) -> str:
    """Name a run in 36 cells, the scenario's name cut in its middle."""
    variant = f"[{run.key.label}]" if run.key.label else ""
    trial = f" trial {run.key.trial}" if run.key.trial > 1 else ""
    which = marks.cut(marks.plain(f"{variant}{trial}"), _ID_WIDTH // 2)
    return marks.squeeze(marks.plain(run.key.scenario), _ID_WIDTH - cells(which)) + which


def _default_variant(run: Result, suites: Iterable[SuiteRecord]) -> str:
    variants = next((suite.variants for suite in suites if suite.path == run.key.suite), ())
    return variants[0] if variants else ""
