"""The policy graph (§3.1.1): which policies matter in one conversation, and how hard each is to keep.

Weights come from what policies share (headings, tools, columns), or from a model (`graph_model.py`), and are corrected
by real conversations and challenges by earlier results (`learned.py`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.drawing import Drawing, DrawnEdge, DrawnNode
from pytest_agentbench.generation.policies.extraction.extraction import GENERAL, ids_for_titles
from pytest_agentbench.generation.policies.extraction.identity import ids_for
from pytest_agentbench.generation.policies.values import (
    MOST_LIKELY,
    ExtractedPolicy,
    Extraction,
    PolicyEdge,
    PolicyGraph,
)
from pytest_agentbench.suites.intellagent.intellagent import ForeignGraph

if TYPE_CHECKING:
    import networkx

_BASE = 2.0
"""The weight of two policies that share nothing: any two may come up in one conversation, few do.

In IntellAgent's shipped graphs half of all pairs have 2 or 3.
"""

_SHARED = {"heading": 2.5, "tool": 3.0, "column": 1.5}
"""What the first shared heading, tool and column add; a second of a kind adds half as much, a third a quarter."""

_GENERAL = 1.5
"""What a rule for every conversation adds."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMPOUND = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z0-9][A-Z]")
"""`order_id`, `orderId`: a name that no prose holds by chance."""

_CALLS = ("calls", "first")
_COLUMNS = ("where", "arguments", "result", "value", "at", "same", "per", "stating", "sum")


class GraphInput(Model):
    """What a graph is made from: policies, the tools of the environment, and the columns of its tables by name."""

    extraction: Extraction
    tools: tuple[ToolSpec, ...] = ()
    columns: tuple[str, ...] = ()


def shared_graph(given: GraphInput) -> PolicyGraph:
    """Weigh every pair of policies by the headings, tools and columns that both have."""
    policies = given.extraction.policies
    tools = {one.id: policy_tools(one, given.tools) for one in policies}
    features = [_features(one, tools[one.id], given) for one in policies]
    edges = tuple(
        _edge(policies[one], policies[other], features[one] & features[other])
        for one, other in combinations(range(len(policies)), 2)
    )
    return PolicyGraph(
        policies=policies,
        edges=edges,
        weights="shared",
        tools={name: found for name, found in tools.items() if found},
        document_hash=given.extraction.document_hash,
    )


def policy_tools(policy: ExtractedPolicy, tools: Iterable[ToolSpec]) -> tuple[str, ...]:
    """Find the tools that a policy is about: those that it lists, those of its rule, those that its text names."""
    listed = {*policy.tools, *_named(policy.rule, _CALLS), *_IDENTIFIER.findall(policy.text)}
    return tuple(one.name for one in tools if one.name in listed)


def of_foreign(foreign: ForeignGraph) -> PolicyGraph:
    """Give a graph that IntellAgent saved as one of ours."""
    flows = list(dict.fromkeys(one.flow for one in foreign.policies))
    flow_ids = dict(zip(flows, ids_for_titles(flows), strict=True))
    ids = ids_for([one.text for one in foreign.policies], [""] * len(foreign.policies))
    policies = tuple(
        ExtractedPolicy(
            id=name, text=one.text, challenge=one.score or 1, category=one.category, flows=(flow_ids[one.flow],)
        )
        for one, name in zip(foreign.policies, ids, strict=True)
    )
    edges = tuple(PolicyEdge(source=ids[one], target=ids[other], weight=w) for one, other, w in foreign.edges)
    return PolicyGraph(policies=policies, edges=edges, weights="given", challenges="given")


def as_networkx(graph: PolicyGraph) -> "networkx.Graph[str]":
    """Give the graph as networkx has it: nodes with `challenge`, `category`, `text`, edges with `weight`, no zeros."""
    import networkx  # noqa: PLC0415 - only graphs need it

    made: networkx.Graph[str] = networkx.Graph()
    for policy in graph.policies:
        made.add_node(policy.id, challenge=policy.challenge, category=policy.category, text=policy.text)
    made.add_weighted_edges_from(
        (edge.source, edge.target, edge.weight)
        for edge in graph.edges
        if edge.weight > 0 and edge.source != edge.target
    )
    return made


def drawing_of(graph: PolicyGraph, *, at_least: float = 5.0) -> Drawing:
    """Give the graph to draw: policies framed by flow, edges of at least a weight, since all would hide each other."""
    nodes = tuple(
        DrawnNode(
            id=one.id,
            label=one.text,
            group=one.flows[0] if one.flows else "",
            note=f"{one.id}, challenge {one.challenge or '–'}",
        )
        for one in graph.policies
    )
    edges = tuple(
        DrawnEdge(source=edge.source, target=edge.target, label=f"{edge.weight:g}", strength=edge.weight / MOST_LIKELY)
        for edge in graph.edges
        if edge.weight >= at_least
    )
    return Drawing(name="policies", nodes=nodes, edges=edges, directed=False)


def _features(policy: ExtractedPolicy, tools: Sequence[str], given: GraphInput) -> frozenset[tuple[str, str]]:
    arguments = {name for one in given.tools for name in one.arguments or ()}
    known = {*given.columns, *arguments}
    columns = {name for name in _IDENTIFIER.findall(policy.text) if name in known and _COMPOUND.search(name)}
    columns |= _named(policy.rule, _COLUMNS) & known
    headings = {*policy.under, *(name for name in policy.flows if name != GENERAL and not policy.under)}
    return frozenset(
        (kind, name) for kind, names in (("heading", headings), ("tool", tools), ("column", columns)) for name in names
    )


def _named(form: Any, keys: Sequence[str], inside: bool = False) -> set[str]:
    """Give the names below the `keys` of a rule: keys of mappings and texts, at any depth."""
    found: set[str] = set()
    if isinstance(form, Mapping):
        for key, item in form.items():
            found |= {key} if inside else set()
            found |= _named(item, keys, inside or key in keys)
    elif isinstance(form, list | tuple):
        for item in form:
            found |= _named(item, keys, inside)
    elif isinstance(form, str) and inside:
        found.add(form)
    return found


def _edge(one: ExtractedPolicy, other: ExtractedPolicy, shared: Iterable[tuple[str, str]]) -> PolicyEdge:
    via = sorted(shared)
    points = _BASE
    for kind, worth in _SHARED.items():
        count = sum(kind == found for found, _ in via)
        points += worth * (2 - 0.5 ** (count - 1)) if count else 0
    if GENERAL in (*one.flows, *other.flows):
        points += _GENERAL
    weight = round(min(float(MOST_LIKELY), points), 2)
    return PolicyEdge(source=one.id, target=other.id, weight=weight, via=tuple(f"{kind} {name}" for kind, name in via))
