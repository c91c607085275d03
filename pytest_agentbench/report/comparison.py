"""What changed between two sessions, for a terminal: success, policies, numbers, the scenarios that flipped."""

from collections.abc import Sequence

from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.glyphs import Glyphs, Line, Style
from pytest_agentbench.report.table import Align, table, wrap
from pytest_agentbench.results.comparison import Comparison, compare_results
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.paired import Change, Flip, Paired

MOST_FLIPS = 10
"""Scenarios that are named in one direction unless asked for all."""

_WHY = {
    "changed": "changed since, not compared",
    "added": "new",
    "removed": "gone",
    "players": "not compared, played by others",
    "unscored": "not scored on both sides",
}
_ALIGN: list[Align] = ["<", ">", ">", ">", ">", "<", ">", ">", "<"]


def comparison_lines(
    comparisons: Sequence[Comparison], marks: Glyphs, width: int, *, title: str, verbose: bool = False
) -> list[Line]:
    """Give the lines of a comparison under `title`; changes that do not count are left out unless asked for."""
    lines = [Line(""), Line(marks.cut(marks.plain(title), width), "head")]
    if not comparisons:
        return [*lines, Line("  nothing to compare: no suite and variant stands in both", "warn")]
    for one in comparisons:
        lines += _comparison(one, marks, width, verbose=verbose, named=len(comparisons) > 1)
    return lines


def against_baseline(
    baseline: Document, document: Document, name: str, marks: Glyphs, *, width: int = 100, verbose: bool = False
) -> list[Line]:
    """Give the lines that compare the suites of a session with a baseline, the file of which is called `name`."""
    known = {suite.path for suite in document.suites}
    runs = [run for run in document.results if run.key.suite in known]
    compared = compare_results(baseline.results, runs, seed=document.seed or 0, partial=is_partial(document))
    title = f"against the baseline {name} ({baseline.created[:10] or 'no date'})"
    return comparison_lines(compared, marks, width, title=title, verbose=verbose)


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


def flips_line(label: str, flips: Sequence[Flip], marks: Glyphs, width: int, *, verbose: bool) -> list[Line]:
    """Name the scenarios that flipped one way, with passed/trials before and after where there were several."""
    if not flips:
        return []
    shown = flips if verbose else flips[:MOST_FLIPS]
    rest = f" {marks.ellipsis} and {len(flips) - len(shown)} more (-v)" if len(flips) > len(shown) else ""
    return indented(f"{label} {len(flips)}: {', '.join(_flip(flip) for flip in shown)}{rest}", marks, width)


def indented(text: str, marks: Glyphs, width: int, *, style: Style = "") -> list[Line]:
    """Break `text` into lines that stand under a heading."""
    return [Line(f"  {part}", style) for part in wrap(marks.plain(text), width - 2, "  ")]


def _comparison(one: Comparison, marks: Glyphs, width: int, *, verbose: bool, named: bool) -> list[Line]:
    lines = []
    if named or one.second_suite or one.second_variant:
        lines.append(Line(marks.cut(marks.plain(f"  {_name(one, marks)}"), width), "head"))
    if one.paired.success is None:
        lines.append(Line("  no scenario could be compared", "warn"))
    else:
        lines += _table(one.paired, marks, width, verbose=verbose)
        lines += flips_line("passes less often", one.paired.lost, marks, width, verbose=verbose)
        lines += flips_line("passes more often", one.paired.won, marks, width, verbose=verbose)
        lines.append(Line(marks.cut(f"  {_reach(one.paired, marks)}", width)))
    for apart in one.apart:
        detail = f" ({apart.detail})" if apart.detail else ""
        names = apart.scenarios if verbose else apart.scenarios[:MOST_FLIPS]
        left = len(apart.scenarios) - len(names)
        rest = f" {marks.ellipsis} and {left} more (-v)" if left else ""
        text = f"{_WHY[apart.why]}{detail} {len(apart.scenarios)}: {', '.join(names)}{rest}"
        lines += indented(text, marks, width, style="warn")
    for note in one.notes:
        lines += indented(f"note: {note}", marks, width, style="warn")
    return lines


def _table(paired: Paired, marks: Glyphs, width: int, *, verbose: bool) -> list[Line]:
    assert paired.success is not None  # noqa: S101 - the caller has looked
    rows = [["", "n", "before", "after", "change", "95 % CI", "p", "Holm", ""]]
    styles: list[Style] = ["head"]
    groups: list[tuple[str, Sequence[Change], bool]] = [
        ("", [paired.success], True),
        ("policies", paired.policies, True),
        ("numbers", paired.numbers, False),
    ]
    hidden = 0
    for heading, changes, is_rate in groups:
        shown = [one for one in changes if verbose or not heading or one.is_significant]
        hidden += len(changes) - len(shown)
        if heading and shown:
            rows.append([f"  {heading}", *[""] * 8])
            styles.append("head")
        for change in shown:
            rows.append(_row(change, marks, is_rate=is_rate, indent="    " if heading else "  "))
            styles.append(_style(change, is_rate=is_rate))
    laid = table(rows, _ALIGN, width=width, glyphs=marks)
    lines = [Line(text, style) for text, style in zip(laid, styles, strict=True)]
    if hidden:
        lines.append(Line(f"  {hidden} policies and numbers without a significant change (-v)"))
    return lines


def _row(change: Change, marks: Glyphs, *, is_rate: bool, indent: str) -> list[str]:
    cells = change_cells(change, marks, is_rate=is_rate)
    verdict = "" if not change.is_significant else _verdict(change, is_rate=is_rate)
    name = indent + marks.plain(change.title)
    return [name, str(change.difference.n), *cells, p_text(change.p), p_text(change.p_holm), verdict]


def _verdict(change: Change, *, is_rate: bool) -> str:
    if not is_rate:
        return "changed"
    return "WORSE" if change.difference.value < 0 else "better"


def _style(change: Change, *, is_rate: bool) -> Style:
    if not change.is_significant or not is_rate:
        return ""
    return "bad" if change.difference.value < 0 else "good"


def _reach(paired: Paired, marks: Glyphs) -> str:
    trials = f" {marks.times} {paired.trials} trials" if paired.trials > 1 else ""
    base = f"{paired.scenarios} scenarios{trials} compared"
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
