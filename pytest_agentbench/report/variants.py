"""Variants side by side, for a terminal: tables of what each does, what differs from the first, and by tag."""

import math
from collections.abc import Callable, Sequence

from pytest_agentbench.report.breakdown import percent
from pytest_agentbench.report.comparison import change_cells, flips_line, indented, p_text
from pytest_agentbench.report.glyphs import Glyphs, Line, Style, cells
from pytest_agentbench.report.table import Align, table
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.paired import Change
from pytest_agentbench.results.variants import Breakdown, Part, VariantRow, VariantsReport

_NAME = 18
_SECONDS = 2

_Column = tuple[str, Callable[[VariantRow], str]]


def variants_lines(report: VariantsReport, marks: Glyphs, width: int, *, verbose: bool = False) -> list[Line]:
    """Give the lines of a report: no line is wider than `width`; `verbose` shows every difference and number by tag."""
    lines = [Line(""), Line(marks.cut(marks.plain(f"variants of {report.name or report.suite}"), width), "head")]
    lines += _tables(report, marks, width)
    lines += _agreement(report, marks, width)
    lines += _against(report, marks, width, verbose=verbose)
    for breakdown in report.breakdowns:
        lines += _by_tag(report, breakdown, marks, width, verbose=verbose)
    return lines


def _tables(report: VariantsReport, marks: Glyphs, width: int) -> list[Line]:
    """Lay the columns out in as many tables as the width needs, each with the variants down its side."""
    names = _names(report, marks)
    columns = _columns(report, marks)
    lines: list[Line] = []
    while columns:
        taken: list[_Column] = []
        used = max(cells(name) for name in names) + 2
        while columns:
            title, show = columns[0]
            wide = max(cells(title), *(cells(show(row)) for row in report.rows)) + 2
            if taken and used + wide > width:
                break
            taken.append(columns.pop(0))
            used += wide
        rows = [["", *(title for title, _ in taken)]]
        rows += [[name, *(show(row) for _, show in taken)] for name, row in zip(names, report.rows, strict=True)]
        align: list[Align] = ["<", *([">"] * len(taken))]  # type: ignore[list-item]  # an `Align`
        laid = table(rows, align, width=width, glyphs=marks)
        lines += [Line(text, "head" if place == 0 else "") for place, text in enumerate(laid)]
    return lines


def _columns(report: VariantsReport, marks: Glyphs) -> list[_Column]:
    columns: list[_Column] = [("n", lambda row: str(row.success.n if row.success else 0))]
    if any(row.unscored for row in report.rows):
        columns.append(("unscored", lambda row: str(row.unscored)))
    columns.append(("success", lambda row: _share(row.success, marks)))
    if ks := sorted({row.all_pass.k for row in report.rows if row.all_pass is not None}):
        title = f"pass^{ks[0]}" if len(ks) == 1 else "pass^k"
        columns.append((title, lambda row: _share(row.all_pass.all if row.all_pass else None, marks)))
    columns += [
        (number.title, _numbered(number.name, number.digits, marks))
        for number in report.rows[0].numbers
        if number.name != "seconds" and any(_mean(row, number.name) is not None for row in report.rows)
    ]
    columns.append(("seconds (median)", lambda row: _range(row.median, _SECONDS, marks)))
    columns.append(("seconds (p95)", lambda row: _range(row.p95, _SECONDS, marks)))
    endings = sorted({ending for row in report.rows for ending in row.terminations})
    return columns + [(ending, _ended(ending)) for ending in endings]


def _numbered(name: str, digits: int, marks: Glyphs) -> Callable[[VariantRow], str]:
    def show(row: VariantRow) -> str:
        mean = _mean(row, name)
        text = _range(mean, digits, marks)
        scenarios = max((one.mean.n for one in row.numbers if one.mean is not None), default=0)
        return f"{text} n{mean.n}" if mean is not None and mean.n < scenarios else text

    return show


def _ended(ending: str) -> Callable[[VariantRow], str]:
    return lambda row: str(row.terminations.get(ending, 0))


def _agreement(report: VariantsReport, marks: Glyphs, width: int) -> list[Line]:
    """Say how far an agent's own scores agree with what the checks found."""
    rows = [["the agent's own scores", "mean", "success", "a pass scores higher than a failure"]]
    for row in report.rows:
        for one in row.agreement:
            chance = "not known: no passes, or no failures" if one.chance is None else _share(one.chance, marks)
            name = marks.cut(marks.plain(f"  {row.variant}  {one.name}"), 40)
            rate = percent(row.success.value, marks) if row.success else marks.dash
            rows.append([name, f"{one.mean:.2f}", rate, chance])
    if len(rows) == 1:
        return []
    laid = table(rows, ["<", ">", ">", "<"], width=width, glyphs=marks)
    return [Line(text, "head" if place == 0 else "") for place, text in enumerate(laid)]


def _against(report: VariantsReport, marks: Glyphs, width: int, *, verbose: bool) -> list[Line]:
    first = report.variants[0]
    rows = [[f"against {marks.plain(first)}", "n", "first", "here", "difference", "95 % CI", "p", "Holm", ""]]
    styles: list[Style] = ["head"]
    hidden = 0
    for one in report.against:
        rows.append([f"  {marks.plain(one.variant)}", *[""] * 8])
        styles.append("")
        changes = [(change, True) for change in ([one.paired.success] if one.paired.success else [])]
        changes += [(change, True) for change in one.paired.policies]
        changes += [(change, False) for change in one.paired.numbers]
        for place, (change, is_rate) in enumerate(changes):
            if not (verbose or place == 0 or change.is_significant):
                hidden += 1
                continue
            digits = _digits(report, change)
            own = change_cells(change, marks, is_rate=is_rate, digits=digits)
            mark = "*" if change.is_significant else ""
            name = f"    {marks.plain(change.title)}"
            rows.append([name, str(change.difference.n), *own, p_text(change.p), p_text(change.p_holm), mark])
            styles.append(_style(change, is_rate=is_rate))
    align: list[Align] = ["<", ">", ">", ">", ">", "<", ">", ">", "<"]
    laid = table(rows, align, width=width, glyphs=marks)
    lines = [Line(text, style) for text, style in zip(laid, styles, strict=True)]
    if hidden:
        lines.append(Line(f"  {hidden} differences that do not count are left out (-v)"))
    for one in report.against:
        lines += flips_line(f"{one.variant} loses", one.paired.lost, marks, width, verbose=verbose)
        lines += flips_line(f"{one.variant} wins", one.paired.won, marks, width, verbose=verbose)
    return lines


def _by_tag(report: VariantsReport, breakdown: Breakdown, marks: Glyphs, width: int, *, verbose: bool) -> list[Line]:
    lines = _tag_table(report, breakdown, f"success by {breakdown.prefix}", _part_success(marks), marks, width=width)
    starred = any(part.change and part.change.is_significant for row in breakdown.rows for part in row.parts)
    if starred:
        lines += indented("* differs from the first variant (exact test, Holm over the table)", marks, width)
    if verbose:
        for number in report.rows[0].numbers:
            held = (part.number(number.name) for row in breakdown.rows for part in row.parts)
            if any(mean is not None for mean in held):
                show = _part_number(number.name, number.digits, marks)
                lines += _tag_table(
                    report, breakdown, f"{number.title} by {breakdown.prefix}", show, marks, width=width
                )
    return lines


def _tag_table(
    report: VariantsReport,
    breakdown: Breakdown,
    title: str,
    show: Callable[[Part], str],
    marks: Glyphs,
    *,
    width: int,
) -> list[Line]:
    """Lay variants out as columns, in several tables where they do not fit."""
    names = [marks.cut(marks.plain(variant), _NAME) for variant in report.variants]
    texts = [[show(part) for part in row.parts] for row in breakdown.rows]
    labels = [f"  {marks.cut(marks.plain(row.label), 30)}" for row in breakdown.rows]
    widths = [max(cells(name), *(cells(row[place]) for row in texts)) + 2 for place, name in enumerate(names)]
    side = max(cells(title), *(cells(label) for label in labels)) + 8
    lines: list[Line] = []
    start = 0
    while start < len(names):
        end, used = start + 1, side + widths[start]
        while end < len(names) and used + widths[end] <= width:
            used += widths[end]
            end += 1
        rows = [[marks.plain(title), "n", *names[start:end]]]
        rows += [
            [label, str(row.scenarios), *text[start:end]]
            for label, row, text in zip(labels, breakdown.rows, texts, strict=True)
        ]
        align: list[Align] = ["<", *([">"] * (end - start + 1))]  # type: ignore[list-item]  # an `Align`
        laid = table(rows, align, width=width, glyphs=marks)
        lines += [Line(text, "head" if place == 0 else "") for place, text in enumerate(laid)]
        start = end
    return lines


def _part_success(marks: Glyphs) -> Callable[[Part], str]:
    def show(part: Part) -> str:
        star = "*" if part.change is not None and part.change.is_significant else " "
        return f"{_share(part.success, marks)}{star}"

    return show


def _part_number(name: str, digits: int, marks: Glyphs) -> Callable[[Part], str]:
    return lambda part: _range(part.number(name), digits, marks)


def _names(report: VariantsReport, marks: Glyphs) -> Sequence[str]:
    return [f"  {marks.cut(marks.plain(variant), _NAME)}" for variant in report.variants]


def _mean(row: VariantRow, name: str) -> Interval | None:
    number = row.number(name)
    return number.mean if number else None


def _share(interval: Interval | None, marks: Glyphs) -> str:
    if interval is None:
        return marks.dash
    return f"{percent(interval.value, marks)} {interval.low * 100:.0f}{marks.dash}{interval.high * 100:.0f}"


def _range(interval: Interval | None, digits: int, marks: Glyphs) -> str:
    """Show a mean or quantile with the ends of its interval; an end that is not known is `?`."""
    if interval is None:
        return marks.dash
    low, high = (f"{end:.{digits}f}" if math.isfinite(end) else "?" for end in (interval.low, interval.high))
    return f"{interval.value:.{digits}f} {low}{marks.dash}{high}"


def _digits(report: VariantsReport, change: Change) -> int:
    number = report.rows[0].number(change.name)
    return number.digits if number else 2


def _style(change: Change, *, is_rate: bool) -> Style:
    if not change.is_significant or not is_rate:
        return ""
    return "good" if change.difference.value > 0 else "bad"
