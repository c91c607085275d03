"""What a note or a section holds, in a few sentences."""

import re

from notes.answering import Source
from notes.inline import plain
from notes.library import Passage
from notes.statements import statements
from notes.text import sentences

MOST_SECTIONS = 8
MOST_SENTENCES = 4

_MARKER = re.compile(r"^\s*(?:[-*+>]|\d+[.)])\s+")
_HEADING = re.compile(r"^(\d+)-(\d+): (#{1,6}|\*\*|¶) (.+)$")


def outline_summary(path: str, outline: str) -> tuple[str, Source]:
    """Sum a note up from its outline with previews: each section's title and first sentence."""
    parts: list[tuple[str, str]] = []
    last = 1
    for line in outline.split("\n")[1:]:
        heading = _HEADING.match(line)
        if heading:
            parts.append((heading[4], ""))
            last = max(last, int(heading[2]))
        elif parts and not parts[-1][1]:
            parts[-1] = (parts[-1][0], next(sentences(plain(_MARKER.sub("", line))), ""))
    told = [f"{title}: {text}".rstrip(": ") for title, text in parts[:MOST_SECTIONS]]
    more = " …" if len(parts) > MOST_SECTIONS else ""
    return " · ".join(told) + more, Source(path=path, first=1, last=last)


def passage_summary(read: Passage) -> tuple[str, Source]:
    """Sum a passage up: the first statement under each of its titles, and more of them where there is one title."""
    said = statements(read)
    if not said:
        return "", Source(path=read.path)
    titles = dict.fromkeys(one.titles for one in said)
    if len(titles) < 2:
        chosen = said[:MOST_SENTENCES]
        text = " ".join(one.text if one.text.endswith((".", "!", "?")) else f"{one.text}." for one in chosen)
        return text, Source(path=read.path, title=read.title, first=chosen[0].line, last=chosen[-1].end)
    firsts = [next(one for one in said if one.titles == path) for path in list(titles)[:MOST_SECTIONS]]
    text = " · ".join(f"{one.titles[-1]}: {one.text}" if one.titles else one.text for one in firsts)
    return text, Source(path=read.path, title=read.title, first=said[0].line, last=said[-1].end)
