"""Weights beyond the first-order chain: what a conversation already holds makes steps more or less likely (§6).

The paper's chain forgets: a second geocoding of the same place is as likely as the first. Here a step to a tool that
only gives types which are held already is less likely, and so is one to a tool whose arguments were mostly used: of
three places of which two were looked up, a third is a third as likely. Which values a call then takes is decided by
`choosing.py` with the same factor.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.generation.tools.values import RUN_CONVERSATION, Edge, Graph, Taxonomy

REPEATED = 0.1
"""Factor for a tool that would give nothing new: all connector types it gives are held, and not used since."""
CALLED = 0.5
"""Factor for each earlier call of the tool since the user last spoke."""
READY = 2.0
"""Factor for a tool that takes a type which is held and not used yet: it was fetched for something."""


@dataclass
class Held:
    """What a conversation holds: connector types given and not used yet, those used, and calls by tool since the user
    last spoke.
    """

    given: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    calls: dict[str, int] = field(default_factory=dict)


class Conditioned:
    """Weights of the next step, given the walk so far; each row sums to 1."""

    def __init__(self, graph: Graph, taxonomy: Taxonomy, values: Mapping[str, int] | None = None) -> None:
        """Prepare; `values` are how many different things each tool can be called with, where that is known."""
        self._values = values or {}
        connectors = [one for one in taxonomy.types if one.is_connector]
        self._gives = {tool: {one.id for one in connectors if _has(one.produced, tool)} for tool in graph.tools}
        self._takes = {tool: {one.id for one in connectors if _has(one.consumed, tool)} for tool in graph.tools}
        self._rows: dict[str, list[Edge]] = {}
        for edge in graph.edges:
            self._rows.setdefault(edge.source, []).append(edge)

    def row(self, walk: Sequence[str]) -> dict[str, float]:
        """Give the weight of each next node after a walk; {} where it cannot go on."""
        edges = self._rows.get(walk[-1], []) if walk else []
        held = self.held(walk)
        calls = Counter(walk)
        weights = {
            edge.target: edge.weight * self._factor(edge.target, held) * self._unused(edge.target, calls[edge.target])
            for edge in edges
        }
        total = sum(weights.values())
        if total <= 0:
            return {edge.target: edge.weight for edge in edges}
        return {target: weight / total for target, weight in weights.items()}

    def held(self, walk: Sequence[str]) -> Held:
        """Give what a walk has brought about; the user's turn may bring another matter: counts begin anew."""
        held = Held()
        for node in walk:
            if node == RUN_CONVERSATION:
                held.calls.clear()
                held.given -= held.used
                continue
            held.used |= self._takes.get(node, set()) & held.given
            held.given |= self._gives.get(node, set())
            held.used -= self._gives.get(node, set())
            held.calls[node] = held.calls.get(node, 0) + 1
        return held

    def _unused(self, tool: str, calls: int) -> float:
        """Give the share of a tool's things that the conversation has not named yet; a repetition stays possible."""
        things = self._values.get(tool)
        if not things:
            return 1.0
        return max(1.0 - calls / things, REPEATED)

    def _factor(self, tool: str, held: Held) -> float:
        factor = CALLED ** held.calls.get(tool, 0)
        waiting = held.given - held.used
        gives = self._gives.get(tool, set())
        if gives and gives <= waiting:
            factor *= REPEATED
        if self._takes.get(tool, set()) & waiting:
            factor *= READY
        return float(factor)


def _has(places: Sequence[object], tool: str) -> bool:
    return any(getattr(place, "tool", None) == tool for place in places)
