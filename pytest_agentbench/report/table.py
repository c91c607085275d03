"""Plain text tables: aligned columns that fit a width."""

from collections.abc import Sequence
from typing import Literal

from pytest_agentbench.report.glyphs import UNICODE, Glyphs, cells

Align = Literal["<", ">"]

_NARROWEST = 12


def table(
    rows: Sequence[Sequence[str]], align: Sequence[Align], *, width: int = 100, gap: int = 2, glyphs: Glyphs = UNICODE
) -> list[str]:
    """Lay out `rows` in columns aligned left or right; give one line per row without trailing blanks.

    A row of a first cell alone is a heading and runs over the columns. Where the rows are wider than `width` cells
    the first column is cut, down to 12 cells, then whole lines are.
    """
    widths = _widths(rows)
    surplus = natural_width(rows, gap) - width
    if surplus > 0:
        widths[0] = max(widths[0] - surplus, min(_NARROWEST, widths[0]))
    lines = []
    for row in rows:
        if not any(row[1:]):
            lines.append(glyphs.cut(row[0], width))
            continue
        parts = [glyphs.cut(row[0], widths[0]), *row[1:]]
        padded = [_pad(part, size, side) for part, size, side in zip(parts, widths, align, strict=True)]
        lines.append(glyphs.cut((" " * gap).join(padded).rstrip(), width))
    return lines


def natural_width(rows: Sequence[Sequence[str]], gap: int = 2) -> int:
    """Give the cells that the widest line takes when nothing is cut; headings do not count."""
    widths = _widths(rows)
    return sum(widths) + gap * max(len(widths) - 1, 0)


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Break `text` at blanks into lines of at most `width` cells, `indent` before all but the first."""
    lines: list[str] = []
    current = ""
    for word in text.split(" "):
        candidate = f"{current} {word}" if current.strip() else current + word
        if cells(candidate) > width and current.strip():
            lines.append(current)
            candidate = indent + word
        current = candidate
    return [*lines, current]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    aligned = [row for row in rows if any(row[1:])]
    return [max(cells(row[column]) for row in aligned) for column in range(len(aligned[0]))] if aligned else []


def _pad(text: str, width: int, align: Align) -> str:
    blanks = " " * max(width - cells(text), 0)
    return text + blanks if align == "<" else blanks + text
