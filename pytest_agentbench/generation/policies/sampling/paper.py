"""Sets of policies by IntellAgent's Algorithm 1 (§3.1.1), to the letter, for those who compare with the paper.

The listing draws a level and a first policy evenly, then neighbours of *that first policy* by the weights, and takes
off the challenge of each until nothing is left. The first policy itself is not among those drawn, one that is drawn
twice counts twice and stands once, and the last one may go beyond the level. So what is realised differs from what was
asked for in both directions; the report prints both.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random

from pytest_agentbench.generation.policies.graph.graph import as_networkx
from pytest_agentbench.generation.policies.values import Cell, Infeasible, PolicyGraph, PolicySet, Sampling, WalkMode


def paper_sample(
    graph: PolicyGraph,
    count: int,
    low: int,
    high: int,
    *,
    seed: int = 0,
    steps: WalkMode = "weighted",
    taken: Sequence[PolicySet] = (),
) -> Sampling:
    """Draw `count` sets with requested levels from `low` to `high`; a first policy without neighbours gives none.

    Numbers go on behind `taken`, and what these have counts as a repeat.
    """
    random = Random(seed)  # noqa: S311 - a seeded draw, no secret
    net = as_networkx(graph)
    challenges = {one.id: one.challenge or 1 for one in graph.policies}
    firsts = [one for one in challenges if net.degree(one)]
    alone = tuple(
        Infeasible(cell=Cell(first=one, level=low), reason="it never meets another policy")
        for one in challenges
        if one not in firsts
    )
    sets: list[PolicySet] = []
    seen = Counter(frozenset(one.policies) for one in taken)
    width = len(str(len(taken) + count))
    for number in range(len(taken) + 1, len(taken) + 1 + (count if firsts else 0)):
        level, first = random.randint(low, high), random.choice(firsts)
        weights = {other: edge["weight"] for other, edge in sorted(net[first].items())}
        chosen: dict[str, None] = {}
        left = level
        while left > 0:
            name = _next(weights, random, steps)
            chosen[name] = None
            left -= challenges[name]
        key = frozenset(chosen)
        sets.append(
            PolicySet(
                id=f"c{level}-{number:0{width}}",
                first=first,
                policies=tuple(chosen),
                requested=level,
                realised=sum(challenges[name] for name in chosen),
                walk=steps,
                repeat=seen[key],
            )
        )
        seen[key] += 1
    return Sampling(sets=tuple(sets), infeasible=alone, seed=seed, low=low, high=high)


def overshoot(sampling: Sampling) -> str:
    """Say how far what was realised is from what was asked for."""
    sets = sampling.sets
    exact = sum(one.realised == one.requested for one in sets)
    above = sum(one.realised > one.requested for one in sets)
    beyond = sum(one.realised > sampling.high for one in sets)
    mean = sum(one.realised - one.requested for one in sets) / len(sets) if sets else 0
    return (
        f"walk: paper · {exact} of {len(sets)} sets have the level asked for, {above} overshoot, "
        f"{len(sets) - exact - above} fall short ({mean:+.2f} on average), {beyond} are above {sampling.high}"
    )


def _next(weights: dict[str, float], random: Random, steps: WalkMode) -> str:
    names = list(weights)
    if steps == "uniform":
        return random.choice(names)
    if steps == "max":
        most = max(weights.values())
        return random.choice([name for name in names if weights[name] == most])
    return random.choices(names, list(weights.values()))[0]
