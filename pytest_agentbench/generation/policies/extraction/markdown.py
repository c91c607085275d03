"""A document as a tree of headings, paragraphs, list items and table rows, each character with its place in the source.

This is no Markdown renderer: it finds the blocks that prompts and policy documents are written in, also where they are
written loosely (tags around parts, bold lines as headings, lists indented by any number of blanks).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["heading", "paragraph", "item", "row"]

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_ITEM = re.compile(r"([ \t]*)([-*+•–‣◦]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\(?[ivx]{1,5}[.)])[ \t]+(?=\S)")
_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_RULE = re.compile(r"[ \t]*([-*_=─═])(?:[ \t]*\1){2,}[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_DELIMITER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_OPEN_TAG = re.compile(r"[ \t]*<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>[ \t]*$")
_CLOSE_TAG = re.compile(r"[ \t]*</([A-Za-z][\w:.-]*)>[ \t]*$")
_BOLD_LINE = re.compile(r"[ \t]*(\*\*|__)(?P<title>[^*_]{1,80}?)\1[ \t]*:?[ \t]*$")
_MARKUP = re.compile(
    r"(?P<link>!?\[(?P<shown>[^\[\]\n]*)\]\([^()\s]*\))|\*\*|__|~~|`+|(?<!\w)[*_](?=\w)|(?<=[\w.,;:!?)])[*_](?!\w)"
    r"|</?(?:br|b|i|u|em|strong|p|span|li|ul|ol)\s*/?>|^\[[ xX]\] ",
)

_BEHIND = 7
"""The level of a bold line that serves as a heading: below every real one."""


@dataclass(kw_only=True)
class Block:
    """One block; `places[i]` is where `text[i]` stands in the source. `level` is a heading's, `children` an item's."""

    kind: Kind
    text: str
    places: list[int]
    level: int = 0
    indent: int = 0
    children: list["Block"] = field(default_factory=list)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Give the source range of `text[start:end]`, which must not be empty."""
        return self.places[start], self.places[end - 1] + 1


@dataclass(frozen=True)
class _Line:
    start: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text.strip()

    @property
    def indent(self) -> int:
        expanded = self.text.expandtabs(4)
        return len(expanded) - len(expanded.lstrip())


def parse(document: str) -> list[Block]:
    """Give the blocks of a document in order; code, comments, front matter and lines across it are passed over."""
    return _Parser(document).blocks()


class _Parser:
    """Reads line by line; list items stay open for what is indented below them."""

    def __init__(self, document: str) -> None:
        self._lines = list(_content_lines(document))
        self._roots: list[Block] = []
        self._items: list[Block] = []
        self._open: list[tuple[int, str]] = []
        self._into: Block | None = None

    def blocks(self) -> list[Block]:
        """Read all lines."""
        index = 0
        while index < len(self._lines):
            index += self._read(index)
        self._flush()
        return self._roots

    def _read(self, index: int) -> int:
        """Read the line at `index` and what belongs to it; give the number of lines read."""
        line = self._lines[index]
        if line.blank or (_RULE.match(line.text) and not self._open):
            self._flush()
            return 1
        if heading := _HEADING.match(line.text):
            return self._heading(line, heading.start(2), heading.end(2), len(heading[1]))
        if _SETEXT.match(line.text) and self._open and self._into is not None and self._into.kind == "paragraph":
            self._into.kind, self._into.level = "heading", 1 if "=" in line.text else 2
            self._flush()
            self._items = []
            return 1
        if tag := _OPEN_TAG.match(line.text):
            return self._heading(line, tag.start(1), tag.end(1), 0)
        if _CLOSE_TAG.match(line.text):
            return self._heading(line, 0, 0, 0)
        if bold := _BOLD_LINE.match(line.text):
            self._flush()
            return self._heading(line, bold.start("title"), bold.end("title"), _BEHIND)
        if "|" in line.text and index + 1 < len(self._lines) and _DELIMITER.match(self._lines[index + 1].text):
            return self._table(index)
        if item := _ITEM.match(line.text):
            return self._item(line, item)
        return self._text(line)

    def _heading(self, line: _Line, start: int, end: int, level: int) -> int:
        self._flush()
        self._items = []
        text, places = _clean([(line.start + start, line.text[start:end])])
        self._roots.append(Block(kind="heading", text=text.rstrip(" :"), places=places, level=level))
        return 1

    def _item(self, line: _Line, match: re.Match[str]) -> int:
        self._flush()
        indent = line.indent
        while self._items and indent <= self._items[-1].indent + 1:
            self._items.pop()
        block = Block(kind="item", text="", places=[], indent=indent)
        (self._items[-1].children if self._items else self._roots).append(block)
        self._items.append(block)
        self._into = block
        self._open = [(line.start + match.end(), line.text[match.end() :])]
        return 1

    def _text(self, line: _Line) -> int:
        lead = len(line.text) - len(line.text.lstrip())
        piece = (line.start + lead, line.text.strip())
        if self._open:
            self._open.append(piece)
            return 1
        while self._items and line.indent <= self._items[-1].indent + 1:
            self._items.pop()
        block = Block(kind="paragraph", text="", places=[], indent=line.indent)
        (self._items[-1].children if self._items else self._roots).append(block)
        self._into = block
        self._open = [piece]
        return 1

    def _table(self, index: int) -> int:
        self._flush()
        self._items = []
        header = [cell for cell, _ in _cells(self._lines[index])]
        read = 2
        while index + read < len(self._lines) and "|" in self._lines[index + read].text:
            self._row(header, self._lines[index + read])
            read += 1
        return read

    def _row(self, header: list[str], line: _Line) -> None:
        text, places = "", []
        for name, (cell, start) in zip(header + [""] * 99, _cells(line), strict=False):
            if not cell.strip():
                continue
            label = ("; " if text else "") + (f"{name}: " if name else "")
            shown, where = _clean([(start, cell)])
            text += label + shown
            places += [start] * len(label) + where
        if text:
            self._roots.append(Block(kind="row", text=text, places=places))

    def _flush(self) -> None:
        if self._into is not None and self._open:
            self._into.text, self._into.places = _clean(self._open)
        self._open, self._into = [], None


def _content_lines(document: str) -> Iterator[_Line]:
    """Give the lines that may hold text; what is passed over becomes blank lines. Quote marks are cut off."""
    hidden = re.compile(r"\A---\n.*?\n---[ \t]*(?=\n|\Z)|<!--.*?-->", re.DOTALL)
    spans = [match.span() for match in hidden.finditer(document)]
    start, fence = 0, ""
    for raw in document.splitlines(keepends=True):
        text = raw.rstrip("\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
        mark = _FENCE.match(text)
        if fence:
            fence = "" if mark and text.strip().startswith(fence) else fence
            text = ""
        elif mark:
            fence, text = mark[1], ""
        elif any(low < start + len(text) and start < high for low, high in spans):
            text = "".join(
                " " if any(low <= start + at < high for low, high in spans) else char for at, char in enumerate(text)
            )
        quote = re.match(r"[ \t]*>[ \t]?", text)
        cut = quote.end() if quote else 0
        yield _Line(start + cut, text[cut:])
        start += len(raw)


def _cells(line: _Line) -> list[tuple[str, int]]:
    """Give the cells of a table row with their places."""
    found = []
    start = 0
    for part in re.split(r"(?<!\\)\|", line.text):
        lead = len(part) - len(part.lstrip())
        found.append((part.strip(), line.start + start + lead))
        start += len(part) + 1
    if line.text.lstrip().startswith("|"):
        found = found[1:]
    return found[:-1] if line.text.rstrip().endswith("|") else found


def _clean(pieces: list[tuple[int, str]]) -> tuple[str, list[int]]:
    """Join pieces of source with blanks (a line break that may end a sentence stays one) and cut the markup out."""
    chars: list[str] = []
    places: list[int] = []
    for number, (start, text) in enumerate(pieces):
        kept = [True] * len(text)
        for match in _MARKUP.finditer(text):
            shown = range(*match.span("shown")) if match["link"] is not None else range(0)
            for at in range(*match.span()):
                kept[at] = at in shown
        if number and chars:
            chars.append("\n")
            places.append(places[-1])
        for at, char in enumerate(text):
            if kept[at]:
                chars.append(char if char not in "\t\u00a0\u202f" else " ")
                places.append(start + at)
    text = "".join(chars)
    lead, last = len(text) - len(text.lstrip()), len(text.rstrip())
    return text[lead:last], places[lead:last]
