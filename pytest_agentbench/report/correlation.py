"""How two suites order the same variants, for a terminal."""

from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import table
from pytest_agentbench.results.correlate import Correlation
from pytest_agentbench.results.intervals import Interval


def correlation_lines(found: Correlation, marks: Glyphs, width: int, *, title: str) -> list[Line]:
    """Give the variants with both values, then Pearson's and Spearman's correlation with their intervals."""
    rows = [[found.metric, "before", "after"]]
    rows += [[f"  {marks.plain(point.variant)}", f"{point.first:.3g}", f"{point.second:.3g}"] for point in found.points]
    lines = [Line(marks.cut(marks.plain(title), width), "head")]
    lines += [Line(text) for text in table(rows, ["<", ">", ">"], width=width, glyphs=marks)]
    lines.append(_line("Pearson", found.pearson, marks))
    lines.append(_line("Spearman", found.spearman, marks))
    return lines


def _line(name: str, interval: Interval | None, marks: Glyphs) -> Line:
    if interval is None:
        return Line(f"{name:9} {marks.dash}  one side does not vary", "warn")
    ends = f"{interval.low:.2f} to {interval.high:.2f}"
    return Line(f"{name:9} {interval.value:.2f}  95 % CI {ends}, {interval.n} variants")
