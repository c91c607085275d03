"""The policy graph (§3.1.1): which policies matter in one conversation, and how hard each is to keep.

Weights come from what policies share (words, tools, the flow they stand in), or from a model (`graph_model.py`), and
are corrected by real conversations and challenges by earlier results (`learned.py`).
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import networkx

from pytest_agentbench.core.base import Model
from pytest_agentbench.generation.drawing import Drawing, DrawnEdge, DrawnNode
from pytest_agentbench.generation.policies.extraction.extraction import GENERAL
from pytest_agentbench.generation.policies.extraction.identity import word_set
from pytest_agentbench.generation.policies.extraction.language import stem
from pytest_agentbench.generation.policies.values import (
    MOST_LIKELY,
    ExtractedPolicy,
    Extraction,
    PolicyEdge,
    PolicyGraph,
)

_BASE = 2.0
"""The weight of two policies that share nothing: any two may come up in one conversation, few do.

In IntellAgent's shipped graphs half of all pairs have 2 or 3.
"""

_SAME_FLOW, _GENERAL, _SAME_TOOL = 2.5, 1.5, 3.0
"""What a shared flow, a rule for every conversation, and a shared tool add. Shared words give the rest."""

_WORDS = 3.0

_COMMON = 0.35
"""Share of policies from which a word says nothing about which of them go together."""


class ToolWords(Model):
    """A tool as far as policies can be about it: its name, and words of its description and arguments."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()


class GraphInput(Model):
    """What a graph is made from: policies, and the tools of the environment, which policies are found to be about.

    `entities` are names that also tie policies together (tables, objects of the service).
    """

    extraction: Extraction
    tools: tuple[ToolWords, ...] = ()
    entities: tuple[str, ...] = ()


class SharedWeights:
    """Scores pairs by what they share: no model, the same for the same policies."""

    async def __call__(self, given: GraphInput, /) -> PolicyGraph:
        """Give the graph; every pair has an edge."""
        return shared_graph(given)


def shared_graph(given: GraphInput) -> PolicyGraph:
    """Weigh every pair of policies by shared flow, tools and words; rare words count for more than common ones."""
    policies = given.extraction.policies
    tools = policy_tools(policies, given.tools)
    words = [_words(one, given.entities) for one in policies]
    rarity = _rarity(words)
    edges = []
    for one, other in combinations(range(len(policies)), 2):
        edges.append(_edge(policies[one], policies[other], words[one] & words[other], tools, rarity))
    return PolicyGraph(
        policies=policies,
        edges=tuple(edges),
        weights="shared",
        tools=tools,
        document_hash=given.extraction.document_hash,
    )


def as_networkx(graph: PolicyGraph) -> "networkx.Graph[str]":
    """Give the graph as networkx has it: nodes with `challenge`, `category`, `text`, edges with `weight`, no zeros."""
    made: networkx.Graph[str] = networkx.Graph()
    for policy in graph.policies:
        made.add_node(policy.id, challenge=policy.challenge, category=policy.category, text=policy.text)
    made.add_weighted_edges_from((edge.source, edge.target, edge.weight) for edge in graph.edges if edge.weight > 0)
    return made


def drawing_of(graph: PolicyGraph, *, at_least: float = 5.0) -> Drawing:
    """Give the graph to draw: policies framed by flow, edges of at least a weight, since all would hide each other."""
    nodes = tuple(
        DrawnNode(
            id=one.id,
            label=one.text,
            group=one.flows[0] if one.flows else "",
            note=f"{one.id}, challenge {one.challenge}",
        )
        for one in graph.policies
    )
    edges = tuple(
        DrawnEdge(source=edge.source, target=edge.target, label=f"{edge.weight:g}", strength=edge.weight / MOST_LIKELY)
        for edge in graph.edges
        if edge.weight >= at_least
    )
    return Drawing(name="policies", nodes=nodes, edges=edges, directed=False)


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


def _words(policy: ExtractedPolicy, entities: Sequence[str]) -> frozenset[str]:
    named = {stem(word) for entity in entities for word in _name_words(entity)}
    own = word_set(policy.text)
    # headings speak for the policy where its own words are few
    above = word_set(" ".join(policy.under)) if len(own) < 6 else frozenset()
    return own | above | (named & {stem(word) for word in policy.text.lower().split()})


def _rarity(words: Sequence[Collection[str]]) -> dict[str, float]:
    counts = Counter(word for own in words for word in own)
    most = max(2.0, _COMMON * len(words))
    top = math.log(1 + len(words) / 2)
    return {word: math.log(1 + len(words) / count) / top for word, count in counts.items() if 1 < count <= most}


def _edge(
    one: ExtractedPolicy,
    other: ExtractedPolicy,
    words: Collection[str],
    tools: Mapping[str, tuple[str, ...]],
    rarity: Mapping[str, float],
) -> PolicyEdge:
    shared_tools = sorted(set(tools.get(one.id, ())) & set(tools.get(other.id, ())))
    telling = sorted(words & rarity.keys(), key=lambda word: (-rarity[word], word))
    flows = sorted(set(one.flows) & set(other.flows) - {GENERAL})
    general = GENERAL in one.flows or GENERAL in other.flows
    points = (
        _BASE
        + (_SAME_FLOW if flows else _GENERAL if general else 0)
        + (_SAME_TOOL if shared_tools else 0)
        + _WORDS * min(1.0, math.fsum(rarity[word] for word in telling) / 2)
    )
    via = (*(f"flow {name}" for name in flows), *(f"tool {name}" for name in shared_tools), *telling[:5])
    return PolicyEdge(source=one.id, target=other.id, weight=round(min(float(MOST_LIKELY), points), 2), via=via)
