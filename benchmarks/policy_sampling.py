"""Sampling of policy sets beside IntellAgent's, on the graphs and events that it ships.

    python -m benchmarks.policy_sampling DIR [--seeds 5] [--json FILE]

DIR holds `*_graph.json` and `*_events.json` as exported from its repository (airline). Its sampler is written anew here
from its description: a walk by the weights of the last policy alone that stops at the level or above, levels balanced
in batches of ten by what was requested. Figures are means over seeds.
"""

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from random import Random

from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, PolicyEdge, PolicyGraph, WalkMode
from pytest_agentbench.generation.policies.sampling import LIKELY, sample
from pytest_agentbench.suites.intellagent.reader import read_intellagent
from tests.generation.policies.graphs import of_foreign

RANGES = ((5, 10), (2, 11))
COUNTS = (10, 50, 200)
BATCH = 10
WALKS: tuple[WalkMode, ...] = ("uniform", "max", "weighted")

Drawn = tuple[int, tuple[str, ...]]
"""A requested level and the policies drawn for it."""


def theirs(graph: PolicyGraph, count: int, low: int, high: int, seed: int) -> list[Drawn]:
    """Sample as IntellAgent does."""
    random = Random(seed)
    names = [policy.id for policy in graph.policies]
    challenge = {policy.id: policy.challenge or 1 for policy in graph.policies}
    weights: dict[str, dict[str, float]] = {name: {} for name in names}
    for edge in graph.edges:
        weights[edge.source][edge.target] = weights[edge.target][edge.source] = edge.weight
    made: list[Drawn] = []
    levels = list(range(low, high + 1))
    while len(made) < count:
        seen = Counter(level for level, _ in made)
        wanted = (len(made) + BATCH) / len(levels)
        gaps = [max(wanted - seen[level], 0) for level in levels]
        batch = random.choices(levels, gaps, k=min(BATCH, count - len(made)))
        made += [(level, _their_walk(names, challenge, weights, level, random)) for level in batch]
    return made


def _their_walk(
    names: Sequence[str], challenge: dict[str, int], weights: dict[str, dict[str, float]], level: int, random: Random
) -> tuple[str, ...]:
    walk = [random.choice(names)]
    while sum(challenge[name] for name in walk) < level:
        options = {name: weight for name, weight in weights[walk[-1]].items() if name not in walk and weight > 0}
        if not options:
            break
        walk += random.choices(list(options), list(options.values()))
    return tuple(walk)


def ours(graph: PolicyGraph, count: int, low: int, high: int, seed: int) -> list[Drawn]:
    """Sample as this package does, coverage first."""
    return [(one.requested, one.policies) for one in sample(graph, count, low, high, seed=seed)]


def free(graph: PolicyGraph, low: int, high: int, walk: WalkMode, seed: int) -> list[Drawn]:
    """Walk 200 times by one rule alone, whatever is covered."""
    sets = sample(graph, 200, low, high, seed=seed, walk=walk, cover=False)
    return [(one.requested, one.policies) for one in sets]


def figures(graph: PolicyGraph, drawn: Sequence[Drawn], low: int, high: int) -> dict[str, float]:
    """Give the figures of one sample."""
    challenge = {policy.id: policy.challenge or 1 for policy in graph.policies}
    realised = [sum(challenge[name] for name in policies) for _, policies in drawn]
    weight = {frozenset((edge.source, edge.target)): edge.weight for edge in graph.edges}
    pairs = [frozenset(pair) for _, policies in drawn for pair in combinations(policies, 2)]
    everything = math.comb(len(graph.policies), 2)
    likely = {pair for pair, value in weight.items() if value >= LIKELY}
    levels = Counter(level for level, _ in drawn)
    return {
        "exact": sum(level == own for (level, _), own in zip(drawn, realised, strict=True)) / len(drawn),
        "above": sum(own > high for own in realised) / len(drawn),
        "policies": len({name for _, policies in drawn for name in policies}) / len(graph.policies),
        "pairs": len(set(pairs)) / everything,
        "likely": len(set(pairs) & likely) / len(likely) if likely else 1.0,
        "never": sum(weight.get(pair, 0) == 0 for pair in pairs) / max(len(pairs), 1),
        "weight": sum(weight.get(pair, 0) for pair in pairs) / max(len(pairs), 1),
        "repeats": 1 - len({frozenset(policies) for _, policies in drawn}) / len(drawn),
        "uneven": max(spread := [levels[level] for level in range(low, high + 1)]) - min(spread),
    }  # fmt: skip


def mean(graph: PolicyGraph, samples: Sequence[list[Drawn]], low: int, high: int) -> dict[str, float]:
    """Average the figures of several samples."""
    found = [figures(graph, drawn, low, high) for drawn in samples]
    return {key: sum(one[key] for one in found) / len(found) for key in found[0]}


_COLUMNS = (
    ("exact", "realised = requested", 100), ("above", "above maximum", 100), ("policies", "policies", 100),
    ("pairs", "pairs", 100), ("likely", "likely pairs", 100), ("never", "pairs of weight 0", 100),
    ("weight", "mean weight", 1), ("repeats", "repeated sets", 100), ("uneven", "level spread", 1),
)  # fmt: skip


def row(label: str, given: dict[str, float]) -> str:
    """Give one line of the table."""
    cells = []
    for key, title, scale in _COLUMNS:
        value = given[key] * scale
        cells.append(f"{value:.1f}{' %' if scale == 100 else ''}".rjust(len(title)))
    return f"{label:<26}" + "  ".join(cells)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kept: dict[str, dict[str, float]] = {}
    head = " " * 26 + "  ".join(title for _, title, _ in _COLUMNS)
    for path in sorted(options.folder.glob("*_graph.json")):
        foreign = read_intellagent(path).graph
        assert foreign is not None
        graph = of_foreign(foreign)
        for low, high in RANGES:
            print(f"\n{path.name}: {len(graph.policies)} policies, levels {low}-{high}\n{head}")
            for count in COUNTS:
                for name, draw in (("theirs", theirs), ("ours", ours)):
                    samples = [draw(graph, count, low, high, seed) for seed in range(options.seeds)]
                    given = mean(graph, samples, low, high)
                    kept[f"{path.stem} {low}-{high} n={count} {name}"] = given
                    print(row(f"n={count:<4} {name}", given))
            for walk in WALKS:
                samples = [free(graph, low, high, walk, seed) for seed in range(options.seeds)]
                given = mean(graph, samples, low, high)
                kept[f"{path.stem} {low}-{high} walk={walk}"] = given
                print(row(f"n=200  walk {walk}, free", given))
    for path in sorted(options.folder.glob("*_events.json")):
        events = read_intellagent(path).events
        sums = [(event.level, event.policy_sum) for event in events]
        same = sum(level == own for level, own in sums)
        used = len({policy.text for event in events for policy in event.policies})
        print(
            f"\n{path.name}: {len(events)} shipped events, stored level = sum of scores in {same}, {used} policies used"
        )
    began = time.perf_counter()
    large = big_graph(500)
    sample(large, 1000, 2, 11)
    print(f"\n500 policies, {len(large.edges)} edges, 1000 sets: {time.perf_counter() - began:.1f} s")
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1) + "\n")


def big_graph(count: int, seed: int = 0) -> PolicyGraph:
    """Make a graph of random challenges and weights, one pair in ten never together."""
    random = Random(seed)
    policies = tuple(
        ExtractedPolicy(id=f"p{number}", text=f"Rule {number}.", challenge=random.randint(1, 5))
        for number in range(count)
    )
    edges = tuple(
        PolicyEdge(source=f"p{one}", target=f"p{other}", weight=max(0, random.randint(-1, 9)))
        for one, other in combinations(range(count), 2)
    )
    return PolicyGraph(policies=policies, edges=edges)


if __name__ == "__main__":
    main()
