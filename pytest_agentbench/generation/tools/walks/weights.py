"""Weights of steps (§4.3): uniform, from recorded conversations, from walks, or given what a conversation holds (§6).

Rows sum to 1. Counts are smoothed, so that what was never seen stays possible. The paper's chain forgets: a second
geocoding of the same place is as likely as the first. `Conditioned` makes a step less likely that only gives what is
held already, or to a tool whose things were mostly used.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Graph, Place, Taxonomy
from pytest_agentbench.generation.tools.graph.graph import uniform
from pytest_agentbench.suites.transcripts import read_recordings

SMOOTHING = 0.5
"""Added to each count (Jeffreys' prior of a binomial): a row that was never left stays uniform."""
REPEATED = 0.1
"""Factor for a tool that would give nothing new: all connector types it gives are held, and not used since."""
CALLED = 0.5
"""Factor for each earlier call of the tool since the user last spoke."""
READY = 2.0
"""Factor for a tool that takes a type which is held and not used yet: it was fetched for something."""

Row = Mapping[str, float]


def with_rows(graph: Graph, rows: Mapping[str, Row], *, named: str, smoothing: float = 0.0) -> Graph:
    """Give the graph with weights in proportion to `rows[source][target]` plus `smoothing`; `named` says how.

    Targets that are no edges are passed over. A row without any weight stays uniform.
    """
    flat = uniform(graph).edges
    weights = [max(float(rows.get(one.source, {}).get(one.target, 0.0)), 0.0) + smoothing for one in flat]
    totals: defaultdict[str, float] = defaultdict(float)
    for one, weight in zip(flat, weights, strict=True):
        totals[one.source] += weight
    edges = [
        one.model_copy(update={"weight": weight / totals[one.source]}) if totals[one.source] else one
        for one, weight in zip(flat, weights, strict=True)
    ]
    return graph.model_copy(update={"edges": tuple(edges), "weights": named})


def weigh(graph: Graph, *, traces: Iterable[Path] = ()) -> Graph:
    """Weigh a graph from recorded conversations, else uniformly.

    `traces` are files of OpenAI-format logs, τ² recordings or results, or transcripts of ours. What a conversation did
    that is no edge is not counted. Raise `SuiteError` naming each record that cannot be read.
    """
    if not (files := tuple(traces)):
        return uniform(graph)
    recorded = read_recordings(files, tools=frozenset(graph.tools))
    return from_walks(graph, (_walk_of(one.transcript, graph) for one in recorded), named="traces")


def from_walks(graph: Graph, walks: Iterable[Sequence[str]], *, named: str) -> Graph:
    """Weigh a graph by how often walks took each edge (§4.3, empirical)."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for walk in walks:
        for source, target in pairwise(walk):
            counts[source][target] += 1
    return with_rows(graph, counts, named=named, smoothing=SMOOTHING)


def _walk_of(transcript: Transcript, graph: Graph) -> tuple[str, ...]:
    """Give a conversation as a walk: its turns of the user, and the agent's calls of tools that the graph knows.

    Turns in a row of the user, or of the agent without a call, are one.
    """
    nodes: list[str] = [RUN_CONVERSATION]
    for message in transcript.messages:
        if message.role == "user" and nodes[-1] != RUN_CONVERSATION:
            nodes.append(RUN_CONVERSATION)
        if message.role == "assistant":
            nodes += [call.name for call in message.tool_calls if call.name in graph.tools]
    if nodes[-1] != RUN_CONVERSATION and nodes[-1] not in graph.closing:
        nodes.append(RUN_CONVERSATION)
    return (*nodes, END_OF_SIMULATION)


class Conditioned:
    """Weights of the next step, given the walk so far; each row sums to 1."""

    def __init__(self, graph: Graph, taxonomy: Taxonomy, values: Mapping[str, int] | None = None) -> None:
        """Prepare; `values` are how many different things each tool can be called with, where that is known."""
        self._values = values or {}
        connectors = [one for one in taxonomy.types if one.is_connector]

        def types(places: Mapping[str, tuple[Place, ...]], tool: str) -> set[str]:
            return {name for name, several in places.items() if any(place.tool == tool for place in several)}

        self._gives = {tool: types({one.id: one.produced for one in connectors}, tool) for tool in graph.tools}
        self._takes = {tool: types({one.id: one.consumed for one in connectors}, tool) for tool in graph.tools}
        self._rows: dict[str, dict[str, float]] = defaultdict(dict)
        for edge in graph.edges:
            self._rows[edge.source][edge.target] = edge.weight

    def row(self, walk: Sequence[str]) -> dict[str, float]:
        """Give the weight of each next node after a walk; {} where it cannot go on."""
        plain = self._rows.get(walk[-1], {}) if walk else {}
        waiting, since = self._held(walk)
        weights = {
            node: weight * self._factor(node, waiting, since[node]) * self._unused(node, walk.count(node))
            for node, weight in plain.items()
        }
        total = sum(weights.values())
        return {node: weight / total for node, weight in weights.items()} if total > 0 else dict(plain)

    def _held(self, walk: Sequence[str]) -> tuple[set[str], Counter[str]]:
        """Give the types that a walk holds and has not used, and the calls of each tool since the user last spoke."""
        waiting: set[str] = set()
        calls: Counter[str] = Counter()
        for node in walk:
            if node == RUN_CONVERSATION:
                calls.clear()
            else:
                waiting = waiting - self._takes.get(node, set()) | self._gives.get(node, set())
                calls[node] += 1
        return waiting, calls

    def _unused(self, tool: str, calls: int) -> float:
        """Give the share of a tool's things that the conversation has not named yet; a repetition stays possible."""
        things = self._values.get(tool)
        return max(1.0 - calls / things, REPEATED) if things else 1.0

    def _factor(self, tool: str, waiting: set[str], calls: int) -> float:
        gives = self._gives.get(tool, set())
        again = REPEATED if gives and gives <= waiting else 1.0
        ready = READY if self._takes.get(tool, set()) & waiting else 1.0
        return float(CALLED**calls * again * ready)
