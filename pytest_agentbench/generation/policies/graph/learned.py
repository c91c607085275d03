"""A policy graph corrected by what happened: weights by real conversations, challenges by earlier results.

The paper names real conversations as future work (§5). What a few of them show is weighed against the graph as it was,
as if that rested on some conversations too, so that a pair never seen together is not thereby impossible.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.generation.policies.values import MOST_LIKELY, PolicyEdge, PolicyGraph

PRIOR = 5.0
"""Conversations that the graph as it was counts for; as many real ones weigh the same."""

PRIOR_RUNS = 4.0
"""Runs that a challenge as it was counts for."""

_MIDDLING = 3


def learn_weights(graph: PolicyGraph, conversations: Iterable[Collection[str]], *, prior: float = PRIOR) -> PolicyGraph:
    """Correct weights by conversations, each given as the ids of the policies that mattered in it.

    What is seen of a pair is the share of the conversations about one of the two, whichever is rarer, that were about
    both, times 10.
    """
    known = {policy.id for policy in graph.policies}
    seen = [sorted(set(one) & known) for one in conversations]
    alone = Counter(policy for one in seen for policy in one)
    both = Counter(pair for one in seen for pair in combinations(one, 2))
    weights = {tuple(sorted((edge.source, edge.target))): edge for edge in graph.edges}
    edges = []
    for pair in combinations([policy.id for policy in graph.policies], 2):
        key = tuple(sorted(pair))
        before = weights.get(key, PolicyEdge(source=pair[0], target=pair[1], weight=0))
        count = min(alone[pair[0]], alone[pair[1]])
        together = both[(min(pair), max(pair))]
        weight = (prior * before.weight + MOST_LIKELY * together) / (prior + count)
        edges.append(before.model_copy(update={"weight": round(min(weight, MOST_LIKELY), 2)}))
    return graph.model_copy(update={"edges": tuple(edges), "weights": "conversations"})


def policies_of_results(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """Give for each scored run the policies that it exercised, as its checks saw; those of which none is known are out.

    What nobody reviewed, or somebody else than the agent spoilt, says nothing of what conversations are about.
    """
    found = [tuple(one.policy for one in result.policies if one.exercised) for result in results if result.scored]
    return [one for one in found if one]


def policies_of_transcripts(graph: PolicyGraph, transcripts: Iterable[Transcript]) -> list[tuple[str, ...]]:
    """Give for each conversation the policies about a tool that was called in it."""
    found = []
    for transcript in transcripts:
        called = {record.call.name for record in transcript.trajectory}
        found.append(tuple(one.id for one in graph.policies if called & set(graph.tools.get(one.id, ()))))
    return found


def reestimate_challenges(graph: PolicyGraph, results: Sequence[Result], *, prior: float = PRIOR_RUNS) -> PolicyGraph:
    """Rate challenges by how often policies were broken in scored runs that exercised them.

    A challenge stands for a failure rate of (challenge − 0.5) / 5, so that the five split 0–1 evenly; what was seen is
    weighed against the rate that the challenge so far stands for, or a middling one where it had none. A policy that no
    run exercised keeps its challenge.
    """
    exercised: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    for result in results:
        for one in result.policies if result.scored else ():
            if one.exercised and one.kept is not None:
                exercised[one.policy] += 1
                broken[one.policy] += not one.kept
    policies = []
    for policy in graph.policies:
        runs = exercised[policy.id]
        rate = (prior * ((policy.challenge or _MIDDLING) - 0.5) / 5 + broken[policy.id]) / (prior + runs)
        challenge = min(5, 1 + int(rate * 5)) if runs else policy.challenge
        policies.append(policy.model_copy(update={"challenge": challenge}))
    return graph.model_copy(update={"policies": tuple(policies), "challenges": "results"})
