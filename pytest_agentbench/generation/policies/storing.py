"""The folder of a recipe: policies, graph and sets as JSON, each made from what stands before it."""

from collections.abc import Sequence
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.policies.values import Extraction, PolicyGraph, PolicySet
from pytest_agentbench.results.files import write_atomic

POLICIES, GRAPH, SETS = "policies.json", "graph.json", "sets.json"
FOUND = "policies.yaml"
"""Policies that were read from a document, as a suite names them."""


class PolicyFolder:
    """Writes what the stages made."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def found(self) -> Path:
        """Where the policies of a document are, as a suite reads them."""
        return self.path / FOUND

    def extraction(self) -> Extraction | None:
        """Read the policies as they were written last; None where there are none that can be read."""
        try:
            return Extraction.model_validate_json((self.path / POLICIES).read_text(encoding="utf-8"), strict=False)
        except (OSError, ValueError):
            return None

    def save_extraction(self, extraction: Extraction) -> None:
        """Write the policies; `review.py` writes the file in which people read them."""
        self._write(POLICIES, extraction.model_dump(mode="json", exclude_defaults=True))

    def save_graph(self, graph: PolicyGraph) -> None:
        """Write the edges; the nodes stand with the policies."""
        edges = [[one.source, one.target, one.weight, list(one.via)] for one in graph.edges]
        self._write(GRAPH, {"weights": graph.weights, "edges": [dumps(one) for one in edges]})

    def save_sets(self, sets: Sequence[PolicySet], made_from: str) -> None:
        """Write the sets that became scenarios."""
        self._write(SETS, {"made_from": made_from, "sets": [one.model_dump(mode="json") for one in sets]})

    def _write(self, name: str, content: JsonValue) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path / name, dumps(content, indent=1) + "\n")
