"""An agent's message cut into sentences and list items, without what it only quotes."""

import re
from dataclasses import dataclass
from functools import lru_cache

READ_LIMIT = 4_000
"""Characters read at each end of a message; what lies between is skipped, so that time is bounded."""

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BLOCK_QUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTED = re.compile(r"“[^”\n]{0,400}”|«[^»\n]{0,400}»|\"[^\"\n]{0,400}\"|`[^`\n]{0,400}`")
_SHORT_QUOTE = 2
_MARKED = re.compile(r"[`>*#_\"“«]")
"""What code, quotations and markup begin with."""
_MARKUP = re.compile(r"\*\*|__|^#{1,6} ", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)]|[a-z]\))\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”»)]*\s+(?=[^\s])|(?<=[.!?…])(?=[A-ZÀ-Ý][a-zà-ý]+\s)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|mr|mrs|ms|dr|st|no|approx|p\.ex|etc|d\.o\.b|v)|\b[A-Z])\.$", re.IGNORECASE
)


@dataclass(frozen=True)
class Segment:
    """One sentence or one list item."""

    text: str
    item: bool = False

    @property
    def question(self) -> bool:
        """Whether it ends with a question mark."""
        return "?" in self.text[-4:]


def clip(text: str) -> str:
    """Keep the first and last `READ_LIMIT` characters of a long text."""
    return text if len(text) <= 2 * READ_LIMIT else text[:READ_LIMIT] + "\n" + text[-READ_LIMIT:]


def unquoted(text: str) -> str:
    """Drop code, block quotes, markup and quotations of more than two words."""
    text = clip(text)
    if not _MARKED.search(text):
        return text
    plain = _BLOCK_QUOTE.sub("", _FENCE.sub("", _MARKUP.sub("", text)))
    return _QUOTED.sub(lambda found: found[0] if len(found[0].split()) <= _SHORT_QUOTE else " ", plain)


@lru_cache(maxsize=512)  # guard rails, stalls and checks cut the same messages one after another
def segments(text: str) -> tuple[Segment, ...]:
    """Cut `text` into sentences and list items, quotations left out."""
    found: list[Segment] = []
    for line in unquoted(text).splitlines():
        item = _ITEM.match(line)
        body = line[item.end() :] if item else line
        found.extend(Segment(sentence, item=bool(item)) for sentence in _sentences(body))
    return tuple(found)


def _sentences(line: str) -> list[str]:
    sentences: list[str] = []
    for part in _SENTENCE_END.split(line):
        piece = part.strip()
        if not piece:
            continue
        if sentences and _ABBREVIATION.search(sentences[-1]):
            sentences[-1] += " " + piece
        else:
            sentences.append(piece)
    return sentences
