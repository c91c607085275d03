"""A passage as statements: sentences, list items, table rows and code, each with its lines and the titles above it."""

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markdown_it.token import Token

from notes.inline import plain
from notes.library import Passage
from notes.markdown import Document, Section, parse
from notes.text import sentences

Kind = Literal["sentence", "item", "row", "code", "title"]

_CELL = re.compile(r"(?<!\\)\|")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_NUMBERED = re.compile(r"^\s*\d+[.)]\s")
_LEAD_IN = re.compile(r"^\s*(?P<bold>\*\*|__)(?P<said>[^*_]{1,60}?)[.:]?(?P=bold)\s*[.:]?\s+(?=\S)")
_QUOTE = re.compile(r"^\s*(?:>\s?)+(?:\[![\w-]+\][+-]?\s*)?")


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Something a note says; `group` numbers the block that it belongs to, `intro` is the text that announces it."""

    text: str
    line: int
    end: int
    kind: Kind
    group: int
    titles: tuple[str, ...] = ()
    intro: str = ""
    ordered: bool = False
    indent: int = 0
    """Blanks before its first line: nested items have more than those they belong to."""


def statements(read: Passage, *, headings: bool = False) -> list[Statement]:
    """Give what a passage says, in order, with its headings if asked for; lines count as in the note."""
    document = parse("\n".join(read.lines))
    offset = read.first - 1
    found: list[Statement] = []
    intro = ""
    around = _Titles(document)
    titled = {section.line for section in document.sections if section.kind == "bold"}
    for group, token in enumerate(document.blocks):
        first, last = token.map or (0, 0)
        titles = around.around(first + 1)
        if token.type == "heading_open":
            intro = ""
            if headings and titles:
                place = {"line": first + 1 + offset, "end": first + 1 + offset}
                found.append(Statement(text=titles[-1], **place, kind="title", group=group, titles=titles))
            continue
        block = list(_block(document, token, first, last, titled))
        for text, line, end, kind in block:
            ordered = kind == "item" and bool(_NUMBERED.match(document.lines[line - 1]))
            found.append(
                Statement(
                    text=text,
                    line=line + offset,
                    end=end + offset,
                    kind=kind,
                    group=group,
                    titles=titles,
                    intro=intro,
                    ordered=ordered,
                    indent=_indent(document.lines[line - 1]),
                )
            )
        announces = block and (token.type == "paragraph_open" or block[-1][0].endswith(":"))
        intro = block[-1][0] if announces else ""
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class _Titles:
    """The headings and bold lines around one line after the other, outermost first."""

    def __init__(self, document: Document) -> None:
        self._ahead = deque(s for s in document.sections if s.kind in {"heading", "bold"})
        self._open: list[Section] = []

    def around(self, line: int) -> tuple[str, ...]:
        """Give the titles around a line; lines come in order."""
        while self._ahead and self._ahead[0].line <= line:
            section = self._ahead.popleft()
            self._open = [outer for outer in self._open if outer.end >= section.line]
            self._open.append(section)
        return tuple(section.title for section in self._open if section.end >= line)


Piece = tuple[str, int, int, Kind]


def _block(document: Document, token: Token, first: int, last: int, titled: Collection[int]) -> Iterator[Piece]:
    lines = document.lines[first:last]
    if token.type in {"bullet_list_open", "ordered_list_open"}:
        yield from _list(lines, first + 1)
    elif token.type == "table_open":
        yield from _table(lines, first + 1)
    elif token.type in {"fence", "code_block"}:
        text = token.content.strip()
        if text:
            yield text, first + 1, last, "code"
    elif token.type == "blockquote_open":
        yield from _prose([_QUOTE.sub("", line) for line in lines], first + 1)
    elif token.type == "paragraph_open":
        said = ["" if first + 1 + at in titled else line for at, line in enumerate(lines)]
        yield from _prose(said, first + 1)


def _prose(lines: Sequence[str], number: int) -> Iterator[Piece]:
    """Cut a paragraph into sentences; a bold lead-in belongs to the sentence after it."""
    lines = [_LEAD_IN.sub(r"\g<said>: ", line) for line in lines]
    kept = [(number + index, plain(line)) for index, line in enumerate(lines)]
    joined = ""
    starts: list[tuple[int, int]] = []
    for line, text in kept:
        if text:
            starts.append((len(joined), line))
            joined += f"{text} "
    position = 0
    for sentence in sentences(joined.rstrip()):
        begin = joined.index(sentence, position)
        position = begin + len(sentence)
        yield sentence, _line_at(starts, begin), _line_at(starts, position - 1), "sentence"


def _line_at(starts: Sequence[tuple[int, int]], offset: int) -> int:
    return next((line for start, line in reversed(starts) if start <= offset), starts[0][1])


def _list(lines: Sequence[str], number: int) -> Iterator[Piece]:
    """Give each item with what continues it; nested items stand for themselves."""
    current: list[str] = []
    start = end = number
    fenced = False
    for index, line in enumerate(lines):
        fence = line.lstrip().startswith(("```", "~~~"))
        if _BULLET.match(line) and not fenced:
            if current:
                yield _joined(current), start, end, "item"
            current, start = [_BULLET.sub("", line)], number + index
            end = start
        elif line.strip() and not fence:
            current.append(line.strip())
            end = number + index
        fenced ^= fence
    if current:
        yield _joined(current), start, end, "item"


def _joined(parts: Sequence[str]) -> str:
    return plain(" ".join(parts))


def _table(lines: Sequence[str], number: int) -> Iterator[Piece]:
    rows = [[plain(cell.strip().replace("\\|", "|")) for cell in _cells(line)] for line in lines]
    if len(rows) < 3:
        return
    for index, row in enumerate(rows[2:], 2):
        pairs = [f"{name}: {cell}" if name else cell for name, cell in zip(rows[0], row, strict=False) if cell]
        if pairs:
            yield "; ".join(pairs), number + index, number + index, "row"


def _cells(line: str) -> list[str]:
    return _CELL.split(line.strip().removeprefix("|").removesuffix("|"))
