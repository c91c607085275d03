"""What earlier runs teach of policies: which of them meet in one conversation, and how hard each is to keep.

The paper names it as future work (§5). What a few runs show is weighed against the graph as it was, as if that rested
on some conversations too, so that a pair never seen together is not thereby impossible.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

from pytest_agentbench.core.errors import ResultsError, SuiteFaultError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.generation.policies.data_types import MOST_LIKELY, PolicyEdge, PolicyGraph
from pytest_agentbench.results.document import read

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
