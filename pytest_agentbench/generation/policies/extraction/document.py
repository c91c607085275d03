"""A document as blocks: list items, table rows and paragraphs, each with its place, its headings and what leads to it.

Markdown is read by markdown-it-py. One habit of system prompts is added: a tag alone on its line, `<refunds>`, stands
above what follows it like a heading.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_agentbench.generation.policies.values import Span

if TYPE_CHECKING:
    from markdown_it.token import Token

Kind = Literal["item", "row", "paragraph", "lead"]

STRATEGIES = ("tags",)
"""What is read beyond Markdown, and may be left out."""

_LARGEST = 2_000_000
"""Characters of a document that are read; more is not a policy document."""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---[ \t]*(?=\n|\Z)", re.DOTALL)
_TAG = re.compile(r"^[ \t]*<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)(?:[ \t][^<>\n]*)?>[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"\r\n|\r|\n")

_TAG_LEVEL = 0
"""A tag stands above every heading."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block; `headings` are those above it with their levels, outermost first.

    `lead` is the text that ends in a colon right above its list; such a text is a block of its own, of kind `lead`.
    """

    kind: Kind
    text: str
    span: Span
    headings: tuple[tuple[int, str], ...] = ()
    lead: str = ""

    @property
    def whole(self) -> str:
        """The text with what leads to it, so that it can be read alone."""
        return f"{self.lead} {self.text}" if self.lead else self.text


def blocks(document: str, *, without: Sequence[str] = ()) -> list[Block]:
    """Give the blocks of a document in order; `without` names strategies to leave out.

    Code, comments and front matter are passed over.
    """
    return _Reader(document[:_LARGEST], without).read()


@dataclass
class _Reader:
    document: str
    without: Sequence[str]
    found: list[Block] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    tags: dict[int, str] = field(default_factory=dict)
    leads: list[tuple[int, str]] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    depth: int = 0

    def read(self) -> list[Block]:
        from markdown_it import MarkdownIt  # noqa: PLC0415 - only documents need it

        self.starts = [0, *(line.end() for line in _LINE.finditer(self.document))]
        self.lines = _LINE.split(self.document)
        text = "\n".join(self.lines).replace("\0", " ")
        text = _without_comments(_FRONT_MATTER.sub(lambda match: _blank(match[0]), text))
        if "tags" not in self.without:
            text = _TAG.sub(self._tag, text)
        # a block of HTML would swallow the lines below a tag
        parser = MarkdownIt("commonmark").enable("table").disable("html_block")
        self._walk(parser.parse(text))
        return self.found

    def _tag(self, match: re.Match[str]) -> str:
        line = match.string.count("\n", 0, match.start())
        self.tags[line] = "" if match["close"] else match["name"]
        return ""

    def _walk(self, tokens: Sequence["Token"]) -> None:
        for index, token in enumerate(tokens):
            if token.map is not None:
                self._enter_tags(token.map[0])
            match token.type:
                case "list_item_open":
                    self.depth += 1
                case "list_item_close":
                    self.depth -= 1
                case "bullet_list_close" | "ordered_list_close" | "table_close":
                    self.leads = [one for one in self.leads if one[0] < token.level]
                case "heading_open":
                    self._enter(int(token.tag[1:]), _plain(tokens[index + 1]))
                case "inline" if tokens[index - 1].type == "paragraph_open":
                    self._text(token, tokens[index + 2] if index + 2 < len(tokens) else None)
                case "inline" if tokens[index - 1].type == "th_open":
                    self.header.append(_plain(token))
                case "inline" if tokens[index - 1].type == "td_open":
                    self.cells.append(_plain(token))
                case "thead_open":
                    self.header = []
                case "tr_close" if self.cells:
                    self._row(tokens, index)

    def _enter_tags(self, line: int) -> None:
        for at in sorted(one for one in self.tags if one < line):
            self._enter(_TAG_LEVEL, self.tags.pop(at).replace("_", " "))

    def _enter(self, level: int, text: str) -> None:
        self.headings = [one for one in self.headings if one[0] < level] + ([(level, text)] if text else [])
        self.leads = []

    def _text(self, token: "Token", after: "Token | None") -> None:
        text = _plain(token)
        first, last = token.map or (0, 1)
        is_lead = text.endswith(":") and after is not None and after.type.endswith(("list_open", "table_open"))
        if not self.depth:
            self.leads = []
        kind: Kind = "lead" if is_lead else "item" if self.depth else "paragraph"
        self._add(kind, text, token.content.split("\n"), range(first, last))
        if is_lead and after is not None:
            self.leads.append((after.level, text))

    def _row(self, tokens: Sequence["Token"], index: int) -> None:
        place = next(token.map for token in reversed(tokens[:index]) if token.type == "tr_open")
        names = [*self.header, *[""] * len(self.cells)]
        parts = [f"{name}: {cell}" if name else cell for name, cell in zip(names, self.cells, strict=False) if cell]
        self.cells = []
        if parts and place:
            self._add("row", "; ".join(parts), [self.lines[place[0]].strip(" \t|")], range(place[0], place[0] + 1))

    def _add(self, kind: Kind, text: str, pieces: Sequence[str], lines: range) -> None:
        if not any(char.isalnum() for char in text):
            return
        start, end = self._place(pieces[0], lines[0])[0], self._place(pieces[-1], lines[0] + len(pieces) - 1)[1]
        span = Span(start=start, end=end, line=lines[0] + 1, last_line=lines[0] + len(pieces))
        lead = " ".join(one for _, one in self.leads)
        self.found.append(Block(kind=kind, text=text, span=span, headings=tuple(self.headings), lead=lead))

    def _place(self, piece: str, line: int) -> tuple[int, int]:
        source = self.lines[line]
        shown = piece.strip()
        at = max(source.find(shown), 0)
        return self.starts[line] + at, self.starts[line] + at + (len(shown) if at or shown in source else len(source))


def _blank(text: str) -> str:
    """Give as many lines, so that places stay what they are."""
    return re.sub(r"[^\n]", " ", text)


def _without_comments(text: str) -> str:
    """Blank the comments of a document; one without an end is text."""
    parts, at = [], 0
    # an expression would look for the end of each that has none, through all that follows
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts += [text[at:start], _blank(text[start : end + 3])]
        at = end + 3
    return "".join([*parts, text[at:]])


def _plain(token: "Token") -> str:
    """Give the text of a block without its markup, on one line."""
    return " ".join("".join(_pieces(token.children or ())).split())


def _pieces(children: Sequence["Token"]) -> Iterator[str]:
    for child in children:
        if child.type in ("text", "code_inline"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield " "
        elif child.type == "image":
            yield from _pieces(child.children or ())
