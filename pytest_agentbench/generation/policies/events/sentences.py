"""Sentences of a block, as ranges of its text."""

import re

_BREAK = re.compile(r"(?P<stop>[.!?…][\"'”’»)\]*_]*)(?=\s+[\"'“‘«(\[]?[A-ZÀ-ÖØ-Þ0-9])|(?P<line>\n)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|mr|mrs|ms|dr|no|nos|vs|approx|min|max|incl|excl|p\.\s?ex|m|mme|cf|art|env|st|inc|ltd|u\.s|a\.m|p\.m|[A-Z])\.$",
    re.IGNORECASE,
)

_WIDTH = 60
"""Cells that a writer who wraps lines uses at least."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Give the range of each sentence; a line break ends one where the writer would not have had to wrap there."""
    lines = text.split("\n")
    width = max(_WIDTH, *(len(line) for line in lines))
    found = []
    start = 0
    for match in _BREAK.finditer(text):
        end = match.end()
        if match["line"] is not None and not _ends_at(text, match.start(), width):
            continue
        if match["stop"] is not None and (_ABBREVIATION.search(text[start:end]) or _is_quoting(text[start:end])):
            continue
        found.append((start, end))
        start = end
    found.append((start, len(text)))
    return [trimmed for low, high in found if (trimmed := _trimmed(text, low, high))[0] < trimmed[1]]


def _is_quoting(text: str) -> bool:
    """Whether a quotation is still open at the end of `text`; apostrophes inside words open none."""
    opened = len(re.findall(r"(?:(?<=\s)|^)['‘](?=\w)", text)) - len(re.findall(r"(?<=[\w.!?…])['’](?=\W|$)", text))
    paired = any(text.count(left) > text.count(right) for left, right in ("“”", "«»"))
    return opened > 0 or paired or text.count('"') % 2 == 1


def _ends_at(text: str, at: int, width: int) -> bool:
    """Whether the line that ends at `at` was ended on purpose: the next word would have fit, and begins anew."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    following = text[at + 1 :].lstrip()
    first = following.split(maxsplit=1)[0] if following.strip() else ""
    if not first or not (first[0].isupper() or first[0] in "\"'“«("):
        return False
    return line.rstrip().endswith((".", "!", "?", ";")) or len(line) + 1 + len(first) <= width - 8


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
