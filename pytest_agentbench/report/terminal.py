"""The report at the end of a session, for a terminal or a CI log."""

from collections.abc import Iterable

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.report.auditor import audit_lines, mark_of_gate, marks_of
from pytest_agentbench.report.breakdown import breakdown, own_rows, percent
from pytest_agentbench.report.faults import faults
from pytest_agentbench.report.flags import flags_lines, flags_text
from pytest_agentbench.report.glyphs import Glyphs, Line, Style, cells, glyphs
from pytest_agentbench.report.measured import counts_text, measured_lines
from pytest_agentbench.report.modifiers import modifiers
from pytest_agentbench.report.reviews import review_lines
from pytest_agentbench.report.spending import spending
from pytest_agentbench.report.table import table, wrap
from pytest_agentbench.report.trials import trials_lines
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
    marks = glyphs(unicode=unicode)
    known = {suite.path for suite in document.suites}
    everything, document = document, document.counted
    runs = [run for run in everything.results if run.key.suite in known]
    own = [run for run in everything.results if run.key.suite not in known]
    sums = aggregate(runs or own, everything.retried)
    runs = [run for run in runs if not run.pending]
    lines = [_title(document, marks, width), *_header(everything, sums, marks, width)]
    if everything.results:
        brief = not verbose and sums.all.n > 0 and sums.all.passed == sums.all.n
        tests = own_rows(own) if runs else ()
        lines.append(Line(""))
        lines += breakdown(sums, document.gates, marks, width=width, verbose=verbose, brief=brief, tests=tests)
        lines += _endings(sums, marks, width, brief=brief)
    left_out = sum(suite.stopped for suite in document.suites)
    lines += trials_lines(trials_report(runs, left_out=left_out), marks, width, verbose=verbose)
    for variants in variants_reports(document, seed=document.seed or 0):
        lines += variants_lines(variants, marks, width, verbose=verbose)
    lines += spending(everything.results, everything.retried, everything.cassette, marks, width)
    lines += modifiers(document.results, marks, width)
    lines += faults(document.results, marks, width)
    lines += _failures(document, marks, width, verbose=verbose)
    lines += _failures(everything.pending, marks, width, verbose=verbose, title="missed, pending review")
    lines += _unscored(document, marks, width, verbose=verbose)
    lines += measured_lines(sums, marks, width, verbose=verbose)
    lines += flags_lines(document.results, marks, width) if verbose else []
    lines += audit_lines(document, marks, width, verbose=verbose)
    lines += _gates(everything, marks, width)
    lines += review_lines(everything, marks, width)
    if path:
        lines.append(Line(""))
        lines.append(Line(f"results: {marks.plain(path)}"))
    return lines


def _title(document: Document, marks: Glyphs, width: int) -> Line:
    names = [suite.name or suite.path for suite in document.suites]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    title = marks.cut(marks.plain(f"agentbench: {shown}" if shown else "agentbench"), max(width - 8, 8))
    fill = max(width - cells(title) - 2, 0)
    return Line(f"{'=' * (fill // 2)} {title} {'=' * (fill - fill // 2)}", "head")


def _header(document: Document, sums: Aggregate, marks: Glyphs, width: int) -> list[Line]:
    known = {suite.path for suite in document.suites}
    runs = [run for run in document.results if run.key.suite in known]
    simulations = len(document.results) - len(runs)
    scenarios = len({(run.key.suite, run.key.scenario) for run in runs})
    variants = [row.label for row in sums.variants]
    facts = [_count(scenarios, "scenario")] if runs or not simulations else []
    if len(runs) != scenarios:
        facts.append(_count(len(runs), "run"))
    if simulations:
        facts.append(f"{_count(simulations, 'simulation')} in tests")
    if variants:
        facts.append(f"{'variant' if len(variants) == 1 else 'variants'} {', '.join(variants)}")
    if document.seed is not None:
        facts.append(f"seed {document.seed}")
    if flagged := flags_text(document.results):
        facts.append(flagged)
    facts.append(f"{document.seconds:.1f} s")
    lines = [Line(text) for text in wrap(counts_text(sums, marks), width, "  ")] if document.results else []
    lines += [Line(text) for text in wrap(marks.plain(f" {marks.dot} ".join(facts)), width, "  ")]
    selected = sum(suite.selected for suite in document.suites)
    if not document.complete:
        finished = sum(run.not_run is None for run in runs)
        lines.append(Line(f"cut short: {finished} of {_count(max(selected, len(runs)), 'run')} finished", "warn"))
    if document.results and not sums.all.n and not (sums.pending and not sums.all.unscored):
        lines.append(Line("nothing was scored: no rate can be given", "warn"))
    return lines


def _endings(sums: Aggregate, marks: Glyphs, width: int, *, brief: bool) -> list[Line]:
    lines = []
    counts = f" {marks.dot} ".join(f"{label} {count}" for label, count in sums.terminations.items())
    blames = [text for blame in sums.blames if blame.blame != "agent" for text in _blame(blame)]
    if sums.terminations and (not brief or blames or set(sums.terminations) != {Termination.FINISHED.value}):
        text = f"termination  {counts}"
        others = f"not the agent's: {', '.join(blames)}" if blames else ""
        joined = f"{text}{' ' * 10}{others}".rstrip()
        parts = [joined] if cells(joined) <= width else [text, others]
        lines += [Line(marks.cut(part, width)) for part in parts if part]
    idle = [row.label for row in sums.policies_exercised if not row.n]
    if brief and idle:
        text = f"policies never exercised: {', '.join(idle)}"
        lines += [Line(part, "warn") for part in wrap(marks.plain(text), width, "  ")]
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


def _failures(
    document: Document, marks: Glyphs, width: int, *, verbose: bool, title: str = "worst first"
) -> list[Line]:
    failures = worst_first(document.results)
    if not failures:
        return []
    shown = failures if verbose else failures[:MOST_FAILURES]
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
    if len(failures) > len(shown):
        lines.append(Line(f"  {marks.ellipsis} and {len(failures) - len(shown)} more (-v)"))
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


def _unscored(document: Document, marks: Glyphs, width: int, *, verbose: bool) -> list[Line]:
    runs = [run for run in document.results if not run.scored]
    if not runs:
        return []
    runs.sort(key=lambda run: (run.not_run is not None, str(run.key)))
    shown = runs if verbose else runs[:MOST_UNSCORED]
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
        parts = wrap(f"{name}  {who}{why}{noted}", width - 2, "    ")[:_MOST_LINES]
        lines += [Line(f"  {part}", "warn") for part in parts]
    if len(runs) > len(shown):
        lines.append(Line(f"  {marks.ellipsis} and {len(runs) - len(shown)} more (-v)"))
    return lines


def _gates(document: Document, marks: Glyphs, width: int) -> list[Line]:
    lines: list[Line] = []
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
        lines.append(Line(""))
        laid = table(rows, ["<", ">", ">", "<", ">"], width=width, glyphs=marks)
        lines += [Line(text, style) for text, style in zip(laid, styles, strict=True)]
    decided = {verdict.suite for verdict in document.gates}
    for suite in document.suites:
        if suite.gates and suite.path not in decided:
            why = _why_not(suite, document)
            lines.append(
                Line(marks.cut(marks.plain(f"gates of {names[suite.path]}: not evaluated ({why})"), width), "warn")
            )
    return lines


def _decision(verdict: GateVerdict) -> str:
    if verdict.passed is None:
        return verdict.reason
    return "ok" if verdict.passed else "FAILED" if verdict.value is not None else f"FAILED ({verdict.reason})"


def _why_not(suite: SuiteRecord, document: Document) -> str:
    if suite.selected < suite.total:
        return f"{suite.selected} of {_count(suite.total, 'run')} selected"
    finished = sum(1 for run in document.results if run.key.suite == suite.path and run.not_run is None)
    if not document.complete or finished + suite.stopped < suite.total:
        return f"{finished} of {_count(suite.total, 'run')} finished"
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
