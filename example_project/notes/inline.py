"""What stands inside a block of Markdown: its text without markup, and its links."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

_INLINE = MarkdownIt("commonmark").enable("table")
_WIKI_LINK = re.compile(r"(!?)\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]")


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link of a note: what it says, where it leads (its `#part` apart), and its line."""

    text: str
    target: str
    part: str
    line: int
    kind: Literal["link", "wiki", "image"]


def plain(content: str, references: dict[str, Any] | None = None) -> str:
    """Give inline Markdown as it reads: markup dropped, texts of links and images kept."""
    tokens = _INLINE.parseInline(content, references if references is not None else {})
    text = "".join(_reading(token.children or []) for token in tokens)
    return " ".join(_WIKI_LINK.sub(lambda match: match[3] or match[2], text).split())


def _reading(tokens: Sequence[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif token.type == "image":
            parts.append(_reading(token.children or []) or token.content)
        elif token.type in {"text", "code_inline", "text_special"}:
            parts.append(token.content)
    return "".join(parts)


def links_of(token: Token, references: dict[str, Any]) -> Iterator[Link]:
    """Give the links of one inline token, wiki links among them, with the lines they stand in."""
    line = (token.map or [0])[0] + 1
    if "[" not in token.content and "<" not in token.content:
        return
    parsed = _INLINE.parseInline(token.content, references)
    children = (parsed[0].children or []) if parsed else []
    text: list[str] | None = None
    href = ""
    pieces = ""
    for child in children:
        if child.type == "link_open":
            text, href = [], str(child.attrGet("href") or "")
        elif child.type == "link_close" and text is not None:
            yield _link("".join(text), href, line, "link")
            text = None
        elif child.type == "image":
            yield _link(child.content, str(child.attrGet("src") or ""), line, "image")
        elif child.type in {"softbreak", "hardbreak"}:
            yield from _wiki_links(pieces, line)
            pieces = ""
            line += 1
        elif text is not None:
            text.append(child.content)
        elif child.type == "text":
            pieces += child.content
        else:
            pieces += "\0"
    yield from _wiki_links(pieces, line)


def _wiki_links(text: str, line: int) -> Iterator[Link]:
    for match in _WIKI_LINK.finditer(text):
        yield _link(match[3] or match[2], match[2], line, "image" if match[1] else "wiki")


def _link(text: str, target: str, line: int, kind: Literal["link", "wiki", "image"]) -> Link:
    path, _, part = target.partition("#")
    return Link(text=text.strip(), target=unquote(path).strip(), part=unquote(part).strip(), line=line, kind=kind)
