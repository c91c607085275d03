"""Finds lines and headings by words; the rarer a word is in the notes, the more it counts."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from notes.markdown import OUTLINE, Note, Section, fold
from notes.vault import Vault

_WORD = re.compile(r"\w+(?:[.,]\d+)*")


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A line that holds words of the keyword, and the section that it stands in."""

    path: str
    line: int
    section: str
    text: str


def in_content(vault: Vault, keyword: str, place: str) -> list[Hit]:
    """Give the lines that hold words of a keyword; those of the section that holds most of them come first."""
    wanted = _words(keyword)
    parts = [part for path, note in _notes(vault, place) for part in _parts(path, note)]
    held = [{word for word in wanted if _holds(words, word)} for _, _, words in parts]
    weights = _weights(held, len(parts))
    found = []
    for (path, section, _), words in zip(parts, held, strict=True):
        score = sum(weights[word] for word in words)
        note = vault.read(path) if words else None
        for line in range(section.first, section.last + 1) if note else ():
            text = note.lines[line - 1].strip() if note else ""
            own = sum(weights[word] for word in words if _holds(_words(text), word))
            if own and not text.startswith(("#", "---")):
                found.append((-score, -own, Hit(path=path, line=line, section=section.path, text=text)))
    return [hit for _, _, hit in sorted(found, key=lambda one: (one[0], one[1], one[2].path, one[2].line))]


def in_headers(vault: Vault, keyword: str, place: str) -> list[Hit]:
    """Give the headings H1 to H3 that hold words of a keyword, themselves or those above them, the best first."""
    wanted = _words(keyword)
    titled = [
        (path, section, _words(section.path))
        for path, note in _notes(vault, place)
        for section in note.sections
        if section.level <= OUTLINE
    ]
    held = [{word for word in wanted if _holds(words, word)} for _, _, words in titled]
    weights = _weights(held, len(titled))
    found = [
        (-sum(weights[word] for word in words), path, section)
        for (path, section, _), words in zip(titled, held, strict=True)
        if words
    ]
    ranked = sorted(found, key=lambda one: (one[0], one[1], one[2].first))
    return [Hit(path=path, line=one.first, section=one.path, text=one.title) for _, path, one in ranked]


def in_paths(vault: Vault, keyword: str) -> list[str]:
    """Give the notes whose path holds a keyword, or else all its words."""
    wanted = fold(keyword.strip())
    whole = [path for path in vault.notes() if wanted in fold(path)]
    return whole or [path for path in vault.notes() if all(_holds(_words(path), word) for word in _words(keyword))]


def _notes(vault: Vault, place: str) -> Iterator[tuple[str, Note]]:
    """Give the notes of a folder, or the one note that a place names; those that cannot be read are left out."""
    for path, note in vault.readable(vault.within(place)):
        if note is not None:
            yield path, note


def _parts(path: str, note: Note) -> Iterator[tuple[str, Section, frozenset[str]]]:
    """Cut a note into consecutive parts, each up to the next heading, with the words of its titles and text."""
    whole = Section(title="", level=0, first=1, last=len(note.lines), path="")
    starts = list(note.sections)
    if not starts or starts[0].first > 1:
        starts.insert(0, whole)
    for number, section in enumerate(starts):
        last = starts[number + 1].first - 1 if number + 1 < len(starts) else len(note.lines)
        own = Section(title=section.title, level=section.level, first=section.first, last=last, path=section.path)
        text = "\n".join(note.lines[own.first - 1 : last])
        yield path, own, _words(f"{path} {section.path} {text}")


def _weights(held: list[set[str]], total: int) -> dict[str, float]:
    counts = Counter(word for words in held for word in words)
    return {word: math.log(1 + total / count) for word, count in counts.items()}


@lru_cache(maxsize=50_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold(text)))


def _holds(words: frozenset[str], wanted: str) -> bool:
    """Whether one of the words begins like the wanted one, which may have a plural s."""
    root = wanted[:-1] if len(wanted) > 3 and wanted.endswith("s") else wanted
    return wanted in words or (len(root) > 2 and any(word.startswith(root) for word in words))
