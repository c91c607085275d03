"""Finding words in the notes: which headings and which lines hold them, best first.

Sections are ranked by BM25 (k1 1.2, b 0.4) over fields, as in BM25F: a word in a title, in the titles around it or in
the path of the note counts as several in the text.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from notes.markdown import Document, Section
from notes.text import beginnings, fold, key_words, stem, words
from notes.vault import Vault

K1, B = 1.2, 0.4
"""Saturation and length normalisation; sections are short, and a long one is no worse for its length."""

TITLE, AROUND, PATH = 3.0, 1.5, 2.0
"""What a word in a section's title, in the titles around it and in the note's path counts as."""

TYPICAL_LENGTH = 60
"""Words of a section that is neither short nor long."""

FURTHER_LINE = 0.8
"""What a section's second line scores of its first, so that more sections than the best one are shown."""

CALLED = 1.25
"""What a section gains whose note has a name that the search says in full."""

LINES_A_SECTION = 3
"""Lines of one section that a search shows at most."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A line that was found, the section that holds it, and how good it is."""

    path: str
    line: int
    text: str
    section: Section
    score: float


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search gave: hits, best first; the words no note holds; how many notes could not be read."""

    hits: tuple[Hit, ...]
    missing: tuple[str, ...] = ()
    unread: int = 0


@dataclass(frozen=True)
class Wanted:
    """The words of a search: as given, as stems, and what any text that holds them contains."""

    phrase: str
    names: tuple[str, ...]
    stems: tuple[str, ...]
    roots: tuple[str, ...]

    @classmethod
    def of(cls, keyword: str) -> "Wanted":
        """Read a search: its key words, or all of its words where none is one."""
        names = tuple(key_words(keyword) or dict.fromkeys(words(keyword)))
        cut = tuple(stem(name) for name in names)
        roots = tuple(root for one in cut for root in beginnings(one))
        return cls(phrase=fold(keyword).strip(), names=names, stems=cut, roots=roots)

    def may_be_in(self, folded: str) -> bool:
        """Whether a folded text can hold any of the words: one of `beginnings` is in any text that holds a word."""
        if not self.stems:
            return bool(self.phrase) and self.phrase in folded
        return any(root in folded for root in self.roots)


def in_headers(vault: Vault, keyword: str, folder: str = "") -> Found:
    """Find the headings of outlines that hold words of `keyword`: more words first, then shorter titles."""
    wanted = Wanted.of(keyword)
    hits: list[Hit] = []
    unread = 0
    for path, document in vault.readable(vault.within(folder)):
        if document is None:
            unread += 1
        elif wanted.may_be_in(document.folded_heads):
            hits += _header_hits(path, document, wanted)
    hits.sort(key=lambda hit: (-hit.score, hit.path, hit.line))
    return Found(hits=tuple(hits), unread=unread)


def in_content(vault: Vault, keyword: str, folder: str = "") -> Found:
    """Find the lines that hold words of `keyword`, those of the best section first."""
    wanted = Wanted.of(keyword)
    unread = 0
    candidates: list[tuple[str, Document]] = []
    paths = vault.within(folder)
    for path, document in vault.readable(paths):
        if document is None:
            unread += 1
        elif wanted.may_be_in(document.folded) or wanted.may_be_in(fold(path)):
            candidates.append((path, document))
    weights = _weights(candidates, wanted, len(paths))
    hits = [hit for path, document in candidates for hit in _content_hits(path, document, wanted, weights)]
    hits.sort(key=lambda hit: (-hit.score, hit.path, hit.line))
    missing = tuple(name for name, one in zip(wanted.names, wanted.stems, strict=True) if one not in weights)
    return Found(hits=tuple(hits), missing=missing, unread=unread)


def _header_hits(path: str, document: Document, wanted: Wanted) -> Iterable[Hit]:
    for section, title in document.heads:
        if wanted.stems:
            held = sum(one in title for one in wanted.stems)
            score = held / len(wanted.stems) + held / (len(title) + 10)
        else:
            held = wanted.phrase in fold(section.title)
            score = float(held)
        if held:
            yield Hit(path=path, line=section.line, text=section.label, section=section, score=score)


def _weights(candidates: Sequence[tuple[str, Document]], wanted: Wanted, total: int) -> dict[str, float]:
    """Weigh each word that some note holds by how few do (inverse document frequency)."""
    count: Counter[str] = Counter()
    for path, document in candidates:
        held = document.stems_like(wanted.stems) | {stem(word) for word in words(path)}
        count.update(held.intersection(wanted.stems))
    return {one: math.log(1 + (total - held + 0.5) / (held + 0.5)) for one, held in count.items()}


def _content_hits(path: str, document: Document, wanted: Wanted, weights: dict[str, float]) -> Iterable[Hit]:
    if not wanted.stems:
        yield from _literal_hits(path, document, wanted.phrase)
        return
    in_path = {stem(word) for word in words(path)}
    name = {stem(word) for word in words(path.rpartition("/")[2].rpartition(".")[0])}
    total = sum(weights.values()) or 1.0
    for section in document.leaves:
        index = document.index(section)
        title = {stem(word) for word in words(section.title)}
        around = {stem(word) for one in section.path for word in words(one)}
        length = B * max(index.length, 1) / TYPICAL_LENGTH + 1 - B
        score = covered = 0.0
        for one, weight in weights.items():
            fields = TITLE * (one in title) + AROUND * (one in around) + PATH * (one in in_path)
            count = index.counts.get(one, 0) / length + fields
            if count:
                covered += weight
                score += weight * count * (K1 + 1) / (count + K1)
        lines = _best_lines(index.lines, weights)
        is_named = name <= weights.keys() and section.line == document.leaves[0].line
        if not lines and not title.intersection(weights) and not is_named:
            continue
        score *= covered / total * (CALLED if name <= weights.keys() else 1.0)
        if " " in wanted.phrase and any(wanted.phrase in fold(document.lines[line - 1]) for line, _ in lines):
            score *= 1.25
        for rank, (line, _) in enumerate(lines or [(section.line, 0.0)]):
            text = document.lines[line - 1].strip()
            yield Hit(path=path, line=line, text=text, section=section, score=score * FURTHER_LINE**rank)


def _best_lines(lines: dict[int, frozenset[str]], weights: dict[str, float]) -> list[tuple[int, float]]:
    scored = [(line, sum(weights.get(one, 0.0) for one in held)) for line, held in lines.items()]
    scored = [(line, score) for line, score in scored if score]
    return sorted(scored, key=lambda item: (-item[1], item[0]))[:LINES_A_SECTION]


def _literal_hits(path: str, document: Document, phrase: str) -> Iterable[Hit]:
    for section in document.leaves:
        for line in range(section.line, section.end + 1):
            if phrase in fold(document.lines[line - 1]):
                yield Hit(path=path, line=line, text=document.lines[line - 1].strip(), section=section, score=1.0)
