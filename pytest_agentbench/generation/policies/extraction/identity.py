"""Ids of policies that survive small edits, and when two of them are the same.

An id is made of the first words of a rule that carry meaning, so that numbers, modal verbs and what follows may be
edited. Where rules share those words, more of them are taken until they differ.
"""

import re
from collections.abc import Sequence

from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.generation.policies.extraction.language import content_words, stem

_FEWEST = 4
"""Words in an id, where a rule has as many."""

_ARTICLES = frozenset(
    re.findall(r"\w+", "the a an your their his her its this le la les l un une des du votre son sa ses leur leurs")
)


def ids_for(texts: Sequence[str], given: Sequence[str]) -> list[str]:
    """Give each text an id of its own; `given` holds those that are known already, "" for the others."""
    taken = {one for one in given if one}
    words = [list(dict.fromkeys(content_words(text))) or text.split() for text in texts]
    sizes = [_FEWEST] * len(texts)
    while True:
        slugs = [known or _slug(own[:size]) for known, own, size in zip(given, words, sizes, strict=True)]
        uses = {slug: slugs.count(slug) for slug in set(slugs)}
        clashing = [
            index
            for index, slug in enumerate(slugs)
            if not given[index] and (slug in taken or uses[slug] > 1) and sizes[index] < len(words[index])
        ]
        if not clashing:
            return _numbered(slugs, given)
        for index in clashing:
            sizes[index] += 1


def key_of(text: str) -> str:
    """Give what two statements of one rule share: their words, in order, without case, marks and articles."""
    plain = "".join(char.lower() if char.isalnum() else " " for char in text)
    return " ".join(stem(word) for word in plain.split() if word not in _ARTICLES)


def word_set(text: str) -> frozenset[str]:
    """Give the stems of the words that carry meaning."""
    return frozenset(stem(word) for word in content_words(text))


def _slug(words: Sequence[str]) -> str:
    return ascii_slug("-".join(words).lower())[:60].strip("-.") or "policy"


def _numbered(slugs: Sequence[str], given: Sequence[str]) -> list[str]:
    """Tell apart what no word does, by a number."""
    taken = {one for one in given if one}
    found = []
    for slug, known in zip(slugs, given, strict=True):
        name, number = slug, 2
        while not known and name in taken:
            name, number = f"{slug}-{number}", number + 1
        taken.add(name)
        found.append(name)
    return found
