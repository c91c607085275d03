"""Policy graphs for tests: by hand, at random, and what brute force says of them."""

from itertools import combinations
from random import Random

from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, PolicyEdge, PolicyGraph
from pytest_agentbench.generation.policies.identity import ids_for, ids_for_titles
from pytest_agentbench.suites.intellagent.intellagent import ForeignGraph


def graph(challenges, weights):
    """Make a graph of policies p0, p1, … from their challenges, and weights by pairs of positions."""
    policies = tuple(
        ExtractedPolicy(id=f"p{number}", text=f"Rule {number}.", challenge=challenge)
        for number, challenge in enumerate(challenges)
    )
    edges = tuple(
        PolicyEdge(source=f"p{one}", target=f"p{other}", weight=weight) for (one, other), weight in weights.items()
    )
    return PolicyGraph(policies=policies, edges=edges)


def random_graph(count, density, seed=0):
    """Make a graph in which a share of the pairs may meet."""
    random = Random(seed)
    weights = {pair: random.randint(1, 10) for pair in combinations(range(count), 2) if random.random() < density}
    return graph([random.randint(1, 5) for _ in range(count)], weights)


def all_sets(given, level):
    """Give every set of policies of a level of which all pairs have a weight above 0."""
    meets = {frozenset((edge.source, edge.target)) for edge in given.edges if edge.weight > 0}
    challenge = {policy.id: policy.challenge for policy in given.policies}
    return {
        frozenset(chosen)
        for size in range(1, len(challenge) + 1)
        for chosen in combinations(challenge, size)
        if sum(challenge[name] for name in chosen) == level
        and all(frozenset(pair) in meets for pair in combinations(chosen, 2))
    }


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
    return PolicyGraph(policies=policies, edges=edges)
