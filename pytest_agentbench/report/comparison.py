"""What changed between two sessions, for a terminal: success, policies, numbers, the scenarios that flipped."""

from collections.abc import Sequence

from pytest_agentbench.core.names import count
from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.table import Glyphs, Layout, Line, Style
from pytest_agentbench.results.comparison import Comparison, compare_results
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.significance import Change, Flip, Paired

MOST_FLIPS = 10
"""Scenarios that are named in one direction unless asked for all."""

_WHY = {
    "changed": "changed since, not compared",
    "added": "new",
    "removed": "gone",
    "players": "not compared, played by others",
    "unscored": "not scored on both sides",
}


def comparison_lines(comparisons: Sequence[Comparison], layout: Layout, *, title: str) -> list[Line]:
    """Give the lines of a comparison under `title`; changes that do not count are left out unless asked for."""
    marks = layout.marks
    lines = [Line(""), Line(marks.cut(marks.plain(title), layout.width), "head")]
    if not comparisons:
        return [*lines, Line("  nothing to compare: no suite and variant is in both", "warn")]
    for one in comparisons:
        lines += _comparison(one, layout, named=len(comparisons) > 1)
    return lines


def against_baseline(
    baseline: Document, document: Document, name: str, marks: Glyphs, *, width: int = 100, verbose: bool = False
) -> list[Line]:
    """Give the lines that compare the suites of a session with a baseline, the file of which is called `name`."""
    title = f"against the baseline {name} ({baseline.created[:10] or 'no date'})"
    return comparison_lines(compared(baseline, document), Layout(marks, width, verbose), title=title)


def compared(baseline: Document | None, document: Document) -> tuple[Comparison, ...]:
    """Compare the suites of a session with a baseline; nothing without one."""
    if baseline is None:
        return ()
    known = {suite.path for suite in document.suites}
    runs = [run for run in document.results if run.key.suite in known]
    return compare_results(baseline.results, runs, seed=document.seed or 0, partial=is_partial(document))


def is_partial(document: Document) -> bool:
    """Whether runs of a suite were not selected, or did not end."""
    return not document.complete or any(suite.selected < suite.total for suite in document.suites)


def change_cells(change: Change, marks: Glyphs, *, is_rate: bool, digits: int = 2) -> list[str]:
    """Give first, second, difference and its interval as cells."""
    if is_rate:
        ends = [points(end) for end in (change.difference.low, change.difference.high)]
        shown = [percent(change.first, marks), percent(change.second, marks), points(change.difference.value)]
    else:
        ends = [_signed(end, digits) for end in (change.difference.low, change.difference.high)]
        shown = [f"{change.first:.{digits}f}", f"{change.second:.{digits}f}"]
        shown.append(_signed(change.difference.value, digits))
    return [*shown, f"[{', '.join(ends)}]"]


def p_text(p: float) -> str:
    """Show a p-value with two digits; tiny ones as a bound."""
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def flips_line(label: str, flips: Sequence[Flip], layout: Layout) -> list[Line]:
    """Name the scenarios that flipped one way, with passed/trials before and after where there were several."""
    if not flips:
        return []
    return indented(f"{label} {len(flips)}: {_named([_flip(flip) for flip in flips], layout)}", layout)


def _named(names: Sequence[str], layout: Layout) -> str:
    shown, rest = layout.listed(names, MOST_FLIPS)
    return ", ".join(shown) + (f" {rest}" if rest else "")


def indented(text: str, layout: Layout, *, style: Style = "") -> list[Line]:
    """Break `text` into lines that stand under a heading."""
    return layout.wrapped(text, start="  ", style=style)


def _comparison(one: Comparison, layout: Layout, *, named: bool) -> list[Line]:
    lines, marks, paired = [], layout.marks, one.paired
    if named or one.second_suite or one.second_variant:
        lines.append(Line(marks.cut(marks.plain(f"  {_name(one, marks)}"), layout.width), "head"))
    if paired.success is None:
        lines.append(Line("  no scenario could be compared", "warn"))
    else:
        lines += _table(paired, paired.success, layout)
        lines += flips_line("passes less often", paired.lost, layout)
        lines += flips_line("passes more often", paired.won, layout)
        lines.append(Line(marks.cut(f"  {_reach(paired, marks)}", layout.width)))
    for apart in one.apart:
        detail = f" ({apart.detail})" if apart.detail else ""
        text = f"{_WHY[apart.why]}{detail} {len(apart.scenarios)}: {_named(apart.scenarios, layout)}"
        lines += indented(text, layout, style="warn")
    for note in one.notes:
        lines += indented(f"note: {note}", layout, style="warn")
    return lines


def _table(paired: Paired, success: Change, layout: Layout) -> list[Line]:
    rows = [["", "n", "before", "after", "change", "95 % CI", "p", "Holm", ""]]
    styles: list[Style] = ["head"]
    hidden = 0
    for heading, changes in (("", (success,)), ("policies", paired.policies), ("numbers", paired.numbers)):
        is_rate = heading != "numbers"
        shown = [one for one in changes if layout.verbose or not heading or one.is_significant]
        hidden += len(changes) - len(shown)
        if heading and shown:
            rows.append([f"  {heading}", *[""] * 8])
            styles.append("head")
        for change in shown:
            style = style_of(change, is_rate=is_rate)
            verdict = {"good": "better", "bad": "WORSE"}.get(style, "changed" if change.is_significant else "")
            name = f"{'    ' if heading else '  '}{layout.marks.plain(change.title)}"
            cells = change_cells(change, layout.marks, is_rate=is_rate)
            ends = [p_text(change.p), p_text(change.p_holm), verdict]
            rows.append([name, str(change.difference.n), *cells, *ends])
            styles.append(style)
    lines = layout.table(rows, "<>>>><>><", styles)
    if hidden:
        lines.append(
            Line(f"  {count(hidden, 'policy or number', 'policies and numbers')} without a significant change (-v)")
        )
    return lines


def style_of(change: Change, *, is_rate: bool) -> Style:
    """Give the colour of a change: that of a rate which counts is good or bad."""
    if not change.is_significant or not is_rate:
        return ""
    return "bad" if change.difference.value < 0 else "good"


def _reach(paired: Paired, marks: Glyphs) -> str:
    trials = f" {marks.times} {paired.trials} trials" if paired.trials > 1 else ""
    base = f"{count(paired.scenarios, 'scenario')}{trials} compared"
    if paired.detectable is None:
        return f"{base}: too few for any change of success to show 4 times out of 5"
    return f"{base}: a change of success of {paired.detectable * 100:.0f} points would show 4 times out of 5"


def _name(one: Comparison, marks: Glyphs) -> str:
    def part(first: str, second: str) -> str:
        return f"{first or '(no variant)'} -> {second}" if second else first

    named = [part(one.suite, one.second_suite), part(one.variant, one.second_variant), one.fault]
    return f" {marks.dot} ".join(text for text in named if text)


def _flip(flip: Flip) -> str:
    if flip.first_n == flip.second_n == 1:
        return flip.scenario
    return f"{flip.scenario} ({flip.first_passed}/{flip.first_n} to {flip.second_passed}/{flip.second_n})"


def points(value: float) -> str:
    """Show a difference of rates in percentage points."""
    return _signed(value * 100, 0 if abs(value) >= 0.0995 or value == 0 else 1)


def _signed(value: float, digits: int) -> str:
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return f"{'-' if value < 0 else '+'}{text}"
