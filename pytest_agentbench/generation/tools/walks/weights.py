"""Weights of transitions (§4.3): uniform, from recorded conversations, from walks or shares that a model gives.

Rows sum to 1. Counts are smoothed, so that what was never seen stays possible: each edge gets `SMOOTHING` on top.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.generation.tools.graph.graph import uniform
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Graph
from pytest_agentbench.suites.transcripts import read_recordings

SMOOTHING = 0.5
"""Added to each count (Jeffreys' prior of a binomial): a row that was never left stays uniform."""

Row = Mapping[str, float]


def with_rows(graph: Graph, rows: Mapping[str, Row], *, named: str, smoothing: float = 0.0) -> Graph:
    """Give the graph with weights in proportion to `rows[source][target]` plus `smoothing`; `named` says how.

    Targets that are no edges are passed over. A row without any weight stays uniform.
    """
    totals: dict[str, float] = defaultdict(float)
    weights: list[float] = []
    for edge in graph.edges:
        weight = max(float(rows.get(edge.source, {}).get(edge.target, 0.0)), 0.0) + smoothing
        weights.append(weight)
        totals[edge.source] += weight
    flat = {(edge.source, edge.target): edge.weight for edge in uniform(graph).edges}
    edges = tuple(
        edge.model_copy(
            update={"weight": weight / totals[edge.source] if totals[edge.source] else flat[edge.source, edge.target]}
        )
        for edge, weight in zip(graph.edges, weights, strict=True)
    )
    return graph.model_copy(update={"edges": edges, "weights": named})


def weigh(graph: Graph, *, traces: Iterable[Path] = (), walks: Iterable[Sequence[str]] = ()) -> Graph:
    """Weigh a graph from recorded conversations, else from walks, else uniformly.

    `traces` are files of OpenAI-format logs, τ² recordings or results, or transcripts of ours. What a conversation did
    that is no edge is not counted. Raise `SuiteError` naming each record that cannot be read.
    """
    files = tuple(traces)
    if files:
        recorded = read_recordings(files, tools=frozenset(graph.tools))
        return from_walks(graph, (path_of(one.transcript, graph) for one in recorded), named="traces")
    given = tuple(walks)
    return from_walks(graph, given, named="empirical") if given else uniform(graph)


def from_walks(graph: Graph, walks: Iterable[Sequence[str]], *, named: str, smoothing: float = SMOOTHING) -> Graph:
    """Weigh a graph by how often walks took each edge (§4.3, empirical)."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for walk in walks:
        for source, target in pairwise(walk):
            counts[source][target] += 1
    return with_rows(graph, counts, named=named, smoothing=smoothing)


def path_of(transcript: Transcript, graph: Graph) -> tuple[str, ...]:
    """Give a conversation as a walk: its turns of the user, and the agent's calls of tools that the graph knows.

    Turns in a row of the user, or of the agent without a call, are one; a call after another in the same agent turn
    follows it directly.
    """
    nodes: list[str] = [RUN_CONVERSATION]
    known = set(graph.tools)
    for message in transcript.messages:
        if message.role == "user" and nodes[-1] != RUN_CONVERSATION:
            nodes.append(RUN_CONVERSATION)
        if message.role == "assistant":
            nodes += [call.name for call in message.tool_calls if call.name in known]
    if nodes[-1] != RUN_CONVERSATION and nodes[-1] not in graph.closing:
        nodes.append(RUN_CONVERSATION)
    return (*nodes, END_OF_SIMULATION)


def loops_from(traces: Iterable[Path], tools: Iterable[str]) -> frozenset[str]:
    """Give the tools that recorded conversations call twice in a row: what a graph without self-loops cannot show."""
    names = frozenset(tools)
    found: set[str] = set()
    for one in read_recordings(tuple(traces), tools=names):
        before = ""
        for message in one.transcript.messages:
            if message.role == "user":
                before = ""
            for call in message.tool_calls:
                if call.name == before and call.name in names:
                    found.add(call.name)
                before = call.name
    return frozenset(found)


def row_sums(graph: Graph) -> dict[str, float]:
    """Give the sum of each node's outgoing weights."""
    sums: dict[str, float] = defaultdict(float)
    for edge in graph.edges:
        sums[edge.source] += edge.weight
    return dict(sums)
