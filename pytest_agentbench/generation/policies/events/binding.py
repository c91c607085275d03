"""Which tools a policy is about, with evidence: its rule names them, its words name them, or describe what they do."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from pytest_agentbench.checks.rules import AllOf, AnyOf, Before, Rule, When, read_rule, tools_of
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.policies.events.conditions import limits_on
from pytest_agentbench.generation.policies.events.language import content_words, stem
from pytest_agentbench.generation.policies.values import ExtractedPolicy

_COMMON = 3
"""Tools in whose words one may stand and still tell something, or a quarter of them."""


_WORD = re.compile(r"[^\W\d_]+")
_DOUBLED = re.compile(r"([bdglmnprt])\1$")
"""How English writes what ends in one consonant before an ending: cancelled, booked on a plan, planning."""
_ACT_NOUN = re.compile(r"(?:ment|ion|al)$")
_SHORT = 5
"""Letters up to which a stem has no ending to cut."""
_FEW = 2
"""Tools that may share a word which still tells them from the others."""
_LOOKS = frozenset(
    map(
        stem,
        ("get", "find", "list", "search", "look", "lookup", "show", "read", "fetch", "check", "calculate", "think"),
    )
)


class ToolWords(Model):
    """A tool as far as policies can be about it: its name, and words of its description and arguments."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()


class Bound(Model):
    """A tool that a policy is about, and what shows it; `by_rule` is the strongest."""

    tool: str
    evidence: str
    by_rule: bool = False


def bound_tools(
    policies: Sequence[ExtractedPolicy], rules: Mapping[str, Policy], tools: Sequence[ToolSpec]
) -> dict[str, tuple[Bound, ...]]:
    """Find the tools of each policy; a policy without any is not in the result."""
    words = [ToolWords(name=one.name, description=one.description) for one in tools]
    named = policy_tools(policies, words)
    own = {one.name: _roots(f"{humanize(one.name)} {one.description}") for one in tools}
    uses = Counter(word for found in own.values() for word in found)
    most = max(_COMMON, len(tools) // 4)
    verbs = Counter(_verb(one.name) for one in tools)
    bound: dict[str, tuple[Bound, ...]] = {}
    for policy in policies:
        found: dict[str, Bound] = {}
        for tool in _of_rule(rules.get(policy.id), tools):
            found[tool] = Bound(tool=tool, evidence="its rule is about this tool", by_rule=True)
        for tool in named.get(policy.id, ()):
            found.setdefault(tool, Bound(tool=tool, evidence=f"its words name {humanize(tool)}"))
        said = _roots(policy.text)
        for spec in tools:
            shared = sorted(word for word in said & own[spec.name] if uses[word] <= most)
            things = _roots(humanize(spec.name).partition(" ")[2] or spec.name)
            if spec.name not in found and len(shared) >= 2 and things & said:
                found[spec.name] = Bound(tool=spec.name, evidence=f"its words describe it: {', '.join(shared[:4])}")
        acts = {**_by_argument(policy, tools), **_by_act(policy, tools, verbs)}
        for tool, evidence in acts.items():
            found.setdefault(tool, Bound(tool=tool, evidence=evidence))
        if found:
            bound[policy.id] = tuple(found[name] for name in sorted(found))
    return bound


def _by_act(policy: ExtractedPolicy, tools: Sequence[ToolSpec], verbs: Counter[str]) -> dict[str, str]:
    """Find tools by their act: the policy, or a heading above it, has the verb, and few tools do what it says.

    Where several tools share a verb, what they do it to must be named too. Verbs of looking up bind nothing: hardly
    any policy is about looking alone.
    """
    text = _stems(policy.text)
    above = _stems(" ".join((*policy.under, *policy.flows)))
    found = {}
    for spec in tools:
        verb = _verb(spec.name)
        things = _stems(humanize(spec.name)) - {verb}
        if spec.kind == "read" or verb in _LOOKS or verb not in text | above:
            continue
        shared = sorted(things & (text | above))
        telling = [word for word in shared if sum(word in _stems(humanize(one.name)) for one in tools) <= _FEW]
        if verbs[verb] <= _FEW or telling:
            where = "it says" if verb in text else "it stands under a heading that says"
            found[spec.name] = f"{where} {' '.join((verb, *shared))}"
    return found


def _by_argument(policy: ExtractedPolicy, tools: Sequence[ToolSpec]) -> dict[str, str]:
    """Find tools that take a number of what a policy limits: `three packs at most` is about what orders packs."""
    counted: dict[str, list[str]] = {}
    for spec in tools:
        properties = spec.parameters.get("properties", {}) if spec.kind != "read" else {}
        for name, form in properties.items():
            if isinstance(form, Mapping) and form.get("type") == "integer" and limits_on(policy.text, name):
                counted.setdefault(humanize(name).split()[-1], []).append(spec.name)
    return {
        tool: f"it limits the {noun} that it takes"
        for noun, names in counted.items()
        if len(names) <= _FEW
        for tool in names
    }


def _roots(text: str) -> frozenset[str]:
    """Give the stems of the words that carry meaning, nouns of an act as the act: a payment is what is paid."""
    return frozenset(_ACT_NOUN.sub("", word) if len(word) > _SHORT else word for word in word_set(text))


def _verb(name: str) -> str:
    return stem(humanize(name).partition(" ")[0])


def _stems(text: str) -> set[str]:
    found = {stem(word) for word in _WORD.findall(text.lower().replace("_", " ").replace("-", " ")) if len(word) > 2}
    return found | {_DOUBLED.sub(r"\1", word) for word in found}


def prerequisites(rules: Mapping[str, Policy]) -> list[Before]:
    """Give the rules that want one call before another, also those that a trigger sets off."""
    return [part for policy in rules.values() if policy.rule for part in parts_of(read_rule(policy.rule))]


def parts_of(rule: Rule) -> list[Before]:
    """Give the `before` parts of a rule that always hold."""
    match rule:
        case Before():
            return [rule]
        case AllOf():
            return [part for one in rule.rules for part in parts_of(one)]
        case _:
            return []


def _of_rule(policy: Policy | None, tools: Sequence[ToolSpec]) -> list[str]:
    if policy is None or not policy.rule:
        return []
    return sorted(set(_named(read_rule(policy.rule), tools)))


def _named(rule: Rule, tools: Sequence[ToolSpec]) -> list[str]:
    names = [one.name for one in tools]
    match rule:
        case When():
            return [*_plain(tools_of(rule), tools), *_named(rule.then, tools)]
        case AllOf() | AnyOf():
            return [name for one in rule.rules for name in _named(one, tools)]
        case Before():
            return [*_plain(tools_of(rule), tools), *(name for name in rule.first if name in names)]
        case _:
            return _plain(tools_of(rule), tools)


def _plain(found: set[str], tools: Sequence[ToolSpec]) -> list[str]:
    if "any" in found:
        return [one.name for one in tools]
    writes = {one.name for one in tools if one.kind == "write"} if "writes" in found else set()
    return [one.name for one in tools if one.name in found | writes]


def policy_tools(policies: Sequence[ExtractedPolicy], tools: Sequence[ToolWords]) -> dict[str, tuple[str, ...]]:
    """Find the tools that each policy is about: named outright, or all words of the tool's name stand in the policy."""
    names = {tool.name: [stem(word) for word in _name_words(tool.name)] for tool in tools}
    uses = Counter(word for words in names.values() for word in words)
    found = {}
    for policy in policies:
        text = " ".join((policy.text, *policy.under))
        own = word_set(text) | {stem(word) for word in text.lower().split()}
        about = tuple(
            name for name, words in names.items() if name.lower() in text.lower() or (words and _told(words, own, uses))
        )
        if about:
            found[policy.id] = about
    return found


def _told(words: Sequence[str], own: Collection[str], uses: Counter[str]) -> bool:
    """Whether a policy names what a tool does: the act and the thing, whatever else its name says."""
    telling = [word for word in words if uses[word] < 3] or list(words)
    return set(words[:1]) <= set(own) and any(word in own for word in telling[-2:] if word != words[0])


def _name_words(name: str) -> list[str]:
    parts: list[str] = []
    for part in name.replace("-", "_").split("_"):
        start = 0
        for at in range(1, len(part)):
            if part[at].isupper() and part[at - 1].islower():
                parts.append(part[start:at])
                start = at
        parts.append(part[start:])
    return [part.lower() for part in parts if len(part) > 2]


def word_set(text: str) -> frozenset[str]:
    """Give the stems of the words that carry meaning."""
    return frozenset(stem(word) for word in content_words(text))
