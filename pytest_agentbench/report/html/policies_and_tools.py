"""The page on policies by complexity and tool, and on tools: which were called, and which call followed which."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.generation.tools.artifacts import GRAPH, load
from pytest_agentbench.generation.tools.data_types import Graph
from pytest_agentbench.generation.tools.walks.coverage import Covered
from pytest_agentbench.report.breakdown import Matrix, PolicyMatrices, matrices
from pytest_agentbench.report.html.shown import share, shown
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.table import Row

MOST_PAIRS = 200
"""Pairs of policies that are listed; all are counted."""

_LABEL = 120


def policies(document: Document) -> list[JsonValue]:
    """Give the matrices of each suite that has policies; rates are 0..1, and a hole is None."""
    return [_of_suite(one) for one in matrices(document)]


def _of_suite(found: PolicyMatrices) -> JsonValue:
    return {
        "suite": shown(found.suite, _LABEL),
        "scale": found.scale,
        "totals": [_named(one) for one in found.policies],
        "by_complexity": _matrix(found.by_complexity),
        "by_tool": _matrix(found.by_tool),
        "levels": [
            [exact[0], exact[1], above[1]]
            for exact, above in zip(map(_named, found.complexities), map(_named, found.at_least), strict=True)
        ],
        "categories": [_named(one) for one in found.categories],
        "plans": [
            [shown(one.policy, _LABEL), one.planned, one.exercised, one.unknown, one.unplanned] for one in found.plans
        ],
        "pairs": found.pairs,
        "untried": _pairs(found.untried),
        "unmet": _pairs(found.unmet),
    }


def _matrix(given: Matrix) -> JsonValue:
    return {
        "columns": [shown(name, _LABEL) for name in given.columns],
        "cells": [[share(cell) for cell in row] for row in given.cells],
        "holes": given.holes,
    }


def _named(given: Row) -> list[JsonValue]:
    return [shown(given.label, _LABEL), share(given)]


def _pairs(given: Sequence[tuple[str, str]]) -> JsonValue:
    listed = [[shown(one, _LABEL), shown(other, _LABEL)] for one, other in given[:MOST_PAIRS]]
    return {"count": len(given), "listed": listed}


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


MOST_NODES = 24
"""Tools in the picture, those called most; the table beside it has all."""

MOST_EDGES = 80
"""Transitions in the picture, the most frequent."""

MOST_COLUMNS = 6
"""Columns of tools, so that the picture fits a screen."""

_PER_COLUMN = 6

_START, _END = "start", "end"


class ToolUse:
    """Adds up the agent's calls, conversation by conversation."""

    def __init__(self) -> None:
        """Begin with no run."""
        self.runs = 0
        self._calls: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._in_runs: Counter[str] = Counter()
        self._expected: Counter[str] = Counter()
        self._made: Counter[str] = Counter()
        self._known: set[str] = set()
        self._edges: Counter[tuple[str, str, str, str]] = Counter()
        self._places: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, result: Result, transcript: Transcript | None) -> None:
        """Count one run; without its transcript, only what was expected of it."""
        self._known.update(result.tools)
        for call in result.calls:
            if call.expected is not None:
                self._expected[call.tool] += 1
                self._made[call.tool] += call.status == "matched"
        if transcript is None:
            return
        self.runs += 1
        records = [record for record in transcript.trajectory if record.call.requestor == "assistant"]
        names = [record.call.name for record in records]
        self._calls.update(names)
        self._failed.update(record.call.name for record in records if record.failed)
        self._in_runs.update(set(names))
        path = [("mark", _START), *(("tool", name) for name in names), ("mark", _END)]
        if names:
            self._edges.update((*one, *other) for one, other in pairwise(path))
        for name in set(names):
            self._places[name].append(names.index(name))

    def data(self) -> dict[str, JsonValue]:
        """Give the table and the picture; coordinates are columns and rows, from 0."""
        names = sorted(self._known | set(self._calls), key=lambda name: (-self._calls[name], name))
        return {
            "runs": self.runs,
            "tools": [
                {
                    "name": shown(name, 120),
                    "calls": self._calls[name],
                    "runs": self._in_runs[name],
                    "failed": self._failed[name],
                    "expected": self._expected[name],
                    "made": self._made[name],
                }
                for name in names
            ],
            "graph": self._graph(),
        }

    @property
    def tools(self) -> frozenset[str]:
        """The tools that were called."""
        return frozenset(self._calls)

    @property
    def steps(self) -> frozenset[tuple[str, str]]:
        """Each call with the one after it."""
        return frozenset((one, other) for kind, one, next_kind, other in self._edges if kind == next_kind == "tool")

    def _graph(self) -> JsonValue:
        kept = [name for name, _ in sorted(self._calls.items(), key=lambda item: (-item[1], item[0]))][:MOST_NODES]
        places = self._columns(kept)
        last = max((column for column, _ in places.values()), default=-1) + 1
        nodes: list[JsonValue] = [{"name": _START, "calls": self.runs, "x": 0, "y": 0.0, "mark": True}]
        index = {("mark", _START): 0}
        for name in kept:
            column, row = places[name]
            index["tool", name] = len(nodes)
            nodes.append({"name": shown(name, 40), "calls": self._calls[name], "x": column + 1, "y": row})
        index["mark", _END] = len(nodes)
        nodes.append({"name": _END, "calls": self.runs, "x": last + 1, "y": 0.0, "mark": True})
        edges = [
            (index[one_kind, one], index[other_kind, other], count)
            for (one_kind, one, other_kind, other), count in self._edges.items()
            if (one_kind, one) in index and (other_kind, other) in index
        ]
        edges.sort(key=lambda edge: (-edge[2], edge[0], edge[1]))
        return {
            "nodes": nodes,
            "edges": [list(edge) for edge in edges[:MOST_EDGES]],
            "left_out": max(len(edges) - MOST_EDGES, 0) + max(len(self._calls) - MOST_NODES, 0),
        }

    def _columns(self, names: list[str]) -> dict[str, tuple[int, float]]:
        """Put tools that runs call early to the left, those of a like place below each other, centred on 0."""
        ordered = sorted(names, key=lambda name: (sum(self._places[name]) / len(self._places[name]), name))
        columns: list[list[str]] = []
        before = -1.0
        for name in ordered:
            mean = sum(self._places[name]) / len(self._places[name])
            if not columns or len(columns[-1]) == _PER_COLUMN or round(mean) != round(before):
                columns.append([])
            columns[-1].append(name)
            before = mean
        while len(columns) > MOST_COLUMNS:
            at = min(range(len(columns) - 1), key=lambda place: len(columns[place]) + len(columns[place + 1]))
            columns[at : at + 2] = [columns[at] + columns[at + 1]]
        placed: dict[str, tuple[int, float]] = {}
        for x, column in enumerate(columns):
            # the busiest in the middle, where most lines pass
            middle_out: list[str] = []
            for place, name in enumerate(sorted(column, key=lambda name: (-self._calls[name], name))):
                middle_out.insert(len(middle_out) if place % 2 else 0, name)
            placed |= {name: (x, y - (len(column) - 1) / 2) for y, name in enumerate(middle_out)}
        return placed
