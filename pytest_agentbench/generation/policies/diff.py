"""Two versions of a document: which policies are new, gone or changed, and which scenarios that makes invalid."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.generation.policies.extraction.identity import key_of, word_set
from pytest_agentbench.generation.policies.values import ExtractedPolicy, Extraction

_ALIKE = 0.5
"""Share of common words (of all words of both) from which two policies are versions of one."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

What = Literal["marks", "numbers", "words", "challenge", "rule"]
"""marks: case and punctuation alone. numbers: an amount. words: any word. challenge, rule: what the machine reads."""


class Change(Model):
    """One policy in two versions, and what differs."""

    before: ExtractedPolicy
    after: ExtractedPolicy
    what: tuple[What, ...]

    @property
    def matters(self) -> bool:
        """Whether a scenario written for the old version may be wrong for the new one."""
        return bool(set(self.what) & {"numbers", "words", "rule"})


class PolicyDiff(Model):
    """What became of the policies of a document; `unchanged` are ids."""

    unchanged: tuple[str, ...] = ()
    changed: tuple[Change, ...] = ()
    added: tuple[ExtractedPolicy, ...] = ()
    removed: tuple[ExtractedPolicy, ...] = ()


class Invalidated(Model):
    """A scenario that rests on policies which are gone or mean something else now; `reasons` has one for each."""

    scenario: str
    policies: tuple[str, ...]
    reasons: tuple[str, ...]


def diff(before: Extraction, after: Extraction) -> PolicyDiff:
    """Compare two extractions by what their policies say; ids need not agree, order and places do not matter."""
    pairs = _pairs(before.policies, after.policies)
    unchanged: list[str] = []
    changed: list[Change] = []
    for old, new in sorted(pairs.items()):
        what = _what(before.policies[old], after.policies[new])
        if what:
            changed.append(Change(before=before.policies[old], after=after.policies[new], what=what))
        else:
            unchanged.append(after.policies[new].id)
    taken = set(pairs.values())
    return PolicyDiff(
        unchanged=tuple(unchanged),
        changed=tuple(changed),
        added=tuple(one for index, one in enumerate(after.policies) if index not in taken),
        removed=tuple(one for index, one in enumerate(before.policies) if index not in pairs),
    )


def invalidated(found: PolicyDiff, scenarios: Iterable[Scenario]) -> tuple[Invalidated, ...]:
    """Give the scenarios that list a policy which is gone, or which changed in more than its wording."""
    reasons = {one.id: f"{one.id!r} is gone from the document" for one in found.removed}
    for change in found.changed:
        if change.matters:
            reasons[change.before.id] = f"{change.before.id!r} changed ({', '.join(change.what)})"
    listed = []
    for scenario in scenarios:
        hit = [policy for policy in scenario.policies if policy in reasons]
        if hit:
            listed.append(
                Invalidated(scenario=scenario.id, policies=tuple(hit), reasons=tuple(reasons[policy] for policy in hit))
            )
    return tuple(listed)


def carried_ids(before: Sequence[ExtractedPolicy], after: Sequence[ExtractedPolicy]) -> list[str]:
    """Give each policy of `after` the id of its earlier version; else its own, "" where it has none."""
    ids = [one.id for one in after]
    for old, new in _pairs(before, after).items():
        ids[new] = ids[new] or before[old].id
    return ids


def _pairs(before: Sequence[ExtractedPolicy], after: Sequence[ExtractedPolicy]) -> dict[int, int]:
    """Pair equal texts first, then equal ids, then the most alike; a policy stands in one pair at most."""
    pairs: dict[int, int] = {}
    _pair_by(pairs, [key_of(one.text) for one in before], [key_of(one.text) for one in after])
    left = [word_set(one.text) for one in before]
    right = [word_set(one.text) for one in after]
    free = set(range(len(after))) - set(pairs.values())
    same_id = {one.id: index for index, one in enumerate(after) if one.id and index in free}
    ranked = []
    for old, one in enumerate(before):
        if old in pairs:
            continue
        for new in sorted(free):
            alike = _alike(left[old], right[new])
            named = same_id.get(one.id) == new
            if alike >= _ALIKE or (named and alike >= _ALIKE / 2):
                ranked.append((-(alike + named), old, new))
    for _, old, new in sorted(ranked):
        if old not in pairs and new in free:
            pairs[old] = new
            free.discard(new)
    return pairs


def _pair_by(pairs: dict[int, int], before: Sequence[str], after: Sequence[str]) -> None:
    where: dict[str, list[int]] = {}
    for index, key in enumerate(after):
        where.setdefault(key, []).append(index)
    for index, key in enumerate(before):
        if where.get(key):
            pairs[index] = where[key].pop(0)


def _alike(left: frozenset[str], right: frozenset[str]) -> float:
    both = left | right
    return len(left & right) / len(both) if both else 0.0


def _what(old: ExtractedPolicy, new: ExtractedPolicy) -> tuple[What, ...]:
    found: list[What] = []
    if sorted(_NUMBER.findall(old.text)) != sorted(_NUMBER.findall(new.text)):
        found.append("numbers")
    if key_of(_NUMBER.sub("", old.text)) != key_of(_NUMBER.sub("", new.text)):
        found.append("words")
    if not found and old.text != new.text:
        found.append("marks")
    if old.challenge != new.challenge:
        found.append("challenge")
    if old.rule != new.rule:
        found.append("rule")
    return tuple(found)
