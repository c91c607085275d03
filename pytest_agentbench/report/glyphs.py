"""The characters a report is drawn with, and lines that fit a terminal's width and encoding."""

import unicodedata
from dataclasses import dataclass
from typing import Literal, NamedTuple

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


def cells(text: str) -> int:
    """Count the terminal cells that `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
