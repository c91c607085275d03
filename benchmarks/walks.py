"""How long walks take: 100 tools, up to 10,000 walks, linear in their number.

    python -m benchmarks.walks [--tools 100] [--steps 20] [--walks 10000] [--seed 0]

Prints seconds, and seconds per thousand walks, for a quarter, half and all of the walks; with what they cover.
"""

import argparse
import time
from random import Random

from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Edge, Graph
from pytest_agentbench.generation.tools.walks.coverage import coverage
from pytest_agentbench.generation.tools.walks.walk_sampling import sample


def graph_of(tools: int, steps: int, seed: int) -> Graph:
    """Give a graph in which each tool leads to so many others."""
    random = Random(seed)
    names = [f"tool{number}" for number in range(tools)]
    edges = [Edge(source=RUN_CONVERSATION, target=END_OF_SIMULATION, weight=1.0)]
    for name in names:
        edges += [Edge(source=RUN_CONVERSATION, target=name, weight=1.0)]
        edges += [Edge(source=name, target=RUN_CONVERSATION, weight=1.0)]
        others = random.sample([other for other in names if other != name], min(steps, tools - 1))
        edges += [Edge(source=name, target=other, weight=random.random()) for other in others]
    return Graph(tools=tuple(names), edges=tuple(edges))


def main() -> None:
    """Time the walks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--walks", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    graph = graph_of(options.tools, options.steps, options.seed)
    for count in (options.walks // 4, options.walks // 2, options.walks):
        began = time.perf_counter()
        walks = sample(graph, count, seed=options.seed)
        seconds = time.perf_counter() - began
        rows = ", ".join(f"{row.what} {row.covered}/{row.total}" for row in coverage(graph, walks))
        print(f"{len(walks):>7} walks  {seconds:6.2f} s  {1000 * seconds / max(len(walks), 1):6.3f} s/1000  {rows}")


if __name__ == "__main__":
    main()
