"""What else says the same: common words in the other language and in one's own; names need no translation."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files

from notes.text import fold, key_words, stem, words
from notes.wording import is_french

Meanings = Mapping[str, frozenset[str]]
"""{stem of a word or folded phrase: words that say the same}."""

_VERBS = ("er", "e", "re", "ir", "tre", "ttre", "oyer", "r", "dre", "oir", "enir")
"""What a French verb may end in, put where the ending of one of its forms was."""

SHORT = 5
"""Letters up to which a word may be a noun by its stem and a form of a verb as well."""

_PLAIN = re.compile(r"[^\W_]+")
_FORMS = re.compile(r"(?:eraient|erait|eront|erons|erez|aient|ions|ais|ait|ant|ent|ees|ons|ez|era|ee|es|oie|it|e|t|s)$")


def _entries(name: str) -> Iterator[str]:
    text = (files("notes") / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for line in lines:
        yield from (entry.strip() for entry in line.split(";"))


def _key(word: str) -> str:
    return fold(word) if " " in word else stem(fold(word))


@lru_cache(maxsize=1)
def _dictionaries() -> tuple[Meanings, Meanings]:
    """Read French to English, and English to French."""
    there: dict[str, set[str]] = defaultdict(set)
    back: dict[str, set[str]] = defaultdict(set)
    for entry in _entries("bilingual.txt"):
        french, english = ([fold(word).strip() for word in side.split(",")] for side in entry.split("=", 1))
        for one in french:
            for other in english:
                there[_key(one)].add(other)
                back[_key(other)].add(one)
    return _frozen(there), _frozen(back)


@lru_cache(maxsize=1)
def _synonyms() -> Meanings:
    found: dict[str, set[str]] = defaultdict(set)
    for entry in _entries("synonyms.txt"):
        group = [one.strip() for one in entry.split(",")] if "," in entry else entry.split()
        for one in group:
            found[_key(one)].update(other for other in group if other != one)
    return _frozen(found)


def _frozen(found: Mapping[str, set[str]]) -> Meanings:
    return {one: frozenset(others) for one, others in found.items()}


@lru_cache(maxsize=4)
def _phrases(french: bool | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Give the phrases of a dictionary, or of the synonyms, each with its stems."""
    table = _synonyms() if french is None else _dictionaries()[0 if french else 1]
    return tuple((one, _in_stems(one)) for one in sorted(table) if " " in one)


def _in_stems(folded: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in _PLAIN.findall(folded))


def _said(phrase: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return any(names[at : at + len(phrase)] == phrase for at in range(len(names) - len(phrase) + 1))


@lru_cache(maxsize=4096)
def translations(text: str) -> Meanings:
    """Give, by stem of the words of `text`, words of the other language that say the same; phrases before words."""
    french = is_french(text, default=False)
    table = _dictionaries()[0 if french else 1]
    names, found = _in_stems(fold(text)), {}
    for phrase, cut in _phrases(french):
        if _said(cut, names):
            meant = frozenset(word for other in table[phrase] for word in key_words(other))
            found.update(dict.fromkeys(map(stem, key_words(phrase)), meant))
    for word in key_words(text):
        one = stem(word)
        if one not in found:
            meant = _looked_up(word, table, french=french)
            if meant:
                found[one] = frozenset(name for other in meant for name in key_words(other) if stem(name) != one)
    return {one: others for one, others in found.items() if others}


def _looked_up(word: str, table: Meanings, *, french: bool) -> frozenset[str]:
    """Look a word up as it is, then as a form of a French verb."""
    found = table.get(stem(word), frozenset())
    form = _FORMS.search(word) if french else None
    if form is None or (found and len(word) > SHORT):
        return found
    root = word[: form.start()]
    for start in dict.fromkeys((root, root[:-1] if root[-2:-1] == root[-1:] else root, word)):
        for ending in _VERBS:
            if len(start) > 1 and stem(start + ending) in table:
                return found | table[stem(start + ending)]
    return found


@lru_cache(maxsize=4096)
def synonyms(text: str) -> Meanings:
    """Give, by stem of the words of `text`, English words that say the same."""
    table = _synonyms()
    return {
        stem(word): frozenset(stem(one) for other in table[stem(word)] for one in key_words(other)) - {stem(word)}
        for word in words(text)
        if stem(word) in table
    }


@lru_cache(maxsize=4096)
def meant_by_phrases(text: str) -> tuple[str, ...]:
    """Give the single words that phrases of `text` stand for: `maximum` for “at the most”."""
    names, table = _in_stems(fold(text)), _synonyms()
    found = [other for one, cut in _phrases(None) if _said(cut, names) for other in sorted(table[one])]
    return tuple(dict.fromkeys(other for other in found if " " not in other))


@lru_cache(maxsize=4096)
def in_phrases(text: str) -> frozenset[str]:
    """Give the words of `text` that belong to such phrases and say nothing by themselves."""
    names = _in_stems(fold(text))
    return frozenset(word for one, cut in _phrases(None) if _said(cut, names) for word in key_words(one))
