"""What a policy's words are about beside the request itself: whose things they are, what the user answers, what breaks.

Each is something that an event can bring about and that calls, state or words then decide, so that fewer policies are
left to a judge. Words are data (`lexicon/*.toml`, `[occasions]`).
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.generation.policies.events.language import Lexicon, language_of, lexicon
from pytest_agentbench.generation.policies.values import ExtractedPolicy

OccasionKind = Literal["stranger", "second", "declined", "failing", "corrected", "unproven", "telling", "sourced"]
"""What happens: the request is about somebody else's row (`stranger`), or somebody else's whom the user can identify
(`second`); the user says no to what the agent proposes; the tool fails; the user corrects a detail; the user offers no
proof of who it is; something has to be told; only what tools say may be told."""

OWN_REQUEST: tuple[OccasionKind, ...] = ("stranger", "second", "declined", "failing")
"""Kinds that take a request of their own; the others colour one that is made anyway."""

_LIST = re.compile(r"\((?P<list>[^()]{3,200})\)")
_PARTS = re.compile(r"\s*(?:,|;|\bor\b|\band\b|\bou\b|\bet\b)\s*")


class Occasion(Model):
    """One thing that an event brings about for a policy; `evidence` quotes the words or names the rule."""

    policy: str
    kind: OccasionKind
    evidence: str


def occasions_of(policy: ExtractedPolicy, rule: Policy | None = None) -> tuple[Occasion, ...]:
    """Find what a policy is about beside the request; in the order in which an event can bring it about."""
    words = lexicon(language_of(policy.text))
    found: dict[OccasionKind, str] = {}
    for kind, evidence in _by_rule(rule.rule if rule else None):
        found.setdefault(kind, evidence)
    for kind, evidence in _by_words(policy.text, words):
        found.setdefault(kind, evidence)
    return tuple(Occasion(policy=policy.id, kind=kind, evidence=evidence) for kind, evidence in found.items())


def _by_words(text: str, words: Lexicon) -> list[tuple[OccasionKind, str]]:
    found: list[tuple[OccasionKind, str]] = []

    def said(kind: OccasionKind, cue: str) -> bool:
        match = words.occasions[cue].search(text)
        if match is not None:
            found.append((kind, f"says {match[0]!r}"))
        return match is not None

    is_second = said("second", "second")
    if not is_second:
        said("stranger", "ownership")
    said("declined", "consent")
    if words.occasions["saying"].search(text) is not None:
        said("failing", "failure")
    said("corrected", "correction")
    if words.has("sequence", text) or words.has("negation", text):
        said("unproven", "proof")
    if not any(kind == "failing" for kind, _ in found):
        said("sourced", "source")
    if words.occasions["saying"].search(text) is not None or _names_things(text):
        said("telling", "amount")
    return found


def _names_things(text: str) -> bool:
    return re.match(r"(?:Name|List|Give|Show|Confirm|Report|State|Repeat|Summari[sz]e)\b", text) is not None


def _by_rule(rule: Mapping[str, Any] | None) -> list[tuple[OccasionKind, str]]:
    """Read the occasions that a machine-checked rule speaks of outright."""
    found: list[tuple[OccasionKind, str]] = []
    for name, value in _keys(rule or {}):
        if name == "confirm_before" or (name == "confirmed" and value is True):
            found.append(("declined", "its rule waits for a yes"))
        if name == "failed" and value is True:
            found.append(("failing", "its rule is about calls that fail"))
    return found


def _keys(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [pair for name, inner in value.items() for pair in ((str(name), inner), *_keys(inner))]
    if isinstance(value, list | tuple):
        return [pair for inner in value for pair in _keys(inner)]
    return []


def topics_of(text: str) -> tuple[str, ...]:
    """Give what a policy lists as cases, in parentheses or behind *such as*: what a request in words may be about."""
    words = lexicon(language_of(text))
    listed = [match["list"] for match in _LIST.finditer(text)]
    cues = words.occasions["topics"].finditer(text)
    listed += [re.split(r"[.;:()]", text[match.end() :], maxsplit=1)[0] for match in cues]
    parts = [part.strip() for one in listed for part in _PARTS.split(words.occasions["topics"].sub("", one))]
    return tuple(dict.fromkeys(part for part in parts if 3 <= len(part) <= 40 and not any(map(str.isdigit, part))))
