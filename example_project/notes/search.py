"""Finds lines and headings by words; the rarer a word is in the notes, the more it counts."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from notes.markdown import OUTLINE, Note, Section, fold
from notes.vault import Vault, VaultError

_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_Part = tuple[str, Section, frozenset[str]]


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A line that holds words of the keyword, and the section that it stands in."""

    path: str
    line: int
    section: str
    text: str


def in_content(vault: Vault, keyword: str, place: str) -> list[Hit]:
    """Give the lines that hold words of a keyword; those of the section that holds most of them come first."""
    parts = [part for path, note in _notes(vault, place) for part in _parts(path, note)]
    found = []
    for score, path, section, weights in _weighed(parts, keyword):
        for line, text in enumerate(vault.read(path).lines[section.first - 1 : section.last], section.first):
            own = sum(weight for word, weight in weights.items() if _holds(_words(text), word))
            if own and not text.strip().startswith(("#", "---")):
                found.append((score, own, Hit(path=path, line=line, section=section.path, text=text.strip())))
    return [hit for _, _, hit in sorted(found, key=lambda one: (-one[0], -one[1], one[2].path, one[2].line))]


def in_headers(vault: Vault, keyword: str, place: str) -> list[Hit]:
    """Give the headings H1 to H3 that hold words of a keyword, themselves or those above them, the best first."""
    headings = [
        (path, section, _words(section.path))
        for path, note in _notes(vault, place)
        for section in note.sections
        if section.level <= OUTLINE
    ]
    ranked = sorted(_weighed(headings, keyword), key=lambda one: (-one[0], one[1], one[2].first))
    return [Hit(path=path, line=one.first, section=one.path, text=one.title) for _, path, one, _ in ranked]


def in_paths(vault: Vault, keyword: str) -> list[str]:
    """Give the notes whose path holds a keyword, or else all its words."""
    wanted = fold(keyword.strip())
    whole = [path for path in vault.notes() if wanted in fold(path)]
    return whole or [path for path in vault.notes() if all(_holds(_words(path), word) for word in _words(keyword))]


def _notes(vault: Vault, place: str) -> Iterator[tuple[str, Note]]:
    """Give the notes of a folder, or the one note that a place names; those that cannot be read are left out."""
    for path in vault.within(place):
        with suppress(VaultError):
            yield path, vault.read(path)


def _parts(path: str, note: Note) -> Iterator[_Part]:
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


def _weighed(parts: Sequence[_Part], keyword: str) -> Iterator[tuple[float, str, Section, dict[str, float]]]:
    """Give the parts that hold words of a keyword: the score of each, and its words with their weights."""
    held = [{word for word in _words(keyword) if _holds(words, word)} for _, _, words in parts]
    counts = Counter(word for words in held for word in words)
    weights = {word: math.log(1 + len(parts) / count) for word, count in counts.items()}
    for (path, section, _), words in zip(parts, held, strict=True):
        if words:
            own = {word: weights[word] for word in sorted(words)}
            yield sum(own.values()), path, section, own


@lru_cache(maxsize=50_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold(text)))


def _holds(words: frozenset[str], wanted: str) -> bool:
    """Whether one of the words begins like the wanted one, which may have a plural s."""
    root = wanted[:-1] if len(wanted) > 3 and wanted.endswith("s") else wanted
    return wanted in words or (len(root) > 2 and any(word.startswith(root) for word in words))
