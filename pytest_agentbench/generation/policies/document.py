"""A document as blocks: list items, table rows and paragraphs, each with its place, its headings and what leads to it.

Markdown is read by markdown-it-py. One habit of system prompts is added: a tag alone on its line, `<refunds>`, stands
above what follows it like a heading.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_agentbench.generation.policies.data_types import Span

if TYPE_CHECKING:
    from markdown_it.token import Token

Kind = Literal["item", "row", "paragraph", "lead"]

_LARGEST = 2_000_000
"""Characters of a document that are read; more is not a policy document."""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---[ \t]*(?=\n|\Z)", re.DOTALL)
_TAG = re.compile(r"[ \t]*<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)(?:[ \t][^<>]*)?>[ \t]*")
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


def blocks(document: str) -> list[Block]:
    """Give the blocks of a document in order, without code, comments and front matter."""
    return _Reader(document[:_LARGEST]).blocks


class _Reader:
    """Walks the tokens of a document once, and notes what stands above each block."""

    def __init__(self, document: str) -> None:
        from markdown_it import MarkdownIt  # noqa: PLC0415 - only documents need it

        self.blocks: list[Block] = []
        self.starts = [0, *(line.end() for line in _LINE.finditer(document))]
        self.lines = _LINE.split(document)
        text = "\n".join(self.lines).replace("\0", " ")
        shown = _without_comments(_FRONT_MATTER.sub(lambda match: _blank(match[0]), text)).split("\n")
        found = [(at, match) for at, line in enumerate(shown) if (match := _TAG.fullmatch(line))]
        for at, _ in found:
            shown[at] = ""
        self.tags = deque((at, "" if match["close"] else match["name"]) for at, match in found)
        self.headings: list[tuple[int, str]] = []
        self.leads: list[tuple[int, str]] = []
        self.header: list[str] = []
        self.cells: list[str] = []
        self.row = self.depth = 0
        # a block of HTML would swallow the lines below a tag
        parser = MarkdownIt("commonmark").enable("table").disable("html_block")
        self._walk(parser.parse("\n".join(shown)))

    def _walk(self, tokens: Sequence["Token"]) -> None:
        for index, token in enumerate(tokens):
            while token.map is not None and self.tags and self.tags[0][0] < token.map[0]:
                self._enter(_TAG_LEVEL, self.tags.popleft()[1].replace("_", " "))
            match token.type:
                case "list_item_open" | "list_item_close":
                    self.depth += token.nesting
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
                case "tr_open" if token.map:
                    self.row = token.map[0]
                case "tr_close" if self.cells:
                    self._row()

    def _enter(self, level: int, text: str) -> None:
        self.headings = [one for one in self.headings if one[0] < level] + ([(level, text)] if text else [])
        self.leads = []

    def _text(self, token: "Token", after: "Token | None") -> None:
        text = _plain(token)
        is_lead = text.endswith(":") and after is not None and after.type.endswith(("list_open", "table_open"))
        if not self.depth:
            self.leads = []
        kind: Kind = "lead" if is_lead else "item" if self.depth else "paragraph"
        self._add(kind, text, token.content.split("\n"), token.map[0] if token.map else 0)
        if is_lead and after is not None:
            self.leads.append((after.level, text))

    def _row(self) -> None:
        names = [*self.header, *[""] * len(self.cells)]
        parts = [f"{name}: {cell}" if name else cell for name, cell in zip(names, self.cells, strict=False) if cell]
        self.cells = []
        self._add("row", "; ".join(parts), [self.lines[self.row].strip(" \t|")], self.row)

    def _add(self, kind: Kind, text: str, pieces: Sequence[str], line: int) -> None:
        if not any(char.isalnum() for char in text):
            return
        last = line + len(pieces) - 1
        start, end = self._place(pieces[0], line)[0], self._place(pieces[-1], last)[1]
        span = Span(start=start, end=end, line=line + 1, last_line=last + 1)
        lead = " ".join(one for _, one in self.leads)
        self.blocks.append(Block(kind=kind, text=text, span=span, headings=tuple(self.headings), lead=lead))

    def _place(self, piece: str, line: int) -> tuple[int, int]:
        source, shown = self.lines[line], piece.strip()
        at = source.find(shown)
        start = self.starts[line] + max(at, 0)
        return start, start + (len(shown) if at >= 0 else len(source))


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
