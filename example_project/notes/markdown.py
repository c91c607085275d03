"""A Markdown note taken apart: its lines, sections and links, by the tokens of markdown-it-py.

Line numbers count from 1 in the file as it is. Front matter is blanked before parsing, so that numbers hold.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from notes.inline import Link, links_of, plain
from notes.text import first_words, fold, stem, words

LONG = 60
"""Lines under one heading from which its blocks serve as sections."""

OUTLINE_LEVEL = 3
"""Deepest heading that outlines and heading searches show (paper, table 1: H1–H3)."""

FRONT_MATTER = "front matter"

_BLOCKS = MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])
_NEW_LINE = re.compile(r"\r\n?|\n")
_HEAD = re.compile(r"^\s{0,3}(?:#|\*\*|__)")
_UNDERLINE = re.compile(r"^\s{0,3}(?:=+|-+)\s*$")
_MARKS = re.compile(r"[*_`\\]")
_FIELD = re.compile(r"^(?:[\w.-]+\s*:(?:\s.*)?|\s+.*|-\s.*|#.*|)$")
_BOLD_LINE = re.compile(r"^\s{0,3}(\*\*|__)(?=\S)((?:(?!\1).)+?)(?<=\S)\1\s*:?\s*$")
_UNSPACED = re.compile(r"^\s{0,3}(?:#{2,6}(?=[^\s#])[^#]+|#(?=[^\s#])[^#\s]+(?:\s+[^#\s]\S*)+)\s*$")

Kind = Literal["heading", "bold", "block", "front"]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a note that has a title; `line` to `end` inclusive, `path` the titles around it, outermost first.

    `level` is that of a heading, 7 of a bold line, 8 of a block, 9 of front matter.
    """

    title: str
    level: int
    line: int
    end: int
    kind: Kind
    path: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The title as outlines show it."""
        mark = {"heading": "#" * self.level, "bold": "**", "block": "¶", "front": "---"}[self.kind]
        return f"{mark} {self.title}"


@dataclass(frozen=True, kw_only=True)
class Index:
    """The stems of a leaf: how often each occurs, in which lines, and how many words there are."""

    counts: Counter[str]
    lines: dict[int, frozenset[str]]
    length: int


class Document:
    """A parsed note."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._indexed: dict[int, Index] = {}
        self.lines: tuple[str, ...] = tuple(_NEW_LINE.split(text))
        if len(self.lines) > 1 and not self.lines[-1]:
            self.lines = self.lines[:-1]

    @cached_property
    def folded(self) -> str:
        """The whole text folded, to tell quickly what it cannot hold."""
        return fold(self.text)

    @cached_property
    def folded_heads(self) -> str:
        """The lines that may be titles, folded and without marks, to tell quickly what no title can hold.

        More lines than titles: whether one of them is a title only the parser knows, and it takes far longer.
        """
        kept: list[str] = []
        paragraph: list[str] = []
        for line in self.lines:
            if _UNDERLINE.match(line):
                kept += paragraph
                paragraph = []
            elif not line.strip():
                paragraph = []
            else:
                kept += [line] if _HEAD.match(line) else []
                paragraph.append(line)
        return fold(unescape(_MARKS.sub("", "\n".join(kept))))

    @cached_property
    def heads(self) -> tuple[tuple[Section, frozenset[str]], ...]:
        """The titles of the outline that somebody wrote, each with the stems of its words."""
        written = (section for section in self.outline if section.kind != "block")
        return tuple((section, frozenset(stem(word) for word in words(section.title))) for section in written)

    def stems_like(self, wanted: Sequence[str]) -> frozenset[str]:
        """Give those of the wanted stems that words of the note have."""
        return self._stems.intersection(wanted)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(one for section in self.leaves for one in self.index(section).counts)

    def index(self, section: Section) -> "Index":
        """Give the words of a leaf, counted once as long as the note does not change."""
        if section.line not in self._indexed:
            self._indexed[section.line] = _index(self.lines, section)
        return self._indexed[section.line]

    @cached_property
    def front_matter(self) -> int:
        """The number of lines that the front matter takes up, 0 without any."""
        return _front_matter(self.lines)

    @cached_property
    def headings(self) -> tuple[Section, ...]:
        """The headings of all levels in order; those inside quotes and lists are none of the note's own."""
        found = []
        for token, content in _headings(self._tokens):
            first, _ = token.map or (0, 0)
            found.append((first + 1, int(token.tag[1:]), plain(content, self._references)))
        return tuple(_closed(found, len(self.lines)))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Everything that has a title, in order of lines: front matter, headings, bold lines, blocks."""
        found: list[Section] = []
        if self.front_matter:
            found.append(Section(title=FRONT_MATTER, level=9, line=1, end=self.front_matter, kind="front"))
        for stretch in self._stretches():
            found += _inner(self, *stretch)
        return tuple(sorted((*found, *self.headings), key=lambda section: (section.line, section.level)))

    @cached_property
    def outline(self) -> tuple[Section, ...]:
        """The sections that outlines show: headings H1–H3, and what serves where there are none."""
        shown = (section for section in self.sections if section.kind != "front")
        return tuple(section for section in shown if section.kind != "heading" or section.level <= OUTLINE_LEVEL)

    @cached_property
    def leaves(self) -> tuple[Section, ...]:
        """The note cut into consecutive parts, each up to the next section; text before the first has no title."""
        starts = list(self.sections)
        parts = []
        if not starts or starts[0].line > 1:
            first = starts[0].line - 1 if starts else len(self.lines)
            parts.append(Section(title="", level=8, line=1, end=first, kind="block"))
        for number, section in enumerate(starts):
            end = starts[number + 1].line - 1 if number + 1 < len(starts) else len(self.lines)
            part = Section(
                title=section.title,
                level=section.level,
                line=section.line,
                end=max(end, section.line),
                kind=section.kind,
                path=section.path,
            )
            parts.append(part)
        return tuple(parts)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The links and images of the note in order, wiki links included; what stands in code is none."""
        found: list[Link] = []
        for token in self._tokens:
            if token.type == "inline" and token.map:
                found += links_of(token, self._references)
        return tuple(found)

    @cached_property
    def blocks(self) -> tuple[Token, ...]:
        """The tokens that open the top-level blocks, headings included."""
        return tuple(token for token in self._tokens if token.level == 0 and token.nesting >= 0 and token.map)

    def body(self, first: int, last: int) -> str:
        """Give the lines from `first` to `last`, both included, as they are."""
        return "\n".join(self.lines[first - 1 : last])

    def _stretches(self) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Give the stretches of lines without a heading, each with the titles around it."""
        start = self.front_matter + 1
        path: tuple[str, ...] = ()
        for heading in self.headings:
            if heading.line > start:
                yield start, heading.line - 1, path
            start, path = heading.line + 1, (*heading.path, heading.title)
        if start <= len(self.lines):
            yield start, len(self.lines), path

    @property
    def _tokens(self) -> list[Token]:
        return self._parsed[0]

    @property
    def _references(self) -> dict[str, Any]:
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[list[Token], dict[str, Any]]:
        env: dict[str, Any] = {}
        kept = [""] * self.front_matter + list(self.lines[self.front_matter :])
        return _BLOCKS.parse("\n".join(kept), env), env


def parse(text: str) -> Document:
    """Take a note apart; no text is refused."""
    return Document(text)


def _index(lines: Sequence[str], section: Section) -> Index:
    counts: Counter[str] = Counter()
    held: dict[int, frozenset[str]] = {}
    for line in range(section.line, section.end + 1):
        found = [stem(word) for word in words(lines[line - 1])]
        if found:
            counts.update(found)
            held[line] = frozenset(found)
    return Index(counts=counts, lines=held, length=sum(counts.values()))


def _front_matter(lines: Sequence[str]) -> int:
    if not lines or lines[0].lstrip("\ufeff").rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in {"---", "..."}:
            return number if number > 2 else 0
        if not _FIELD.match(line):
            return 0
    return 0


def _headings(tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            yield token, tokens[number + 1].content


def _closed(found: Sequence[tuple[int, int, str]], last: int) -> Iterator[Section]:
    """Give each heading its end, before the next of its level or a higher one, and the titles around it."""
    ends = [last] * len(found)
    open_ones: list[int] = []
    paths: list[tuple[str, ...]] = []
    for number, (line, level, _) in enumerate(found):
        while open_ones and found[open_ones[-1]][1] >= level:
            ends[open_ones.pop()] = line - 1
        paths.append(tuple(found[outer][2] for outer in open_ones))
        open_ones.append(number)
    for (line, level, title), end, path in zip(found, ends, paths, strict=True):
        yield Section(title=title, level=level, line=line, end=end, kind="heading", path=path)


def _inner(document: Document, first: int, last: int, path: tuple[str, ...]) -> list[Section]:
    """Give the sections of a stretch that has no heading: its bold lines, else its blocks where they are needed."""
    blocks = [token for token in document.blocks if token.map and first <= token.map[0] + 1 <= last]
    bold = [
        (line, title)
        for token in blocks
        if token.type == "paragraph_open" and token.map
        for line, title in _title_lines(document.lines, token.map)
    ]
    if bold:
        starts = [(line, title, "bold") for line, title in bold]
    elif document.headings and last - first < LONG:
        return []
    else:
        starts = [(line, title, "block") for line, title in _block_titles(document, blocks)]
    ends = [*(line - 1 for line, _, _ in starts[1:]), last][: len(starts)]
    return [
        Section(title=title, level=7 if kind == "bold" else 8, line=line, end=end, kind=kind, path=path)  # type: ignore[arg-type]
        for (line, title, kind), end in zip(starts, ends, strict=True)
    ]


def _title_lines(lines: Sequence[str], span: Sequence[int]) -> Iterator[tuple[int, str]]:
    for index in range(span[0], span[1]):
        bold = _BOLD_LINE.match(lines[index])
        if bold:
            yield index + 1, plain(bold[2]).rstrip(": ")
        elif index == span[0] and _UNSPACED.match(lines[index]):
            yield index + 1, plain(lines[index].strip().lstrip("#"))


def _block_titles(document: Document, blocks: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Title each block with its first words; a line that ends in a colon takes the block after it along."""
    announced = False
    for token in blocks:
        first, last = token.map or (0, 0)
        if token.type in {"heading_open", "hr"}:
            continue
        text = document.body(first + 1, last)
        if not announced:
            yield first + 1, _title_of(token, text)
        announced = token.type == "paragraph_open" and text.rstrip().endswith(":")


def _title_of(token: Token, text: str) -> str:
    if token.type == "fence":
        name = token.info.split()[0] if token.info.split() else "code"
        return first_words(f"{name}: {token.content}")
    return first_words(plain(text.lstrip("#>-*+| \t")) or token.type.removesuffix("_open"))
