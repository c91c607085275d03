"""Text tables: their glyphs, aligned columns that fit a width, and the lines of a report as it lays them out."""

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, cast

from pytest_agentbench.core.text import printable

Style = Literal["", "good", "bad", "warn", "head"]


class Line(NamedTuple):
    """A line of a report and how it is coloured."""

    text: str
    style: Style = ""


@dataclass(frozen=True)
class Glyphs:
    """What stands for a range or an absent value, between facts, for what is left out, and for a product."""

    dash: str
    dot: str
    ellipsis: str
    times: str
    unicode: bool

    def plain(self, text: str, *, newlines: bool = False) -> str:
        """Make hostile text safe to print, and ASCII where the terminal shows no more."""
        safe = printable(text, newlines=newlines)
        if self.unicode or safe.isascii():
            return safe
        for char, plain in _ASCII.items():
            safe = safe.replace(char, plain)
        return safe.encode("ascii", "backslashreplace").decode("ascii")

    def cut(self, text: str, width: int) -> str:
        """Cut to `width` cells, ending with an ellipsis where something was cut."""
        if cells(text) <= width:
            return text
        room = max(width - len(self.ellipsis), 0)
        if text.isascii():
            return text[:room] + self.ellipsis[:width]
        kept, used = [], 0
        for char in text:
            used += cells(char)
            if used > room:
                break
            kept.append(char)
        return "".join(kept) + self.ellipsis[:width]

    def squeeze(self, text: str, width: int) -> str:
        """Cut a name to `width` cells in its middle, since numbers at the end tell names apart."""
        if cells(text) <= width:
            return text
        tail = text[-(width // 3) :] if text.isascii() else ""
        return self.cut(text, width - len(tail)) + tail


_ASCII = {"–": "-", "·": "|", "…": "...", "×": "x", "²": "2"}

UNICODE = Glyphs(dash="–", dot="·", ellipsis="…", times="×", unicode=True)
ASCII = Glyphs(dash="-", dot="|", ellipsis="...", times="x", unicode=False)


def glyphs(*, unicode: bool) -> Glyphs:
    """Give the characters for a terminal that shows Unicode, or one that shows ASCII alone."""
    return UNICODE if unicode else ASCII


def glyphs_shown() -> Glyphs:
    """Give the characters that can be printed here."""
    return glyphs(unicode=(sys.stdout.encoding or "").lower().startswith("utf"))


def cells(text: str) -> int:
    """Count the terminal cells that `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


Align = Literal["<", ">"]

T = TypeVar("T")

_NARROWEST = 12


@dataclass(frozen=True)
class Layout:
    """What the lines of a report are laid out with: characters, a width, and whether everything is listed."""

    marks: Glyphs
    width: int
    verbose: bool = False

    def wrapped(self, text: str, indent: str = "  ", *, start: str = "", style: Style = "") -> list[Line]:
        """Break `text` into lines, each behind `start`, all but the first behind `indent` as well."""
        parts = wrap(self.marks.plain(text), self.width - len(start), indent)
        return [Line(f"{start}{part}", style) for part in parts]

    def joined(self, facts: Iterable[str]) -> str:
        """Put facts side by side."""
        return f" {self.marks.dot} ".join(facts)

    def table(self, rows: Sequence[Sequence[str]], align: str, styles: Sequence[Style] = ()) -> list[Line]:
        """Lay out rows under a heading, aligned as the characters of `align` say."""
        laid = table(rows, cast("Sequence[Align]", align), width=self.width, glyphs=self.marks)
        plain: list[Style] = ["head"]
        own = styles or plain + [""] * (len(laid) - 1)
        return [Line(text, style) for text, style in zip(laid, own, strict=True)]

    def listed(self, items: Sequence[T], most: int) -> tuple[Sequence[T], str]:
        """Give the items to list, and what to say of the others: "" where all are listed."""
        shown = items if self.verbose else items[:most]
        rest = len(items) - len(shown)
        return shown, f"{self.marks.ellipsis} and {rest} more (-v)" if rest else ""

    def percents(self, low: float | None, high: float | None) -> str:
        """Show the ends of an interval of a rate."""
        dash = self.marks.dash
        return dash if low is None or high is None else f"{low * 100:.0f}{dash}{high * 100:.0f}"


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
