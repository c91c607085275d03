"""Ids of policies that survive small edits, and two versions of a document: what is new, gone or changed.

An id is made of the first words of a rule, without numbers, so that an amount may be edited. Where rules share those
words, more of them are taken until they differ.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, Extraction

_FEWEST = 5
"""Words in an id, where a rule has as many."""

_LONGEST = 60

_ALIKE = 0.5
"""Share of common words (of all words of both) from which two policies are versions of one."""

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

What = Literal["new", "gone", "marks", "numbers", "words", "challenge", "rule"]
"""marks: case and punctuation alone. numbers: an amount. words: any word. challenge, rule: what the machine reads."""


def ids_for(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Give each text an id of its own; `known` holds those that are fixed already, "" for the others."""
    words = [[word for word in _words(text) if not any(map(str.isdigit, word))] or ["policy"] for text in texts]
    sizes = [_FEWEST] * len(texts)
    while True:
        slugs = [one or _slug(own[:size]) for one, own, size in zip(known, words, sizes, strict=True)]
        uses = Counter(slugs)
        clashing = [
            at for at, slug in enumerate(slugs) if not known[at] and uses[slug] > 1 and sizes[at] < len(words[at])
        ]
        if not clashing:
            return _numbered(slugs, known)
        for at in clashing:
            sizes[at] += 1


def ids_for_titles(titles: Sequence[str]) -> list[str]:
    """Give each title of a flow an id of its own."""
    return _numbered([ascii_slug(title.lower())[:_LONGEST].strip("-.") for title in titles], [""] * len(titles))


def key_of(text: str) -> str:
    """Give what two statements of one rule share: their words in order, without case and marks."""
    return " ".join(_words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _slug(words: Sequence[str]) -> str:
    text = "-".join(words)
    if not any(char.isascii() for char in text.replace("-", "")):
        return f"policy-{digest(text)[:8]}"  # no letter of it may stand in an id
    return ascii_slug(text)[:_LONGEST].strip("-.")


def _numbered(slugs: Sequence[str], known: Sequence[str]) -> list[str]:
    """Tell apart what no word does, by a number."""
    used, numbers = {one for one in known if one}, Counter[str]()
    found = []
    for slug, fixed in zip(slugs, known, strict=True):
        name = slug
        while not fixed and name in used:
            numbers[slug] += 1
            name = f"{slug}-{numbers[slug] + 1}"
        used.add(name)
        found.append(name)
    return found


@dataclass(frozen=True)
class Change:
    """A policy in two versions of a document; None where there was none before, or is none any more."""

    before: ExtractedPolicy | None
    after: ExtractedPolicy | None

    @property
    def what(self) -> tuple[What, ...]:
        """What differs; nothing where it is the same."""
        old, new = self.before, self.after
        if old is None or new is None:
            return ("new",) if old is None else ("gone",)
        numbers = sorted(_NUMBER.findall(old.text)) != sorted(_NUMBER.findall(new.text))
        words = key_of(_NUMBER.sub("", old.text)) != key_of(_NUMBER.sub("", new.text))
        differs: dict[What, bool] = {
            "numbers": numbers,
            "words": words,
            "marks": not (numbers or words) and old.text != new.text,
            "challenge": old.challenge != new.challenge,
            "rule": old.rule != new.rule,
        }
        return tuple(what for what, is_so in differs.items() if is_so)

    @property
    def matters(self) -> bool:
        """Whether a scenario written for the old version may be wrong for the new one."""
        return bool(set(self.what) & {"numbers", "words", "rule", "gone"})


def diff(before: Extraction, after: Extraction) -> list[Change]:
    """Compare two extractions by what their policies say; ids need not agree, order and places do not matter."""
    old, new = before.policies, after.policies
    pairs = _pairs(old, new)
    found = [Change(one, new[pairs[at]] if at in pairs else None) for at, one in enumerate(old)]
    return [*found, *(Change(None, one) for at, one in enumerate(new) if at not in pairs.values())]


def invalidated(changes: Iterable[Change], scenarios: Iterable[Scenario]) -> dict[str, list[str]]:
    """Give the scenarios that list a policy which is gone, or which changed in more than its wording, and why."""
    reasons = {
        one.before.id: f"{one.before.id!r} changed ({', '.join(one.what)})"
        if one.after is not None
        else f"{one.before.id!r} is gone from the document"
        for one in changes
        if one.before is not None and one.matters
    }
    found = {one.id: [reasons[name] for name in one.policies if name in reasons] for one in scenarios}
    return {scenario: why for scenario, why in found.items() if why}


def carried_ids(before: Sequence[ExtractedPolicy], after: Sequence[ExtractedPolicy]) -> list[str]:
    """Give each policy of `after` the id of its earlier version; else its own, "" where it has none."""
    ids = [one.id for one in after]
    for old, new in _pairs(before, after).items():
        ids[new] = ids[new] or before[old].id
    return ids


def _pairs(before: Sequence[ExtractedPolicy], after: Sequence[ExtractedPolicy]) -> dict[int, int]:
    """Pair equal texts first, then equal ids, then the most alike; a policy stands in one pair at most."""
    pairs: dict[int, int] = {}
    same: dict[str, list[int]] = {}
    for new, one in enumerate(after):
        same.setdefault(key_of(one.text), []).append(new)
    for old, one in enumerate(before):
        if equal := same.get(key_of(one.text)):
            pairs[old] = equal.pop(0)
    free = set(range(len(after))) - set(pairs.values())
    words = {new: set(_words(after[new].text)) for new in free}
    ranked = []
    for old, one in enumerate(before):
        mine = set(_words(one.text)) if old not in pairs else set()
        for new in free if old not in pairs else ():
            alike = len(mine & words[new]) / len(mine | words[new]) if mine | words[new] else 0.0
            named = one.id == after[new].id
            if alike >= (_ALIKE / 2 if named else _ALIKE):
                ranked.append((-(alike + named), old, new))
    for _, old, new in sorted(ranked):
        if old not in pairs and new in free:
            pairs[old] = new
            free.discard(new)
    return pairs
