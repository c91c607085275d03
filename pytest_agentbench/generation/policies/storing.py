"""The folder of a recipe: policies, graph, sets and report as reviewable JSON, each made from what stands before it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.policies.values import Extraction, PolicyGraph, PolicySet
from pytest_agentbench.generation.tools.storing import Folder
from pytest_agentbench.results.files import write_atomic

POLICIES, GRAPH, SETS, REPORT = "policies.json", "graph.json", "sets.json", "report.json"
FOUND = "policies.yaml"
"""Policies that were read from a document, as a suite names them."""


class PolicyFolder:
    """Writes what the stages made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._scenarios = Folder(path)

    @property
    def found(self) -> Path:
        """Where the policies of a document are, as a suite reads them."""
        return self.path / FOUND

    def save_extraction(self, extraction: Extraction, *, found: bool) -> None:
        """Write the policies; those `found` in a document also as a suite reads them."""
        self._write(POLICIES, extraction.model_dump(mode="json", exclude_defaults=True))
        if found:
            listed = [one.policy().model_dump(exclude={"rule"}) for one in extraction.policies]
            text = yaml.safe_dump(listed, sort_keys=False, allow_unicode=True, width=110)
            self.path.mkdir(parents=True, exist_ok=True)
            self.found.write_text(text, encoding="utf-8")

    def save_graph(self, graph: PolicyGraph) -> None:
        """Write the edges; the nodes stand with the policies."""
        edges = [[one.source, one.target, one.weight, list(one.via)] for one in graph.edges]
        self._write(GRAPH, {"weights": graph.weights, "edges": [dumps(one) for one in edges]})

    def save_sets(self, sets: Sequence[PolicySet], made_from: str) -> None:
        """Write the sets that became scenarios."""
        self._write(SETS, {"made_from": made_from, "sets": [one.model_dump(mode="json") for one in sets]})

    def save_report(self, report: Mapping[str, JsonValue]) -> None:
        """Write the report."""
        self._write(REPORT, report)

    def save_scenarios(self, forms: Iterable[Mapping[str, JsonValue]]) -> None:
        """Write a file for each scenario, and remove those of earlier times."""
        self._scenarios.save_scenarios([form] for form in forms)

    def _write(self, name: str, content: JsonValue) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path / name, dumps(content, indent=1) + "\n")
