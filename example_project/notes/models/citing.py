"""The citations in a model's answer: kept where they stand if it was shown these lines, dropped if it was not."""

import re
from collections import defaultdict
from collections.abc import Iterable

from notes.answering import Source
from notes.library import Shown, shown_lines

_CITED = re.compile(r"\[([^\[\]]+?\.(?:md|markdown))(?::(\d+)(?:\s*[-–]\s*(\d+))?)?\]", re.IGNORECASE)


def kept(text: str, texts: Iterable[str]) -> tuple[str, tuple[Source, ...]]:
    """Give an answer without the citations of what stands in none of `texts`, and the sources that it still cites.

    A citation that a model was shown in an earlier answer counts as shown. One that goes beyond the lines that were
    shown is cut down to them.
    """
    known: dict[str, list[Shown]] = defaultdict(list)
    for one in texts:
        for seen in (*shown_lines(one), *_cited_in(one)):
            known[seen.path].append(seen)
    sources: dict[Source, None] = {}

    def checked(match: re.Match[str]) -> str:
        path, first, last = match.groups()
        source = _within(path, int(first or 0), int(last or first or 0), known.get(path, []))
        if source is None:
            return ""
        sources[source] = None
        return str(source)

    left = _CITED.sub(checked, text)
    return re.sub(r"[ \t]+(?=[\n.,;]|$)", "", re.sub(r"[ \t]{2,}", " ", left)).strip(), tuple(sources)


def _cited_in(text: str) -> list[Shown]:
    return [
        Shown(path=path, first=int(first), last=int(last or first))
        for path, first, last in _CITED.findall(text)
        if first
    ]


def _within(path: str, first: int, last: int, shown: list[Shown]) -> Source | None:
    if not shown:
        return None
    if not first:
        return Source(path=path)
    lines = [(max(first, one.first), min(last, one.last)) for one in shown]
    start, end = max(lines, key=lambda both: both[1] - both[0])
    return Source(path=path, first=start, last=end) if start <= end else None
