"""The policy graph (§3.1.1): which policies matter in one conversation, and how hard each is to keep.

Weights come from what policies share (headings, tools, columns), or from a model, in blocks: one question scores up to
144 pairs, where IntellAgent asks one for each. What earlier runs show corrects them (future work of the paper, §5): it
is weighed against the graph as it was, as if that rested on some conversations too, so that a pair never seen together
is not thereby impossible.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from pytest_agentbench.core.errors import ResultsError, SuiteFaultError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.data_types import (
    MOST_LIKELY,
    NEVER,
    ExtractedPolicy,
    Extraction,
    PolicyEdge,
    PolicyGraph,
)
from pytest_agentbench.generation.policies.extraction import GENERAL
from pytest_agentbench.generation.policies.model_question import Answer, ask
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.results.document import read

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

BLOCK = 12
"""Policies on each side of one question."""

_ITSELF = -1

Pair = tuple[int, int]


def policy_tools(policy: ExtractedPolicy, tools: Iterable[ToolSpec]) -> tuple[str, ...]:
    """Find the tools that a policy is about: those that it lists, those of its rule, those that its text names."""
    listed = {*policy.tools, *_named(policy.rule, _CALLS), *_IDENTIFIER.findall(policy.text)}
    return tuple(one.name for one in tools if one.name in listed)


def shared_graph(extraction: Extraction, tools: Sequence[ToolSpec] = ()) -> PolicyGraph:
    """Weigh every pair of policies by the headings, tools and columns that both have."""
    features = [(one, _features(one, tools)) for one in extraction.policies]
    edges = [_edge(one, other, mine & theirs) for (one, mine), (other, theirs) in combinations(features, 2)]
    return _graph(extraction, tools, edges, "shared")


def _graph(
    extraction: Extraction, tools: Iterable[ToolSpec], edges: Iterable[PolicyEdge], weights: Literal["shared", "model"]
) -> PolicyGraph:
    about = {one.id: found for one in extraction.policies if (found := policy_tools(one, tools))}
    return PolicyGraph(
        policies=extraction.policies,
        edges=tuple(edges),
        tools=about,
        document_hash=extraction.document_hash,
        weights=weights,
    )


def _features(policy: ExtractedPolicy, tools: Sequence[ToolSpec]) -> frozenset[tuple[str, str]]:
    known = {name for one in tools for name in one.arguments or ()}
    found = {
        "heading": policy.under or [name for name in policy.flows if name != GENERAL],
        "tool": policy_tools(policy, tools),
        "column": {name for name in _IDENTIFIER.findall(policy.text) if name in known and _COMPOUND.search(name)}
        | (_named(policy.rule, _COLUMNS) & known),
    }
    return frozenset((kind, name) for kind, names in found.items() for name in names)


def _named(form: Any, keys: Sequence[str], inside: bool = False) -> set[str]:
    """Give the names below the `keys` of a rule: keys of mappings and texts, at any depth."""
    if isinstance(form, Mapping):
        below = (_named(item, keys, inside or key in keys) for key, item in form.items())
        return set().union(form if inside else (), *below)
    if isinstance(form, list | tuple):
        return set().union(*(_named(item, keys, inside) for item in form))
    return {form} if isinstance(form, str) and inside else set()


def _edge(one: ExtractedPolicy, other: ExtractedPolicy, shared: Collection[tuple[str, str]]) -> PolicyEdge:
    counts = Counter(kind for kind, _ in shared)
    points = _BASE + sum(worth * (2 - 0.5 ** (counts[kind] - 1)) for kind, worth in _SHARED.items() if counts[kind])
    if GENERAL in (*one.flows, *other.flows):
        points += _GENERAL
    weight = round(min(float(MOST_LIKELY), points), 2)
    return PolicyEdge(source=one.id, target=other.id, weight=weight, via=tuple(map(" ".join, sorted(shared))))


class ScoreRow(Answer):
    """The scores of one rule with each of the second list."""

    number: int = Field(description="the number of the rule of the first list")
    scores: list[int] = Field(description="0 to 10 for each number of the second list, in order; -1 for itself")


class ScoreRows(Answer):
    """One row for each rule of the first list."""

    rows: list[ScoreRow]


async def model_graph(
    extraction: Extraction, chat: Chat, random: Random, tools: Sequence[ToolSpec] = ()
) -> PolicyGraph:
    """Have a model score every pair, in `k·(k+1)/2` calls for k blocks of 12 policies; `random` gives the nonces.

    Raise `UnusableAnswerError` where an answer is refused twice.
    """
    policies = extraction.policies
    numbers = range(1, len(policies) + 1)
    blocks = [numbers[at : at + BLOCK] for at in range(0, len(policies), BLOCK)]

    async def scored(first: Sequence[int], second: Sequence[int]) -> dict[Pair, int]:
        listed = (
            f"{n}. [{', '.join(policies[n - 1].flows)}] {policies[n - 1].text}" for n in sorted({*first, *second})
        )
        answer = await ask(
            chat,
            ScoreRows,
            "edges.v1",
            data="\n".join(listed),
            random=random,
            faults=lambda answer: _faults(answer, first, second),
            values={"first": _listed(first), "second": _listed(second)},
        )
        seen: dict[Pair, list[int]] = {}
        for row in answer.rows:
            for other, score in zip(second, row.scores, strict=True):
                if row.number != other:
                    seen.setdefault((min(row.number, other), max(row.number, other)), []).append(score)
        # within a block each pair is scored twice, from both sides
        return {pair: round(sum(scores) / len(scores)) for pair, scores in seen.items()}

    questions = [pair for pair in combinations_with_replacement(blocks, 2) if len(pair[0]) > 1 or pair[0] != pair[1]]
    weights: dict[Pair, int] = {}
    for found in await asyncio.gather(*(scored(*pair) for pair in questions)):
        weights |= found
    edges = (
        PolicyEdge(source=policies[one - 1].id, target=policies[other - 1].id, weight=weight)
        for (one, other), weight in sorted(weights.items())
    )
    return _graph(extraction, tools, edges, "model")


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _faults(answer: ScoreRows, first: Sequence[int], second: Sequence[int]) -> list[str]:
    if sorted(row.number for row in answer.rows) != list(first):
        return [f"give one row for each of {_listed(first)}"]
    faults = []
    for row in answer.rows:
        if len(row.scores) != len(second):
            faults.append(f"row {row.number} has {len(row.scores)} scores for {len(second)} numbers")
            continue
        for other, score in zip(second, row.scores, strict=True):
            is_itself = other == row.number
            if not (score == _ITSELF if is_itself else NEVER <= score <= MOST_LIKELY):
                wanted = _ITSELF if is_itself else "0 to 10"
                faults.append(f"row {row.number}, number {other}: {score} is not {wanted}")
    return faults[:20]


def as_networkx(graph: PolicyGraph) -> "networkx.Graph[str]":
    """Give the graph as networkx has it: nodes with `challenge`, `category`, `text`, edges with `weight`, no zeros."""
    import networkx  # noqa: PLC0415 - only graphs need it

    net: networkx.Graph[str] = networkx.Graph()
    for policy in graph.policies:
        net.add_node(policy.id, challenge=policy.challenge, category=policy.category, text=policy.text)
    met = (edge for edge in graph.edges if edge.weight > 0 and edge.source != edge.target)
    net.add_weighted_edges_from((edge.source, edge.target, edge.weight) for edge in met)
    return net


PRIOR = 5.0
"""Conversations that the graph as it was counts for; as many real ones weigh the same."""
PRIOR_RUNS = 4.0
"""Runs that a challenge as it was counts for."""
_MIDDLING = 3


def results_in(files: Iterable[Path]) -> list[Result]:
    """Read results files; raise `SuiteFaultError` for one that is none."""
    try:
        return [one for file in files for one in read(file).results]
    except ResultsError as error:
        raise SuiteFaultError(f"generate.traces: of policies, these are results files: {error}") from error


def learn_weights(graph: PolicyGraph, conversations: Iterable[Collection[str]]) -> PolicyGraph:
    """Correct weights by conversations, each as the ids of the policies that mattered in it.

    What is seen of a pair is the share of the conversations about one of the two, whichever is rarer, that were about
    both, times 10.
    """
    names = [policy.id for policy in graph.policies]
    seen = [set(one).intersection(names) for one in conversations]
    alone = Counter(policy for one in seen for policy in one)
    both = Counter(frozenset(pair) for one in seen for pair in combinations(one, 2))
    known = {frozenset((edge.source, edge.target)): edge for edge in graph.edges}
    edges = []
    for one, other in combinations(names, 2):
        pair = frozenset((one, other))
        before = known.get(pair, PolicyEdge(source=one, target=other, weight=0))
        count = min(alone[one], alone[other])
        weight = (PRIOR * before.weight + MOST_LIKELY * both[pair]) / (PRIOR + count)
        edges.append(before.model_copy(update={"weight": round(min(weight, MOST_LIKELY), 2)}))
    return graph.model_copy(update={"edges": tuple(edges), "weights": "conversations"})


def policies_of_results(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """Give for each scored run the policies that it exercised; those in which none is known are out.

    What nobody reviewed, or somebody else than the agent spoilt, says nothing of what conversations are about.
    """
    found = [tuple(one.policy for one in result.policies if one.exercised) for result in results if result.scored]
    return [one for one in found if one]


def other_challenges(graph: PolicyGraph, results: Sequence[Result]) -> Iterator[str]:
    """Say of each policy whose challenge runs contradict what it is, what they show, and in how many.

    A challenge stands for a failure rate of (challenge - 0.5) / 5, so that the five split 0 to 1 evenly; what was seen
    is weighed against the rate that the challenge so far stands for, or a middling one where it had none.
    """
    judged = [one for result in results if result.scored for one in result.policies]
    runs = Counter(one.policy for one in judged if one.exercised and one.kept is not None)
    broken = Counter(one.policy for one in judged if one.exercised and one.kept is False)
    for one in graph.policies:
        rate = (PRIOR_RUNS * ((one.challenge or _MIDDLING) - 0.5) / 5 + broken[one.id]) / (PRIOR_RUNS + runs[one.id])
        challenge = min(5, 1 + int(rate * 5))
        if runs[one.id] and challenge != one.challenge:
            said = f"its challenge is {one.challenge}" if one.challenge else "it has no challenge"
            seen = f"{broken[one.id]} of {count(runs[one.id], 'run')}"
            yield f"{one.id}: {said}; broken in {seen}, it would be {challenge}"
