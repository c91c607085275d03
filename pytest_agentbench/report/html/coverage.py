"""How much of a generated tool graph the runs went through, where one lies beside the suite."""

from collections.abc import Collection, Iterator
from pathlib import Path

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.stage_files import GRAPH, load
from pytest_agentbench.generation.tools.values import Graph
from pytest_agentbench.generation.tools.walks.coverage import Covered
from pytest_agentbench.report.html.shown import shown
from pytest_agentbench.results.document import Document

MOST_MISSING = 40
"""Tools and transitions that are named; the others are counted."""


def graphs_of(document: Document, root: Path) -> Iterator[tuple[str, Graph]]:
    """Give the graphs that `agentbench generate` left beside the suites or one folder deeper, with their paths."""
    folders = dict.fromkeys((root / suite.path).parent for suite in document.suites)
    for folder in folders:
        for path in sorted([folder / GRAPH, *folder.glob(f"*/{GRAPH}")]):
            try:
                graph = load(path, Graph)
            except ResultsError:
                continue
            if graph is not None:
                yield path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix(), graph


def coverage(path: str, graph: Graph, tools: Collection[str], steps: Collection[tuple[str, str]]) -> JsonValue:
    """Give which tools and transitions of a graph were seen, with or without a turn of the user in between."""
    planned = Covered.of_graph(graph)
    missing_tools = sorted(planned.tools - set(tools))
    missing_steps = sorted(planned.edges - set(steps))
    return {
        "path": shown(path, 300),
        "tools": [len(planned.tools) - len(missing_tools), len(planned.tools)],
        "steps": [len(planned.edges) - len(missing_steps), len(planned.edges)],
        "missing": [shown(name, 120) for name in missing_tools[:MOST_MISSING]],
        "missing_steps": [[shown(one, 120), shown(other, 120)] for one, other in missing_steps[:MOST_MISSING]],
        "more": max(len(missing_tools) - MOST_MISSING, 0) + max(len(missing_steps) - MOST_MISSING, 0),
    }
