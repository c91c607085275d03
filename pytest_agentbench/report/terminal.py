"""The report at the end of a session, for a terminal or a CI log."""

from collections.abc import Iterable, Sequence

from pytest_agentbench.core.names import count, listing
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.report.auditor import audit_lines, mark_of_gate, marks_of
from pytest_agentbench.report.breakdown import (
    MOST_ROWS,
    Section,
    breakdown,
    gate_label,
    own_rows,
    percent,
    sections_of,
    sections_of_suites,
    suites_table,
    sums_of,
)
from pytest_agentbench.report.failures import (
    MOST_LINES,
    cause,
    failures_lines,
    no_finding_text,
    run_name,
    whose_fault,
)
from pytest_agentbench.report.model_costs import spending
from pytest_agentbench.report.sections import (
    counts_text,
    faults_lines,
    flags_lines,
    measured_lines,
    modifiers_lines,
    quarantine_lines,
    review_lines,
    trials_lines,
)
from pytest_agentbench.report.table import Glyphs, Layout, Line, Style, cells, glyphs
from pytest_agentbench.report.variants import variants_lines
from pytest_agentbench.results.aggregate import Aggregate, BlameCount
from pytest_agentbench.results.document import Document, SuiteRecord
from pytest_agentbench.results.gates import NOT_EVALUATED, GateVerdict
from pytest_agentbench.results.trials import trials_report
from pytest_agentbench.results.variants import variants_reports

MOST_UNSCORED = 5
"""Reasons why runs were not scored that are listed unless asked for all."""

MOST_NAMES = 3
"""Runs that are named beside what happened in all of them."""

NONE_DECIDED = "no gate of its own was decided, so each failing run fails the suite"


def terminal_report(
    document: Document, *, width: int = 100, verbose: bool = False, unicode: bool = True, path: str = ""
) -> list[Line]:
    """Give the lines of the report, the title first; short when everything passed and every policy was exercised.

    `path` is the results file to point at. With `unicode` False every line is ASCII. No line is wider than `width`
    but those that a reader copies: commands and the path.
    """
    layout = Layout(glyphs(unicode=unicode), width, verbose)
    marks = layout.marks
    known = {suite.path for suite in document.suites}
    everything, document = document, document.counted
    runs = [run for run in everything.results if run.key.suite in known]
    own = [run for run in everything.results if run.key.suite not in known]
    sections = sections_of_suites(everything, runs) if runs else sections_of(own, everything.retried, everything.facts)
    sums = sums_of(sections, runs or own, everything.retried)
    results_line = [Line(""), Line(f"results: {marks.plain(path)}")] if path else []
    if everything.results and all(run.not_run is not None for run in everything.results):
        return [_title(document, layout), *_none_begun(everything.results, layout), *results_line]
    lines = [_title(document, layout), *_header(everything, sums, layout)]
    lines += failures_lines(document, layout)
    lines += failures_lines(everything.pending, layout, title="missed, pending review")
    lines += failures_lines(everything.quarantined, layout, title="missed, in quarantine")
    lines += _unscored(document.results, document, layout, "not scored")
    lines += _unscored(everything.pending.results, document, layout, "not scored, pending review")
    lines += _unscored(everything.quarantined.results, document, layout, "not scored, in quarantine")
    lines += _tables(document, sections if everything.results else (), own if runs else (), layout)
    runs = [run for run in runs if not run.set_aside]
    left_out = sum(suite.stopped for suite in document.suites)
    lines += trials_lines(trials_report(runs, left_out=left_out), layout)
    for variants in variants_reports(document, seed=document.seed or 0):
        lines += variants_lines(variants, layout)
    lines += spending(everything.results, everything.retried, everything.cassette, layout)
    lines += modifiers_lines(document.results, layout)
    lines += faults_lines(document.results, layout)
    lines += measured_lines(sums, layout)
    lines += flags_lines(document.results, layout) if verbose else []
    lines += audit_lines(document, layout)
    lines += _gates(everything, layout)
    lines += review_lines(everything, layout)
    lines += quarantine_lines(everything, layout)
    return [*lines, *results_line]


def _none_begun(results: Sequence[Result], layout: Layout) -> list[Line]:
    """Say in one line that nothing was played: tables would hold no figure."""
    whys = dict.fromkeys(no_finding_text(run, layout.marks).removeprefix("not run: ") for run in results)
    return layout.wrapped(f"{count(len(results), 'run')} not played: {listing([*whys], MOST_NAMES)}", style="warn")


def _title(document: Document, layout: Layout) -> Line:
    marks, width = layout.marks, layout.width
    names = [name or path for path, name in document.suite_names.items()]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    title = marks.cut(marks.plain(f"agentbench: {shown}" if shown else "agentbench"), max(width - 8, 8))
    fill = max(width - cells(title) - 2, 0)
    return Line(f"{'=' * (fill // 2)} {title} {'=' * (fill - fill // 2)}", "head")


def _header(document: Document, sums: Aggregate, layout: Layout) -> list[Line]:
    known = {suite.path for suite in document.suites}
    runs = [run for run in document.results if run.key.suite in known]
    simulations = len(document.results) - len(runs)
    scenarios = len({(run.key.suite, run.key.scenario) for run in runs})
    variants = list(dict.fromkeys(run.key.variant for run in runs if run.key.variant))
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
    if sums.plain:
        facts.append(f"{count(sums.plain, 'run')} of plainly worded scenarios")
    lines = layout.wrapped(counts_text(sums, layout.marks)) if document.results else []
    lines += layout.wrapped(layout.joined(facts))
    selected = sum(suite.selected for suite in document.suites)
    if not document.complete:
        finished = sum(run.not_run is None for run in runs)
        lines.append(Line(f"cut short: {finished} of {count(max(selected, len(runs)), 'run')} finished", "warn"))
    waits = (sums.pending or sums.quarantined) and not sums.all.unscored
    if document.results and not sums.all.n and not waits:
        lines.append(Line("nothing was scored: no rate can be given", "warn"))
    return lines


def _tables(document: Document, sections: Sequence[Section], own: Sequence[Result], layout: Layout) -> Iterable[Line]:
    """Give the rows, those of each variant apart, with how its runs ended."""
    if any(section.suite for section in sections):
        yield Line("")
        yield from suites_table(sections, document.gates, layout)
    own_apart = bool(own) and any(section.suite for section in sections)
    for place, section in enumerate(sections):
        sums = section.sums
        is_last = place == len(sections) - 1
        if section.suite and not layout.verbose and sums.all.passed == sums.all.n and not (is_last and own_apart):
            continue  # the table of suites says all
        brief = not layout.verbose and sums.all.n > 0 and sums.all.passed == sums.all.n
        tests = own_rows(own) if is_last else ()
        yield Line("")
        yield from breakdown(section, document.gates, layout, brief=brief, tests=tests)
        yield from _endings(sums, layout, brief=brief)


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
    unread = [row.label for row in sums.policies_listed]
    if unread and not brief and not layout.verbose:
        shown, rest = layout.listed(unread, MOST_ROWS)
        told = ", ".join([*shown, *([rest] if rest else [])])
        lines += layout.wrapped(f"policies that no run measured: {told}", style="warn")
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


def _unscored(results: Iterable[Result], document: Document, layout: Layout, title: str) -> list[Line]:
    """List runs that decided nothing about the agent, with whose fault it was and what happened, told once for all."""
    runs, marks = [run for run in results if not run.scored], layout.marks
    if not runs:
        return []
    runs.sort(key=lambda run: (run.not_run is not None, str(run.key)))
    alike: dict[str, list[str]] = {}
    for run in runs:
        alike.setdefault(_why(run, document, marks), []).append(run_name(run, marks))
    shown, rest = layout.listed([*alike.items()], MOST_UNSCORED)
    lines = [Line(""), Line(title, "head")]
    for why, names in shown:
        named = ", ".join(names) if layout.verbose else listing(names, MOST_NAMES)
        lines += layout.wrapped(f"{named}  {why}", "    ", start="  ", style="warn")[:MOST_LINES]
    return [*lines, *([Line(f"  {rest}")] if rest else [])]


def _why(run: Result, document: Document, marks: Glyphs) -> str:
    """Say whose fault it is that a run decided nothing, and what happened."""
    who = f"{whose}: " if (whose := whose_fault(run)) else ""
    noted = f"  [{told}]" if (told := marks_of(run, document)) else ""
    return f"{who}{cause(run, marks)}{noted}"


def _gates(document: Document, layout: Layout) -> list[Line]:
    lines: list[Line] = []
    marks = layout.marks
    names = document.suite_names
    whys: list[Line] = []
    rows = [["gates", "measured", "n", "", "fails by luck"]]
    styles: list[Style] = ["head"]
    for verdict in document.gates:
        label = gate_label(verdict, document)
        is_held = verdict.value is not None and verdict.passed is not None
        measured = verdict.reason.partition(" ")[0] if is_held else marks.dash
        decision, why = _decision(verdict)
        if why:
            whys += layout.wrapped(f"{label}: {why}", start="  ", style="warn")
        decision += f" [{noted}]" if (noted := mark_of_gate(verdict, document)) else ""
        rows.append([f"  {marks.plain(label)}", measured, str(verdict.n), decision, percent(verdict.near_miss, marks)])
        styles.append("good" if verdict.passed else "bad" if verdict.failed else "warn")
    if document.gates:
        lines += [Line(""), *layout.table(rows, "<>><>", styles), *whys]
    decided = {verdict.suite for verdict in document.gates}
    for suite in document.suites:
        if suite.gates and suite.path not in decided:
            text = f"gates of {names[suite.path]}: not evaluated ({why_not_evaluated(suite, document)})"
            lines.append(Line(marks.cut(marks.plain(text), layout.width), "warn"))
        elif suite.gates and suite.path not in document.decided:
            text = f"{names[suite.path]}: {NONE_DECIDED}"
            lines.append(Line(marks.cut(marks.plain(text), layout.width), "warn"))
    return lines


_SHORT = 20
"""Characters of a reason that stands in the table; a longer one has a line below it."""


def _decision(verdict: GateVerdict) -> tuple[str, str]:
    """Give what became of a gate, and why where that is to stand below the table."""
    if verdict.passed:
        return "ok", ""
    if verdict.failed and verdict.value is not None:
        return "FAILED", ""
    decided = "FAILED" if verdict.failed else NOT_EVALUATED
    why = verdict.reason.removeprefix(f"{NOT_EVALUATED}: ")
    short = f"{decided} ({why})" if verdict.failed else verdict.reason
    return (short, "") if len(why) <= _SHORT else (decided, why)


def why_not_evaluated(suite: SuiteRecord, document: Document) -> str:
    """Say why the gates of a suite decided nothing."""
    if suite.selected < suite.total:
        return f"{suite.selected} of {count(suite.total, 'run')} selected"
    finished = sum(1 for run in document.results if run.key.suite == suite.path and run.not_run is None)
    if not document.complete or finished + suite.stopped < suite.total:
        return f"{finished} of {count(suite.total, 'run')} finished"
    return "switched off"
