"""Variants side by side, for a terminal: tables of what each does, what differs from the first, and by tag."""

import math
from collections.abc import Callable, Sequence
from functools import partial

from pytest_agentbench.core.names import count
from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.comparison import change_cells, flips_line, indented, p_text, style_of
from pytest_agentbench.report.table import Glyphs, Layout, Line, Style, cells
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.variants import Breakdown, Measured, Part, VariantRow, VariantsReport

_NAME = 18
_SECONDS = 2

_Column = tuple[str, Callable[[VariantRow], str]]


def variants_lines(report: VariantsReport, layout: Layout) -> list[Line]:
    """Give the lines of a report: none is wider than the layout, whose `verbose` shows all differences and numbers."""
    marks = layout.marks
    lines = [Line(""), Line(marks.cut(marks.plain(f"variants of {report.name or report.suite}"), layout.width), "head")]
    names = [f"  {marks.cut(marks.plain(variant), _NAME)}" for variant in report.variants]
    columns = [[title, *map(show, report.rows)] for title, show in _columns(report, layout)]
    lines += _side_by_side([["", *names]], columns, layout)
    lines += _agreement(report, layout)
    lines += _against(report, layout)
    for breakdown in report.breakdowns:
        lines += _by_tag(report, breakdown, layout)
    return lines


def _side_by_side(
    sides: Sequence[Sequence[str]], columns: Sequence[Sequence[str]], layout: Layout, spare: int = 0
) -> list[Line]:
    """Lay columns out in as many tables as the width needs, each with the same `sides` on its left, a cell a row."""
    wide = [max(map(cells, column)) + 2 for column in columns]
    side = max(map(cells, sides[0])) + 2 + spare
    lines: list[Line] = []
    start = 0
    while start < len(columns):
        end, used = start + 1, side + wide[start]
        while end < len(columns) and used + wide[end] <= layout.width:
            used += wide[end]
            end += 1
        rows = list(zip(*sides, *columns[start:end], strict=True))
        lines += layout.table(rows, "<" + ">" * (len(rows[0]) - 1))
        start = end
    return lines


def _columns(report: VariantsReport, layout: Layout) -> list[_Column]:
    marks = layout.marks
    columns: list[_Column] = [("n", lambda row: str(row.success.n if row.success else 0))]
    if any(row.unscored for row in report.rows):
        columns.append(("unscored", lambda row: str(row.unscored)))
    columns.append(("success", lambda row: _share(row.success, layout)))
    if ks := sorted({row.all_pass.k for row in report.rows if row.all_pass is not None}):
        title = f"pass^{ks[0]}" if len(ks) == 1 else "pass^k"
        columns.append((title, lambda row: _share(row.all_pass.all if row.all_pass else None, layout)))
    columns += [
        (number.title, _numbered(number.name, number.digits, marks))
        for number in report.rows[0].numbers
        if number.name != "seconds" and any(row.mean(number.name) is not None for row in report.rows)
    ]
    columns.append(("seconds (median)", lambda row: _range(row.median, _SECONDS, marks)))
    columns.append(("seconds (p95)", lambda row: _range(row.p95, _SECONDS, marks)))
    endings = sorted({ending for row in report.rows for ending in row.terminations})
    return columns + [(ending, _ended(ending)) for ending in endings]


def _numbered(name: str, digits: int, marks: Glyphs) -> Callable[[VariantRow], str]:
    def show(row: VariantRow) -> str:
        mean = row.mean(name)
        text = _range(mean, digits, marks)
        scenarios = max((one.mean.n for one in row.numbers if one.mean is not None), default=0)
        return f"{text} n{mean.n}" if mean is not None and mean.n < scenarios else text

    return show


def _ended(ending: str) -> Callable[[VariantRow], str]:
    return lambda row: str(row.terminations.get(ending, 0))


def _agreement(report: VariantsReport, layout: Layout) -> list[Line]:
    """Say how far an agent's own scores agree with what the checks found."""
    marks = layout.marks
    rows = [["the agent's own scores", "mean", "success", "a pass scores higher than a failure"]]
    for row in report.rows:
        for one in row.agreement:
            chance = "not known: no passes, or no failures" if one.chance is None else _share(one.chance, layout)
            name = marks.cut(marks.plain(f"  {row.variant}  {one.name}"), 40)
            rate = percent(row.success.value if row.success else None, marks)
            rows.append([name, f"{one.mean:.2f}", rate, chance])
    return layout.table(rows, "<>><") if rows[1:] else []


def _against(report: VariantsReport, layout: Layout) -> list[Line]:
    marks = layout.marks
    rows = [
        [f"against {marks.plain(report.variants[0])}", "n", "first", "here", "difference", "95 % CI", "p", "Holm", ""]
    ]
    styles: list[Style] = ["head"]
    hidden = 0
    for one in report.against:
        rows.append([f"  {marks.plain(one.variant)}", *[""] * 8])
        styles.append("")
        rates = [*filter(None, [one.paired.success]), *one.paired.policies]
        for place, change in enumerate([*rates, *one.paired.numbers]):
            if not (layout.verbose or place == 0 or change.is_significant):
                hidden += 1
                continue
            is_rate, number = place < len(rates), report.rows[0].number(change.name)
            own = change_cells(change, marks, is_rate=is_rate, digits=number.digits if number else 2)
            ends = [p_text(change.p), p_text(change.p_holm), "*" if change.is_significant else ""]
            rows.append([f"    {marks.plain(change.title)}", str(change.difference.n), *own, *ends])
            styles.append(style_of(change, is_rate=is_rate))
    lines = layout.table(rows, "<>>>><>><", styles)
    if hidden:
        lines.append(Line(f"  left out: {count(hidden, 'difference')} without significance (-v)"))
    for one in report.against:
        lines += flips_line(f"{one.variant} loses", one.paired.lost, layout)
        lines += flips_line(f"{one.variant} wins", one.paired.won, layout)
    return lines


def _by_tag(report: VariantsReport, breakdown: Breakdown, layout: Layout) -> list[Line]:
    def success(part: Part) -> str:
        return f"{_share(part.success, layout)}{'*' if part.change and part.change.is_significant else ' '}"

    lines = _tag_table(report, breakdown, "success", success, layout)
    parts = [part for row in breakdown.rows for part in row.parts]
    if any(part.change and part.change.is_significant for part in parts):
        lines += indented("* differs from the first variant (exact test, Holm over the table)", layout)
    for number in report.rows[0].numbers if layout.verbose else ():
        if any(part.mean(number.name) is not None for part in parts):
            show = partial(_part_number, number=number, layout=layout)
            lines += _tag_table(report, breakdown, number.title, show, layout)
    return lines


def _part_number(part: Part, number: Measured, layout: Layout) -> str:
    return _range(part.mean(number.name), number.digits, layout.marks)


def _tag_table(
    report: VariantsReport, breakdown: Breakdown, what: str, show: Callable[[Part], str], layout: Layout
) -> list[Line]:
    """Lay variants out as columns, the tags down the side."""
    marks = layout.marks
    labels = [f"  {marks.cut(marks.plain(row.label), 30)}" for row in breakdown.rows]
    sides = [
        [marks.plain(f"{what} by {breakdown.prefix}"), *labels],
        ["n", *(str(row.scenarios) for row in breakdown.rows)],
    ]
    columns = [
        [marks.cut(marks.plain(variant), _NAME), *(show(row.parts[place]) for row in breakdown.rows)]
        for place, variant in enumerate(report.variants)
    ]
    return _side_by_side(sides, columns, layout, spare=6)


def _share(interval: Interval | None, layout: Layout) -> str:
    if interval is None:
        return layout.marks.dash
    return f"{percent(interval.value, layout.marks)} {layout.percents(interval.low, interval.high)}"


def _range(interval: Interval | None, digits: int, marks: Glyphs) -> str:
    """Show a mean or quantile with the ends of its interval; an end that is not known is `?`."""
    if interval is None:
        return marks.dash
    low, high = (f"{end:.{digits}f}" if math.isfinite(end) else "?" for end in (interval.low, interval.high))
    return f"{interval.value:.{digits}f} {low}{marks.dash}{high}"
