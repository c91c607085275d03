"""Ids of policies that survive small edits, and when two statements are the same.

An id is made of the first words of a rule, without numbers, so that an amount may be edited. Where rules share those
words, more of them are taken until they differ.
"""

import re
from collections import Counter
from collections.abc import Sequence

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.text import ascii_slug

_FEWEST = 5
"""Words in an id, where a rule has as many."""

_LONGEST = 60
_WORD = re.compile(r"\w+")


def ids_for(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Give each text an id of its own; `known` holds those that are fixed already, "" for the others."""
    fixed = {one for one in known if one}
    words = [[word for word in _words(text) if not any(map(str.isdigit, word))] or ["policy"] for text in texts]
    sizes = [_FEWEST] * len(texts)
    while True:
        slugs = [one or _slug(own[:size]) for one, own, size in zip(known, words, sizes, strict=True)]
        uses = Counter(slugs)
        clashing = [
            index
            for index, slug in enumerate(slugs)
            if not known[index] and (slug in fixed or uses[slug] > 1) and sizes[index] < len(words[index])
        ]
        if not clashing:
            return _numbered(slugs, known)
        for index in clashing:
            sizes[index] += 1


def key_of(text: str) -> str:
    """Give what two statements of one rule share: their words in order, without case and marks."""
    return " ".join(_words(text))


def word_set(text: str) -> frozenset[str]:
    """Give the words of a text."""
    return frozenset(_words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _slug(words: Sequence[str]) -> str:
    text = "-".join(words)
    if not any(char.isascii() for char in text.replace("-", "")):
        return f"policy-{digest(text)[:8]}"  # no letter of it may stand in an id
    return ascii_slug(text)[:_LONGEST].strip("-.")


def _numbered(slugs: Sequence[str], known: Sequence[str]) -> list[str]:
    """Tell apart what no word does, by a number."""
    used = {one for one in known if one}
    found = []
    for slug, fixed in zip(slugs, known, strict=True):
        name, number = slug, 2
        while not fixed and name in used:
            name, number = f"{slug}-{number}", number + 1
        used.add(name)
        found.append(name)
    return found
